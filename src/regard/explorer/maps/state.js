// What Inspect shows, and how an address says it.

const whole = (text, otherwise) => (/^\d{1,12}$/.test(text ?? "") ? Number(text) : otherwise);

const pair = (text, between) => {
  const [a, b, ...more] = (text ?? "").split(between).map((part) => whole(part, null));
  return a === null || b === null || b === undefined || more.length ? null : [a, b];
};

const LONG = 512; // rows or columns, from which on weights are so small that a logarithmic scale shows more

/** Whether the scale is logarithmic: as chosen, else by the size of the map. */
export const isLog = (state, { rows, columns }) => state.log ?? Math.max(rows, columns) > LONG;

/** From an address: recording, text, map (a module's name), batch, heads, part, at (the pin), by, log, withoutSink. */
export function readState(params) {
  const [rows, columns] = [pair(params.get("rows"), "-"), pair(params.get("columns"), "-")];
  const part = rows &&
    columns && { top: rows[0], left: columns[0], height: rows[1] - rows[0], width: columns[1] - columns[0] };
  const heads = (params.get("heads") ?? "").split(",").map((part_) => whole(part_, null));
  return {
    recording: params.get("recording"),
    text: params.get("text"),
    map: params.get("map"),
    batch: whole(params.get("batch"), 0),
    heads: heads.filter((head) => head !== null),
    part: part && part.height > 0 && part.width > 0 ? part : null,
    at: pair(params.get("at"), ","),
    by: params.get("by") === "mean" ? "mean" : "max",
    log: { log: true, linear: false }[params.get("scale")] ?? null,
    withoutSink: params.get("sink") === "off",
    words: params.get("words") === "column" ? "column" : "row",
    find: params.get("find") ?? "",
    axis: params.get("in") === "row" ? "row" : "column",
  };
}

export function writeState(state, size) {
  const { recording, text, map, batch, heads, part, at } = state;
  const params = new URLSearchParams({ recording });
  if (text) params.set("text", text);
  params.set("map", map);
  params.set("heads", heads.join(","));
  if (batch) params.set("batch", String(batch));
  const span = (first, length) => `${Math.floor(first)}-${Math.ceil(first + length)}`;
  if (part && (part.height < size.rows || part.width < size.columns)) {
    params.set("rows", span(part.top, part.height));
    params.set("columns", span(part.left, part.width));
  }
  if (at) params.set("at", at.join(","));
  if (state.by === "mean") params.set("by", "mean");
  if (state.log !== null) params.set("scale", state.log ? "log" : "linear");
  if (state.withoutSink) params.set("sink", "off");
  if (state.words === "column") params.set("words", "column");
  if (state.find) params.set("find", state.find);
  if (state.find && state.axis === "row") params.set("in", "row");
  return params;
}
