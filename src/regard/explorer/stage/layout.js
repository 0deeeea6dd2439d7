// What every cast needs: places in a row, and numbers as the stage writes them.

import { short } from "../viewer/numbers.js";

/** The middles of so many columns, side by side from left to right. */
export function spread(count, left, right) {
  const room = (right - left) / count;
  return Array.from({ length: count }, (_, i) => left + (i + 0.5) * room);
}

/**
 * Two decimals, without zeros at the end, and none from 100 on; three for what would be 0 by that, and what is 0 by that too
 * is nearly 0.
 */
export function decimal(number) {
  const size = Math.abs(number);
  if (number !== 0 && size < 0.0005) return "≈0";
  return short(Number(number.toFixed(size >= 100 ? 0 : size < 0.005 ? 3 : 2)));
}

/**
 * The keys that patterns name: "h.*" all of h, "s.0-2" some of s, "a.2.*" the weights of step 2. A pattern is split at its
 * points, a key too; both must have as many parts.
 */
export function matching(keys, patterns) {
  const tests = patterns.map((pattern) => pattern.split("."));
  return [...keys].filter((key) => {
    const parts = key.split(".");
    return tests.some((test) => test.length === parts.length && test.every((part, i) => fits(part, parts[i])));
  });
}

function fits(part, value) {
  if (part === "*" || part === value) return true;
  const range = /^(\d+)-(\d+)$/.exec(part);
  return range !== null && Number(value) >= Number(range[1]) && Number(value) <= Number(range[2]);
}
