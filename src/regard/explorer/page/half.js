// Numbers of 16 bits (IEEE 754 binary16, little-endian) as numbers of 32, by a table of all 65,536.

let table = null;

export function fromHalf(bytes) {
  table ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => wide(bits));
  return Float32Array.from(new Uint16Array(bytes), (bits) => table[bits]);
}

function wide(bits) {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}
