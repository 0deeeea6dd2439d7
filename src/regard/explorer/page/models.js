// Which models the server has, and what to say where it has none.

import { h, prose } from "../viewer/dom.js";

export const hasAttention = (model) => Boolean(model.attention) && model.attention !== "none";

/** The models of a task, those with attention first; each with a `label`: of a run's path the last part, if unlike. */
export function modelsFor(models, task) {
  const able = models.filter((model) => model.task === task).sort((a, b) => hasAttention(b) - hasAttention(a));
  const last = ({ name }) => name.split(/[\\/]/).filter(Boolean).at(-1) ?? name;
  const alone = (model) => able.filter((other) => last(other) === last(model)).length === 1;
  return able.map((model) => ({ ...model, label: alone(model) ? last(model) : model.name }));
}

export function modelChoices(models) {
  const kind = (model) => (hasAttention(model) ? model.attention : "no attention");
  return Object.fromEntries(models.map((model) => [model.name, `${model.label} (${kind(model)})`]));
}

/** One line for the views that need no model, where there is none: how to get one. */
export function modelsLine(models) {
  if (models.length) return null;
  return h("p", { class: "rg-note" }, prose(models.error ? sentence(models.error) : models.advice.translate));
}

/** What to do where no model is loaded; Steps and Kinds work all the same. */
export function noModels(task, models) {
  const heading = models.error ? "The server has not answered" : `No model to ${task} with`;
  return h(
    "div",
    { class: "notice" },
    h("h2", { text: heading }),
    h("p", {}, prose(models.error ? sentence(models.error) : models.advice[task])),
    h(
      "p",
      {},
      h("a", { href: "/steps", "data-view": "steps", text: "Steps" }),
      " and ",
      h("a", { href: "/kinds", "data-view": "kinds", text: "Kinds" }),
      " work without a model.",
    ),
  );
}

export function errorBox(text) {
  return h("p", { class: "error", role: "alert" }, prose(sentence(text)));
}

/** Say that an answer is awaited: in words where nothing stands yet, else by what stands there growing pale. */
export function busy(output, words) {
  output.setAttribute("aria-busy", "true");
  if (!output.childElementCount) output.append(h("p", { class: "rg-note", text: words }));
}

/** The server's words as a sentence of the page. */
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
