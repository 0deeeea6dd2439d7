// Cividis: even steps of lightness, read alike with and without colour vision (Nuñez, Anderton and Renslow 2018).

const ANCHORS =
  "00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d 5a5f6e 61656f 686a71 6f7073 767676 7d7c78 " +
  "838179 8b8778 928d78 9a9376 a29975 aaa073 b3a670 bbad6d c3b369 ccba64 d4c15f ddc858 e6d051 efd748 f8df3c fee838";

const COLOURS = ANCHORS.split(" ").map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));

/** The colour of a shade from 0 to 1, as [red, green, blue]. */
export function cividis(shade) {
  const place = Math.min(Math.max(Number.isFinite(shade) ? shade : 0, 0), 1) * (COLOURS.length - 1);
  const below = Math.min(Math.floor(place), COLOURS.length - 2);
  return COLOURS[below].map((low, i) => Math.round(low + (COLOURS[below + 1][i] - low) * (place - below)));
}

export function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
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
