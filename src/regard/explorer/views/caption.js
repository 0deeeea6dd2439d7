// Caption: a photograph, the words a model writes about it, and where each word looked.

import { caption } from "../page/api.js";
import { CellGrid, sameCells } from "../page/cell_grid.js";
import { refill, toggle } from "../page/controls.js";
import { changedWords, comparison, hiddenBar } from "../page/hiding.js";
import { h } from "../viewer/dom.js";
import { mount } from "../viewer/map.js";
import { busy, errorBox, modelsFor, noModels } from "../page/models.js";
import { keep, keptPhoto, reduced } from "../page/photo_file.js";

export const TITLE = "Caption";
export const LEAD =
  "A photograph becomes a grid of features; a decoder writes a caption and, for each word, looks at some places of the grid more than at others.";
const WAIT = 500; // milliseconds without a click, after which a caption without what is hidden is asked for

export function open(root, params, app) {
  return new Captions(root, params, app);
}

class Captions {
  constructor(root, params, app) {
    Object.assign(this, { root, params, app, results: [], mounted: [], grids: [], past: [], choosing: false });
    this.read(params);
    this.root.append(h("p", { class: "rg-note", text: "Asking the server for its models …" }));
    this.listeners = {
      paste: (event) => this.take(event.clipboardData?.files[0]),
      dragover: (event) => this.dragged(event, true),
      dragleave: (event) => this.dragged(event, false),
      drop: (event) => {
        this.dragged(event, false);
        this.take(event.dataTransfer.files[0]);
      },
    };
    this.start();
  }

  /** What the address says of the screen. */
  read(params) {
    this.word = /^\d{1,3}$/.test(params.get("word") ?? "") ? Number(params.get("word")) : null;
    this.hide = cellsOf(params.get("hide"));
    this.hideInput = params.get("hide_input") === "true";
    this.by = params.get("by") === "needed" ? "needed" : "weights";
  }

  close() {
    this.closed = true;
    clearTimeout(this.soon);
    this.request?.abort();
    for (const [name, listener] of Object.entries(this.listeners)) document.removeEventListener(name, listener);
    this.mounted.forEach((one) => one.destroy());
  }

  async start() {
    const all = await this.app.models();
    if (this.closed) return;
    this.models = modelsFor(all, "caption");
    if (!this.models.length) {
      this.root.replaceChildren(noModels("caption", all));
      return;
    }
    this.build();
    for (const [name, listener] of Object.entries(this.listeners)) document.addEventListener(name, listener);
    const photo = keptPhoto();
    if (photo) this.send(photo);
  }

  build() {
    this.input = h("input", {
      type: "file",
      accept: "image/*",
      class: "unseen",
      id: "photo",
      on: {
        change: () => {
          this.take(this.input.files[0]);
          this.input.value = ""; // so that the same file can be chosen again
        },
      },
    });
    this.drop = h(
      "label",
      { class: "drop", for: "photo" },
      h("strong", { text: "Drop a photograph here" }),
      h(
        "span",
        {},
        "or ",
        h("span", { class: "as-link", text: "choose a file" }),
        ", or paste one. It stays on this machine.",
      ),
    );
    this.hiding = h("div", { class: "hiding", hidden: true });
    this.output = h("div", { class: "output" });
    this.root.replaceChildren(h("div", { class: "drop-box" }, this.input, this.drop), this.hiding, this.output);
  }

  /** A file may be dropped anywhere on the page: beside the box, the browser would leave the page for it. */
  dragged(event, over) {
    event.preventDefault();
    this.drop.classList.toggle("over", over);
  }

  async take(file) {
    if (!file) return;
    if (!file.type.startsWith("image/")) {
      this.fail(`“${file.name}” is not a picture (${file.type || "unknown kind"}). Choose a JPEG, PNG or WebP file.`);
      return;
    }
    const photo = await reduced(file);
    keep(photo);
    Object.assign(this, { word: null, hide: [], past: [] });
    this.write();
    this.send(photo);
  }

  async send(photo) {
    const signal = this.ask(photo);
    const answers = await Promise.allSettled(this.models.map((model) => caption(model.name, photo, signal)));
    if (signal.aborted || this.closed) return;
    this.results = answers.map((answer, i) => ({
      model: this.models[i],
      whole: answer.value,
      data: answer.value,
      error: answer.reason?.message,
    }));
    this.size = this.results.map(({ whole }) => whole && sizeOf(whole)).reduce(finer, null);
    if (this.hide.length) this.sendHidden();
    else this.show();
  }

  /** The captions without what is hidden. */
  async sendHidden() {
    const signal = this.ask(this.photo);
    const answers = await Promise.allSettled(
      this.results.map(({ model, whole }) => whole && caption(model.name, this.photo, signal, this.hidden(whole))),
    );
    if (signal.aborted || this.closed) return;
    this.results = this.results.map(({ model, whole, error }, i) => ({
      model,
      whole,
      data: answers[i].value,
      error: answers[i].reason?.message ?? (whole ? null : error),
    }));
    this.show();
  }

  /** A new request, the last one being forgotten; its signal. */
  ask(photo) {
    this.request?.abort();
    this.request = new AbortController();
    this.photo = photo;
    busy(this.output, "Looking at the photograph … The first one waits until the model is loaded.");
    return this.request.signal;
  }

  /** What a request to the model of a caption says of the places that are hidden. */
  hidden(whole) {
    const cells = sameCells(this.hide, this.size, sizeOf(whole));
    return cells.length ? { hide: cells.map(String).join(";"), hide_input: this.hideInput } : {};
  }

  /** Cells of a model's grid were hidden or shown again. */
  change(cells, size, hide) {
    const changed = sameCells(cells, size, this.size).map(String);
    const kept = this.hide.filter((cell) => !changed.includes(String(cell)));
    this.set(hide ? [...kept, ...changed.map((cell) => cell.split(",").map(Number))] : kept);
  }

  /** Hide other places: asked for when the hand rests, since each caption takes a moment. */
  set(cells, { wait = WAIT } = {}) {
    this.past.push(this.hide);
    this.hide = cells;
    this.again(wait);
  }

  undo() {
    this.hide = this.past.pop() ?? this.hide.slice(0, -1);
    this.again(0);
  }

  again(wait) {
    this.showControls();
    clearTimeout(this.soon);
    this.soon = setTimeout(() => {
      this.write({ push: true });
      if (this.hide.length) {
        this.sendHidden();
        return;
      }
      this.request?.abort();
      this.results = this.results.map(({ model, whole, error }) => ({ model, whole, data: whole, error: whole ? null : error }));
      this.show();
    }, wait);
  }

  fail(message) {
    this.request?.abort();
    this.output.removeAttribute("aria-busy");
    this.results = [];
    this.hiding.hidden = true;
    this.output.replaceChildren(errorBox(message));
  }

  /** The switch that lays the grid over the photographs, and what is hidden. */
  showControls() {
    this.hiding.hidden = !this.results.some(({ whole }) => whole);
    const count = this.hide.length;
    refill(this.hiding, [
      toggle("Choose places to hide", this.choosing, (on) => {
        this.choosing = on;
        this.show();
        this.showControls();
      }),
      count > 0 &&
        hiddenBar({
          hidden: `${count} ${count === 1 ? "place" : "places"} hidden`,
          fromInput: this.hideInput,
          inputLabel: "Grey in the photograph too",
          onInput: (on) => {
            this.hideInput = on;
            this.again(0);
          },
          onUndo: () => this.undo(),
          onClear: count > 1 && (() => this.set([], { wait: 0 })),
        }),
      this.choosing &&
        count === 0 &&
        h("span", { class: "rg-note", text: "Click a place of the photograph, or draw over several." }),
    ]);
  }

  show() {
    const held = this.grids.map((grid) => grid?.held ?? null);
    this.mounted.forEach((one) => one.destroy());
    this.output.removeAttribute("aria-busy");
    this.showControls();
    const boxes = this.results.map(({ model }) =>
      h(
        "section",
        { class: "panel", "aria-label": model.label },
        h("h2", {
          class: "named",
          text: this.results.length > 1 ? `${model.label}: ${model.attention} attention` : model.label,
        }),
        h("p", { class: "rg-note", text: model.description }),
      ),
    );
    this.drop.classList.add("compact");
    this.drop.firstChild.textContent = "Drop another photograph here";
    this.output.replaceChildren(h("div", { class: "two" }, boxes));
    this.mounted = this.results.map((result, i) => this.mountOne(boxes[i], result));
    this.grids = this.results.map(({ whole, error }, i) => (whole && !error ? this.lay(this.mounted[i], whole) : null));
    held.forEach((at, i) => at !== null && this.grids[i]?.focus(at));
    this.app.announce(
      this.results
        .filter(({ data }) => data)
        .map((result) => this.announcement(result))
        .join("; "),
    );
  }

  announcement({ whole, data }) {
    const text = data.words.join(" ");
    return this.hide.length ? `${text} (${changedWords(whole.words, data.words)})` : text;
  }

  mountOne(box, result) {
    const { whole, data, error, model } = result;
    if (error) {
      box.append(errorBox(error));
      return { destroy() {} };
    }
    if (this.hide.length) box.append(comparison(whole.words, data.words, this.hiddenNames()));
    const mounted = mount(box, this.shown(result), {
      word: this.word,
      onWord: (index) => {
        this.word = index;
        this.write();
      },
      needed: async () => {
        const more = { ...(this.hide.length && this.hidden(whole)), needed: true };
        data.needed ??= (await caption(model.name, this.photo, this.request.signal, more)).needed;
        return data.needed;
      },
      onBy: (by) => {
        this.by = by;
        this.write();
        this.mounted.forEach((other) => other !== mounted && other.by?.choose(by));
      },
    });
    return mounted;
  }

  hiddenNames() {
    return this.hide.length === 1 ? "one place" : `${this.hide.length} places`;
  }

  /** What a map shows: the caption, which of its two maps, and what could not be looked at. */
  shown({ whole, data }) {
    const hidden = this.hide.length && !this.hideInput ? sameCells(this.hide, this.size, sizeOf(whole)) : null;
    return { ...data, by: this.by, ...(hidden?.length && { hidden }) };
  }

  /** The grid to choose from, over a photograph, while places are chosen. */
  lay(mounted, whole) {
    if (!this.choosing) return null;
    const size = sizeOf(whole);
    const hidden = sameCells(this.hide, this.size, size);
    const grid = new CellGrid(size, hidden, (cells, hide) => this.change(cells, size, hide));
    mounted.stage.append(grid.element);
    return grid;
  }

  write(options) {
    const params = new URLSearchParams();
    if (this.word !== null) params.set("word", String(this.word));
    if (this.by !== "weights") params.set("by", this.by);
    if (this.hide.length) params.set("hide", this.hide.map(String).join(";"));
    if (this.hide.length && this.hideInput) params.set("hide_input", "true");
    this.app.write(params, options);
  }

  snapshot() {
    const titled = (model, data, how = "") => ({ ...data, title: `${model.label}${how}: ${data.words.join(" ")}` });
    const parts = this.results
      .filter(({ data }) => data)
      .flatMap((result) => {
        const { model, whole } = result;
        if (!this.hide.length) return [titled(model, this.shown(result))];
        return [titled(model, whole, ", as it is"), titled(model, this.shown(result), `, without ${this.hiddenNames()}`)];
      });
    if (!parts.length) return null;
    return {
      name: "regard-caption",
      data: parts.length === 1 ? parts[0] : { kind: "several", title: "Captions", parts },
    };
  }
}

/** The rows and columns of a caption's maps. */
const sizeOf = ({ weights }) => [weights[0].length, weights[0][0].length];

/** Of two grids that with more cells; hidden places are kept in the finest, so that none is lost. */
const finer = (one, other) => (!other || (one && one[0] * one[1] >= other[0] * other[1]) ? one : other);

/** Cells as an address holds them, "3,4;3,5". */
const cellsOf = (text) =>
  [...new Set((text ?? "").split(";"))]
    .filter((cell) => /^\d{1,4},\d{1,4}$/.test(cell))
    .map((cell) => cell.split(",").map(Number));
