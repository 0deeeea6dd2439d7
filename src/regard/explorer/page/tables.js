// Tables that know how each number came about: the cells it was made from, and the sum written out.

import { dot, each, matmul, transpose } from "./maths.js";
import { short } from "./numbers.js";

const MOST_TERMS = 6;

/** Numbers that were given, not computed. */
export function given(id, name, values, rest = {}) {
  return { id, name, values, from: () => [], why: (i, j) => `given: ${short(values[i][j])}`, ...rest };
}

/** left · right, each number a row of one times a column of the other. */
export function product(id, name, formula, left, right, rest = {}) {
  const values = matmul(left.values, right.values);
  const columns = transpose(right.values);
  return {
    id,
    name,
    formula,
    values,
    rows: left.rows,
    from: (i, j) => [...rowOf(left, i), ...columnOf(right, j)],
    why: (i, j) => `${sum(left.values[i], columns[j])} = ${short(values[i][j])}`,
    ...rest,
  };
}

/** Each number from the number of another table at the same place. */
export function pointwise(id, name, formula, source, change, why, rest = {}) {
  const values = each(source.values, change);
  return {
    id,
    name,
    formula,
    values,
    rows: source.rows,
    columns: source.columns,
    from: (i, j) => [[source.id, i, j]],
    why: (i, j) => `${why(source.values[i][j], i, j)} = ${short(values[i][j])}`,
    ...rest,
  };
}

/** Every query row against every key row by `compare`; `pair(i, j)` gives the cells beyond the two rows. */
export function pairs(id, name, formula, query, key, values, { why, pair = () => [], ...rest }) {
  return {
    id,
    name,
    formula,
    values,
    rows: query.rows,
    columns: key.rows,
    from: (i, j) => [...rowOf(query, i), ...rowOf(key, j), ...pair(i, j)],
    why: (i, j) => `${why(i, j)} = ${short(values[i][j])}`,
    ...rest,
  };
}

/** A part of a table's columns, for one head: its cells are those of the whole. */
export function slice(table, start, width) {
  return {
    ...table,
    offset: (table.offset ?? 0) + start,
    values: table.values.map((row) => row.slice(start, start + width)),
  };
}

export const rowOf = (table, i) => table.values[i].map((_, c) => [table.id, i, c + (table.offset ?? 0)]);

/** The cells of a column; a table may say itself which they are (`cells`), where it is used transposed. */
export function columnOf(table, j) {
  return table.cells ? table.cells(j) : table.values.map((_, r) => [table.id, r, j + (table.offset ?? 0)]);
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
