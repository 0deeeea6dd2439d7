// The words beside the map, shaded by the weights of one row or one column.

import { shadeStyles } from "../viewer/colours.js";
import { h } from "../viewer/dom.js";
import { shadeOf } from "./scale.js";

const WORDS = 160; // on screen
const NAMED = 5; // strongest places

/** `source` as of a big map; `onPick(axis, place)` is told of a word that was chosen. */
export class WordsView {
  constructor({ source, cross, log, onPick }) {
    Object.assign(this, { source, cross, log, onPick, axis: "row", cell: null });
    this.body = h("div", { class: "text-words" });
    this.note = h("p", { class: "rg-note", text: "Point at the map, or pin a cell, to shade the words by its row." });
    this.element = h("div", {}, this.note, this.body);
  }

  /** Show what a cell's row (or with axis "column" its column) weighs: {row, column}. */
  async show(cell, { axis = this.axis, log = this.log } = {}) {
    Object.assign(this, { cell, axis, log });
    if (!cell) return;
    const mine = (this.showing = {});
    const shaded = axis === "row" ? "column" : "row";
    const size = this.source.size[shaded === "row" ? "rows" : "columns"];
    const middle = this.from?.axis === shaded ? this.from.place : cell[shaded];
    const first = Math.max(0, Math.min(size - WORDS, Math.floor(middle - WORDS / 2)));
    const span = [first, Math.min(size, first + WORDS)];
    const profile = await this.source.profile(axis, cell[axis], span, WORDS);
    const best = profile.strongest.slice(0, NAMED).map(([place]) => this.source[shaded].load(place, place + 1));
    const own = this.source[axis].load(cell[axis], cell[axis] + 1);
    await Promise.all([own, this.source[shaded].load(...span), ...best]);
    if (mine !== this.showing) return;
    this.note.textContent = this.about(profile, span, size);
    this.body.replaceChildren(
      this.words(profile, span[0], shaded),
      size > WORDS ? this.pages(span, shaded, size) : "",
      this.strongest(profile, shaded),
    );
  }

  about({ strongest, total }, [first, last], size) {
    const { cell, axis, source } = this;
    const verb = axis === "row" ? "looks at these words" : "is looked at by these words";
    const inAll = axis === "column" ? `; ${precisely(total)} in all` : "";
    return (
      `“${source[axis].at(cell[axis])}” (${cell[axis]}) ${verb}, deepest ${precisely(strongest[0][1])}; ` +
      `words ${first} to ${last - 1} of ${size}${inAll}.`
    );
  }

  words({ values, strongest }, first, shaded) {
    const { cell, axis, source } = this;
    const top = strongest[0][1] || 1;
    const own = (place) => !this.cross && place === cell[axis];
    const words = values.map((weight, i) =>
      h("span", {
        class: own(first + i) ? "text-word own" : "text-word",
        role: "option",
        "aria-selected": String(own(first + i)),
        tabindex: i ? "-1" : "0",
        dir: "auto",
        title: `${first + i}: ${precisely(weight)}`,
        "data-place": String(first + i),
        text: source[shaded].at(first + i) || " ",
        style: shadeStyles(shadeOf(weight, top, this.log)),
      }),
    );
    return h(
      "div",
      {
        class: "text-list",
        role: "listbox",
        "aria-label": "Words, shaded by weight. Arrow keys move, Enter chooses a word.",
        on: { click: (event) => this.pick(event), keydown: (event) => this.key(event, words) },
      },
      words,
    );
  }

  pages([first, last], shaded, size) {
    const leaf = (text, by, disabled) => {
      const on = { click: () => this.leaf(shaded, first + WORDS / 2 + by) };
      return h("button", { type: "button", class: "button", text, disabled, on });
    };
    const buttons = [leaf("Earlier words", -WORDS, first === 0), leaf("Later words", WORDS, last === size)];
    return h("p", { class: "text-pages" }, buttons);
  }

  strongest({ strongest }, shaded) {
    const places = strongest.slice(0, NAMED).map(([place, weight]) =>
      h("button", {
        type: "button",
        class: "button strong-place",
        text: `${this.source[shaded].at(place)} (${place}) ${precisely(weight)}`,
        on: { click: () => this.leaf(shaded, place) },
      }),
    );
    return h("p", { class: "text-pages" }, "Strongest: ", places);
  }

  leaf(axis, place) {
    this.from = { axis, place };
    this.show(this.cell);
  }

  pick(event) {
    const place = event.target.dataset?.place;
    if (place === undefined) return;
    const shaded = this.axis === "row" ? "column" : "row";
    this.onPick(this.cross ? shaded : this.axis, Number(place)); // of one text, the word becomes the one that looks
  }

  key(event, words) {
    const at = words.indexOf(document.activeElement);
    const [next, before] = [at + 1, at - 1];
    const ways = { ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before, Home: 0, End: words.length };
    const to = ways[event.key];
    if (event.key === "Enter" || event.key === " ") this.pick(event);
    else if (to === undefined) return;
    else words[Math.max(0, Math.min(words.length - 1, to))].focus();
    event.preventDefault();
  }
}

/** A weight as it is, in six digits: what `f"{weight:.6g}"` says, up to how powers of ten are written. */
export const precisely = (weight) => String(Number(weight.toPrecision(6)));
