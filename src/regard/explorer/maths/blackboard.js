// The blackboard models, as `regard.explorer.blackboard` computes them; here every number also knows the sum it came
// from: a list of words, weights of the model ({weight: "read.x"}) and other numbers ({number: "h.1"}).

import { NORMALIZERS } from "./maths.js";

export const START = "[START]";
export const STOP = "[STOP]";
const LONGEST = 8;

/** The model with some weights changed: {"read.x": 0.5}. */
export function changed(model, weights) {
  const copy = structuredClone(model);
  for (const [path, value] of Object.entries(weights)) {
    const parts = path.split(".");
    const last = parts.pop();
    const holder = parts.reduce((at, part) => at?.[part], copy);
    if (typeof holder?.[last] === "number") holder[last] = value;
  }
  return copy;
}

export const weightOf = (model, path) => path.split(".").reduce((at, part) => at?.[part], model);

/** The paths of all weights: "source.cat", "align.0.s". */
export function weightPaths(model) {
  const paths = (table, before) =>
    Object.entries(table).flatMap(([name, value]) =>
      typeof value === "number" ? [`${before}${name}`] : paths(value, `${before}${name}.`),
    );
  return paths(model, "");
}

/**
 * Read the source and write until [STOP]. Gives `numbers`, a map from keys to {value, sum}, with h.i the states, s.t those
 * of the writer, and at step t the scores e.t.i, weights a.t.i, parts w.t.i, context c.t, logits o.t.word and their
 * shares p.t.word; and the `words` that are written, [STOP] among them where it comes to it. `hard` looks at the best place
 * alone; words that are `forced` are taken for written, whatever it would have written.
 */
export function write(model, source, { hard = false, forced = null } = {}) {
  const numbers = new Map();
  const set = (key, value, sum) => numbers.set(key, { value, sum }) && value;
  const states = read(model, source, set);
  const isRead = "read" in model;
  const n = states.length;
  const summary = isRead ? { key: `h.${n}`, value: states.at(-1) } : meanOf(states, set);
  let state = set("s.0", Math.tanh(model.first.h * summary.value + model.first.b), [
    "tanh(", { weight: "first.h" }, " · ", { number: summary.key }, " + ", { weight: "first.b" }, ")",
  ]);
  const words = [];
  let last = START;
  for (let t = 1; last !== STOP && t <= LONGEST; t += 1) {
    set(`y.${t - 1}`, model.target[last], [{ weight: `target.${last}` }, ` of ${last}`]);
    const context = "align" in model ? attend(model, t, state, states, hard, set) : fixed(t, summary, set);
    state = nextState(model, t, state, last, context, set);
    const likeliest = choose(model, t, state, context, set);
    last = forced?.[t - 1] ?? likeliest;
    words.push(last);
  }
  return { numbers, words, states: n, source };
}

function read(model, source, set) {
  let state = 0;
  return source.map((name, i) => {
    const x = set(`x.${i + 1}`, model.source[name], [{ weight: `source.${name}` }, ` of ${name}`]);
    if (!("read" in model)) return set(`h.${i + 1}`, x, [{ number: `x.${i + 1}` }]);
    const { read: r } = model;
    const before = i ? [" + ", { weight: "read.h" }, " · ", { number: `h.${i}` }] : [];
    state = Math.tanh(r.x * x + r.h * state + r.b);
    return set(`h.${i + 1}`, state, [
      "tanh(", { weight: "read.x" }, " · ", { number: `x.${i + 1}` }, ...before, " + ", { weight: "read.b" }, ")",
    ]);
  });
}

function meanOf(states, set) {
  const sum = states.flatMap((_, i) => [i ? " + " : "(", { number: `h.${i + 1}` }]);
  const value = set("mean", states.reduce((total, h) => total + h, 0) / states.length, [...sum, `) / ${states.length}`]);
  return { key: "mean", value };
}

const fixed = (t, summary, set) => set(`c.${t}`, summary.value, [{ number: summary.key }, ", the same at every step"]);

/** Scores, weights and context of one step. */
function attend(model, t, asking, states, hard, set) {
  const scores = states.map((h, i) => {
    const terms = model.align.map((unit, k) => {
      const hidden = set(`u.${t}.${i + 1}.${k + 1}`, Math.tanh(unit.s * asking + unit.h * h + unit.b), [
        "tanh(", { weight: `align.${k}.s` }, " · ", { number: `s.${t - 1}` }, " + ",
        { weight: `align.${k}.h` }, " · ", { number: `h.${i + 1}` }, " + ", { weight: `align.${k}.b` }, ")",
      ]);
      return unit.v * hidden;
    });
    const sum = model.align.flatMap((_, k) => [
      k ? " + " : "", { weight: `align.${k}.v` }, " · ", { number: `u.${t}.${i + 1}.${k + 1}`, spelled: true },
    ]);
    return set(`e.${t}.${i + 1}`, terms.reduce((total, x) => total + x, 0), sum);
  });
  const shares = hard ? NORMALIZERS.hard(scores) : NORMALIZERS.softmax(scores);
  const parts = states.map((h, i) => {
    if (!hard) set(`g.${t}.${i + 1}`, Math.exp(scores[i]), ["exp(", { number: `e.${t}.${i + 1}` }, ")"]);
    const others = scores.flatMap((_, j) => [j ? " + " : "(", { number: `g.${t}.${j + 1}` }]);
    const sum = hard
      ? ["1 for the highest score, 0 for all others: ", { number: `e.${t}.${i + 1}` }]
      : [{ number: `g.${t}.${i + 1}` }, " / ", ...others, ")"];
    set(`a.${t}.${i + 1}`, shares[i], sum);
    return set(`w.${t}.${i + 1}`, shares[i] * h, [{ number: `a.${t}.${i + 1}` }, " · ", { number: `h.${i + 1}` }]);
  });
  return set(
    `c.${t}`,
    parts.reduce((total, x) => total + x, 0),
    parts.flatMap((_, i) => [i ? " + " : "", { number: `w.${t}.${i + 1}` }]),
  );
}

function nextState(model, t, state, last, context, set) {
  const { write: w } = model;
  return set(`s.${t}`, Math.tanh(w.s * state + w.y * model.target[last] + w.c * context + w.b), [
    "tanh(", { weight: "write.s" }, " · ", { number: `s.${t - 1}` }, " + ", { weight: "write.y" }, " · ",
    { number: `y.${t - 1}` }, " + ", { weight: "write.c" }, " · ", { number: `c.${t}` }, " + ", { weight: "write.b" }, ")",
  ]);
}

/** The word whose logit is highest. */
function choose(model, t, state, context, set) {
  const names = Object.keys(model.output);
  const logits = names.map((name) => {
    const o = model.output[name];
    return set(`o.${t}.${name}`, o.s * state + o.c * context + o.b, [
      { weight: `output.${name}.s` }, " · ", { number: `s.${t}` }, " + ", { weight: `output.${name}.c` }, " · ",
      { number: `c.${t}` }, " + ", { weight: `output.${name}.b` },
    ]);
  });
  NORMALIZERS.softmax(logits).forEach((share, i) =>
    set(`p.${t}.${names[i]}`, share, ["exp(", { number: `o.${t}.${names[i]}` }, ") / the sum of all words'"]),
  );
  return names[logits.indexOf(Math.max(...logits))];
}

/** How much the loss of the words that should come (-log of their shares) changes with one weight: its derivative. */
export function slope(model, source, target, path) {
  const step = 1e-5;
  const loss = (value) => {
    const { numbers } = write(changed(model, { [path]: value }), source, { forced: target });
    return -target.reduce((total, word, t) => total + Math.log(numbers.get(`p.${t + 1}.${word}`).value), 0);
  };
  const at = weightOf(model, path);
  return (loss(at + step) - loss(at - step)) / (2 * step);
}
