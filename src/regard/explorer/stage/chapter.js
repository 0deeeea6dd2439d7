// A chapter: its beats, as data, and what stands on the stage in each of them.

import { changed, slope, write } from "../maths/blackboard.js";
import { plainFormula } from "../viewer/dom.js";
import { decimal, matching } from "./layout.js";
import { castOf } from "./cast.js";
import { gridPlaces, wordsPlaces } from "./places.js";

export const CHAPTERS = { bottleneck: "1 One vector for everything", "look-back": "2 Look back", grid: "3 A picture is a grid" };
const PLACES = { words: wordsPlaces, grid: gridPlaces };

const loaded = new Map();

/** A JSON file of this folder, read once. */
export async function data(path) {
  if (!loaded.has(path)) loaded.set(path, fetch(new URL(path, import.meta.url)).then((response) => response.json()));
  return loaded.get(path);
}

export class Chapter {
  static async load(slug, params) {
    const script = await data(`chapters/${slug}.json`);
    return new Chapter(script, await data(`models/${script.model}.json`), params);
  }

  constructor(script, model, params) {
    Object.assign(this, { title: script.title, beats: script.beats, plain: model, first: script.source });
    this.places = PLACES[script.places];
    this.read(params);
  }

  /** Take from the address what it keeps: the words that are read, and the weights that differ from the trained ones. */
  read(params) {
    this.source = asRead(params.get("read"), this.plain, this.first);
    this.weights = asSet(params.get("set"), this.plain);
    this.look = params.get("look") === "hard" ? "hard" : "soft";
  }

  /** The same as `read` takes. */
  address() {
    const params = new URLSearchParams();
    if (this.source.join(" ") !== this.first.join(" ")) params.set("read", this.source.join(" "));
    const set = Object.entries(this.weights).map(([path, value]) => `${path}:${value}`);
    if (set.length) params.set("set", set.join(","));
    if (this.look === "hard") params.set("look", "hard");
    return params;
  }

  get model() {
    return changed(this.plain, this.weights);
  }

  /** {scene, fresh, beat, trace} of a beat: what stands on the stage, and what of it is new. */
  scene(at, width) {
    const beat = this.beats[at];
    const trace = write(this.model, this.source, { hard: beat.hard ?? (beat.panel === "picture" && this.look === "hard") });
    if (beat.slope) {
      const target = write(this.plain, this.source).words;
      trace.slope = { letter: beat.letter, value: slope(this.model, this.source, target, beat.slope) };
    }
    const { height, items, lines } = castOf(trace, this.places(trace, width));
    const keys = [...items.keys(), ...lines.keys()];
    const [before, now] = [at ? this.shown(at - 1, keys) : new Set(), this.shown(at, keys)];
    const covered = new Set([...items.values()].filter((item) => now.has(item.key)).map((item) => item.covers));
    const standing = [...items.values()].filter((item) => now.has(item.key) && !covered.has(item.key));
    return {
      scene: { height, items: standing, lines: [...lines.values()].filter((line) => now.has(line.key)) },
      fresh: standing.map((item) => item.key).filter((key) => !before.has(key)),
      beat,
      trace,
    };
  }

  /** The keys that are on the stage at a beat: what the beats until there added, and did not take away again. */
  shown(at, keys) {
    const now = new Set();
    for (const { add = [], drop = [] } of this.beats.slice(0, at + 1)) {
      for (const key of matching(keys, drop)) now.delete(key);
      for (const key of matching(keys, add)) now.add(key);
    }
    return now;
  }

  /** A beat's words, with what stands in braces computed: {word.2}, {strongest.2}, {c.1}. */
  filled(text, trace) {
    return text.replace(/\{([a-z]+)\.?([^}]*)\}/g, (all, name, rest) => {
      if (name === "word") return `*${trace.words[Number(rest) - 1] ?? "…"}*`;
      if (name === "last") return trace.words.at(-1);
      if (name === "strongest") return `*${this.strongest(Number(rest), trace)}*`;
      const number = trace.numbers.get(`${name}.${rest}`);
      return number ? decimal(number.value) : all;
    });
  }

  /** The source word of most weight for word t. */
  strongest(t, trace) {
    const weights = trace.source.map((_, i) => trace.numbers.get(`a.${t}.${i + 1}`)?.value ?? 0);
    return trace.source[weights.indexOf(Math.max(...weights))];
  }

  /** The key that answers a beat's question: of those to choose from the one of most weight in its step. */
  right(beat, trace) {
    if (beat.right) return beat.right;
    const weights = beat.ask.map((_, i) => trace.numbers.get(`a.${beat.step ?? 2}.${i + 1}`)?.value ?? 0);
    return beat.ask[weights.indexOf(Math.max(...weights))];
  }

  nameOf(key, trace) {
    return trace.source[Number(key.split(".").at(-1)) - 1] ?? plainFormula(key);
  }
}

function asRead(text, model, first) {
  const words = (text ?? "").split(" ");
  return words.length === first.length && words.every((word) => word in model.source) ? words : [...first];
}

function asSet(text, model) {
  const pairs = (text ?? "").split(",").map((pair) => [pair.slice(0, pair.lastIndexOf(":")), Number(pair.slice(pair.lastIndexOf(":") + 1))]);
  const isWeight = (path) => typeof path.split(".").reduce((at, part) => at?.[part], model) === "number";
  return Object.fromEntries(pairs.filter(([path, value]) => path && Number.isFinite(value) && isWeight(path)));
}

