// Translate: a sentence, the decoder word by word, and the map of where it looked.

import { translate } from "../page/api.js";
import { button, choice } from "../page/controls.js";
import { changedWords, comparison, hiddenBar } from "../page/hiding.js";
import { h } from "../viewer/dom.js";
import { mount } from "../viewer/map.js";
import { busy, errorBox, hasAttention, modelChoices, modelsFor, noModels } from "../page/models.js";
import { Player } from "../page/player.js";

export const TITLE = "Translate";
export const LEAD =
  "A decoder writes one word at a time. Before each word it looks back at the sentence: here is where, and how strongly.";
const FIRST = "The agreement on the European Economic Area was signed in August 1992.";

export function open(root, params, app) {
  return new Translate(root, params, app);
}

class Translate {
  constructor(root, params, app) {
    Object.assign(this, { root, params, app, whole: null, result: null, plain: null, player: null, map: null });
    this.hide = [...new Set(wholes(params.get("hide")))];
    this.hideInput = params.get("hide_input") === "true";
    this.by = params.get("by") === "needed" ? "needed" : "weights";
    this.root.append(h("p", { class: "rg-note", text: "Asking the server for its models …" }));
    this.start();
  }

  close() {
    this.closed = true;
    this.request?.abort();
    this.player?.destroy();
    this.map?.destroy();
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "translate");
    if (!this.models.length) {
      this.root.replaceChildren(noModels("translate", all));
      return;
    }
    const asked = this.params.get("model");
    this.model = this.models.find((model) => model.name === asked) ?? this.models[0];
    this.beam = ["1", "3", "5"].includes(this.params.get("beam")) ? this.params.get("beam") : "5";
    this.build();
    this.translate({ step: whole(this.params.get("step")), rows: wholes(this.params.get("rows")) });
  }

  build() {
    this.text = h("textarea", {
      rows: "2",
      id: "sentence",
      maxlength: "5000",
      spellcheck: "false",
      text: this.params.get("text") ?? FIRST,
      on: {
        keydown: (event) =>
          event.key === "Enter" && !event.shiftKey && (event.preventDefault(), this.anew()),
      },
    });
    this.go = button("Translate", () => this.anew(), { class: "button primary" });
    this.output = h("div", { class: "output" });
    this.about = h("p", { class: "rg-note" });
    const form = h(
      "div",
      { class: "ask" },
      h("label", { for: "sentence", text: "Sentence" }),
      this.text,
      h(
        "div",
        { class: "controls" },
        choice("Model", modelChoices(this.models), this.model.name, (name) => {
          this.model = this.models.find((model) => model.name === name);
          if (!hasAttention(this.model)) this.hide = [];
          this.translate({ push: true });
        }),
        choice("Search", { 1: "greedy", 3: "beam of 3", 5: "beam of 5" }, this.beam, (beam) => {
          this.beam = beam;
          this.translate({ push: true });
        }),
        this.go,
      ),
      this.about,
    );
    this.root.replaceChildren(form, this.output);
  }

  /** Translate what was typed, with nothing hidden. */
  anew() {
    this.hide = [];
    this.translate({ push: true });
  }

  /** Hide a source word, or show it again where it is hidden; `focus` says where the focus goes then. */
  toggle(word, focus = word) {
    const isHidden = this.hide.includes(word);
    this.hide = isHidden ? this.hide.filter((other) => other !== word) : [...this.hide, word];
    this.translate({ push: true, focus });
  }

  /** What a request says of the words that are hidden. */
  hidden() {
    return this.hide.length ? { hide: this.hide, hide_input: this.hideInput } : {};
  }

  async translate({ push = false, step = 0, rows = [], focus = null } = {}) {
    const text = this.text.value.trim();
    if (!text) {
      this.fail("Type a sentence first.");
      return;
    }
    this.request?.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    busy(this.output, "Translating … The first sentence waits until the model is loaded.");
    this.ask = ({ name }, more) => translate(name, text, Number(this.beam), signal, more);
    const asked = JSON.stringify([this.model.name, text, this.beam]);
    const whole = asked === this.whole?.asked ? this.whole.answer : this.ask(this.model);
    const result = this.hide.length ? this.ask(this.model, this.hidden()) : whole;
    const plain = this.askPlain(text);
    try {
      const [before, after] = await Promise.all([whole, result]);
      Object.assign(this, { whole: { asked, answer: before }, result: after, step, rows, plain });
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error.message);
      return;
    }
    this.show();
    if (push) this.write({ push });
    this.refocus(focus);
    this.app.announce(this.announcement());
    if (plain && !plain.answer) this.showPlain(await plain.coming, signal);
  }

  /** The answer of a model without attention, where there is one; asked for again only where it may be another. */
  askPlain(text) {
    const model = this.models.find((other) => !hasAttention(other) && other !== this.model);
    if (!model) return null;
    const more = this.hideInput ? this.hidden() : {};
    const asked = JSON.stringify([model.name, text, this.beam, more]);
    if (asked === this.plain?.asked && this.plain.answer?.text) return this.plain;
    const coming = this.ask(model, more).catch((error) => ({ failed: error.message }));
    return { model, asked, coming, answer: null };
  }

  announcement() {
    if (!this.hide.length) return `Translation: ${this.result.text}`;
    const changed = changedWords(this.whole.answer.rows, this.result.rows);
    return `Without ${this.hiddenNames()}: ${this.result.text} (${changed})`;
  }

  hiddenNames() {
    return this.hide.map((word) => `“${this.whole.answer.columns[word]}”`).join(", ");
  }

  /** The source words, by number, that the map has columns for. */
  columns() {
    const all = this.whole.answer.columns.map((_, word) => word);
    return this.hideInput ? all.filter((word) => !this.hide.includes(word)) : all;
  }

  /** The focus goes to a word's column, or to Undo where it has none. */
  refocus(word) {
    if (word === null) return;
    const column = this.columns().indexOf(word);
    if (column >= 0) this.map.focusColumn?.(column);
    else this.output.querySelector(".undo")?.focus();
  }

  fail(message) {
    this.request?.abort();
    this.output.removeAttribute("aria-busy");
    this.result = this.whole = null;
    this.output.replaceChildren(errorBox(message));
  }

  /** The answer without attention comes after the one that was asked for, and may come too late. */
  showPlain(answer, signal) {
    if (signal.aborted) return;
    this.plain.answer = answer;
    this.plainBox.replaceWith((this.plainBox = plainPanel(this.plain)));
  }

  show() {
    this.player?.destroy();
    this.map?.destroy();
    this.output.removeAttribute("aria-busy");
    const { result } = this;
    this.about.textContent = this.model.description ? `About this model: ${this.model.description}` : "";
    this.player = result.steps?.length
      ? new Player(this.shown(), {
          step: this.step,
          onStep: (step) => {
            this.step = step;
            this.write();
          },
        })
      : null;
    const mapBox = h(
      "section",
      { class: "panel map-panel", "aria-label": "The whole map" },
      h("h2", { text: "The whole map" }),
    );
    this.plainBox = this.plain ? plainPanel(this.plain) : null;
    const parts = [
      this.hide.length
        ? this.changed()
        : h("p", { class: "answer", dir: "auto", text: result.text || "(nothing was written)" }),
      h("div", { class: "two" }, this.player?.element, mapBox),
      this.plainBox,
    ];
    this.output.replaceChildren(...parts.filter(Boolean));
    if (result.weights?.length)
      mapBox.append(h("p", { class: "rg-note how", text: "Press a word above the map to hide it from the attention." }));
    const columns = this.columns();
    this.map = mount(
      mapBox,
      { ...this.shown(), title: null, source: null, text: null },
      {
        selected: this.rows,
        onSelect: (rows) => {
          this.rows = rows;
          this.write();
        },
        onColumn: (column) => this.toggle(columns[column]),
        needed: () => this.needed(),
        onBy: (by) => {
          this.by = by;
          this.write();
        },
      },
    );
  }

  /** What the map shows: the result, which of its two maps, and what could not be looked at. */
  shown() {
    return { ...this.result, by: this.by, ...(this.hide.length && !this.hideInput && { hidden: this.hide }) };
  }

  /** What each word needed, asked for when it is first wanted. */
  async needed() {
    const { result } = this;
    result.needed ??= (await this.ask(this.model, { ...this.hidden(), needed: true })).needed;
    return result.needed;
  }

  /** The sentence as it was and as it is without what is hidden, and the way back. */
  changed() {
    const { columns, rows } = this.whole.answer;
    const last = this.hide.at(-1);
    return h(
      "section",
      { class: "panel changed", "aria-label": "What changed" },
      comparison(rows, this.result.rows, this.hiddenNames()),
      hiddenBar({
        hidden: this.hide.map((word) => ({ name: columns[word], show: () => this.toggle(word) })),
        fromInput: this.hideInput,
        inputLabel: "Take it out of the input too",
        onInput: (on) => {
          this.hideInput = on;
          this.translate({ push: true }).then(() => this.output.querySelector(".hidden-bar input")?.focus());
        },
        onUndo: () => this.toggle(last),
        onClear:
          this.hide.length > 1 &&
          (() => {
            this.hide = [];
            this.translate({ push: true, focus: last });
          }),
      }),
    );
  }

  write(options) {
    const params = new URLSearchParams({ model: this.model.name, text: this.text.value.trim() });
    if (this.beam !== "5") params.set("beam", this.beam);
    if (this.step) params.set("step", String(this.step));
    if (this.rows.length) params.set("rows", this.rows.join(","));
    if (this.by !== "weights") params.set("by", this.by);
    if (this.hide.length) params.set("hide", this.hide.join(","));
    if (this.hide.length && this.hideInput) params.set("hide_input", "true");
    this.app.write(params, options);
  }

  snapshot() {
    if (!this.result) return null;
    const { label } = this.model;
    const main = { ...this.shown(), title: this.hide.length ? `${label}, without ${this.hiddenNames()}` : label };
    const whole = this.hide.length && { ...this.whole.answer, title: `${label}, as it is` };
    const plain = this.plain?.answer?.text && {
      ...this.plain.answer,
      title: `${this.plain.model.label}, without attention`,
    };
    if (!whole && !plain) return { name: "regard-translation", data: main };
    const parts = [whole, main, plain].filter(Boolean).map((part) => ({ ...part, source: "" }));
    return { name: "regard-translation", data: { kind: "several", title: this.result.source, parts } };
  }
}

function plainPanel({ model, answer }) {
  const text = answer ? answer.text || "(nothing was written)" : "…";
  return h(
    "section",
    { class: "panel", "aria-label": "Without attention", "aria-busy": answer ? null : "true" },
    h("h2", { text: "Without attention" }),
    answer?.failed ? errorBox(answer.failed) : h("p", { class: "answer plain", dir: "auto", text }),
    h("p", {
      class: "rg-note",
      text: `${model.label}: one vector of fixed size carried the whole sentence to this decoder; it had nowhere to look back to.`,
    }),
  );
}

const whole = (text) => (/^\d{1,4}$/.test(text ?? "") ? Number(text) : 0);

const wholes = (text) =>
  (text ?? "")
    .split(",")
    .filter((part) => /^\d{1,4}$/.test(part))
    .map(Number);
