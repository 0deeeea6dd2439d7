// Tables that know how each number came about: the cells it was made from, and the sum written out.

import { dot, each, matmul, transpose } from "./maths.js";
import { short } from "../viewer/numbers.js";

const MOST_TERMS = 6;

/**
 * A table and the tables it was made from. As in `regard.Step`, `axes` name its rows and columns (q queries, k keys,
 * d width of query and key, v width of value, h hidden; "" for none), `made_from` the tables behind it: each number
 * comes from theirs at the same place on the axes that both have, and on `over` from all places, as in a softmax.
 * A table that shows one query only says which: `at: {q: 2}`.
 */
export function made(table, sources) {
  const tied = { ...table, sources, made_from: [...new Set(sources.map(({ id }) => id))] };
  tied.from = (i, j) => {
    const place = { ...tied.at, [tied.axes[0]]: i, [tied.axes[1]]: j };
    for (const axis of ["", ...(tied.over ?? [])]) delete place[axis];
    return sources.flatMap((source) => cellsAt(source, place));
  };
  return tied;
}

/** The cells of a table at a place, all along the axes that it does not name. */
function cellsAt(table, place) {
  const another = Object.entries(table.at ?? {}).some(([axis, at]) => axis in place && place[axis] !== at);
  if (another) return table.sources.flatMap((source) => cellsAt(source, place)); // its own are of another query
  const sizes = [table.values.length, table.values[0].length];
  const starts = [0, table.start ?? 0];
  const [rows, columns] = table.axes.map((axis, n) =>
    Array.from({ length: sizes[n] }, (_, at) => at).filter((at) => !(axis in place) || at + starts[n] === place[axis]),
  );
  return rows.flatMap((row) => columns.map((column) => [table.id, row, column + (table.offset ?? 0)]));
}

/** The table under other names of its axes: words are queries to one table and keys to another. */
export const as = (table, axes) => ({ ...table, axes });

/** Numbers that were given, not computed. */
export function given(id, name, values, rest = {}) {
  return made({ id, name, values, axes: ["", ""], why: (i, j) => `given: ${short(values[i][j])}`, ...rest }, []);
}

/** left · right, each number a row of one times a column of the other; or a row of the other, `transposed`. */
export function product(id, name, formula, left, right, { transposed = false, ...rest } = {}) {
  const columns = transposed ? right.values : transpose(right.values);
  const values = matmul(left.values, transpose(columns));
  const across = right.axes[transposed ? 0 : 1];
  return made(
    {
      id,
      name,
      formula,
      values,
      axes: [left.axes[0], across],
      rows: left.rows,
      why: (i, j) => `${sum(left.values[i], columns[j])} = ${short(values[i][j])}`,
      ...rest,
    },
    [left, right],
  );
}

/** Each number from the number of another table at the same place, and those of `others`. */
export function elementwise(id, name, formula, source, change, why, { others = [], ...rest } = {}) {
  const values = each(source.values, change);
  return made(
    {
      id,
      name,
      formula,
      values,
      axes: source.axes,
      rows: source.rows,
      columns: source.columns,
      why: (i, j) => `${why(source.values[i][j], i, j)} = ${short(values[i][j])}`,
      ...rest,
    },
    [source, ...others],
  );
}

/** Every query row against every key row. */
export function pairs(id, name, formula, query, key, values, { why, ...rest }) {
  return made(
    {
      id,
      name,
      formula,
      values,
      axes: ["q", "k"],
      rows: query.rows,
      columns: key.rows,
      why: (i, j) => `${why(i, j)} = ${short(values[i][j])}`,
      ...rest,
    },
    [query, key],
  );
}

/** A part of a table's columns, for one head: its cells are those of the whole. */
export function slice(table, start, width) {
  return {
    ...table,
    offset: (table.offset ?? 0) + start,
    values: table.values.map((row) => row.slice(start, start + width)),
  };
}

/** 5·3 + 1·12 + 20·45, shortened where it grows long. */
export function sum(a, b) {
  const terms = a.map((x, i) => `${bracketed(x)}·${bracketed(b[i])}`);
  return terms.length > MOST_TERMS ? `${terms.slice(0, MOST_TERMS - 1).join(" + ")} + …` : terms.join(" + ");
}

export const bracketed = (x) => (x < 0 ? `(${short(x)})` : short(x));

/** |q| |k| and their dot product, for a cosine written out. */
export function cosineWhy(a, b) {
  const length = (vector) => Math.sqrt(dot(vector, vector));
  return `${short(dot(a, b))} / (${short(length(a))} × ${short(length(b))})`;
}
