// The line below the stage: the sum that a number came from, whose weights can be changed.

import { weightOf } from "../maths/blackboard.js";
import { parseNumber } from "../page/state.js";
import { formula, h } from "../viewer/dom.js";
import { decimal } from "./layout.js";

/** The letter of a number, as the stage writes it: "e.1.2" is e with 12 below. */
export function letterOf(key) {
  const [name, ...places] = key.split(".");
  const letters = { x: "x", h: "h", s: "s", y: "y", e: "e", a: "a", map: "a", c: "c", g: "exp e", w: "a·h", u: "u", o: "logit", p: "share" };
  const below = places.filter((place) => /^\d+$/.test(place)).join("");
  return `*${letters[name] ?? name}*${below ? `_{${below}}` : ""}`;
}

/** What the line shows of a number: its letter, the sum, and what it gives. `change(path, value)` sets a weight. */
export function sumLine(key, { value, sum }, chapter, trace, change) {
  const parts = sum.map((part) => {
    if (typeof part === "string") return part;
    if (part.weight) return weightInput(part.weight, chapter.model, change);
    const known = trace.numbers.get(part.number);
    return part.spelled ? h("span", { class: "spelled" }, partsOf(known, chapter, trace, change)) : decimal(known.value);
  });
  return [formula(letterOf(key)), " = ", ...parts, " = ", h("strong", { text: decimal(value) })];
}

const partsOf = ({ sum }, chapter, trace, change) =>
  sum.map((part) => {
    if (typeof part === "string") return part;
    return part.weight ? weightInput(part.weight, chapter.model, change) : decimal(trace.numbers.get(part.number).value);
  });

/** A weight of the model that can be typed over; what is no number is not taken. */
export function weightInput(path, model, change) {
  const value = weightOf(model, path);
  const text = String(value).replace("-", "−");
  const input = h("input", {
    class: "weight",
    type: "text",
    inputmode: "decimal",
    "aria-label": `weight ${path}`,
    value: text,
    size: String(Math.max(2, text.length)),
    on: {
      change: () => {
        const typed = parseNumber(input.value);
        if (typed === null || Math.abs(typed) > 100) input.value = text;
        else change(path, typed);
      },
    },
  });
  return input;
}
