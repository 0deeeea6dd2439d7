// Attention in float64 on plain lists of rows: the same maths as `regard.attend`, `regard.softmax` and
// `regard.positions`, so that Steps and Kinds work without a server.

export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export const transpose = (table) => table[0].map((_, j) => table.map((row) => row[j]));

export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

export const each = (table, change) => table.map((row, i) => row.map((x, j) => change(x, i, j)));

export const add = (a, b) => each(a, (x, i, j) => x + b[i][j]);

/**
 * How well each key answers each query, (q, k). The scores of the literature, by their names; `weights` holds what a
 * score needs: W (general, concat, location), W_q, W_k and v (additive), v (concat).
 */
export const SCORES = {
  dot: (query, key) => matmul(query, transpose(key)),
  scaled_dot: (query, key) => each(SCORES.dot(query, key), (x) => x / Math.sqrt(query[0].length)),
  cosine: (query, key) => SCORES.dot(query.map(unit), key.map(unit)),
  general: (query, key, { W }) => SCORES.dot(matmul(query, W), key),
  additive: (query, key, { W_q, W_k, v }) =>
    tanhPairs(query, key, W_q, W_k).map((pairs) => pairs.map((row) => dot(row, v))),
  concat: (query, key, { W, v }) => SCORES.additive(query, key, { ...halves(W, query[0].length), v }),
  location: (query, key, { W }) => matmul(query, transpose(W.slice(0, key.length))),
};

/** tanh(W_q q + W_k k) for every query and key: (q, k, hidden). */
export function tanhPairs(query, key, W_q, W_k) {
  const [asked, offered] = [matmul(query, transpose(W_q)), matmul(key, transpose(W_k))];
  return asked.map((a) => offered.map((b) => a.map((x, i) => Math.tanh(x + b[i]))));
}

/** The matrix of concat as the two of additive, side by side. */
export function halves(W, width) {
  return { W_q: W.map((row) => row.slice(0, width)), W_k: W.map((row) => row.slice(width)) };
}

/** A vector of length 1; zeros stay zeros. Divided by its largest entry first: squares of 1e200 would overflow. */
export function unit(vector) {
  const largest = Math.max(...vector.map(Math.abs));
  const scaled = vector.map((x) => x / (largest || 1));
  const length = Math.sqrt(dot(scaled, scaled));
  return scaled.map((x) => x / (length || 1));
}

/** From a row of scores to weights; -Infinity marks a hidden key, a row with nothing to look at is all zeros. */
export const NORMALIZERS = {
  softmax(scores) {
    const peak = finitePeak(scores);
    const shares = scores.map((x) => Math.exp(x - peak));
    const total = shares.reduce((sum, x) => sum + x, 0);
    return shares.map((x) => x / (total || 1));
  },
  // The nearest point of the simplex: algorithm 1 of Martins and Astudillo 2016.
  sparsemax(scores) {
    const peak = finitePeak(scores);
    const seen = scores.map((x) => x - peak);
    if (seen.some(Number.isNaN)) return seen.map(() => NaN);
    const ordered = seen.filter(Number.isFinite).sort((a, b) => b - a);
    let [total, size, reached] = [0, 0, 0];
    ordered.forEach((x, i) => {
      reached += x;
      if (1 + (i + 1) * x > reached) [total, size] = [reached, i + 1];
    });
    const threshold = (total - 1) / (size || 1);
    return seen.map((x) => Math.max(x - threshold, 0));
  },
  hard(scores) {
    const best = Math.max(...scores);
    const first = scores.indexOf(best);
    return scores.map((_, i) => (Number.isNaN(best) ? NaN : i === first && best > -Infinity ? 1 : 0));
  },
};

/** One softmax over all scores at once, as the widely published second example takes it. */
export function softmaxOverAll(scores) {
  const flat = NORMALIZERS.softmax(scores.flat());
  return each(scores, (_, i, j) => flat[i * scores[0].length + j]);
}

/** Local attention (Luong et al. 2015, section 3.2): the keys at most `reach` from the centre, -Infinity elsewhere. */
export function inWindow(scores, centre, reach) {
  return scores.map((x, j) => (Math.abs(j - centre) <= reach ? x : -Infinity));
}

/** exp(-(s - p)² / 2σ²) with σ = reach / 2, equation 10: what local-p multiplies its weights by. */
export function gaussian(count, centre, reach) {
  return Array.from({ length: count }, (_, j) => Math.exp(-((j - centre) ** 2) / (2 * (reach / 2) ** 2)));
}

/** Sines in the even places, cosines in the odd (Vaswani et al. 2017, section 3.5): (length, width). */
export function sinusoidal(length, width, base = 10000) {
  return Array.from({ length }, (_, place) =>
    Array.from({ length: width }, (_, j) => {
      const angle = place / base ** ((2 * Math.floor(j / 2)) / width);
      return j % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }),
  );
}

export const reorder = (rows, order) => order.map((from) => rows[from]);

export function largestGap(a, b) {
  return Math.max(...each(a, (x, i, j) => Math.abs(x - b[i][j])).flat());
}

function finitePeak(scores) {
  const peak = Math.max(...scores);
  return peak === -Infinity ? 0 : peak;
}
