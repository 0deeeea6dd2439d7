// The part of a big map on screen as a map of few cells, for pictures and files: its size does not grow with the map's.

const WIDEST = 96; // rows and columns

/** Data of kind "map": single weights exactly where few are on screen, else the largest or mean of each cell. */
export async function snapshotOf(map, title) {
  const { part, source } = map;
  const { rows, columns } = source.size;
  const [top, left] = [Math.floor(part.top), Math.floor(part.left)];
  const bottom = Math.min(rows, Math.ceil(part.top + part.height));
  const right = Math.min(columns, Math.ceil(part.left + part.width));
  const cell = [cellOf(bottom - top), cellOf(right - left)];
  const weights = await weightsOf(map, [top, bottom], [left, right], cell);
  const [firstRows, firstColumns] = [firsts(top, bottom, cell[0]), firsts(left, right, cell[1])];
  await Promise.all([labelled(source.row, firstRows), labelled(source.column, firstColumns)]);
  const label = (axis, size) => (place) => `${axis.at(place)}${size > 1 ? ` ${place}` : ""}`;
  const pooled = map.by === "mean" ? "the mean" : "the largest weight";
  const pooling = cell[0] * cell[1] > 1 ? `; ${pooled} of each ${cell[0]} x ${cell[1]}` : "";
  return {
    kind: "map",
    title: `${title}: queries ${top} to ${bottom - 1}, keys ${left} to ${right - 1}${pooling}`,
    rows: firstRows.map(label(source.row, cell[0])),
    columns: firstColumns.map(label(source.column, cell[1])),
    weights,
  };
}

const cellOf = (length) => 2 ** Math.max(0, Math.ceil(Math.log2(length / WIDEST)));

const firsts = (from, to, cell) => Array.from({ length: Math.ceil((to - from) / cell) }, (_, i) => from + i * cell);

async function labelled(axis, places) {
  for (const place of places) await axis.load(place, place + 1);
}

/** Row by row of cells, so that no call takes long. */
async function weightsOf(map, [top, bottom], columns, [down, across]) {
  const most = Math.max(1, Math.floor((1 << 23) / ((columns[1] - columns[0]) * down * map.source.heads)));
  const found = [];
  for (let row = top; row < bottom; row += most * down) {
    const rows = [row, Math.min(bottom, row + most * down)];
    const request = { rows, columns, cell: [down, across], by: map.by, precise: true };
    const { values, shape } = await map.source.numbers(request);
    for (let i = 0; i < shape[0]; i += 1) found.push([...values.subarray(i * shape[1], (i + 1) * shape[1])]);
  }
  return found;
}
