// What each rung of the ladder opens with. `one` and `self` are the two worked examples (`regard.worked_examples`).

const WORDS = [
  [1, 0, 1],
  [0, 1, 0],
  [1, 1, 0],
  [0, 0, 1],
];

export const PRESETS = {
  one: {
    score: "dot",
    query: [[5, 1, 20]],
    keys: [
      [3, 12, 45],
      [59, 2, 5],
      [1, 43, 5],
      [4, 3, 45.3],
    ],
  },
  many: {
    score: "scaled_dot",
    query: [
      [2, 0, 1],
      [0, 3, 0],
      [1, 1, 1],
    ],
    keys: WORDS,
  },
  apart: {
    score: "scaled_dot",
    query: [
      [2, 0, 1],
      [0, 3, 0],
      [1, 1, 1],
    ],
    keys: WORDS,
    values: [
      [10, 0],
      [20, 0],
      [0, 30],
      [0, 40],
    ],
  },
  // W_Q, W_K, W_V are drawn in this order by NumPy's legacy generator, seed 42, randint(3, size=(3, 3)).
  self: {
    score: "scaled_dot",
    softmax: "both",
    inputs: WORDS,
    W_Q: [
      [2, 0, 2],
      [2, 0, 0],
      [2, 1, 2],
    ],
    W_K: [
      [2, 2, 2],
      [0, 2, 1],
      [0, 1, 1],
    ],
    W_V: [
      [1, 1, 0],
      [0, 1, 1],
      [0, 0, 0],
    ],
  },
  heads: {
    score: "scaled_dot",
    inputs: [
      [1, 0, 1, 0],
      [0, 2, 0, 1],
      [1, 1, 0, 0],
      [0, 0, 2, 1],
    ],
    W_Q: [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ],
    W_K: [
      [1, 0, 0, 1],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [1, 0, 0, 1],
    ],
    W_V: [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ],
    W_O: [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
      [0, 0, 0, 1],
    ],
  },
};

export const SCORE_NAMES = {
  dot: "dot",
  scaled_dot: "scaled dot",
  cosine: "cosine",
  general: "general",
  additive: "additive",
  concat: "concat",
  location: "location",
};

/** What a score's own weights hold until someone edits them: small numbers of both signs, the same each time. */
export function scoreWeights(score, { width, keyWidth, keys, hidden = 2 }) {
  const filled = (rows, columns) =>
    Array.from({ length: rows }, (_, i) =>
      Array.from({ length: columns }, (_, j) => (((i * 3 + j * 5 + 4) % 7) - 3) / 10),
    );
  if (score === "general") return { W: filled(width, keyWidth) };
  if (score === "additive") return { W_q: filled(hidden, width), W_k: filled(hidden, keyWidth), v: [[1, -1]] };
  if (score === "concat") return { W: filled(hidden, width + keyWidth), v: [[1, -1]] };
  return score === "location" ? { W: filled(keys, width) } : {};
}
