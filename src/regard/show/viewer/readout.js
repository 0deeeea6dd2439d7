// What a map says in words, and the legend of its colours.

import { LEAST_NEEDED } from "./by.js";
import { ramp } from "./colours.js";
import { h } from "./dom.js";
import { percent, short } from "./numbers.js";

/** The columns that a row looked at most. */
export function strongest(weights, names) {
  const order = weights.map((weight, j) => [weight, j]).sort((a, b) => b[0] - a[0]);
  const shown = order.filter(([weight], rank) => rank === 0 || (rank < 3 && weight >= 0.05));
  return shown.map(([weight, j]) => `“${names[j]}” ${percent(weight)}`).join(", ");
}

/** What hiding a column costs a row, as a sentence. */
export function loss(row, column, nats) {
  if (nats < 0) return `“${row}” becomes likelier by ${short(-nats)} nats when “${column}” is hidden (${short(nats)})`;
  return `“${row}” loses ${short(nats)} nats when “${column}” is hidden`;
}

/** The columns that a row needed most. */
export function dearest(nats, names) {
  const order = nats.map((cost, j) => [cost, j]).sort((a, b) => b[0] - a[0]);
  const shown = order.filter(([cost], rank) => rank < 3 && cost >= Math.max(LEAST_NEEDED, order[0][0] / 20));
  if (!shown.length) return `needs none of them alone (at most ${short(Math.max(0, order[0][0]))} nats)`;
  return `needs ${shown.map(([cost, j]) => `“${names[j]}” (${short(cost)} nats)`).join(", ")}`;
}

/** The colours of numbers from 0 to the most that the map's scale has. */
export function legend(most, isNeeded) {
  const top = String(Number(most.toPrecision(6)));
  const [unit, what] = isNeeded ? [" nats", "nats lost:"] : ["", "weight"];
  return h(
    "span",
    {
      class: "rg-legend",
      role: "img",
      "aria-label": `Colours from that of the page, ${what} 0, to strong blue, ${what} ${top}`,
    },
    "0",
    h("span", { class: "rg-ramp", style: { background: ramp(0, 1) } }),
    top + unit,
  );
}
