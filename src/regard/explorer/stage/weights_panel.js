// All weights of a blackboard model, each of which can be changed; and the words that it reads.

import { weightPaths } from "../maths/blackboard.js";
import { button } from "../page/controls.js";
import { h } from "../viewer/dom.js";
import { weightInput } from "./sum_line.js";

const GROUPS = {
  source: "The numbers of the words that are read",
  read: "The reader: tanh(x · word + h · state before + b)",
  first: "The first state of the writer: tanh(h · last state + b)",
  align: "The scores, by two hidden units: v · tanh(s · writer + h · reader + b)",
  target: "The numbers of the words that were written",
  write: "The next state: tanh(s · state + y · last word + c · context + b)",
  output: "The score of each next word: s · state + c · context + b",
};

export function weightsPanel(story) {
  const element = h("section", { class: "all-weights", "aria-label": "All weights of the model" });
  const panel = {
    element,
    update(chapter) {
      const held = element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
      const paths = weightPaths(chapter.model);
      const groups = Object.entries(GROUPS).map(([group, name]) => {
        const own = paths.filter((path) => path.startsWith(`${group}.`));
        return own.length ? h("fieldset", {}, h("legend", { text: name }), own.map((path) => field(path, chapter, story))) : null;
      });
      const count = h("p", { class: "rg-note", text: `${paths.length} numbers in all.` });
      const reset = button("As it was trained", () => {
        chapter.weights = {};
        story.show({ still: true });
      }, { disabled: !Object.keys(chapter.weights).length });
      element.replaceChildren(count, ...groups.filter(Boolean), reset);
      [...element.querySelectorAll("input")].find((input) => input.getAttribute("aria-label") === held)?.focus();
    },
  };
  panel.update(story.chapter);
  return panel;
}

function field(path, chapter, story) {
  const name = path.split(".").slice(1).join(" ");
  const input = weightInput(path, chapter.model, (at, value) => story.change(at, value));
  input.classList.toggle("changed", path in chapter.weights);
  return h("label", {}, h("span", { text: name }), input);
}
