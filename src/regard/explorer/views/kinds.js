// Kinds: the same query and keys under every score and normaliser; the same sentence under every model.

import { translate } from "../page/api.js";
import { Cells } from "../viewer/cells.js";
import { button, choice, refill, stepper } from "../page/controls.js";
import { formula, h, prose } from "../viewer/dom.js";
import { mount } from "../viewer/map.js";
import { NORMALIZERS, SCORES, gaussian, inWindow, matmul } from "../maths/maths.js";
import { busy, errorBox, hasAttention, modelsFor } from "../page/models.js";
import { percent, share, short } from "../viewer/numbers.js";
import { SCORE_NAMES, scoreWeights } from "../maths/presets.js";
import { parseNumber, parseTable, resized } from "../page/state.js";

export const TITLE = "Kinds";
export const LEAD =
  "One query, the same keys, many ways to compare and to share out. Each small chart is one kind of attention: a bar for each key, as high as its weight.";
const FORMULAS = {
  dot: "*q* · *k*",
  scaled_dot: "*q* · *k* / √*d*",
  cosine: "*q* · *k* / |*q*| |*k*|",
  general: "*q* · *W* *k*",
  additive: "*v* · tanh(*W*_{q} *q* + *W*_{k} *k*)",
  concat: "*v* · tanh(*W* [*q*; *k*])",
  location: "*W* *q*",
};
const SHARES = {
  softmax: "softmax: everyone gets a share",
  sparsemax: "sparsemax: far keys get exactly 0",
  hard: "hard: all on the best",
};
const REACHES = { global: "every key", window: "a window", gaussian: "a window with a Gaussian" };
const QUERY = [[1, 0.5]];
const KEYS = [
  [1, 0.5],
  [0.5, -0.5],
  [2, 1],
  [-1, 0],
  [1, 2],
  [0, 1.5],
];
const FIRST = "The agreement on the European Economic Area was signed in August 1992.";

export function open(root, params, app) {
  return new Kinds(root, params, app);
}

class Kinds {
  constructor(root, params, app) {
    Object.assign(this, { root, params, app, mounted: [], maps: [] });
    this.query = parseTable(params.get("query") ?? "")?.slice(0, 1) ?? structuredClone(QUERY);
    const keys = parseTable(params.get("keys") ?? "") ?? structuredClone(KEYS);
    this.keys = resized(keys, keys.length, this.query[0].length);
    this.reach = Object.hasOwn(REACHES, params.get("look")) ? params.get("look") : "global";
    this.centre = within(params.get("centre"), 0, this.keys.length - 1, Math.min(2, this.keys.length - 1));
    this.width = within(params.get("width"), 1, 4, 1);
    this.build();
    this.render();
    this.start();
  }

  close() {
    this.closed = true;
    this.request?.abort();
    this.mounted.forEach((one) => one.destroy());
  }

  build() {
    this.controls = h("div", { class: "controls" });
    this.tables = [
      ["query", "Query", "*q*"],
      ["keys", "Keys", "*k*_{j}"],
    ].map(
      ([id, name, text]) =>
        new Cells(this.table(id, name, text), { onEdit: (i, j, typed) => this.edit(id, i, j, typed) }),
    );
    this.tables.forEach((cells) => (cells.element.dataset.table = cells.table.id));
    this.message = h("p", { class: "rg-note", role: "status" });
    this.grid = h("div", { class: "kinds-grid", role: "table", "aria-label": "Weights by score and normaliser" });
    this.models = h("section", {
      class: "panel models",
      "aria-label": "The same sentence under each model",
      hidden: true,
    });
    this.root.append(
      this.controls,
      h(
        "div",
        { class: "columns" },
        h(
          "section",
          { class: "panel given", "aria-label": "Given" },
          h("h2", { text: "You give" }),
          h(
            "div",
            { class: "tables" },
            this.tables.map((cells) => cells.element),
          ),
          this.message,
        ),
        h(
          "section",
          { class: "panel", "aria-label": "Weights under each kind" },
          h("h2", { text: "Who gets looked at" }),
          this.grid,
        ),
      ),
      this.models,
    );
  }

  table(id, name, text) {
    const rows = id === "query" ? ["q"] : this.keys.map((_, j) => `k${j + 1}`);
    return { id, name, formula: text, values: this[id], rows, editable: true };
  }

  edit(id, i, j, typed) {
    const number = parseNumber(typed);
    const cells = this.tables.find(({ table }) => table.id === id);
    cells.cells[i][j].querySelector("input").setAttribute("aria-invalid", String(number === null));
    this.message.textContent = number === null ? `“${typed}” is not a number that fits here.` : "";
    if (number === null) return;
    this[id][i][j] = number;
    this.change({}, { controls: false });
  }

  change(part, { controls = true } = {}) {
    Object.assign(this, part);
    this.centre = Math.min(this.centre, this.keys.length - 1);
    this.render({ controls });
    this.write();
  }

  render({ controls = true } = {}) {
    this.tables.forEach((cells) => cells.update(this.table(cells.table.id, cells.table.name, cells.table.formula)));
    if (controls) this.renderControls();
    const head = h(
      "div",
      { class: "kinds-row kinds-head", role: "row" },
      h("span", { role: "columnheader", text: "Score" }),
      Object.values(SHARES).map((name) => h("span", { role: "columnheader", text: name })),
    );
    this.grid.replaceChildren(head, ...Object.keys(SCORES).map((score) => this.row(score)));
  }

  renderControls() {
    const local = this.reach !== "global";
    const width = (n) => ({ query: resized(this.query, 1, n), keys: resized(this.keys, this.keys.length, n) });
    refill(this.controls, [
      choice("May look at", REACHES, this.reach, (reach) => this.change({ reach })),
      local && stepper("Centre", this.centre + 1, [1, this.keys.length], (n) => this.change({ centre: n - 1 })),
      local && stepper("Reach", this.width, [1, 4], (n) => this.change({ width: n })),
      stepper("Keys", this.keys.length, [1, 8], (n) =>
        this.change({ keys: resized(this.keys, n, this.keys[0].length) }),
      ),
      stepper("Width", this.query[0].length, [1, 6], (n) => this.change(width(n))),
      button("Start over", () => this.change(fresh()), { class: "button quiet" }),
    ]);
  }

  /** The weights of one kind: score, window, normaliser, and for the Gaussian its bell. */
  weights(score, normalize) {
    const width = this.query[0].length;
    const own = scoreWeights(score, { width, keyWidth: width, keys: this.keys.length });
    const [scores] = SCORES[score](this.query, this.keys, own.v ? { ...own, v: own.v[0] } : own);
    if (this.reach === "global") return NORMALIZERS[normalize](scores);
    const weights = NORMALIZERS[normalize](inWindow(scores, this.centre, this.width));
    const bell = gaussian(weights.length, this.centre, this.width);
    return this.reach === "gaussian" ? weights.map((weight, j) => weight * bell[j]) : weights;
  }

  row(score) {
    return h(
      "div",
      { class: "kinds-row", role: "row" },
      h(
        "span",
        { role: "rowheader" },
        h("strong", { text: SCORE_NAMES[score] }),
        " ",
        h("span", { class: "rg-formula" }, formula(FORMULAS[score])),
      ),
      Object.keys(SHARES).map((normalize) => this.chart(score, normalize)),
    );
  }

  chart(score, normalize) {
    const weights = this.weights(score, normalize);
    const hidden = (j) => this.reach !== "global" && Math.abs(j - this.centre) > this.width;
    const bars = weights.map((weight, j) =>
      h(
        "span",
        { class: `column${hidden(j) ? " hidden-key" : ""}`, title: `k${j + 1}: ${short(weight)}` },
        h("span", { class: weight < 0.3 ? "bar-number low" : "bar-number", text: share(weight) }),
        h("span", {
          class: "bar-body",
          style: { height: `${weight > 0 ? Math.max(weight * 100, 2) : 0}%` },
        }),
        h("span", { class: "bar-name", text: `k${j + 1}` }),
      ),
    );
    const [context] = matmul([weights], this.keys);
    const label = `${SCORE_NAMES[score]}, ${normalize}: ${weights.map((weight, j) => `k${j + 1} ${percent(weight)}`).join(", ")}`;
    return h(
      "div",
      { class: "kinds-cell", role: "cell" },
      h("div", { class: "chart", role: "img", "aria-label": label }, bars),
      h(
        "span",
        { class: "chart-context", title: "The context: keys mixed by these weights" },
        `→ ${context.map(short).join("  ")}`,
      ),
    );
  }

  async start() {
    this.translators = modelsFor(await this.app.models(), "translate").filter(hasAttention);
    if (this.closed) return;
    this.models.hidden = false;
    this.models.append(h("h2", { text: "The same sentence under each model" }));
    if (this.translators.length < 2) {
      const line = "With two translators the same sentence stands here under each: `regard serve runs/additive runs/dot`.";
      this.models.append(h("p", { class: "rg-note" }, prose(line)));
      return;
    }
    this.text = h("textarea", {
      rows: "2",
      id: "kinds-sentence",
      maxlength: "2000",
      spellcheck: "false",
      text: this.params.get("text") ?? FIRST,
      on: { keydown: (event) => event.key === "Enter" && !event.shiftKey && (event.preventDefault(), this.compare()) },
    });
    this.output = h("div", { class: "two" });
    this.models.append(
      h("div", { class: "ask" }, h("label", { for: "kinds-sentence", text: "Sentence" }), this.text),
      h(
        "div",
        { class: "controls" },
        button("Compare", () => this.compare(), { class: "button primary" }),
      ),
      this.output,
    );
    this.compare();
  }

  async compare() {
    const text = this.text.value.trim();
    if (!text) return;
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    busy(this.output, "Translating … The first sentence waits until the models are loaded.");
    const answers = await Promise.allSettled(this.translators.map((model) => translate(model.name, text, 5, signal)));
    if (signal.aborted || this.closed) return;
    this.output.removeAttribute("aria-busy");
    this.mounted.forEach((one) => one.destroy());
    const boxes = this.translators.map((model) =>
      h(
        "section",
        { class: "kind-map", "aria-label": model.label },
        h("h3", { text: `${model.label} (${model.attention})` }),
      ),
    );
    this.output.replaceChildren(...boxes);
    this.maps = answers
      .map((answer, i) => answer.value && { ...answer.value, title: this.translators[i].label })
      .filter(Boolean);
    this.mounted = answers.map(({ value, reason }, i) => {
      if (!value) boxes[i].append(errorBox(reason.message));
      return value ? mount(boxes[i], { ...value, source: null }) : { destroy() {} };
    });
    this.write();
  }

  write() {
    const params = new URLSearchParams({ look: this.reach });
    if (this.reach !== "global") for (const name of ["centre", "width"]) params.set(name, String(this[name]));
    for (const [name, first] of [
      ["query", QUERY],
      ["keys", KEYS],
    ]) {
      const written = (table) => table.map((row) => row.join(",")).join(";");
      if (written(this[name]) !== written(first)) params.set(name, written(this[name]));
    }
    if (this.text && this.text.value.trim() !== FIRST) params.set("text", this.text.value.trim());
    this.app.write(params);
  }

  snapshot() {
    const columns = this.keys.map((_, j) => `k${j + 1}`);
    const tables = Object.keys(SHARES).map((normalize) => ({
      id: normalize,
      name: `Weights by ${normalize}`,
      columns,
      rows: Object.values(SCORE_NAMES),
      values: Object.keys(SCORES).map((score) => this.weights(score, normalize)),
    }));
    const given = this.tables.map(({ table: { id, name, rows, values } }) => ({ id, name, rows, values }));
    const steps = {
      kind: "steps",
      title: `Kinds of attention, looking at ${REACHES[this.reach]}`,
      tables: [...given, ...tables],
    };
    return {
      name: "regard-kinds",
      data: this.maps.length ? { kind: "several", title: "Kinds of attention", parts: [steps, ...this.maps] } : steps,
    };
  }
}

/** What the view opens with. */
const fresh = () => ({
  query: structuredClone(QUERY),
  keys: structuredClone(KEYS),
  reach: "global",
  centre: 2,
  width: 1,
});

function within(text, lowest, highest, otherwise) {
  const number = /^\d{1,2}$/.test(text ?? "") ? Number(text) : otherwise;
  return Math.max(lowest, Math.min(highest, number));
}
