// Save what is on the screen: a picture, its numbers, or a page of its own.

import { exportHtml } from "./api.js";
import { h } from "../viewer/dom.js";
import { toPng, toSvg } from "./svg.js";

const KINDS = {
  SVG: async ({ data }) => new Blob([await toSvg(data)], { type: "image/svg+xml" }),
  PNG: async ({ data }) => toPng(await toSvg(data)),
  JSON: async ({ data, json }) => new Blob([JSON.stringify(json ?? data, null, 1)], { type: "application/json" }),
  HTML: ({ data }) => exportHtml(data),
};

/** `snapshot()` gives {name, data, json?}, at once or later, or null while there is nothing to save. */
export function saveBar(snapshot, app) {
  const save = async (kind) => {
    try {
      const taken = await snapshot();
      if (!taken) return app.notify("There is nothing to save yet.");
      download(await KINDS[kind](taken), `${taken.name}.${kind.toLowerCase()}`);
      return app.notify(`Saved ${taken.name}.${kind.toLowerCase()}`);
    } catch (error) {
      return app.notify(`Could not save: ${error.message}`);
    }
  };
  const link = h("button", { type: "button", text: "Copy link", on: { click: () => copyLink(link, app) } });
  return h(
    "div",
    { class: "save", role: "group", "aria-label": "Save what is on the screen" },
    h("span", { text: "Save" }),
    Object.keys(KINDS).map((kind) =>
      h("button", { type: "button", text: kind, "aria-label": `Save as ${kind}`, on: { click: () => save(kind) } }),
    ),
    link,
  );
}

async function copyLink(button, app) {
  app.settle();
  try {
    await navigator.clipboard.writeText(location.href);
    app.notify("The link is copied.");
    button.textContent = "Copied";
  } catch {
    app.notify("The browser does not allow copying; the link is in the address bar.");
    button.textContent = "See address bar";
  }
  setTimeout(() => (button.textContent = "Copy link"), 1500);
}

function download(blob, name) {
  const address = URL.createObjectURL(blob);
  const anchor = h("a", { href: address, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
