// Where the page is: the view is the path, what it shows is the query. The token never stays in the address.

import { recall, remember } from "./memory.js";

const TOKEN = "regard-token";
export const VIEWS = ["cover", "story", "steps", "translate", "caption", "kinds", "inspect"];

/**
 * Keep the token that `regard serve` put into the address, and take it out of what people copy. Tabs of the same
 * address (host and port) share it, so that a view's link opens in any of them; no request carries it by itself.
 */
export function keepToken() {
  const params = new URLSearchParams(location.search);
  if (!params.has("token")) return;
  remember(TOKEN, params.get("token"));
  params.delete("token");
  history.replaceState(null, "", path(currentView(), params, currentRest()));
}

export const token = () => recall(TOKEN) ?? "";

export function currentView() {
  return currentParts().find((part) => VIEWS.includes(part)) ?? "cover";
}

/** What the path says after the view: of /story/look-back/4 "look-back" and "4". */
export function currentRest() {
  const parts = currentParts();
  return parts.slice(parts.indexOf(currentView()) + 1);
}

const currentParts = () => location.pathname.split("/").filter(Boolean);

export const currentParams = () => new URLSearchParams(location.search);

export function path(view, params, rest = []) {
  const query = params.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
  return `/${view === "cover" ? "" : [view, ...rest].join("/")}${query ? `?${query}` : ""}`;
}

/** Write what is shown into the address; `push` makes it a step that Back undoes. */
export function write(view, params, { push = false, rest = [] } = {}) {
  const next = path(view, params, rest);
  if (next === location.pathname + location.search) return;
  history[push ? "pushState" : "replaceState"](null, "", next);
}
