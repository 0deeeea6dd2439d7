// Where the page is: the view is the path, what it shows is the query. The token never stays in the address.

import { recall, remember } from "./memory.js";

const TOKEN = "regard-token";
export const VIEWS = ["steps", "translate", "caption", "kinds", "inspect"];

/**
 * Keep the token that `regard serve` put into the address, and take it out of what people copy. Tabs of the same
 * address (host and port) share it, so that a view's link opens in any of them; no request carries it by itself.
 */
export function keepToken() {
  const params = new URLSearchParams(location.search);
  if (!params.has("token")) return;
  remember(TOKEN, params.get("token"));
  params.delete("token");
  history.replaceState(null, "", path(currentView(), params));
}

export const token = () => recall(TOKEN) ?? "";

export function currentView() {
  const name = location.pathname.split("/").at(-1);
  return VIEWS.includes(name) ? name : "steps";
}

export const currentParams = () => new URLSearchParams(location.search);

export function path(view, params) {
  const query = params.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
  return `/${view}${query ? `?${query}` : ""}`;
}

/** Write what is shown into the address; `push` makes it a step that Back undoes. */
export function write(view, params, { push = false } = {}) {
  const next = path(view, params);
  if (next === location.pathname + location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", next);
}
