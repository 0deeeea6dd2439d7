// The map of an alignment: rows are output words, columns input words, each cell the weight of one on the other.
//
// Data: {kind: "map", rows, columns, weights, scores?, heads?: [{name, weights}], needed?, by?, hidden?: [column]}.

import { ByChoice, topOf } from "./by.js";
import { colourOf, css, inkOn, isDark } from "./colours.js";
import { Columns } from "./columns.js";
import { h, onScheme, onWidth } from "./dom.js";
import { share, short } from "./numbers.js";
import { dearest, legend, loss, strongest } from "./readout.js";

const LARGEST_CELL = 46;
const SMALLEST_CELL = 15;
const SMALLEST_BUTTON = 22; // of a column that can be pressed
const SLANT = Math.PI / 4;

/**
 * Options: selected (rows at the start), onSelect(rows), onColumn(column) when a column's name is pressed, needed() and
 * onBy(by) as for ByChoice. Gives {element, select(rows), focusColumn(column), destroy()}.
 */
export function mountHeatmap(element, data, options = {}) {
  const heatmap = new Heatmap(data, options);
  element.append(heatmap.element);
  heatmap.watch();
  return heatmap;
}

class Heatmap {
  constructor(data, { selected = [], onSelect = () => {}, onColumn = null, needed, onBy }) {
    this.data = data;
    this.onSelect = onSelect;
    this.names = new Columns(data.columns, { hidden: data.hidden, onColumn });
    this.columns = this.names.labels;
    this.smallest = onColumn ? SMALLEST_BUTTON : SMALLEST_CELL;
    this.by = new ByChoice(data, { needed, onBy }, (waiting) => this.turn(waiting));
    this.selected = new Set(selected.filter((row) => row < data.rows.length));
    this.hovered = null;
    this.sheet = data.weights;
    this.take();
    this.build();
  }

  build() {
    const { rows } = this.data;
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.rows = rows.map((word, i) =>
      h("div", {
        class: "rg-row",
        role: "option",
        dir: "auto",
        text: word,
        title: word,
        id: `rg-row-${(counter += 1)}`,
        tabindex: i === 0 ? "0" : "-1",
        "aria-selected": String(this.selected.has(i)),
      }),
    );
    this.list = h(
      "div",
      {
        class: "rg-rows",
        role: "listbox",
        "aria-multiselectable": "true",
        "aria-label": "Output words. Arrow keys move, Space keeps a row, Escape lets all go.",
      },
      this.rows,
    );
    this.cursor = h("div", { class: "rg-cursor", hidden: true });
    this.plot = h(
      "div",
      { class: "rg-plot" },
      this.names.element,
      this.list,
      this.canvas,
      this.cursor,
    );
    this.readout = h("output", { class: "rg-readout" });
    this.legend = legend(this.most, this.by.isNeeded);
    this.scroll = h("div", { class: "rg-scroll" }, this.plot);
    this.element = h(
      "figure",
      { class: "rg-map" },
      this.by.element,
      this.sheets(),
      this.scroll,
      h("div", { class: "rg-foot" }, this.readout, this.legend),
      this.numbers(),
    );
    this.listen();
    this.tell();
  }

  /** The choice of a layer and a head, where there is one. */
  sheets() {
    const found = sheetsOf(this.data);
    if (found.length < 2) return null;
    const pick = h(
      "select",
      { on: { change: () => this.show(found[pick.selectedIndex].weights) } },
      found.map((sheet) => h("option", { text: sheet.name })),
    );
    this.choice = h("label", { class: "rg-choice", hidden: this.by.isNeeded }, "Weights of ", pick);
    return this.choice;
  }

  /** Show another sheet of weights. */
  show(sheet) {
    this.sheet = sheet;
    this.turn();
  }

  /** The numbers to draw, and the number of the deepest colour. */
  take() {
    this.weights = this.by.isNeeded ? this.by.numbers : this.sheet;
    this.most = topOf(this.weights, this.by.isNeeded);
  }

  /** Draw the numbers that were chosen; or say what is being `waited` for. */
  turn(waited) {
    if (waited) {
      this.readout.textContent = waited;
      return;
    }
    this.take();
    if (this.choice) this.choice.hidden = this.by.isNeeded;
    this.legend.replaceWith((this.legend = legend(this.most, this.by.isNeeded)));
    this.refresh();
    if (this.table.open) this.fillTable();
  }

  focusColumn(column) {
    this.names.focus(column);
  }

  numbers() {
    this.table = h(
      "details",
      { class: "rg-numbers", on: { toggle: () => this.table.open && this.fillTable() } },
      h("summary", { text: "All numbers as a table" }),
    );
    return this.table;
  }

  fillTable() {
    const { rows, columns } = this.data;
    const head = h(
      "tr",
      {},
      h("td"),
      columns.map((word) => h("th", { scope: "col", dir: "auto", text: word })),
    );
    const body = rows.map((word, i) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", dir: "auto", text: word }),
        this.weights[i].map((weight) => h("td", { text: short(weight) })),
      ),
    );
    this.table.querySelector("div")?.remove();
    this.table.append(
      h(
        "div",
        { class: "rg-scroll", tabindex: "0", role: "region", "aria-label": "The numbers as a table" },
        h("table", {}, h("thead", {}, head), h("tbody", {}, body)),
      ),
    );
  }

  watch() {
    const ends = [
      onWidth(this.element, (width) => {
        this.layout(width);
        this.draw();
      }),
      onScheme(() => this.cell && isDark(this.canvas) !== this.dark && this.draw()),
    ];
    this.stop = () => ends.forEach((end) => end());
    this.by.start();
  }

  destroy() {
    this.stop?.();
    this.element.remove();
  }

  layout(width) {
    const widest = (elements) => Math.max(0, ...elements.map((element) => element.scrollWidth));
    for (const label of [...this.rows, ...this.columns]) label.style.cssText = "";
    this.plot.classList.toggle("rg-tight", (width * 0.65) / Math.max(this.columns.length, 1) < 22);
    const left = Math.min(widest(this.rows) * 1.08, Math.max(90, width * 0.3)) + 10;
    const word = Math.min(widest(this.columns) + 2, 150);
    const count = Math.max(this.columns.length, 1);
    const room = (width - left - 4) / count;
    const flat = word + 6 <= Math.min(room, 110);
    const over = flat ? 0 : word * Math.cos(SLANT);
    this.cell = Math.round(
      Math.max(
        this.smallest,
        Math.min(flat ? Math.max(word + 6, LARGEST_CELL) : LARGEST_CELL, (width - left - over - 4) / count),
      ),
    );
    this.height = Math.min(this.cell, 34);
    this.left = left;
    this.top = flat ? 26 : word * Math.sin(SLANT) + 22;
    this.place(flat, word);
    this.plot.style.width = `${left + this.cell * count + over + 4}px`;
    this.plot.style.height = `${this.top + this.height * this.rows.length}px`;
  }

  place(flat, word) {
    this.columns.forEach((label, j) =>
      Object.assign(
        label.style,
        flat
          ? { left: `${this.left + j * this.cell}px`, top: "0", width: `${this.cell}px`, textAlign: "center" }
          : {
              left: `${this.left + (j + 0.5) * this.cell - 6}px`,
              top: `${this.top - 24}px`,
              maxWidth: `${word}px`,
              transform: "rotate(-45deg)",
              transformOrigin: "0 50%",
            },
      ),
    );
    this.rows.forEach((label, i) =>
      Object.assign(label.style, {
        top: `${this.top + i * this.height}px`,
        width: `${this.left - 6}px`,
        height: `${this.height}px`,
        lineHeight: `${this.height}px`,
      }),
    );
    Object.assign(this.canvas.style, { left: `${this.left}px`, top: `${this.top}px` });
  }

  draw() {
    const [width, height] = [this.cell * this.columns.length, this.height * this.rows.length];
    const sharp = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(width * sharp));
    this.canvas.height = Math.max(1, Math.round(height * sharp));
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const pen = this.canvas.getContext("2d");
    pen.scale(sharp, sharp);
    this.dark = isDark(this.canvas);
    const chosen = this.chosen();
    this.weights.forEach((row, i) => row.forEach((weight, j) => this.paint(pen, i, j, weight, chosen)));
  }

  paint(pen, i, j, weight, chosen) {
    const shade = this.names.hidden.has(j) ? NaN : Math.max(0, weight) / this.most;
    const colour = colourOf(shade, this.dark);
    const faded = chosen.length > 0 && !chosen.includes(i);
    pen.globalAlpha = faded ? 0.35 : 1;
    pen.fillStyle = css(colour);
    pen.fillRect(j * this.cell + 0.5, i * this.height + 0.5, this.cell - 1, this.height - 1);
    if (faded || Number.isNaN(shade) || this.cell < 30 || this.height < 18) return;
    pen.fillStyle = inkOn(colour);
    pen.font = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillText(share(weight), (j + 0.5) * this.cell, (i + 0.5) * this.height);
  }

  /** The rows that stand out: those kept, and the one pointed at. */
  chosen() {
    const rows = new Set(this.selected);
    if (this.hovered) rows.add(this.hovered[0]);
    return [...rows].sort((a, b) => a - b);
  }

  listen() {
    for (const moved of ["pointermove", "pointerdown"])
      this.canvas.addEventListener(moved, (event) => this.hover(this.cellAt(event)));
    this.canvas.addEventListener("click", (event) => this.toggle(this.cellAt(event)[0]));
    this.plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.hover(null));
    this.rows.forEach((label, i) => {
      label.addEventListener("pointerenter", () => this.hover([i, null]));
      label.addEventListener("focus", () => this.hover([i, null]));
      label.addEventListener("blur", () => this.hover(null));
      label.addEventListener("click", () => this.toggle(i));
    });
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const row = this.rows.indexOf(event.target);
    const next = { ArrowUp: row - 1, ArrowDown: row + 1, Home: 0, End: this.rows.length - 1 }[event.key];
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (next !== undefined && this.rows[next]) this.focus(next);
    else if (sideways) this.sideways(row, sideways);
    else if (event.key === " " || event.key === "Enter") this.toggle(row);
    else if (event.key === "Escape") this.select([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus(row) {
    this.rows.forEach((label, i) => (label.tabIndex = i === row ? 0 : -1));
    this.rows[row].focus();
  }

  sideways(row, step) {
    const from = this.hovered?.[1] ?? (step > 0 ? -1 : this.columns.length);
    this.hover([row, Math.min(Math.max(from + step, 0), this.columns.length - 1)]);
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = (at, size, count) => Math.min(Math.max(Math.floor(at / size), 0), count - 1);
    return [
      place(event.clientY - box.top, this.height, this.rows.length),
      place(event.clientX - box.left, this.cell, this.columns.length),
    ];
  }

  hover(at) {
    if (String(at) === String(this.hovered)) return;
    this.hovered = at;
    this.refresh();
  }

  toggle(row) {
    const rows = new Set(this.selected);
    if (!rows.delete(row)) rows.add(row);
    this.select([...rows]);
  }

  select(rows) {
    this.selected = new Set(rows);
    this.rows.forEach((label, i) => label.setAttribute("aria-selected", String(this.selected.has(i))));
    this.refresh();
    this.onSelect([...this.selected].sort((a, b) => a - b));
  }

  refresh() {
    if (this.cell) this.draw();
    this.shadeColumns();
    const cell = this.hovered && this.hovered[1] !== null;
    this.cursor.hidden = !cell;
    if (cell)
      Object.assign(this.cursor.style, {
        left: `${this.left + this.hovered[1] * this.cell}px`,
        top: `${this.top + this.hovered[0] * this.height}px`,
        width: `${this.cell}px`,
        height: `${this.height}px`,
      });
    this.tell();
  }

  /** What the chosen rows look at together: their mean, on the input words. */
  shadeColumns() {
    const rows = this.hovered ? [this.hovered[0]] : this.chosen();
    const means = this.columns.map((_, j) => rows.reduce((sum, i) => sum + this.weights[i][j], 0) / (rows.length || 1));
    this.names.shade(means.map((mean) => (rows.length && mean >= 0.05 ? mean / this.most : null)));
    this.rows.forEach((label, i) => label.classList.toggle("rg-lit", rows.includes(i)));
  }

  tell() {
    this.readout.textContent = this.sentence();
  }

  sentence() {
    const { rows, columns } = this.data;
    if (this.hovered && this.hovered[1] !== null) {
      const [i, j] = this.hovered;
      if (this.names.hidden.has(j)) return `“${columns[j]}” is hidden: “${rows[i]}” could not look there`;
      if (this.by.isNeeded) return loss(rows[i], columns[j], this.weights[i][j]);
      const score =
        this.data.scores && this.sheet === this.data.weights ? `, score ${short(this.data.scores[i][j])}` : "";
      return `“${rows[i]}” looks at “${columns[j]}”: ${short(this.weights[i][j])}${score}`;
    }
    const chosen = this.hovered ? [this.hovered[0]] : this.chosen();
    if (!chosen.length)
      return this.by.isNeeded
        ? "Each row is a word written, each number the log-probability, in nats, that it loses when the attention may not see the word above; 0 where it would be likelier. Click rows to keep them."
        : "Each row is a word written; the stronger the blue, the more it looked there. Click rows to keep them.";
    if (this.by.isNeeded) return chosen.map((i) => `“${rows[i]}” ${dearest(this.weights[i], columns)}`).join("; ");
    return chosen.map((i) => `“${rows[i]}” looks at ${strongest(this.weights[i], columns)}`).join("; ");
  }
}

let counter = 0;

/** Every sheet of weights there is, each with the name people choose it by. */
export function sheetsOf({ weights, heads }) {
  return [{ name: "all together", weights }, ...(heads ?? [])];
}
