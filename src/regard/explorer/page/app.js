// The page: opens the view that the address names, and keeps the address telling what is shown.

import { currentParams, currentRest, currentView, keepToken, write } from "./address.js";
import * as api from "./api.js";
import { h } from "../viewer/dom.js";
import { errorBox, modelsLine } from "./models.js";
import { saveBar } from "./save.js";
import { themeSwitch } from "./theme.js";

const OPENERS = {
  cover: () => import("../views/cover.js"),
  story: () => import("../views/story.js"),
  steps: () => import("../views/steps.js"),
  translate: () => import("../views/translate.js"),
  caption: () => import("../views/caption.js"),
  kinds: () => import("../views/kinds.js"),
  inspect: () => import("../views/inspect.js"),
};
const NEED_NO_MODEL = ["steps", "kinds"];

const main = document.getElementById("view");
const live = document.getElementById("live");
const toast = document.getElementById("toast");
let hiding = null;
let shown = null;
let opened = null;
let loaded = null;
let waiting = null;

/** What views get to work with. */
const app = {
  announce(text) {
    live.textContent = text;
  },
  /** Say something to everybody: read out, and seen for a moment. */
  notify(text) {
    app.announce(text);
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(hiding);
    hiding = setTimeout(() => (toast.hidden = true), 4000);
  },
  /** The models that the server has; asked for until it has told. */
  async models() {
    loaded ??= api.models();
    const models = await loaded;
    if (models.error) loaded = null;
    return models;
  },
  /** Say in the address what is shown: soon, so that typing stays smooth, or now as a step that Back undoes. */
  write(params, { push = false, rest = [] } = {}) {
    app.settle();
    const view = currentView();
    if (push) write(view, params, { push, rest });
    else waiting = { params, view, rest, timer: setTimeout(app.settle, 150) };
  },
  /** Write now what was to be written soon. */
  settle() {
    if (!waiting) return;
    clearTimeout(waiting.timer);
    write(waiting.view, waiting.params, { rest: waiting.rest });
    waiting = null;
  },
  /** Go to another address of the page, "story/look-back". */
  visit(address) {
    app.settle();
    const [view, ...rest] = address.split("/");
    write(view, new URLSearchParams(), { push: true, rest });
    open().then(() => main.focus({ preventScroll: true }));
    window.scrollTo(0, 0);
  },
};

async function open() {
  const name = currentView();
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view.split("/")[0] === name && link.closest("header")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  let view;
  try {
    view = await OPENERS[name]();
  } catch {
    main.replaceChildren(errorBox("The server does not answer. Is `regard serve` still running?"));
    return;
  }
  if (name !== currentView()) return;
  shown?.close?.();
  opened = name;
  document.title = `${view.TITLE} · regard`;
  const body = h("div", { class: `view view-${name}` });
  if (view.BARE) {
    main.replaceChildren(body);
    shown = view.open(body, currentParams(), app, currentRest());
    return;
  }
  const lead = h(
    "div",
    { class: "lead" },
    h("div", {}, h("h1", { text: view.TITLE }), h("p", { text: view.LEAD })),
    saveBar(() => shown.snapshot(), app),
  );
  main.replaceChildren(lead, body);
  shown = view.open(body, currentParams(), app);
  if (NEED_NO_MODEL.includes(name)) app.models().then((models) => lead.append(modelsLine(models) ?? ""));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-view]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  app.visit(link.dataset.view);
});

// Without this the address would change, and with it the view be opened anew.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

window.addEventListener("popstate", () => {
  waiting = null;
  if (currentView() !== opened || !shown?.turn?.(currentParams(), currentRest())) open();
});
keepToken();
themeSwitch(document.getElementById("theme"));
open();
