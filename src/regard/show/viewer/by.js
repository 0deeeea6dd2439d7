// Which numbers a map shows: "weights" (where it looked) or "needed" (the nats that a word loses when a part is hidden).

import { scaleTop } from "./colours.js";
import { h } from "./dom.js";

const MAPS = { weights: "where it looked", needed: "what it needed" };
export const LEAST_NEEDED = 0.01; // nats; what costs less is taken as not needed

/** The choice between the two maps of `data` {weights, needed?, by?}. */
export class ByChoice {
  /** Options: needed() promises the numbers that `data` has not got; onBy(by). `changed(waiting)` is called to draw. */
  constructor(data, { needed = null, onBy = () => {} }, changed) {
    Object.assign(this, { data, ask: needed, onBy, changed, by: "weights", needed: data.needed ?? null });
    if (this.needed && data.by === "needed") this.by = "needed";
    this.element = this.needed || needed ? this.build() : null;
  }

  build() {
    const name = `rg-by-${(switches += 1)}`;
    this.inputs = Object.keys(MAPS).map((by) =>
      h("input", { type: "radio", name, value: by, checked: by === this.by, on: { change: () => this.choose(by) } }),
    );
    return h(
      "div",
      { class: "rg-by", role: "radiogroup", "aria-label": "What the map shows" },
      this.inputs.map((input) => h("label", {}, input, h("span", { text: MAPS[input.value] }))),
    );
  }

  /** Show what was asked for by `data` at the start, where it has to be fetched first. */
  start() {
    if (this.data.by === "needed" && this.by !== "needed") this.choose("needed");
  }

  /** Show a map; gives back whether it could be. */
  async choose(by) {
    if (!this.element || by === this.by) return;
    this.wanted = by;
    this.inputs.forEach((input) => (input.checked = input.value === by));
    if (by === "needed" && !this.needed && !(await this.fetched())) return;
    if (this.wanted !== by) return;
    this.by = by;
    this.changed();
    this.onBy(by);
  }

  async fetched() {
    this.changed("Measuring what each word needed …");
    try {
      this.needed = await this.ask();
      return true;
    } catch (error) {
      this.wanted = this.by;
      this.inputs.forEach((input) => (input.checked = input.value === this.by));
      if (error.name !== "AbortError") this.changed(error.message);
      return false;
    }
  }

  get isNeeded() {
    return this.by === "needed";
  }

  /** The numbers of the chosen map, below 0 where a word becomes likelier. */
  get numbers() {
    return this.isNeeded ? this.needed : this.data.weights;
  }
}

let switches = 0;

/** The number of the deepest colour: a weight, or nats rounded up to a tenth. */
export function topOf(table, isNeeded) {
  const top = scaleTop(table);
  return isNeeded && top > 1 ? Math.ceil(Math.round(top * 1e5) / 1e4) / 10 : top;
}
