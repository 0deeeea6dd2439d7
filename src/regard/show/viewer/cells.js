// Tables of numbers as coloured cells; pointing at a number shows the numbers it came from.
//
// A table: {id, name, formula, note, rows, columns, values, editable?, axes?, made_from?, from?, why?}. `axes` and
// `made_from` are those of `regard.Step`; `from` gives for a cell the [id, row, column] of what it was computed from,
// `why` the sum in words; each is a function (row, column) or a nested list.

import { ramp, shadeStyles, signedShades } from "./colours.js";
import { formula, h, plainFormula } from "./dom.js";
import { short } from "./numbers.js";

/** One table. `onVisit(row, column)` when a cell is pointed at or focused, `onEdit(row, column, text)` when typed in. */
export class Cells {
  constructor(table, { onVisit = () => {}, onEdit = () => {} } = {}) {
    this.onVisit = onVisit;
    this.onEdit = onEdit;
    this.heading = h("figcaption", { class: "rg-heading" });
    this.scroll = h("div", { class: "rg-scroll" });
    this.element = h("figure", { class: "rg-cells" }, this.heading, this.scroll);
    this.update(table);
  }

  /** Show new numbers; the elements stay where the shape stays, so that focus and caret do. */
  update(table) {
    const shape = JSON.stringify([
      table.id,
      table.name,
      table.formula,
      table.note,
      table.rows,
      table.columns,
      table.values.length,
      table.values[0]?.length,
      Boolean(table.editable),
    ]);
    this.table = table;
    if (shape !== this.shape) this.build(table);
    this.shape = shape;
    const shade = signedShades(table.values);
    table.values.forEach((row, i) => row.forEach((number, j) => this.fill(this.cells[i][j], number, shade[i][j])));
  }

  build(table) {
    this.heading.replaceChildren(
      ...[
        h("strong", { class: "rg-name", text: table.name }),
        table.formula && h("span", { class: "rg-formula" }, formula(table.formula)),
        table.note && h("span", { class: "rg-note", text: table.note }),
      ].filter(Boolean),
    );
    const label = `${table.name}${table.formula ? `, ${plainFormula(table.formula)}` : ""}`;
    this.cells = table.values.map((row, i) => row.map((_, j) => this.cell(table, i, j)));
    const head =
      table.columns &&
      h(
        "tr",
        {},
        table.rows && h("td", { class: "rg-corner" }),
        table.columns.map((name) => h("th", { scope: "col", dir: "auto", text: name })),
      );
    const rows = this.cells.map((cells, i) =>
      h("tr", {}, table.rows && h("th", { scope: "row", dir: "auto", text: table.rows[i] }), cells),
    );
    this.grid = h(
      "table",
      { role: "grid", "aria-label": label, on: { keydown: (event) => this.move(event) } },
      head && h("thead", {}, head),
      h("tbody", {}, rows),
    );
    this.scroll.replaceChildren(this.grid);
  }

  cell(table, i, j) {
    const visit = () => this.onVisit(i, j);
    const where = `${table.name}, row ${table.rows?.[i] ?? i + 1}, column ${table.columns?.[j] ?? j + 1}`;
    if (!table.editable) {
      const tabindex = i === 0 && j === 0 ? "0" : "-1";
      return h("td", {
        class: "rg-cell",
        role: "gridcell",
        tabindex,
        on: { pointerenter: visit, focus: visit, click: visit },
      });
    }
    const input = h("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": where,
      on: {
        focus: () => {
          visit();
          input.select();
        },
        input: () => this.onEdit(i, j, input.value),
      },
    });
    return h("td", { class: "rg-cell rg-editable", role: "gridcell", on: { pointerenter: visit } }, input);
  }

  fill(cell, number, shade) {
    Object.assign(cell.style, shadeStyles(shade));
    const input = cell.querySelector("input");
    if (!input) cell.textContent = short(number);
    else if (document.activeElement !== input) {
      input.value = String(number);
      input.removeAttribute("aria-invalid");
    }
  }

  /** Arrow keys go from cell to cell; inside a number being typed, left and right stay with the caret. */
  move(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const typing = event.target instanceof HTMLInputElement;
    if (!step || (typing && step[0] === 0)) return;
    const [row, column] = this.placeOf(event.target);
    const next = this.cells[row + step[0]]?.[column + step[1]];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    if (!typing) {
      event.target.tabIndex = -1;
      next.tabIndex = 0;
    }
    (next.querySelector("input") ?? next).focus();
  }

  placeOf(target) {
    const cell = target.closest("td");
    const row = this.cells.findIndex((cells) => cells.includes(cell));
    return [row, this.cells[row].indexOf(cell)];
  }

  mark(row, column, kind) {
    this.cells[row]?.[column]?.classList.add(`rg-${kind}`);
  }

  unmark() {
    for (const cell of this.cells.flat()) cell.classList.remove("rg-target", "rg-source");
  }
}

/** Ties tables together: `visit(id, row, column)` marks the cell and its sources, and says why to `tell`. */
export class Links {
  constructor(tell) {
    this.tell = tell;
    this.tables = new Map();
  }

  add(cells) {
    this.tables.set(cells.table.id, cells);
  }

  visit(id, row, column) {
    this.clear();
    const { table } = this.tables.get(id);
    this.tables.get(id).mark(row, column, "target");
    for (const [from, i, j] of looked(table.from, row, column) ?? []) this.tables.get(from)?.mark(i, j, "source");
    const name = `${table.name}${place(table, row, column)}`;
    this.tell(looked(table.why, row, column) ?? `${name} = ${short(table.values[row][column])}`);
  }

  clear() {
    for (const cells of this.tables.values()) cells.unmark();
  }
}

/** What the colours of tables mean. */
export function signedLegend() {
  return h(
    "p",
    { class: "rg-legend" },
    "below 0",
    h("span", { class: "rg-ramp", style: { background: ramp(-1, 1) } }),
    "above 0; the stronger, the larger in its table",
  );
}

/** Tables in a row with their links, as in {kind: "steps", tables}. */
export function mountSteps(element, data) {
  const why = h("output", { class: "rg-readout rg-why", text: "Point at a number to see where it came from." });
  const links = new Links((text) => (why.textContent = text));
  const tables = data.tables.map((table) => {
    const cells = new Cells(table, { onVisit: (i, j) => links.visit(table.id, i, j) });
    links.add(cells);
    return cells.element;
  });
  element.append(h("div", { class: "rg-strip" }, tables), signedLegend(), why);
}

/** A table with its links as lists, so that it can be written to a file. */
export function written(table, { links = true } = {}) {
  const { id, name, formula: text, note, rows, columns, values, axes, made_from } = table;
  const each = (link) => values.map((row, i) => row.map((_, j) => looked(link, i, j) ?? null));
  const ties = links && table.from ? { from: each(table.from), why: each(table.why) } : {};
  return { id, name, formula: text, note, rows, columns, values, axes, made_from, ...ties };
}

function looked(link, row, column) {
  return typeof link === "function" ? link(row, column) : link?.[row]?.[column];
}

function place(table, row, column) {
  const names = [table.rows?.[row], table.columns?.[column]].filter(Boolean);
  return names.length ? ` (${names.join(", ")})` : "";
}
