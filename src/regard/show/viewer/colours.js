// The scale of every picture: 0 recedes into the background, blue above it and orange below, stronger the larger. On
// light pages it is that of `regard.show.colours`, from near white to deep; on dark ones it is turned, from near black to
// bright. Each side is a curve through OKLab, walked at an even pace: equal steps of the number look equal.

// From 0, through a point that bends the curve, to the end: lightness and the two axes of colour in OKLab.
const LIGHT = {
  below: [[0.98, -0.002, -0.004], [0.74, 0.07, 0.1], [0.37, 0.085, 0.075]],
  above: [[0.98, -0.002, -0.004], [0.7, -0.035, -0.125], [0.31, -0.012, -0.125]],
  nothing: [222, 222, 222],
};
const DARK = {
  below: [[0.26, -0.002, -0.012], [0.56, 0.09, 0.125], [0.92, 0.018, 0.06]],
  above: [[0.26, -0.002, -0.012], [0.56, -0.045, -0.15], [0.92, -0.03, -0.035]],
  nothing: [75, 75, 75],
};
const STEPS = 256;
const LIGHT_SCALE = scaleOf(LIGHT);
const DARK_SCALE = scaleOf(DARK);

/** The colour of a shade from -1 to 1, as [red, green, blue]; what is not finite is grey. */
export function colourOf(shade, dark = false) {
  if (!Number.isFinite(shade)) return (dark ? DARK : LIGHT).nothing;
  return (dark ? DARK_SCALE : LIGHT_SCALE)[Math.round((Math.min(Math.max(shade, -1), 1) + 1) * STEPS)];
}

/** The styles of an element with a shade behind its text, on light and on dark pages. */
export function shadeStyles(shade) {
  const [light, dark] = [colourOf(shade), colourOf(shade, true)];
  return {
    backgroundColor: `light-dark(${css(light)}, ${css(dark)})`,
    color: `light-dark(${inkOn(light)}, ${inkOn(dark)})`,
  };
}

export function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}

/** The scale from one shade to another as a background, from left to right. */
export function ramp(from, to) {
  const stops = Array.from({ length: 17 }, (_, i) => shadeStyles(from + ((to - from) * i) / 16).backgroundColor);
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** Whether an element stands on a dark page: its text is light then, which style sheets say with light-dark(). */
export function isDark(element) {
  const ink = getComputedStyle(element).color.match(/[\d.]+/g);
  return ink !== null && luminance(ink.slice(0, 3).map(Number)) > 0.4;
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

function scaleOf({ below, above }) {
  return [...evenly(below).reverse(), ...evenly(above).slice(1)].map(fromOklab);
}

/** Points of a quadratic Bezier curve at even distances along it. */
function evenly([start, bend, end]) {
  const fine = Array.from({ length: 4 * STEPS + 1 }, (_, i) => {
    const t = i / (4 * STEPS);
    return start.map((x, axis) => (1 - t) ** 2 * x + 2 * t * (1 - t) * bend[axis] + t ** 2 * end[axis]);
  });
  const walked = [0];
  for (let i = 1; i < fine.length; i += 1)
    walked.push(walked[i - 1] + Math.hypot(...fine[i].map((x, axis) => x - fine[i - 1][axis])));
  let at = 0;
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const stop = (walked.at(-1) * step) / STEPS;
    while (at < fine.length - 2 && walked[at + 1] < stop) at += 1;
    const part = (stop - walked[at]) / (walked[at + 1] - walked[at]);
    return fine[at].map((x, axis) => x + (fine[at + 1][axis] - x) * part);
  });
}

/** OKLab by way of the three cones to sRGB, 0 to 255. */
function fromOklab([lightness, a, b]) {
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ];
  return linear.map((level) => {
    const kept = Math.min(Math.max(level, 0), 1);
    return Math.round(255 * (kept <= 0.0031308 ? 12.92 * kept : 1.055 * kept ** (1 / 2.4) - 0.055));
  });
}
