"""Attention written as plainly as can be: Python loops over Python floats. What everything else must agree with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Vector = Sequence[float]


def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def scaled_dot(q: Vector, k: Vector) -> float:
    return dot(q, k) / math.sqrt(len(q))


def cosine(q: Vector, k: Vector) -> float:
    size = math.sqrt(dot(q, q)) * math.sqrt(dot(k, k))
    return dot(q, k) / size if size else 0.0


def general(W: Any) -> Callable[[Vector, Vector], float]:
    return lambda q, k: dot(q, [dot(row, k) for row in W])


def additive(W_q: Any, W_k: Any, v: Any) -> Callable[[Vector, Vector], float]:
    def score(q: Vector, k: Vector) -> float:
        hidden = [math.tanh(dot(W_q[i], q) + dot(W_k[i], k)) for i in range(len(v))]
        return dot(v, hidden)

    return score


def concat(W: Any, v: Any) -> Callable[[Vector, Vector], float]:
    return lambda q, k: dot(v, [math.tanh(dot(row, [*q, *k])) for row in W])


def softmax(scores: Sequence[float | None]) -> list[float]:
    seen = [s for s in scores if s is not None]
    if not seen:
        return [0.0] * len(scores)
    total = sum(math.exp(s - max(seen)) for s in seen)
    return [0.0 if s is None else math.exp(s - max(seen)) / total for s in scores]


def sparsemax(scores: Sequence[float | None]) -> list[float]:
    """Found by trying every size of the support: the threshold that makes the part above it sum to 1."""
    seen = sorted((s for s in scores if s is not None), reverse=True)
    if not seen:
        return [0.0] * len(scores)
    for size in range(len(seen), 0, -1):
        threshold = (sum(seen[:size]) - 1) / size
        if seen[size - 1] > threshold:
            break
    return [0.0 if s is None else max(s - threshold, 0.0) for s in scores]


def hard(scores: Sequence[float | None]) -> list[float]:
    seen = [s for s in scores if s is not None]
    best = next((i for i, s in enumerate(scores) if s is not None and s == max(seen)), None)
    return [1.0 if i == best else 0.0 for i in range(len(scores))]


def attend(
    query: Any, key: Any, value: Any, score: Any, normalize: Any, visible: Any = None, location: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """query (q, d), key (k, d), value (k, v), visible (q, k) or None -> context, weights, scores."""
    context, weights, scores = [], [], []
    for i, q in enumerate(query.tolist()):
        row = [dot(location[j], q) if location is not None else score(q, k) for j, k in enumerate(key.tolist())]
        seen = [s if visible is None or visible[i][j] else None for j, s in enumerate(row)]
        shares = normalize(seen)
        context.append(
            [sum(shares[j] * value[j][c] for j in range(len(shares)) if shares[j]) for c in range(value.shape[1])]
        )
        weights.append(shares)
        scores.append(row)
    return np.array(context), np.array(weights), np.array(scores)
