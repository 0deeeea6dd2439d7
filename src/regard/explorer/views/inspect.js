// Inspect: every head of a recorded model, and any of its maps from the whole down to single weights.

import { BigMap } from "../maps/big_map.js";
import { snapshotOf } from "../maps/snapshot.js";
import { sourceOf } from "../maps/source.js";
import { isLog, readState, writeState } from "../maps/state.js";
import { WordsView } from "../maps/text.js";
import { Thumbnails } from "../maps/thumbnails.js";
import { MapPanel } from "../maps/panel.js";
import { inspect, inspectNumbers, recordings } from "../page/api.js";
import { button, choice, toggle } from "../page/controls.js";
import { busy, errorBox } from "../page/models.js";
import { h, prose } from "../viewer/dom.js";

export const TITLE = "Inspect";
export const LEAD =
  "Where every head of a model looked, at any length: choose a head, zoom from the whole map down to single weights.";
const FIRST = "The agreement on the European Economic Area was signed in August 1992.";

export function open(root, params, app) {
  return new Inspect(root, params, app);
}

class Inspect {
  constructor(root, params, app) {
    Object.assign(this, { root, app, state: readState(params), averaging: false });
    this.averaging = this.state.heads.length > 1;
    this.root.append(h("p", { class: "rg-note", text: "Asking the server for its recordings …" }));
    this.start().catch((error) => this.closed || this.root.replaceChildren(errorBox(error.message)));
  }

  close() {
    this.closed = true;
    this.request?.abort();
    this.thumbnails?.destroy();
    this.map?.destroy();
  }

  async start() {
    const { recordings: found, advice } = await recordings();
    if (this.closed) return;
    if (!found.length) {
      this.root.replaceChildren(notice(advice));
      return;
    }
    this.choices = found;
    const asked = this.state.recording;
    this.chosen = found.find(({ name }) => name === asked) ?? found.find(({ takes_text: takes }) => !takes) ?? found[0];
    if (asked && this.chosen.name !== asked) this.app.notify(`There is no recording “${asked}” here.`);
    this.build();
    await this.load();
  }

  build() {
    this.output = h("div", { class: "output" });
    const last = (name) => name.split(/[\\/]/).filter(Boolean).at(-1);
    const names = Object.fromEntries(this.choices.map(({ name }) => [name, last(name)]));
    this.text = h("textarea", {
      rows: "2",
      id: "sentence",
      maxlength: "2000",
      spellcheck: "false",
      text: this.state.text ?? FIRST,
    });
    const read = () => this.load({ fresh: true });
    this.asking = h(
      "div",
      { hidden: !this.chosen.takes_text },
      h("label", { for: "sentence", text: "Text that the model reads" }),
      this.text,
    );
    const pick = choice("Recording", names, this.chosen.name, (name) => {
      this.chosen = this.choices.find((one) => one.name === name);
      this.asking.hidden = this.go.hidden = !this.chosen.takes_text;
      read();
    });
    this.go = button("Record", read, { class: "button primary", hidden: !this.chosen.takes_text });
    this.root.replaceChildren(
      h("div", { class: "ask" }, this.asking, h("div", { class: "controls" }, pick, this.go)),
      this.output,
    );
  }

  /** The maps of the recording; `fresh` forgets what was chosen of another one. */
  async load({ fresh = false } = {}) {
    const text = this.chosen.takes_text ? this.text.value.trim() : "";
    this.recording = { recording: this.chosen.name, text };
    Object.assign(this.state, this.recording);
    if (fresh) Object.assign(this.state, { map: null, heads: [], part: null, at: null, find: "", batch: 0 });
    this.request?.abort();
    this.request = new AbortController();
    busy(this.output, "Reading the recording … The first one waits until it is loaded.");
    try {
      const { maps } = await inspect("maps", this.recording, this.request.signal);
      this.maps = maps;
      this.show();
    } catch (error) {
      if (error.name === "AbortError" || this.closed) return;
      this.output.removeAttribute("aria-busy");
      this.output.replaceChildren(errorBox(error.message));
    }
  }

  show() {
    this.output.removeAttribute("aria-busy");
    this.thumbnails?.destroy();
    const labels = layerLabels(this.maps);
    const map = this.maps.find(({ name }) => name === this.state.map) ?? this.maps[0];
    const heads = this.state.heads.filter((head) => map.heads.includes(head));
    if (this.state.map && map.name !== this.state.map) Object.assign(this.state, { part: null, at: null });
    if (this.state.batch >= map.batch) this.state.batch = 0;
    this.thumbnails = new Thumbnails({
      maps: this.maps,
      labels,
      ask: (name) => inspectNumbers("thumbnails", { ...this.recording, map: name, batch: this.state.batch }),
      onPick: (picked, head) => this.pick(picked, head),
    });
    this.labels = new Map(this.maps.map(({ name }, i) => [name, labels[i]]));
    this.mapBox = h("section", { class: "panel map-panel", "aria-label": "The map" });
    this.wordsBox = h("section", { class: "panel", "aria-label": "Words" });
    const panel = h(
      "section",
      { class: "panel", "aria-label": "All heads" },
      h("h2", { text: "Layers and heads" }),
      h("div", { class: "map-tools" }, this.averagingControls()),
      this.thumbnails.element,
    );
    this.output.replaceChildren(
      h("div", { class: "view-inspect" }, panel, h("div", { class: "inspect-two" }, this.mapBox, this.wordsBox)),
    );
    this.showMap(map, heads.length ? heads : [map.heads[0]]);
  }

  /** Once the large map has something to see: all small ones, then what the heads do, which takes longest. */
  async fillHeads() {
    if (this.filling === this.thumbnails) return;
    const mine = (this.filling = this.thumbnails);
    await mine.fill();
    await this.nameHeads(mine);
  }

  averagingControls() {
    return [
      toggle("Average several heads", this.averaging, (on) => {
        this.averaging = on;
        if (!on) this.showMap(this.shown, [this.state.heads[0]], { keep: true });
      }),
      button("All heads of this layer", () => this.showMap(this.shown, [...this.shown.heads], { keep: true })),
    ];
  }

  async nameHeads(thumbnails) {
    const { signal } = this.request;
    try {
      for (const { name } of this.maps) {
        const { heads } = await inspect("heads", { ...this.recording, map: name }, signal);
        if (this.closed || thumbnails !== this.thumbnails) return;
        thumbnails.name(heads);
      }
    } catch (error) {
      if (error.name !== "AbortError" && !this.closed) thumbnails.say(`Heads without names: ${error.message}`);
    }
  }

  pick(map, head) {
    const { heads } = this.state;
    const among = this.averaging && map.name === this.shown.name;
    const others = among ? heads.filter((one) => one !== head) : [];
    const next = among && heads.includes(head) ? others : [...others, head].sort((a, b) => a - b);
    const same = map.rows === this.shown.rows && map.columns === this.shown.columns;
    this.showMap(map, next.length ? next : [head], { keep: same, push: true });
  }

  showMap(map, heads, { keep = false, push = false } = {}) {
    if (this.map && !keep) Object.assign(this.state, { part: null, at: null });
    this.map?.destroy();
    Object.assign(this.state, { map: map.name, heads });
    this.shown = map;
    this.thumbnails.select(map, heads);
    const source = sourceOf(this.recording, map, this.state.batch, heads, () => this.map?.redraw());
    this.words = new WordsView({
      source,
      cross: map.cross,
      log: isLog(this.state, map),
      onPick: (axis, place) => this.pickWord(axis, place),
    });
    this.map = new BigMap(source, {
      ...this.state,
      log: isLog(this.state, map),
      name: this.title(),
      onMove: () => this.write(),
      onPin: (pin) => {
        this.state.at = pin && [pin.row, pin.column];
        this.write();
      },
      onCell: (cell) => this.panel.tell(cell),
      onProfiles: (cell) => this.words.show(cell, this.wordsOptions()).catch((error) => this.panel.fail(error)),
      onProgress: (share, state) => {
        this.panel.progress(share, state);
        if (state !== "waiting") this.fillHeads();
      },
      onError: (error) => this.panel.fail(error),
    });
    this.panel = new MapPanel(this.mapBox, this.map, this.state, {
      title: this.title(),
      batches: map.batch,
      onChange: (changes) => this.change(changes),
      announce: (text) => this.app.announce(text),
    });
    this.showWords();
    this.write({ push });
  }

  title() {
    const { heads } = this.state;
    const which = heads.length === 1 ? `head ${heads[0]}` : `mean of heads ${heads.join(", ")}`;
    return `${this.labels.get(this.shown.name)}, ${which}${this.shown.cross ? ", cross-attention" : ""}`;
  }

  showWords() {
    const options = { row: "what the query looks at", column: "what looks at the key" };
    const pick = choice("Shade", options, this.state.words, (words) => {
      this.state.words = words;
      this.write();
      const cell = this.map.active();
      if (cell) this.words.show(cell, this.wordsOptions());
    });
    const tools = h("div", { class: "map-tools" }, pick);
    this.wordsBox.replaceChildren(h("h2", { text: "Words" }), tools, this.words.element);
  }

  wordsOptions() {
    return { axis: this.state.words, log: this.map.log };
  }

  /** A word that was chosen is pinned: its row, or its column. */
  pickWord(axis, place) {
    const cell = this.map.active();
    this.map.setPin(axis === "row" ? [place, cell.column] : [cell.row, place]);
    this.map.setCursor(null);
  }

  /** Changes of the controls; another item of the batch is another map. */
  change(changes) {
    Object.assign(this.state, changes);
    if (changes.batch !== undefined) this.show();
    else this.map.change(changes);
    if (changes.log !== undefined && this.map.active()) this.words.show(this.map.active(), this.wordsOptions());
    this.write();
  }

  write(options) {
    if (!this.map) return;
    this.state.part = this.map.part;
    this.app.write(writeState(this.state, this.map.source.size), options);
  }

  async snapshot() {
    if (!this.map) return null;
    return { name: "regard-attention", data: await snapshotOf(this.map, `${this.shown.name}, ${this.title()}`) };
  }
}

/** Numbers of the layers where they tell the modules apart, else the modules' names. */
function layerLabels(maps) {
  const numbers = new Set(maps.map(({ layer }) => layer));
  const apart = numbers.size === maps.length && !numbers.has(null);
  return maps.map(({ name, layer }) => (apart ? `layer ${layer}` : name || "the model"));
}

function notice(advice) {
  return h("div", { class: "notice" }, h("h2", { text: "Nothing to inspect" }), h("p", {}, prose(advice)));
}
