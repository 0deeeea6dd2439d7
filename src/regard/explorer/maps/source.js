// What a big map asks the server for: weights, profiles and labels of some heads of one module.

import { inspect, inspectNumbers } from "../page/api.js";
import { Labels } from "./labels.js";

/** `recording`: {recording, text}; `map` as the server lists it; several heads are averaged. */
export function sourceOf(recording, map, batch, heads, onLabels) {
  const from = { ...recording, map: map.name };
  const some = { ...from, batch, heads };
  const labels = (axis, size) =>
    new Labels(size, (span) => inspect("labels", { ...from, axis, span }).then((answer) => answer.labels), onLabels);
  return {
    size: { rows: map.rows, columns: map.columns },
    heads: heads.length,
    row: labels("row", map.rows),
    column: labels("column", map.columns),
    numbers: (request) => inspectNumbers("tile", { ...some, ...request }),
    profile: (axis, place, span, bins) => inspect("profile", { ...some, axis, place, span, bins }),
    search: (axis, find) => inspect("search", { ...from, axis, find }),
  };
}
