// Scores, weights and context as tables with their links: one attention, for any kind of score.

import { NORMALIZERS, SCORES, dot, halves, matmul, softmaxOverAll, tanhPairs } from "./maths.js";
import { short } from "../viewer/numbers.js";
import { as, bracketed, cosineWhy, given, made, pairs, elementwise, product, sum } from "./tables.js";

/** The score's own weights as tables that can be edited. */
export function weightTables(score, weights) {
  const names = {
    W: [
      "Score weights",
      "*W*",
      {
        general: "Which entry asks for which.",
        concat: "For query and key end to end.",
        location: "A row for each place.",
      }[score],
    ],
    W_q: ["Score weights of the query", "*W*_{q}"],
    W_k: ["Score weights of the key", "*W*_{k}"],
    v: ["Score vector", "*v*", "How hidden numbers become a score."],
  };
  return Object.entries(weights).map(([id, values]) => {
    const [name, formula, note] = names[id];
    return given(id, name, values, { formula, note, editable: true });
  });
}

/**
 * The tables from query and key to scores; the last one is what gets normalised.
 * `follow` is the query whose inner steps are shown, `suffix` sets heads apart.
 */
export function scoreTables(score, query, key, weights, { follow = 0, suffix = "", title = "" } = {}) {
  const make = {
    dot: dotTables,
    scaled_dot: scaledTables,
    cosine: cosineTables,
    general: generalTables,
    additive: additiveTables,
    concat: concatTables,
    location: locationTables,
  }[score];
  return make({ query, key, weights, follow, id: (name) => name + suffix, named: (name) => name + title });
}

function dotTables({ query, key, id, named }) {
  const why = (i, j) => sum(query.values[i], key.values[j]);
  return [
    pairs(id("scores"), named("Scores"), "*q* · *k*_{j}", query, key, SCORES.dot(query.values, key.values), {
      why,
      note: "Multiply entry by entry and add up: large where query and key point the same way.",
    }),
  ];
}

function scaledTables(work) {
  const [plain] = dotTables(work);
  const width = work.query.values[0].length;
  const scaled = elementwise(
    work.id("scaled"),
    work.named("Scaled scores"),
    "scores / √*d*",
    plain,
    (x) => x / Math.sqrt(width),
    (x) => `${short(x)} / √${width}`,
    { note: `Divided by √${width}, so that wide vectors do not shout.` },
  );
  return [plain, scaled];
}

function cosineTables({ query, key, id, named }) {
  const why = (i, j) => cosineWhy(query.values[i], key.values[j]);
  return [
    pairs(
      id("scores"),
      named("Scores"),
      "*q* · *k*_{j} / (|*q*| |*k*_{j}|)",
      query,
      key,
      SCORES.cosine(query.values, key.values),
      { why, note: "Only the direction counts: from −1 to 1." },
    ),
  ];
}

function generalTables({ query, key, weights, id, named }) {
  const W = { id: "W", values: weights.W, axes: ["d", "e"] };
  const turned = product(id("turned"), named("Query through W"), "*q* *W*", query, W);
  const why = (i, j) => sum(turned.values[i], key.values[j]);
  return [
    turned,
    pairs(id("scores"), named("Scores"), "(*q* *W*) · *k*_{j}", turned, key, SCORES.dot(turned.values, key.values), {
      why,
      note: "A matrix between the two: which entry of the query asks for which entry of the key is learned.",
    }),
  ];
}

function additiveTables({ query, key, weights, follow, id, named, cut = {} }) {
  const { W_q, W_k, v } = weights;
  const through = (name, values, part) => ({ id: name, values, axes: ["h", "d"], ...part });
  const [ofQuery, ofKey] = [through("W_q", W_q, cut.W_q), through("W_k", W_k, cut.W_k)];
  const turned = { transposed: true };
  const asked = product(id("asked"), named("Projected query"), "*W*_{q} *q*", query, ofQuery, turned);
  const offered = product(id("offered"), named("Projected keys"), "*W*_{k} *k*_{j}", key, ofKey, turned);
  const hidden = tanhPairs(query.values, key.values, W_q, W_k);
  const scores = hidden.map((rows) => rows.map((row) => dot(row, v[0])));
  const whose = query.values.length > 1 ? ` of ${query.rows[follow]}` : "";
  const inner = made(
    {
      id: id("hidden"),
      name: named(`Hidden numbers${whose}`),
      formula: "tanh(*W*_{q} *q* + *W*_{k} *k*_{j})",
      values: hidden[follow],
      axes: ["k", "h"],
      at: { q: follow },
      rows: key.rows,
      why: (j, c) =>
        `tanh(${short(asked.values[follow][c])} + ${short(offered.values[j][c])}) = ${short(hidden[follow][j][c])}`,
    },
    [asked, offered],
  );
  const total = pairs(id("scores"), named("Scores"), "*v* · hidden_{j}", query, key, scores, {
    note: "A small network reads query and key together.",
    why: (i, j) => sum(v[0], hidden[i][j]),
  });
  const sources = [inner, { id: "v", values: v, axes: ["", "h"] }];
  return [asked, offered, inner, made(total, sources)];
}

function concatTables(work) {
  const width = work.query.values[0].length;
  const { W, v } = work.weights;
  const cut = { W_q: { id: "W" }, W_k: { id: "W", offset: width } };
  return additiveTables({ ...work, weights: { ...halves(W, width), v }, cut });
}

function locationTables({ query, key, weights, id, named }) {
  const scores = SCORES.location(query.values, key.values, weights);
  const total = pairs(id("scores"), named("Scores"), "*W*_{j} · *q*", query, key, scores, {
    note: "From the query alone: what stands at a place is not asked.",
    why: (i, j) => sum(weights.W[j], query.values[i]),
  });
  return [made(total, [query, { id: "W", values: weights.W, axes: ["k", "d"] }])];
}

/** Weights, for the normaliser's name or "all" for one softmax over the whole matrix. */
export function weightsTable(normalize, scores, { suffix = "", title = "" } = {}) {
  const all = normalize === "all";
  const values = all ? softmaxOverAll(scores.values) : scores.values.map(NORMALIZERS[normalize]);
  const seen = (i) => (all ? scores.values.flat() : scores.values[i]);
  const [formula, note] = {
    softmax: ["exp(score_{j}) / Σ exp(score)", "Every row becomes shares that add up to 1."],
    all: ["exp(score) / Σ_{all} exp(score)", "All cells together add up to 1."],
    sparsemax: ["the nearest shares to the scores", "Shares that add up to 1; far keys get exactly 0."],
    hard: ["1 for the largest score", "Everything on the best key."],
  }[normalize];
  return made(
    {
      id: `weights${suffix}`,
      name: `Weights${title}`,
      formula,
      note,
      values,
      axes: ["q", "k"],
      over: all ? ["q", "k"] : ["k"],
      rows: scores.rows,
      columns: scores.columns,
      why: (i, j) => `${normalWhy(normalize, scores.values[i][j], seen(i))} = ${short(values[i][j])}`,
    },
    [scores],
  );
}

function normalWhy(normalize, score, scores) {
  const peak = Math.max(...scores);
  if (normalize === "sparsemax") return `the share of score ${short(score)} in the nearest point of the simplex`;
  if (normalize === "hard") return `score ${short(score)}${score === peak ? " is" : " is not"} the largest of the row`;
  const term = (x) => `exp(${short(x)} − ${bracketed(peak)})`;
  const terms = scores.length > 4 ? [...scores.slice(0, 3).map(term), "…"] : scores.map(term);
  return `${term(score)} / (${terms.join(" + ")})`;
}

/** Weight times value, for the query that is followed. */
export function weightedTable(weights, value, { follow = 0, suffix = "", title = "" } = {}) {
  const row = weights.values[follow];
  const whose = weights.values.length > 1 ? ` for ${weights.rows[follow]}` : "";
  return elementwise(
    `weighted${suffix}`,
    `Weighted values${whose}${title}`,
    "*w*_{j} *v*_{j}",
    as(value, ["k", "v"]),
    (x, j) => row[j] * x,
    (x, j) => `${short(row[j])} × ${short(x)}`,
    { others: [weights], at: { q: follow }, columns: null },
  );
}

/** The weighted values added up: what attention gives back. */
export function contextTable(weights, value, weighted, { suffix = "", title = "" } = {}) {
  const values = matmul(weights.values, value.values);
  return made(
    {
      id: `context${suffix}`,
      name: `Context${title}`,
      formula: "Σ *w*_{j} *v*_{j}",
      values,
      axes: ["q", "v"],
      rows: weights.rows,
      note: "The values mixed by their weights: what was looked up.",
      why: (i, c) =>
        `${sum(
          weights.values[i],
          value.values.map((row) => row[c]),
        )} = ${short(values[i][c])}`,
    },
    weighted ? [weighted] : [weights, as(value, ["k", "v"])],
  );
}
