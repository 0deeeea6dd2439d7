// Steps: edit the numbers and watch every intermediate; the maths runs here, no server is asked.

import { Cells, Links, signedLegend, written } from "../viewer/cells.js";
import { button, choice, refill, stepper, toggle } from "../page/controls.js";
import { h } from "../viewer/dom.js";
import { short } from "../viewer/numbers.js";
import { SCORE_NAMES } from "../maths/presets.js";
import { LIMITS, fit, fresh, fromAddress, parseNumber, parseTable, resized, scoresOf, toAddress } from "../page/state.js";
import { RUNGS, equivariance, trace } from "../maths/trace.js";

export const TITLE = "Steps";
export const LEAD =
  "Attention is a soft look-up: a query is compared with every key, the comparison becomes weights, the weights mix the values. " +
  "Change any number with an underline; point at any other to see what it came from.";
const HINT = "Point at a number, tap it, or go to it with Tab and the arrow keys: its sum appears here.";

export function open(root, params, app) {
  return new Steps(root, params, app);
}

class Steps {
  constructor(root, params, app) {
    this.app = app;
    const { state, ignored } = fromAddress(params);
    this.state = state;
    this.ladder = h("ol", { class: "ladder", "aria-label": "The ladder" });
    this.about = h("p", { class: "about" });
    this.controls = h("div", { class: "controls" });
    this.order = h("section", { class: "callout", "aria-label": "Does order matter?" });
    this.given = h("section", { class: "panel given", "aria-label": "Given" });
    this.computed = h("section", { class: "panel computed", "aria-label": "Computed" });
    this.why = h("output", { class: "why", text: HINT });
    this.links = new Links((text) => (this.why.textContent = text));
    this.given.addEventListener("paste", (event) => this.paste(event));
    root.append(
      this.ladder,
      this.about,
      this.controls,
      this.order,
      signedLegend(),
      h("div", { class: "columns" }, this.given, this.computed),
      this.why,
    );
    if (ignored.length)
      this.why.textContent = `The address held something that cannot be shown (${ignored.join(", ")}); the example's own stands there.`;
    this.render();
  }

  close() {}

  /** Set part of the state, show it, and say it in the address. */
  change(part, { push = false, controls = true } = {}) {
    this.state = fit({ ...this.state, ...part });
    this.render({ controls });
    this.app.write(toAddress(this.state), { push });
  }

  start(rung) {
    this.state = fresh(rung);
    this.why.textContent = HINT;
    this.render();
    this.app.write(toAddress(this.state), { push: true });
  }

  render({ controls = true } = {}) {
    if (controls) this.renderControls();
    const tables = trace(this.state);
    this.links.tables.clear();
    this.fill(this.given, "You give", tables.given);
    this.fill(this.computed, "It computes", [...tables.computed, ...(this.state.order ? [this.beforeShuffle()] : [])]);
    this.renderOrder();
  }

  renderControls() {
    const { state } = this;
    refill(
      this.ladder,
      Object.entries(RUNGS).map(([rung, [name]]) =>
        h(
          "li",
          {},
          h("button", {
            type: "button",
            text: name,
            "aria-current": rung === state.rung ? "step" : null,
            on: { click: () => this.start(rung) },
          }),
        ),
      ),
    );
    this.about.textContent = RUNGS[state.rung][1];
    const scores = Object.fromEntries(scoresOf(state.rung).map((name) => [name, SCORE_NAMES[name]]));
    const both = state.softmax === "both";
    refill(this.controls, [
      choice("Score", scores, state.score, (score) => this.change({ score, weights: {} }, { push: true })),
      !both &&
        choice(
          "Weights by",
          { softmax: "softmax", sparsemax: "sparsemax", hard: "hard (best only)" },
          state.normalize,
          (normalize) => this.change({ normalize }, { push: true }),
        ),
      state.rung === "self" &&
        choice("Softmax", { both: "row by row and whole matrix", rows: "row by row" }, state.softmax, (softmax) =>
          this.change({ softmax, normalize: "softmax" }, { push: true }),
        ),
      ...this.sizes(),
      !both && state.rung !== "heads" && this.followChoice(),
      button("Start over", () => this.start(state.rung), { class: "button quiet" }),
      state.rung !== "self" && button("The four-word example", () => this.start("self"), { class: "button quiet" }),
      state.rung !== "one" && button("The decoder example", () => this.start("one"), { class: "button quiet" }),
    ]);
  }

  followChoice() {
    const rows = this.state.inputs ? this.state.inputs.length : this.state.query.length;
    if (rows < 2) return null;
    const letter = this.state.inputs ? "x" : "q";
    const names = Object.fromEntries(
      Array.from({ length: rows }, (_, i) => [i, `${letter}${(this.state.order?.[i] ?? i) + 1}`]),
    );
    return choice("Follow", names, String(Math.min(this.state.follow, rows - 1)), (follow) =>
      this.change({ follow: Number(follow) }),
    );
  }

  sizes() {
    const { state } = this;
    const rows = (name, count) => ({ [name]: resized(state[name], count, state[name][0].length) });
    const width = (name, count) => ({ [name]: resized(state[name], state[name].length, count) });
    const several = [1, LIMITS.rows];
    if (state.rung === "heads") {
      return [
        stepper("Words", state.inputs.length, [2, LIMITS.rows], (n) =>
          this.change({ ...rows("inputs", n), order: null }),
        ),
        choice("Heads", { 1: "1", 2: "2", 4: "4" }, String(state.heads), (heads) =>
          this.change({ heads: Number(heads) }, { push: true }),
        ),
      ];
    }
    if (state.rung === "self") {
      return [
        stepper("Words", state.inputs.length, [2, LIMITS.rows], (n) =>
          this.change({ ...rows("inputs", n), order: null }),
        ),
        stepper("Width", state.inputs[0].length, [1, 6], (n) => this.change(width("inputs", n))),
      ];
    }
    return [
      state.rung !== "one" && stepper("Queries", state.query.length, several, (n) => this.change(rows("query", n))),
      stepper("Keys", state.keys.length, several, (n) => this.change(rows("keys", n))),
      stepper("Width", state.query[0].length, [1, 6], (n) =>
        this.change({ ...width("query", n), ...width("keys", n) }),
      ),
      state.values && stepper("Value width", state.values[0].length, [1, 6], (n) => this.change(width("values", n))),
    ];
  }

  /** Put the tables into a panel, keeping the elements of those that were there: focus stays where it is. */
  fill(panel, title, tables) {
    const before = panel.known ?? new Map();
    panel.known = new Map(
      tables.map((table) => {
        const cells = before.get(table.id) ?? this.cellsFor(table);
        cells.update(table);
        this.links.add(cells);
        return [table.id, cells];
      }),
    );
    const ids = tables.map((table) => table.id).join();
    if (panel.dataset.tables === ids) return;
    panel.dataset.tables = ids;
    const groups = Map.groupBy(tables, (table) => table.group);
    panel.replaceChildren(
      h("h2", { text: title }),
      ...[...groups].map(([group, members]) =>
        h(
          "div",
          { class: "group" },
          group && h("h3", { text: group }),
          h(
            "div",
            { class: "tables" },
            members.map(({ id }) => panel.known.get(id).element),
          ),
        ),
      ),
    );
  }

  cellsFor(table) {
    const cells = new Cells(table, {
      onVisit: (i, j) => this.links.visit(table.id, i, j),
      onEdit: (i, j, text) => this.edit(table.id, i, j, text),
    });
    cells.element.dataset.table = table.id;
    return cells;
  }

  edit(id, i, j, text) {
    const input = this.links.tables.get(id).cells[i][j].querySelector("input");
    const number = parseNumber(text);
    if (number === null) {
      input.setAttribute("aria-invalid", "true");
      this.why.textContent = `“${text}” is not a number that fits here; type one such as 3, −0.5 or 1e-3. The last good one still counts.`;
      return;
    }
    input.removeAttribute("aria-invalid");
    this.change(
      this.withTable(id, (table) => (table[this.rowOf(id, i)][j] = number)),
      { controls: false },
    );
    this.links.visit(id, i, j);
  }

  /** Inputs are kept in their first order and shown shuffled. */
  rowOf(id, i) {
    return id === "inputs" && this.state.order ? this.state.order[i] : i;
  }

  withTable(id, edit) {
    const own = Object.hasOwn(this.state, id);
    const table = structuredClone(own ? this.state[id] : this.state.weights[id]);
    const edited = edit(table);
    const result = Array.isArray(edited) ? edited : table;
    return own ? { [id]: result } : { weights: { ...this.state.weights, [id]: result } };
  }

  /** Several numbers pasted into a cell replace the whole table. */
  paste(event) {
    const text = event.clipboardData?.getData("text") ?? "";
    const id = event.target.closest("[data-table]")?.dataset.table;
    if (!id || !/[\s,;]/.test(text.trim())) return;
    event.preventDefault();
    const table = parseTable(text.replace(/[[\]]/g, " "));
    const current = this.state[id] ?? this.state.weights[id];
    const free = ["query", "keys", "values", "inputs"].includes(id) && this.state.rung !== "heads";
    const fits = table && (free || (table.length === current.length && table[0].length === current[0].length));
    if (!fits) {
      this.why.textContent = free
        ? `Pasted text must be a table of numbers, at most ${LIMITS.rows} by ${LIMITS.width}.`
        : `A table of ${current.length} by ${current[0].length} numbers fits here.`;
      return;
    }
    document.activeElement.blur();
    const width = ["query", "keys"].includes(id)
      ? { query: resized(this.state.query, this.state.query.length, table[0].length) }
      : {};
    const one = this.state.rung === "one" && id === "query" ? [table[0]] : table;
    this.change({ ...width, ...(id === "inputs" ? { order: null } : {}), [id]: one });
  }

  renderOrder() {
    const { state } = this;
    this.order.hidden = !state.inputs;
    if (!state.inputs) return;
    refill(this.order, [
      h("strong", { text: "Does order matter?" }),
      button("Shuffle the words", () =>
        this.change({ order: shuffled(state.inputs.length, state.order) }, { push: true }),
      ),
      state.order &&
        button("Put them back", () => this.change({ order: null }, { push: true }), { class: "button quiet" }),
      toggle("Give words their places", state.places, (places) => this.change({ places }, { push: true })),
      ...(state.order
        ? this.verdict()
        : [
            h("p", {
              text: "Shuffle the rows and see whether each word still gets the same output. Then give the words their places (sines and cosines are added) and shuffle again.",
            }),
          ]),
    ]);
  }

  verdict() {
    const { same, gap } = equivariance(this.state);
    const text = same
      ? `Same outputs, in the new order (largest difference ${short(gap)}). Attention does not see order: it is permutation-equivariant.`
      : `Not the same any more: the largest difference is ${short(gap)}. ${this.state.places ? "The places tell words apart by where they stand." : "This score looks at the place."}`;
    return [
      h("p", { class: `verdict ${same ? "same" : "different"}`, role: "status", text: `${same ? "✓" : "✗"} ${text}` }),
    ];
  }

  beforeShuffle() {
    const { expected } = equivariance(this.state);
    return {
      id: "expected",
      name: "Before the shuffle, in the new order",
      values: expected,
      group: "Compare with",
      note: "What the words got where they first stood.",
      rows: this.state.order.map((from) => `x${from + 1}`),
    };
  }

  snapshot() {
    const { given, computed } = trace(this.state);
    const title = `${RUNGS[this.state.rung][0]}: ${SCORE_NAMES[this.state.score]} score`;
    const kept = (links) => [...given, ...computed].map((table) => written(table, { links }));
    return {
      name: `regard-${this.state.rung}`,
      data: { kind: "steps", title, tables: kept(true) },
      json: { kind: "steps", title, score: this.state.score, normalize: this.state.normalize, tables: kept(false) },
    };
  }
}

function shuffled(count, before) {
  const identity = Array.from({ length: count }, (_, i) => i);
  const refused = [before ?? identity, ...(count > 2 ? [identity] : [])].map(String);
  const order = [...identity];
  do {
    for (let i = count - 1; i > 0; i -= 1) {
      const j = Math.floor(Math.random() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
  } while (refused.includes(String(order)));
  return String(order) === String(identity) ? null : order;
}
