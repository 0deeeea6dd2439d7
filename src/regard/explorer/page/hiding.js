// What changes when a part is hidden: the sentence before and after it, and what differs between them.

import { button, toggle } from "./controls.js";
import { h } from "../viewer/dom.js";

/** For each word of either list, whether it is missing in the other: those outside their longest common subsequence. */
export function changes(before, after) {
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i][j] =
        before[i] === after[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const [lost, gained] = [before.map(() => true), after.map(() => true)];
  for (let i = 0, j = 0; i < before.length && j < after.length; )
    if (before[i] === after[j]) lost[i++] = gained[j++] = false;
    else if (common[i + 1][j] >= common[i][j + 1]) i += 1;
    else j += 1;
  return [lost, gained];
}

/** How many words differ, for those who hear it. */
export function changedWords(before, after) {
  const count = Math.max(...changes(before, after).map((differs) => differs.filter(Boolean).length));
  return count ? `${count} ${count === 1 ? "word" : "words"} changed` : "nothing changed";
}

/** The two sentences beside each other, what differs marked; `what` says what was hidden. */
export function comparison(before, after, what) {
  const [lost, gained] = changes(before, after);
  const same = ![...lost, ...gained].includes(true);
  return h(
    "div",
    { class: "comparison" },
    marked("As it is", before, lost, "del"),
    marked(`Without ${what}`, after, gained, "ins"),
    same && h("p", { class: "rg-note unchanged", text: "Nothing changed: it wrote the same without looking there." }),
  );
}

function marked(name, words, differs, tag) {
  const parts = words.flatMap((word, i) => [i ? " " : "", differs[i] ? h(tag, { text: word }) : word]);
  return h(
    "div",
    {},
    h("p", { class: "rg-note", text: name }),
    h("p", { class: "answer", dir: "auto" }, parts.length ? parts : "(nothing was written)"),
  );
}

/**
 * What is hidden, and the way back. `hidden` are names with what shows each again [{name, show}]; or a text where there
 * are too many to name.
 */
export function hiddenBar({ hidden, fromInput, inputLabel, onInput, onUndo, onClear }) {
  const names = Array.isArray(hidden)
    ? hidden.map(({ name, show }) =>
        h(
          "button",
          { type: "button", class: "chip", "aria-label": `Show “${name}” again`, on: { click: show } },
          h("s", { dir: "auto", text: name }),
          h("span", { "aria-hidden": "true", text: " ✕" }),
        ),
      )
    : hidden;
  return h(
    "div",
    { class: "hidden-bar", role: "group", "aria-label": "What is hidden" },
    h("span", { class: "hidden-names" }, Array.isArray(hidden) ? "Hidden: " : "", names),
    button("Undo", onUndo, { class: "button undo" }),
    onClear && button("Show all", onClear),
    toggle(inputLabel, fromInput, onInput),
  );
}
