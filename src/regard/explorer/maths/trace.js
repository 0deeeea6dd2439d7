// The ladder: from what is given on each rung to every table that follows.

import { largestGap, reorder, sinusoidal } from "./maths.js";
import { contextTable, scoreTables, weightTables, weightedTable, weightsTable } from "./scoring.js";
import { short } from "../viewer/numbers.js";
import { PRESETS } from "./presets.js";
import { as, bracketed, given, made, elementwise, product, slice } from "./tables.js";

export const RUNGS = {
  one: ["One query", "One vector asks; each key answers with a score; the best answers fill the context."],
  many: ["Many queries", "Several queries look at the same keys at once: a row of scores for each."],
  apart: [
    "Keys and values apart",
    "Keys decide who is listened to; values are what they say. They need not have the same width.",
  ],
  self: ["Self-attention", "Queries, keys and values are all made from the same words: each word looks at every word."],
  heads: ["Multi-head", "Several small attentions side by side, each on its own part of the vectors; then joined."],
};

/** {given, computed}: tables to edit and tables that follow. State: see state.js. */
export function trace(state) {
  return state.rung === "self" || state.rung === "heads" ? fromInputs(state) : fromQueries(state);
}

/** What the rung gives in the end. */
export function outputs(state) {
  return trace(state).computed.at(-1).values;
}

/** Shuffled inputs against the same outputs shuffled: {same, gap, expected}. */
export function equivariance(state) {
  const plain = { ...state, softmax: "rows" };
  const expected = reorder(outputs({ ...plain, order: null }), state.order);
  const gap = largestGap(outputs(plain), expected);
  return { same: gap < 1e-9, gap, expected };
}

const PROJECTIONS = {
  W_Q: ["Query weights", "*W*_{Q}", ["x", "d"]],
  W_K: ["Key weights", "*W*_{K}", ["x", "d"]],
  W_V: ["Value weights", "*W*_{V}", ["x", "v"]],
  W_O: ["Output weights", "*W*_{O}", ["v", "o"]],
};

const grouped = (group, tables) => tables.map((table) => ({ ...table, group }));

/** What every attention does: compare, share out, mix. */
function threeSteps(scored, weights, contexts) {
  return [...grouped("Compare", scored), ...grouped("Share out", weights), ...grouped("Mix", contexts)];
}

const numbered = (letter, count) =>
  count === 1 ? [letter] : Array.from({ length: count }, (_, i) => `${letter}${i + 1}`);

function fromQueries(state) {
  const { score, normalize, rung } = state;
  const follow = Math.min(state.follow, state.query.length - 1);
  const apart = rung === "apart";
  const query = given("query", rung === "one" ? "Query" : "Queries", state.query, {
    formula: "*q*",
    axes: ["q", "d"],
    note: "What is being looked for.",
    rows: numbered("q", state.query.length),
    editable: true,
  });
  const key = given("keys", apart ? "Keys" : "Keys, and values", state.keys, {
    formula: "*k*_{j}",
    axes: ["k", "d"],
    note: apart ? "What each item is found by." : "What each item is found by, and what it says.",
    rows: numbered("k", state.keys.length),
    editable: true,
  });
  const value = apart
    ? given("values", "Values", state.values, {
        formula: "*v*_{j}",
        axes: ["k", "v"],
        note: "What each item says.",
        rows: numbered("v", state.values.length),
        editable: true,
      })
    : key;
  const scored = scoreTables(score, query, key, state.weights, { follow });
  const weights = weightsTable(normalize, scored.at(-1));
  const weighted = weightedTable(weights, value, { follow });
  return {
    given: [query, key, ...(apart ? [value] : []), ...weightTables(score, state.weights)],
    computed: threeSteps(scored, [weights], [weighted, contextTable(weights, value, weighted)]),
  };
}

function fromInputs(state) {
  const order = state.order ?? state.inputs.map((_, i) => i);
  const names = reorder(numbered("x", state.inputs.length), order);
  const input = given("inputs", "Words", reorder(state.inputs, order), {
    formula: "*x*_{i}",
    axes: ["n", "x"],
    note: "A vector for each word.",
    rows: names,
    editable: true,
  });
  const placed = withPlaces(state, input);
  const words = placed.at(-1) ?? input;
  const W = Object.fromEntries(
    Object.entries(PROJECTIONS)
      .filter(([id]) => state[id])
      .map(([id, [name, formula, axes]]) => [id, given(id, name, state[id], { formula, axes, editable: true })]),
  );
  const [query, key, value] = [
    ["query", "Queries", "Q", "q"],
    ["keys", "Keys", "K", "k"],
    ["values", "Values", "V", "k"],
  ].map(([id, name, letter, axis]) =>
    product(id, name, `*X* *W*_{${letter}}`, as(words, [axis, "x"]), W[`W_${letter}`]),
  );
  const attention = state.rung === "heads" ? heads(state, query, key, value, W.W_O) : single(state, query, key, value);
  return {
    given: [input, ...Object.values(W), ...weightTables(state.score, state.weights)],
    computed: [...grouped("Place", placed), ...grouped("Project", [query, key, value]), ...attention],
  };
}

function withPlaces(state, input) {
  if (!state.places) return [];
  const signs = sinusoidal(input.values.length, input.values[0].length);
  const places = given("places", "Places", signs, {
    formula: "sin, cos",
    axes: ["n", "x"],
    note: "A pattern for first, second, third …",
    rows: input.values.map((_, i) => `place ${i + 1}`),
  });
  const together = elementwise(
    "placed",
    "Words with places",
    "*x*_{i} + *p*_{i}",
    input,
    (x, i, j) => x + signs[i][j],
    (x, i, j) => `${short(x)} + ${bracketed(signs[i][j])}`,
    { others: [places] },
  );
  return [places, together];
}

function single(state, query, key, value) {
  const follow = Math.min(state.follow, query.values.length - 1);
  const scored = scoreTables(state.score, query, key, state.weights, { follow });
  if (state.softmax !== "both") {
    const weights = weightsTable(state.normalize, scored.at(-1));
    const weighted = weightedTable(weights, value, { follow });
    return threeSteps(scored, [weights], [weighted, contextTable(weights, value, weighted)]);
  }
  const [rows, all] = [
    ["softmax", { title: ", row by row" }],
    ["all", { title: ", over the whole matrix", suffix: "_all" }],
  ].map(([normalize, names]) => {
    const weights = weightsTable(normalize, scored.at(-1), names);
    return [weights, contextTable(weights, value, null, names)];
  });
  rows[1].note = "Attention as it is defined.";
  all[1].note = isExample(state)
    ? "The result that is widely published for this example."
    : "Rows no longer add up to 1: most words get little of anything.";
  return threeSteps(scored, [rows[0], all[0]], [rows[1], all[1]]);
}

function isExample(state) {
  const same = (name) => JSON.stringify(state[name]) === JSON.stringify(PRESETS.self[name]);
  return ["score", "inputs", "W_Q", "W_K", "W_V"].every(same) && !state.order && !state.places;
}

function heads(state, query, key, value, W_O) {
  const width = query.values[0].length / state.heads;
  const parts = Array.from({ length: state.heads }, (_, head) => {
    const names = { suffix: `_${head + 1}`, title: `, head ${head + 1}`, follow: state.follow };
    const [q, k, v] = [query, key, value].map((table) => slice(table, head * width, width));
    const scored = scoreTables(state.score, q, k, {}, names);
    const weights = weightsTable(state.normalize, scored.at(-1), names);
    // The scaled scores come without their unscaled twin here: they are described as made from query and key.
    const compared = made({ ...scored.at(-1), note: null }, [q, k]);
    return [compared, { ...weights, note: null }, { ...contextTable(weights, v, null, names), note: null }];
  });
  const contexts = parts.map((part) => part.at(-1));
  const joined = made(
    {
      id: "joined",
      name: "Contexts joined",
      formula: "[head_{1}; head_{2}; …]",
      axes: ["q", "v"],
      rows: query.rows,
      values: query.values.map((_, i) => contexts.flatMap((context) => context.values[i])),
      why: (i, j) => `from head ${Math.floor(j / width) + 1}`,
    },
    contexts.map((context, head) => ({ ...context, start: head * width })),
  );
  return [
    ...parts.flatMap((part, head) => grouped(`Head ${head + 1}`, part)),
    ...grouped("Join", [joined, product("output", "Output", "joined · *W*_{O}", joined, W_O)]),
  ];
}
