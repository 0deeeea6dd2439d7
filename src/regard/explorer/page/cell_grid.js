// A grid over a photograph: its cells are hidden and shown again by clicks, by drawing over them, or by keys.

import { h } from "../viewer/dom.js";

const LABEL = "Places of the photograph. Arrow keys move; Space or Enter hides a place or shows it again.";

export class CellGrid {
  /** `size` [rows, columns], `hidden` [[row, column]]; `onChange(cells, hide)` when cells were hidden or shown again. */
  constructor([rows, columns], hidden, onChange) {
    Object.assign(this, { rows, columns, onChange, stroke: null });
    const isHidden = new Set(hidden.map(String));
    this.cells = Array.from({ length: rows * columns }, (_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      return h("button", {
        type: "button",
        "aria-label": `row ${row + 1}, column ${column + 1}`,
        "aria-pressed": String(isHidden.has(`${row},${column}`)),
        tabindex: at === 0 ? "0" : "-1",
      });
    });
    this.element = h("div", { class: "cell-grid", role: "group", "aria-label": LABEL }, this.cells);
    this.element.style.gridTemplate = `repeat(${rows}, 1fr) / repeat(${columns}, 1fr)`;
    this.listen();
  }

  listen() {
    const at = (event) => this.cells.indexOf(event.target);
    const { element } = this;
    element.addEventListener("pointerdown", (event) => {
      this.pointer = event.pointerType;
      if (event.pointerType !== "mouse" || event.button || at(event) < 0) return;
      event.preventDefault();
      this.begin(at(event));
      document.addEventListener("pointerup", () => this.end(), { once: true });
    });
    element.addEventListener("pointerover", (event) => this.stroke && at(event) >= 0 && this.draw(at(event)));
    element.addEventListener("click", (event) => {
      if ((event.detail > 0 && this.pointer === "mouse") || at(event) < 0) return; // drawn when it was pressed
      this.begin(at(event));
      this.end();
    });
    element.addEventListener("keydown", (event) => this.key(event, at(event)));
  }

  begin(at) {
    this.focus(at);
    this.stroke = { hide: this.cells[at].getAttribute("aria-pressed") !== "true", cells: [] };
    this.draw(at);
  }

  draw(at) {
    if (this.cells[at].getAttribute("aria-pressed") === String(this.stroke.hide)) return;
    this.cells[at].setAttribute("aria-pressed", String(this.stroke.hide));
    this.stroke.cells.push([Math.floor(at / this.columns), at % this.columns]);
  }

  end() {
    const { cells, hide } = this.stroke;
    this.stroke = null;
    this.onChange(cells, hide);
  }

  key(event, at) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const leavesRow = Math.abs(step) === 1 && Math.floor(at / this.columns) !== Math.floor((at + step) / this.columns);
    if (this.cells[at + step] && !leavesRow) this.focus(at + step);
  }

  focus(at) {
    this.cells.forEach((cell, other) => (cell.tabIndex = other === at ? 0 : -1));
    this.cells[at].focus({ preventScroll: true });
  }

  /** The cell that has the focus, or null. */
  get held() {
    const at = this.cells.indexOf(document.activeElement);
    return at < 0 ? null : at;
  }
}

/** The cells of a grid `to` [rows, columns] that show the places of `cells` of a grid `from`: half of each at least. */
export function sameCells(cells, from, to) {
  if (String(from) === String(to)) return cells;
  const shared = (place, [size, other]) => (at) =>
    Math.max(0, Math.min((place + 1) / size, (at + 1) / other) - Math.max(place / size, at / other)) * other;
  const covered = new Map();
  for (const [row, column] of cells) {
    const [down, across] = [shared(row, [from[0], to[0]]), shared(column, [from[1], to[1]])];
    for (let i = 0; i < to[0]; i += 1)
      for (let j = 0; j < to[1]; j += 1)
        covered.set(`${i},${j}`, (covered.get(`${i},${j}`) ?? 0) + down(i) * across(j));
  }
  return [...covered].filter(([, part]) => part >= 0.4999).map(([cell]) => cell.split(",").map(Number));
}
