// The scale of every picture, that of `regard.show.colours`: 0 is nearly white, blue above it and orange below, deeper
// the larger. SCALE holds its colours from -1 to 1 in even steps; a test compares them with the package's.

const SCALE =
  "6e2400 742a04 7a300a 803611 863c17 8c421c 924822 984e28 9d542e a35a34 a9613b ae6741 b36e48 b8744f be7b56 c3815d " +
  "c78864 cc8f6c d09674 d59d7c d9a484 ddaa8d e1b296 e4b99f e7c0a8 eac7b2 edcebb efd5c5 f1dcd0 f3e3da f4ebe5 f5f2f0 " +
  "f6f9fb ecf3fb e2edfa d8e6f8 cee0f7 c5daf5 bbd3f2 b2cdf0 a9c6ed a0c0ea 98b9e6 8fb2e2 87acdf 7fa5da 779ed6 7098d1 " +
  "6891cd 618ac8 5a84c3 537dbd 4d76b8 4670b2 4069ad 3a62a7 345ca1 2f559b 294f95 24488f 1f4288 1b3c82 16357b 122f75 " +
  "0f286e";

const COLOURS = SCALE.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
const NOTHING = [222, 222, 222];

/** The colour of a shade from -1 to 1, as [red, green, blue]; what is not finite is grey. */
export function colourOf(shade) {
  if (!Number.isFinite(shade)) return NOTHING;
  const place = ((Math.min(Math.max(shade, -1), 1) + 1) / 2) * (COLOURS.length - 1);
  const below = Math.min(Math.floor(place), COLOURS.length - 2);
  return COLOURS[below].map((low, i) => Math.round(low + (COLOURS[below + 1][i] - low) * (place - below)));
}

export function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/** The scale from one shade to another as a background, from left to right. */
export function ramp(from, to) {
  const stops = Array.from({ length: 17 }, (_, i) => css(colourOf(from + ((to - from) * i) / 16)));
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** Each number as a share of the largest size in its table, -1 to 1; what is not finite is NaN. */
export function signedShades(table) {
  const largest = largestOf(table, Math.abs);
  return table.map((row) => row.map((x) => (!Number.isFinite(x) ? NaN : largest > 0 ? x / largest : 0)));
}

/** The weight of the deepest colour of a map: 1, or a round number above the largest where all are small. */
export function scaleTop(table) {
  const largest = largestOf(table, (x) => x);
  if (largest === 0 || largest >= 0.5) return Math.max(1, largest);
  const unit = 10 ** Math.floor(Math.log10(largest));
  return Math.ceil(Math.round((largest / unit) * 1e6) / 1e6) * unit;
}

function largestOf(table, size) {
  const larger = (most, x) => (Number.isFinite(x) && size(x) > most ? size(x) : most);
  return table.reduce((most, row) => row.reduce(larger, most), 0);
}

/** Black or white, whichever is easier to read on the colour (WCAG 2.2, relative luminance). */
export function inkOn(colour) {
  const light = luminance(colour);
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? "#000" : "#fff";
}

export function luminance(colour) {
  const [red, green, blue] = colour.map((part) => {
    const level = part / 255;
    return level <= 0.04045 ? level / 12.92 : ((level + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
