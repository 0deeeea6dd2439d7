// The server's answers. What it refuses becomes an Error with its own words.

import { token } from "./address.js";

export async function models() {
  try {
    return (await call("/api/models")).models;
  } catch (error) {
    return Object.assign([], { error: error.message });
  }
}

export async function translate(model, text, beam, signal) {
  const body = JSON.stringify({ model, text, beam });
  return (
    await call("/api/translate", { method: "POST", body, headers: { "Content-Type": "application/json" }, signal })
  ).translation;
}

export async function caption(model, photo, signal) {
  const headers = { "Content-Type": photo.type || "application/octet-stream" };
  return (
    await call(`/api/caption?model=${encodeURIComponent(model)}`, { method: "POST", body: photo, headers, signal })
  ).caption;
}

/** The data as one HTML file that shows it anywhere, offline. */
export async function exportHtml(data) {
  const headers = { "Content-Type": "application/json", "X-Regard-Token": token() };
  const response = await fetch("/api/export", { method: "POST", body: JSON.stringify(data), headers });
  if (!response.ok)
    throw new Error((await response.json().catch(() => null))?.error ?? `the server answered ${response.status}`);
  return response.blob();
}

async function call(address, { headers = {}, ...options } = {}) {
  let response;
  try {
    response = await fetch(address, { ...options, headers: { ...headers, "X-Regard-Token": token() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is `regard serve` still running?");
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok || answer === null) throw new Error(answer?.error ?? `The server answered ${response.status}.`);
  return answer;
}
