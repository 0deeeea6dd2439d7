// The server's answers. What it refuses becomes an Error with its own words.

import { token } from "./address.js";

/** The models; where there are none, `advice` says by task how to get one, or `error` why the server does not tell. */
export async function models() {
  try {
    const { models: found, advice } = await call("/api/models");
    return Object.assign(found, { advice });
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
  const headers = { "Content-Type": "application/json" };
  return (await asked("/api/export", { method: "POST", body: JSON.stringify(data), headers })).blob();
}

async function call(address, options) {
  const response = await asked(address, options);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server's answer broke off.");
  }
}

async function asked(address, { headers = {}, ...options } = {}) {
  let response;
  try {
    response = await fetch(address, { ...options, headers: { ...headers, "X-Regard-Token": token() } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is `regard serve` still running?");
  }
  if (response.ok) return response;
  throw new Error((await response.json().catch(() => null))?.error ?? `The server answered ${response.status}.`);
}
