// The server's answers. What it refuses becomes an Error with its own words.

import { token } from "./address.js";
import { fromHalf } from "./half.js";

/** The models; where there are none, `advice` says by task how to get one, or `error` why the server does not tell. */
export async function models() {
  try {
    const { models: found, advice } = await call("/api/models");
    return Object.assign(found, { advice });
  } catch (error) {
    return Object.assign([], { error: error.message });
  }
}

/** A translation; `more` may hold hide (numbers of words), hide_input and needed. */
export async function translate(model, text, beam, signal, more = {}) {
  const body = JSON.stringify({ model, text, beam, ...more });
  return (
    await call("/api/translate", { method: "POST", body, headers: { "Content-Type": "application/json" }, signal })
  ).translation;
}

/** A caption; `more` may hold hide ("row,column;row,column"), hide_input and needed. */
export async function caption(model, photo, signal, more = {}) {
  const query = new URLSearchParams({ model, ...more });
  const headers = { "Content-Type": photo.type || "application/octet-stream" };
  return (
    await call(`/api/caption?${query}`, { method: "POST", body: photo, headers, signal })
  ).caption;
}

/** The data as one HTML file that shows it anywhere, offline. */
export async function exportHtml(data) {
  const headers = { "Content-Type": "application/json" };
  return (await asked("/api/export", { method: "POST", body: JSON.stringify(data), headers })).blob();
}

/** What can be inspected, and how to get something where there is nothing. */
export const recordings = () => call("/api/inspect");

/** Part of a recording: "maps", "heads", "profile", "labels" or "search". */
export const inspect = (part, body, signal) => call(`/api/inspect/${part}`, posted(body, signal));

/** Numbers of a recording, "tile" or "thumbnails": {values, shape, sampled}. */
export async function inspectNumbers(part, body, signal) {
  const response = await asked(`/api/inspect/${part}`, posted(body, signal));
  const bytes = await response.arrayBuffer();
  const { headers } = response;
  return {
    values: headers.get("X-Regard-Type") === "float16" ? fromHalf(bytes) : new Float32Array(bytes),
    shape: headers.get("X-Regard-Shape").split(",").map(Number),
    sampled: headers.get("X-Regard-Sampled") === "true",
  };
}

function posted(body, signal) {
  return { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal };
}

async function call(address, options) {
  const response = await asked(address, options);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server's answer broke off.", { cause: error });
  }
}

async function asked(address, { headers = {}, ...options } = {}) {
  let response;
  try {
    response = await fetch(address, { ...options, headers: { ...headers, "X-Regard-Token": token() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is `regard serve` still running?", { cause: error });
  }
  if (response.ok) return response;
  throw new Error((await response.json().catch(() => null))?.error ?? `The server answered ${response.status}.`);
}
