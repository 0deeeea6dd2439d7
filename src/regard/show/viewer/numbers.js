// Numbers short enough for a cell, written as `regard.show.formatting` writes them.

/** Four decimals, or the power of ten where that would say little: 927, 0.1192, 7.9e-232, -∞. */
export function short(number) {
  if (number === null) return "–"; // what JSON could not say
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) return number > 0 ? "∞" : "-∞";
  const size = Math.abs(number);
  if (size !== 0 && !(size >= 1e-3 && size < 1e6)) return exponential(number);
  return trimmed(fixed(number, 4));
}

/** Hundredths without the leading zero, as the figures write weights; nothing where it rounds to none. */
export function share(weight) {
  const hundredths = weight >= 0.005 ? fixed(weight, 2) : "";
  return hundredths === "1.00" ? "1" : hundredths.replace(/^0/, "");
}

/** A weight for a sentence: 83 %, or less than 1 %. */
export function percent(weight) {
  if (!(weight > 0)) return "0 %";
  return weight < 0.01 ? "less than 1 %" : `${Math.round(weight * 100)} %`;
}

// JavaScript rounds an exact half away from zero, Python to the even digit; the picture and the page must agree.
function fixed(number, digits) {
  const tie = /^(.*\d)50*$/.exec(
    Math.abs(number)
      .toFixed(digits + 20)
      .replace(".", ""),
  );
  if (!tie || tie[1].length !== Math.abs(number).toFixed(digits).replace(".", "").length) return number.toFixed(digits);
  const even = BigInt(tie[1]) % 2n === 0n ? BigInt(tie[1]) : BigInt(tie[1]) + 1n;
  const text = even.toString().padStart(digits + 1, "0");
  return `${number < 0 ? "-" : ""}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function exponential(number) {
  const [mantissa, power] = Math.abs(number).toExponential(40).split("e");
  let [digits, exponent] = Math.abs(number).toExponential(1).split("e");
  if (/^\d\.\d50*$/.test(mantissa) && Number(mantissa[2]) % 2 === 0) [digits, exponent] = [mantissa.slice(0, 3), power];
  const sign = exponent.startsWith("-") ? "-" : "+";
  return `${number < 0 ? "-" : ""}${digits}e${sign}${exponent.replace(/[+-]/, "").padStart(2, "0")}`;
}

function trimmed(text) {
  return text.replace(/0+$/, "").replace(/\.$/, "").replace(/^-0$/, "0");
}
