// The names over a map's columns; where a listener is given, buttons that hide and show a column.

import { shadeStyles } from "./colours.js";
import { h } from "./dom.js";

const LABEL = "Input words. Arrow keys move; press a word to hide it or to show it again.";

export class Columns {
  /** `hidden` are the columns that could not be looked at; `onColumn(j)` makes the names buttons. */
  constructor(names, { hidden = [], onColumn = null } = {}) {
    this.hidden = new Set(hidden);
    this.labels = names.map((name, j) =>
      onColumn ? this.button(name, j, onColumn) : h("span", { class: "rg-column", dir: "auto", text: name, title: name }),
    );
    this.hidden.forEach((j) => this.labels[j]?.classList.add("rg-hidden"));
    this.element = onColumn
      ? h("div", { class: "rg-columns", role: "group", "aria-label": LABEL, on: { keydown: (event) => this.key(event) } })
      : h("div", { class: "rg-columns", "aria-hidden": "true" });
    this.element.append(...this.labels);
  }

  button(name, j, onColumn) {
    const isHidden = this.hidden.has(j);
    return h("button", {
      type: "button",
      class: "rg-column",
      dir: "auto",
      text: name,
      title: isHidden ? `${name}: show it again` : `${name}: hide it`,
      "aria-pressed": String(isHidden),
      tabindex: j === 0 ? "0" : "-1",
      on: { click: () => onColumn(j) },
    });
  }

  key(event) {
    const at = this.labels.indexOf(event.target);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: this.labels.length - 1 }[event.key];
    if (next === undefined || !this.labels[next]) return;
    this.focus(next);
    event.preventDefault();
    event.stopPropagation();
  }

  focus(j) {
    this.labels.forEach((label, at) => (label.tabIndex = at === j ? 0 : -1));
    this.labels[j].focus();
  }

  /** Each name on the colour of its shade, from 0 to 1; null for none. */
  shade(shades) {
    this.labels.forEach((label, j) =>
      Object.assign(label.style, shades[j] === null ? { backgroundColor: "", color: "" } : shadeStyles(shades[j])),
    );
  }
}
