// Which models the server has, and what to say where it has none.

import { h } from "./dom.js";

export const looks = (model) => Boolean(model.attention) && model.attention !== "none";

/** The models of a task, those with attention first; each with a `label`: of a run's path the last part, if unlike. */
export function modelsFor(models, task) {
  const able = models.filter((model) => model.task === task).sort((a, b) => looks(b) - looks(a));
  const last = ({ name }) => name.split(/[\\/]/).filter(Boolean).at(-1) ?? name;
  const alone = (model) => able.filter((other) => last(other) === last(model)).length === 1;
  return able.map((model) => ({ ...model, label: alone(model) ? last(model) : model.name }));
}

export function modelChoices(models) {
  const kind = (model) => (looks(model) ? model.attention : "no attention");
  return Object.fromEntries(models.map((model) => [model.name, `${model.label} (${kind(model)})`]));
}

/** What to do where no model is loaded; Steps and Kinds work all the same. */
export function noModels(task, models) {
  const example = task === "translate" ? "en-fr" : "flickr8k";
  const why = models.error ?? `The server was started without a model that can ${task}.`;
  return h(
    "div",
    { class: "notice" },
    h("h2", { text: `No model to ${task} with` }),
    h("p", { text: why }),
    h(
      "p",
      {},
      "Start it with the one that comes with the package, ",
      h("code", { text: `regard serve ${example}` }),
      ", or with one you trained, ",
      h("code", { text: "regard serve runs/mine" }),
      ".",
    ),
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
  return h("p", { class: "error", role: "alert", text });
}
