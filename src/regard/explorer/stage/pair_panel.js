// One sentence under two translators: one that has a single vector for it, and one that may look back.

import { translate } from "../page/api.js";
import { button } from "../page/controls.js";
import { errorBox, hasAttention, modelsFor } from "../page/models.js";
import { h, prose } from "../viewer/dom.js";

const SENTENCES = {
  short: "The cat sleeps.",
  long: "I would like to thank all those who have worked so hard over the last few years to make sure that this bill, which is so important for the people of my country, could be brought before the House today.",
};
const MISSING = {
  plain: "Without attention: no such translator is loaded. Train one with `regard train run.toml --set model.attention=none`, and name it to `regard serve`.",
  attends: "With attention: no such translator is loaded. Start with the one that ships: `regard serve en-fr`.",
};

export function pairPanel(story) {
  const element = h("section", { class: "live", "aria-label": "One sentence, two translators" });
  let request = null;
  const text = h("textarea", { rows: "3", id: "pair-sentence", maxlength: "600", text: SENTENCES.short });
  const output = h("div", { class: "pair", role: "status" });
  const ask = async (sentence) => {
    if (sentence) text.value = sentence;
    request?.abort();
    request = new AbortController();
    output.setAttribute("aria-busy", "true");
    const models = modelsFor(await story.app.models(), "translate");
    const chosen = { plain: models.find((model) => !hasAttention(model)), attends: models.find(hasAttention) };
    const answers = await Promise.all(Object.entries(chosen).map(([kind, model]) => answer(kind, model, text.value.trim(), request.signal)));
    if (answers.includes(null)) return; // another sentence was asked for meanwhile
    output.replaceChildren(...answers);
    output.removeAttribute("aria-busy");
  };
  element.append(
    h("label", { for: "pair-sentence", text: "Sentence" }), text,
    h("div", { class: "controls" }, button("A short one", () => ask(SENTENCES.short)), button("A long one", () => ask(SENTENCES.long)),
      button("Translate", () => ask(), { class: "button primary" })),
    output,
  );
  ask();
  return { element, close: () => request?.abort() };
}

async function answer(kind, model, text, signal) {
  const heading = kind === "plain" ? "One vector for everything" : "It may look back";
  if (!model) return h("div", {}, h("h2", { text: heading }), h("p", { class: "rg-note" }, prose(MISSING[kind])));
  try {
    const { text: found } = await translate(model.name, text || SENTENCES.short, 5, signal);
    return h("div", {}, h("h2", { text: `${heading} (${model.label})` }), h("p", { class: "sentence", dir: "auto", text: found }));
  } catch (error) {
    return error.name === "AbortError" ? null : h("div", {}, h("h2", { text: heading }), errorBox(error.message));
  }
}
