// Around a big map: its controls, what the cursor is at, how far the exact weights are, and the numbers as a table.

import { button, choice, toggle } from "../page/controls.js";
import { errorBox } from "../page/models.js";
import { ramp } from "../viewer/colours.js";
import { h } from "../viewer/dom.js";
import { DECADES } from "./scale.js";
import { precisely } from "./text.js";
import { inside } from "./window.js";

const TABLE = 24; // rows and columns that the table of numbers may have
const NEAR = 48; // rows or columns around a word that was found

export class MapPanel {
  /** Options: title, batches, onChange(changes), announce(text). */
  constructor(box, map, state, { title, batches, onChange, announce }) {
    Object.assign(this, { map, state, onChange, announce, place: -1 });
    this.readout = h("output", { class: "rg-readout", text: "Point at a cell, or use the arrow keys." });
    this.status = h("p", { class: "map-state", role: "status" });
    this.legend = h("p", { class: "rg-legend" });
    this.errors = h("div");
    this.count = h("span", { class: "rg-note", role: "status" });
    box.replaceChildren(
      h("h2", { class: "named", text: title }),
      this.tools(batches),
      this.searchTools(),
      this.errors,
      map.element,
      this.status,
      h("div", { class: "rg-foot" }, this.readout, this.legend),
      this.table(),
    );
    map.watch();
    if (state.find) this.search(state.find, state.axis);
  }

  tools(batches) {
    const { state, map } = this;
    const items = Object.fromEntries(Array.from({ length: batches }, (_, n) => [n, `item ${n}`]));
    return h(
      "div",
      { class: "map-tools" },
      batches > 1 && choice("Batch", items, String(state.batch), (n) => this.onChange({ batch: Number(n) })),
      choice("A cell is", { max: "its largest weight", mean: "the mean" }, state.by, (by) => this.onChange({ by })),
      choice("Scale", { linear: "linear", log: "logarithmic" }, map.log ? "log" : "linear", (scale) =>
        this.onChange({ log: scale === "log" }),
      ),
      toggle("Scale without the first token", state.withoutSink, (withoutSink) => this.onChange({ withoutSink })),
      h(
        "span",
        { class: "group", role: "group", "aria-label": "Zoom" },
        button("+", () => map.zoom(0.5), { "aria-label": "Zoom in" }),
        button("−", () => map.zoom(2), { "aria-label": "Zoom out" }),
        button("Whole map", () => map.whole()),
        button("Unpin", () => map.setPin(null)),
      ),
    );
  }

  searchTools() {
    const { state } = this;
    const field = h("input", {
      type: "search",
      value: state.find,
      maxlength: "200",
      on: { keydown: (event) => event.key === "Enter" && find() },
    });
    field.value = state.find;
    const find = () => {
      const again = field.value === state.find && this.places?.length;
      if (again) this.next(1);
      else this.search(field.value, state.axis, { go: true });
    };
    const axes = { column: "keys (columns)", row: "queries (rows)" };
    return h(
      "div",
      { class: "map-tools" },
      h("label", { class: "control" }, h("span", { text: "Find a token" }), field),
      choice("In", axes, state.axis, (axis) => this.search(field.value, axis, { go: true })),
      h(
        "span",
        { class: "group", role: "group", "aria-label": "Places found" },
        button("Find", find),
        button("‹", () => this.next(-1), { "aria-label": "Previous place" }),
        button("›", () => this.next(1), { "aria-label": "Next place" }),
      ),
      this.count,
    );
  }

  async search(find, axis, { go = false } = {}) {
    Object.assign(this.state, { find, axis });
    this.places = [];
    this.place = -1;
    this.count.textContent = "";
    if (find) {
      try {
        const { places, count } = await this.map.source.search(axis, find);
        this.places = places;
        this.count.textContent = count ? `${count} found` : `“${find}” is not there`;
      } catch (error) {
        this.fail(error);
      }
    }
    this.onChange({ find, axis, found: { axis, places: this.places } });
    if (go) this.next(1);
  }

  /** Go to another place that was found: near enough to read its label. */
  next(by) {
    if (!this.places?.length) return;
    const { map, places } = this;
    this.place = (this.place + by + places.length) % places.length;
    const at = places[this.place];
    const { part, source } = map;
    this.count.textContent = `${this.place + 1} of ${places.length}: place ${at}`;
    if (this.state.axis === "column") {
      const width = Math.min(part.width, NEAR);
      map.moveTo(inside({ ...part, left: at + 0.5 - width / 2, width }, source.size));
    } else {
      const height = Math.min(part.height, NEAR);
      map.moveTo(inside({ ...part, top: at + 0.5 - height / 2, height }, source.size));
    }
    const middle = { row: map.part.top + map.part.height / 2, column: map.part.left + map.part.width / 2 };
    map.setCursor(map.cellOf(...(this.state.axis === "column" ? [middle.row, at] : [at, middle.column])));
  }

  /** Say what the cell under the cursor is, its number as it is. */
  tell(cell) {
    if (!cell) {
      this.readout.textContent = "Point at a cell, or use the arrow keys.";
      return;
    }
    const { row, column, down, across, weight } = cell;
    const { source, by } = this.map;
    const [query, key] = [`“${source.row.at(row)}”`, `“${source.column.at(column)}”`];
    this.readout.textContent =
      down * across === 1
        ? `${query} (${row}) looks at ${key} (${column}): ${precisely(weight)}`
        : `queries ${row} to ${row + down - 1}, from ${query}; keys ${column} to ${column + across - 1}, from ${key}: ` +
          `${by === "max" ? "largest weight" : "mean"} ${precisely(weight)}`;
    this.readout.dataset.weight = String(weight);
  }

  /** Whether what is drawn is exact; the legend of its scale. */
  progress(share, state) {
    const text = {
      exact: "Exact: every weight of this part was computed.",
      sampled: `Drawn from sampled rows; exact weights are coming: ${Math.floor(share * 100)} %.`,
      waiting: "Computing …",
    }[state];
    if (this.status.textContent !== text) this.status.textContent = text;
    this.status.dataset.state = state;
    const { top, log } = this.map;
    const key = `${top} ${log}`;
    if (this.legend.dataset.key === key) return;
    this.legend.dataset.key = key;
    this.legend.replaceChildren(
      h("span", { text: log ? precisely(top / 10 ** DECADES) : "0" }),
      h("span", { class: "rg-ramp", style: { background: ramp(0, 1) } }),
      h("span", { text: `${precisely(top)}${log ? ", logarithmic" : ""}` }),
    );
  }

  table() {
    const body = h("div");
    const details = h(
      "details",
      { class: "rg-numbers map-numbers", on: { toggle: () => details.open && this.fill(body) } },
      h("summary", { text: "Numbers on screen as a table" }),
      body,
    );
    return details;
  }

  /** The first weights on screen, exactly. */
  async fill(body) {
    const { part, source } = this.map;
    const [top, left] = [Math.floor(part.top), Math.floor(part.left)];
    const bottom = Math.min(top + TABLE, source.size.rows, Math.ceil(part.top + part.height));
    const right = Math.min(left + TABLE, source.size.columns, Math.ceil(part.left + part.width));
    try {
      const [{ values }] = await Promise.all([
        source.numbers({ rows: [top, bottom], columns: [left, right], precise: true }),
        source.row.load(top, bottom),
        source.column.load(left, right),
      ]);
      const columns = Array.from({ length: right - left }, (_, j) => left + j);
      const label = (axis, place) => `${axis.at(place)} (${place})`;
      const head = h("tr", {}, h("td"), columns.map((j) => h("th", { scope: "col", text: label(source.column, j) })));
      const rows = Array.from({ length: bottom - top }, (_, i) => {
        const weights = values.subarray(i * columns.length, (i + 1) * columns.length);
        const cells = [...weights].map((weight) => h("td", { text: precisely(weight) }));
        return h("tr", {}, h("th", { scope: "row", text: label(source.row, top + i) }), cells);
      });
      const table = h("table", {}, h("thead", {}, head), h("tbody", {}, rows));
      const name = { role: "region", "aria-label": "Weights as a table" };
      body.replaceChildren(h("div", { class: "rg-scroll", tabindex: "0", ...name }, table));
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    if (error.name === "AbortError") return;
    this.errors.replaceChildren(errorBox(error.message));
  }
}
