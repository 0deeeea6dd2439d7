// All that may stand on the stage for a blackboard model: what is read, what writes, and between them the scores, weights and
// contexts. Items are named as their numbers are in `maths/blackboard.js`; where they stand, `places.js` says.

import { share } from "../viewer/numbers.js";
import { decimal } from "./layout.js";

const LABELS = { pic: "picture", h: "states *h*", e: "scores *e*", a: "weights *a*", w: "*a* · *h*" };
const ANSWERS = { short: "4 words", long: "40 words" };
const THINNEST = 0.015; // of the weights whose lines are drawn

/** {height, items, lines}, by key. */
export function castOf(trace, places) {
  const cast = new Cast(trace, places);
  cast.reader();
  for (let t = 1; t <= trace.words.length; t += 1) cast.step(t);
  if (cast.attends && places.map) cast.map(places.map);
  if (trace.slope) cast.slope(trace.slope);
  for (const [name, place] of Object.entries(places.labels ?? {})) 
    cast.put(`label.${name}`, place, { kind: "note", letter: LABELS[name], covers: places.labelCovers[name] && `label.${places.labelCovers[name]}` });
  for (const [name, place] of Object.entries(places.answers ?? {}))
    cast.put(`answer.${name}`, place, { kind: "box", role: "word", text: ANSWERS[name], label: ANSWERS[name] });
  return { height: places.height, items: cast.items, lines: cast.lines };
}

class Cast {
  constructor(trace, places) {
    Object.assign(this, { trace, places, items: new Map(), lines: new Map() });
    this.attends = trace.numbers.has("e.1.1");
    this.sources = Array.from({ length: trace.states }, (_, i) => i + 1);
  }

  put(key, place, item) {
    this.items.set(key, { key, ...place, ...item });
  }

  /** A box with a number of the trace in it. */
  number(key, place, { kind = "box", name, ...rest }) {
    const text = decimal(this.trace.numbers.get(key).value);
    this.put(key, place, { kind, text, label: `${name}: ${text}`, ...rest });
  }

  line(key, from, to, role, width) {
    const [a, b] = [this.items.get(from), this.items.get(to)];
    if (a && b) this.lines.set(key, { key, role, width, points: ends(a, b) });
  }

  /** A line from a state of the writer down to what it asks, beside the context below it. */
  asking(key, t, to) {
    const [state, context, asked] = [`s.${t - 1}`, `c.${t - 1}`, to].map((name) => this.items.get(name));
    if (!context || !asked || context.x !== state.x) {
      this.line(key, `s.${t - 1}`, to, "ask");
      return;
    }
    const side = state.x + state.w / 2;
    const points = [[side, state.y], [side + 7, context.y + context.h / 2], [asked.x, asked.y - asked.h / 2]];
    this.lines.set(key, { key, role: "ask", points });
  }

  reader() {
    const { trace, places } = this;
    for (const i of this.sources) {
      const named = trace.source[i - 1];
      if (places.picture) this.put(`pic.${i}`, places.of("pic", i), { kind: "picture", draws: named, label: `cell ${i}: ${named}` });
      else this.put(`x.${i}`, places.of("x", i), { kind: "word", role: "word", text: named, label: `word ${i} that is read: ${named}` });
      this.number(`h.${i}`, places.of("h", i), {
        role: "read", letter: places.letters.h(i), from: places.picture ? `pic.${i}` : `x.${i}`,
        covers: places.covers("h", i), name: `state ${i} of the reader, of ${named}`,
      });
      this.line(`read.${i}`, `x.${i}`, `h.${i}`, "read");
      if (!places.picture && i > 1) this.line(`on.${i}`, `h.${i - 1}`, `h.${i}`, "read");
    }
    const last = places.picture ? `h.${places.middle}` : `h.${trace.states}`;
    this.number("s.0", places.written("s", 0), { role: "ask", letter: "*s*_{0}", from: last, name: "first state of the writer" });
    this.put("y.0", places.written("y", 0), { kind: "word", role: "word", text: "[START]", label: "it begins with [START]" });
    if (places.picture) for (const i of this.sources) this.line(`first.${i}`, `h.${i}`, "s.0", "ask");
    else this.line("first", last, "s.0", "ask");
  }

  /** All of the step that writes word t. */
  step(t) {
    const { trace, places } = this;
    if (this.attends) {
      for (const i of this.sources) this.attention(t, i);
      this.number(`c.${t}`, places.written("c", t), {
        role: "back", letter: `*c*_{${t}}`, from: `w.${t}.${this.strongest(t)}`, name: `context for word ${t}`,
      });
    } else if (t === 1) this.only();
    this.number(`s.${t}`, places.written("s", t), {
      role: "ask", letter: `*s*_{${t}}`, from: `s.${t - 1}`, name: `state ${t} of the writer`,
    });
    const word = trace.words[t - 1];
    this.put(`y.${t}`, places.written("y", t), {
      kind: "word", role: "word", text: word, from: `s.${t}`, label: `word ${t} that is written: ${word}`,
    });
    for (const i of this.sources) {
      this.asking(`query.${t}.${i}`, t, `h.${i}`);
      this.asking(`ask.${t}.${i}`, t, `e.${t}.${i}`);
      if (!places.picture) this.line(`answer.${t}.${i}`, `h.${i}`, `e.${t}.${i}`, "read");
      const weight = this.weight(t, i);
      if (!places.picture || weight > THINNEST) this.line(`mix.${t}.${i}`, `w.${t}.${i}`, `c.${t}`, "back", 1 + 9 * weight);
    }
    this.line(`back.${t}`, this.attends ? `c.${t}` : "c.1", `s.${t}`, "back", 3);
    this.line(`next.${t}`, `s.${t - 1}`, `s.${t}`, "ask");
    this.line(`heard.${t}`, `y.${t - 1}`, `s.${t}`, "word");
    this.line(`say.${t}`, `s.${t}`, `y.${t}`, "word");
  }

  /** Without attention: the one context of all words. */
  only() {
    const last = `h.${this.trace.states}`;
    this.number("c.1", this.places.only, { role: "back", letter: "*c*", from: last, name: "the context of every word" });
    this.line("fixed", last, "c.1", "back", 6);
  }

  attention(t, i) {
    const { places } = this;
    const of = `of ${this.trace.source[i - 1]}, for word ${t}`;
    this.number(`e.${t}.${i}`, places.of("e", i), {
      role: "score", letter: places.letters.e(t, i), from: `h.${i}`, name: `score ${of}`,
    });
    const covers = places.covers("a", i) && `e.${t}.${i}`;
    if (this.trace.numbers.has(`g.${t}.${i}`))
      this.number(`g.${t}.${i}`, places.of("a", i), {
        role: "score", letter: places.letters.g, from: `e.${t}.${i}`, covers, name: `exp of the score ${of}`,
      });
    const weight = this.weight(t, i);
    this.number(`a.${t}.${i}`, places.of("a", i), {
      role: "weight", letter: places.letters.a(t, i), from: `e.${t}.${i}`, covers, shade: weight, name: `weight ${of}`,
    });
    this.number(`w.${t}.${i}`, places.of("w", i), {
      role: "read", kind: "weighed", letter: places.letters.w, from: `h.${i}`, fills: weight, name: `weighed state ${of}`,
      covers: places.covers("w", i) && `a.${t}.${i}`,
    });
  }

  /** The weights of all words: a row a word. */
  map({ left, top, across, down }) {
    const { trace } = this;
    trace.source.forEach((word, i) =>
      this.put(`map.column.${i + 1}`, { x: left + (i + 0.5) * across, y: top - 14, w: across, h: 20 }, { kind: "note", text: word }),
    );
    trace.words.forEach((word, row) => {
      const y = top + (row + 0.5) * down;
      this.put(`map.${row + 1}.word`, { x: left - 34, y, w: 64, h: 20 }, { kind: "note", text: word });
      trace.source.forEach((named, i) => {
        const weight = this.weight(row + 1, i + 1);
        this.put(`map.${row + 1}.${i + 1}`, { x: left + (i + 0.5) * across, y, w: across - 3, h: down - 3 }, {
          kind: "cell", role: "weight", text: share(weight), shade: weight, from: `a.${row + 1}.${i + 1}`,
          label: `${word} looked at ${named}: ${decimal(weight)}`,
        });
      });
    });
  }

  slope({ letter, value }) {
    const text = decimal(value);
    this.put("slope", this.places.only, {
      kind: "box", role: "score", letter: `∂loss / ∂${letter}`, text, label: `slope of the loss: ${text}`,
    });
  }

  weight(t, i) {
    return this.trace.numbers.get(`a.${t}.${i}`)?.value ?? 0;
  }

  strongest(t) {
    const weights = this.sources.map((i) => this.weight(t, i));
    return weights.indexOf(Math.max(...weights)) + 1;
  }
}

/** The ends of a line between two boxes: from edge to edge, the nearest ones. */
function ends(a, b) {
  if (Math.abs(a.y - b.y) < 4) {
    const side = Math.sign(b.x - a.x);
    return [[a.x + (side * a.w) / 2, a.y], [b.x - (side * b.w) / 2, b.y]];
  }
  const side = Math.sign(b.y - a.y);
  return [[a.x, a.y + (side * a.h) / 2], [b.x, b.y - (side * b.h) / 2]];
}
