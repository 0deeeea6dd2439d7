// What Steps shows, and how an address says it: only what differs from the rung's example is written.

import { NORMALIZERS } from "../maths/maths.js";
import { PRESETS, SCORE_NAMES, scoreWeights } from "../maths/presets.js";

export const LIMITS = { rows: 8, width: 8 };
const TABLES = ["query", "keys", "values", "inputs", "W_Q", "W_K", "W_V", "W_O"];
const WEIGHTS = ["W", "W_q", "W_k", "v"];

/** The rung as it opens; a score other than its own comes with that score's first weights. */
export function fresh(rung, score = PRESETS[rung].score) {
  const state = {
    rung,
    normalize: "softmax",
    softmax: "rows",
    follow: 0,
    places: false,
    order: null,
    heads: 2,
    ...structuredClone(PRESETS[rung]),
    score,
    weights: {},
  };
  return fit(state);
}

/** Scores that make sense on the rung: a head has no weights of its own for them. */
export function scoresOf(rung) {
  return Object.keys(SCORE_NAMES).filter((name) => rung !== "heads" || ["dot", "scaled_dot", "cosine"].includes(name));
}

/** Sizes made to agree with each other: rows are added as zeros, or dropped. */
export function fit(state) {
  if (state.inputs) {
    const width = state.inputs[0].length;
    for (const name of ["W_Q", "W_K", "W_V"]) state[name] = resized(state[name], width, state[name][0].length);
    state.W_K = resized(state.W_K, width, state.W_Q[0].length);
  } else {
    state.keys = resized(state.keys, state.keys.length, state.query[0].length);
    if (state.values) state.values = resized(state.values, state.keys.length, state.values[0].length);
  }
  const count = state.inputs?.length ?? 0;
  if (state.order && [...state.order].sort((a, b) => a - b).some((x, i) => x !== i || state.order.length !== count))
    state.order = null;
  return fitWeights(state);
}

function fitWeights(state) {
  const width = state.inputs ? state.W_Q[0].length : state.query[0].length;
  const keys = (state.inputs ?? state.keys).length;
  const defaults = scoreWeights(state.score, { width, keyWidth: width, keys });
  state.weights = Object.fromEntries(
    Object.entries(defaults).map(([name, table]) => {
      const had = state.weights[name];
      return [name, had ? table.map((row, i) => row.map((x, j) => had[i]?.[j] ?? x)) : table];
    }),
  );
  return state;
}

export function resized(table, rows, columns) {
  return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => table[i]?.[j] ?? 0));
}

/** {state, ignored}: `ignored` names what in the address could not be read. */
export function fromAddress(params) {
  const ignored = [];
  const choice = (name, allowed, otherwise) => {
    const given = params.get(name);
    if (given === null || allowed.includes(given)) return given ?? otherwise;
    ignored.push(name);
    return otherwise;
  };
  const rung = choice("rung", Object.keys(PRESETS), "one");
  const state = fresh(rung, choice("score", scoresOf(rung), PRESETS[rung].score));
  state.normalize = choice("normalize", Object.keys(NORMALIZERS), "softmax");
  state.softmax = choice("softmax", ["rows", "both"], state.softmax);
  state.places = choice("places", ["on", "off"], "off") === "on";
  state.heads = Number(choice("heads", ["1", "2", "4"], "2"));
  readTables(params, state, ignored);
  readOrder(params, state, ignored);
  fit(state);
  const rows = (state.inputs ?? state.query).length;
  state.follow = Number(
    choice(
      "follow",
      Array.from({ length: rows }, (_, i) => String(i)),
      "0",
    ),
  );
  return { state, ignored };
}

function readTables(params, state, ignored) {
  for (const name of [...TABLES, ...WEIGHTS]) {
    if (!params.has(name)) continue;
    const table = parseTable(params.get(name));
    const holder = WEIGHTS.includes(name) ? state.weights : state;
    const square = ["W_Q", "W_K", "W_V", "W_O"].includes(name) && state.rung === "heads";
    const fits =
      table && holder[name] && (!square || table.length === 4) && (state.rung !== "heads" || table[0].length === 4);
    if (fits) holder[name] = table;
    else ignored.push(name);
  }
}

function readOrder(params, state, ignored) {
  if (!params.has("order")) return;
  const order = params.get("order").split(",").map(Number);
  const valid = state.inputs && order.length === state.inputs.length && state.inputs.every((_, i) => order.includes(i));
  if (valid) state.order = order;
  else ignored.push("order");
}

export function toAddress(state) {
  const first = fresh(state.rung, state.score);
  const params = new URLSearchParams({ rung: state.rung });
  if (state.score !== PRESETS[state.rung].score) params.set("score", state.score);
  for (const name of ["normalize", "softmax", "heads", "follow"])
    if (state[name] !== first[name]) params.set(name, state[name]);
  if (state.places) params.set("places", "on");
  if (state.order) params.set("order", state.order.join(","));
  const write = (name, table, start) => {
    if (table && writeTable(table) !== writeTable(start ?? [])) params.set(name, writeTable(table));
  };
  for (const name of TABLES) write(name, state[name], first[name]);
  for (const name of WEIGHTS) write(name, state.weights[name], first.weights[name]);
  return params;
}

/** "1,2;3,4" or pasted lines of numbers to rows; null where it is no table of numbers. */
export function parseTable(text) {
  const rows = text
    .trim()
    .split(/[;\n]+/)
    .map((row) =>
      row
        .trim()
        .split(/[\s,]+/)
        .filter(Boolean)
        .map(parseNumber),
    );
  const [width, height] = [rows[0].length, rows.length];
  const regular = rows.every((row) => row.length === width && row.every((x) => x !== null));
  return regular && width > 0 && width <= LIMITS.width && height <= LIMITS.rows ? rows : null;
}

/** A number as people type it; null where it is none. */
export function parseNumber(text) {
  const cleaned = text.trim().replace("−", "-");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cleaned)) return null;
  const number = Number(cleaned);
  return Number.isFinite(number) && Math.abs(number) <= 1e100 ? number : null;
}

const writeTable = (table) => table.map((row) => row.join(",")).join(";");
