"""The blackboard models of the story: states of one number, and few enough weights to stand on one page.

They are trained (`examples/blackboard`) and write word by word until [STOP], as large ones do. `maths/blackboard.js`
computes the same in the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import exp, tanh
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from regard.errors import choose

FOLDER = Path(__file__).parent / "stage" / "models"
START, STOP = "[START]", "[STOP]"
LONGEST = 8
"""words that are written at most: one that goes wrong may never stop"""

Weights: TypeAlias = dict[str, Any]


class Step(NamedTuple):
    """What the writer computes for one word."""

    scores: list[float]
    """of each state; none without attention"""
    weights: list[float]
    context: float
    state: float
    logits: dict[str, float]
    word: str


class Written(NamedTuple):
    """A text and all that it was written from."""

    states: list[float]
    """h: of each word that was read, or of each cell, row by row"""
    first: float
    """s0"""
    steps: list[Step]

    @property
    def words(self) -> list[str]:
        """What was written, [STOP] left out."""
        return [step.word for step in self.steps if step.word != STOP]


def names() -> list[str]:
    """The models there are."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str) -> Weights:
    """The weights of a model.

    >>> sorted(load("words-attention"))
    ['align', 'first', 'output', 'read', 'source', 'target', 'write']
    """
    path = choose("blackboard model", name, {stem: FOLDER / f"{stem}.json" for stem in names()})
    weights: Weights = json.loads(path.read_text(encoding="utf-8"))
    return weights


def write(model: Weights, source: Sequence[str], *, hard: bool = False) -> Written:
    """Read the source (words, or cells row by row) and write until [STOP]; ``hard`` looks at the best place alone.

    >>> write(load("words-attention"), ["the", "cat", "sleeps"]).words
    ['le', 'chat', 'dort']
    """
    states = read(model, source)
    first = model["first"]
    summary = states[-1] if "read" in model else sum(states) / len(states)
    state = start = tanh(first["h"] * summary + first["b"])
    steps: list[Step] = []
    word = START
    while word != STOP and len(steps) < LONGEST:
        scores = [score(model["align"], state, h) for h in states] if "align" in model else []
        weights = (best_alone if hard else softmax)(scores)
        context = sum(a * h for a, h in zip(weights, states, strict=True)) if scores else summary
        w = model["write"]
        state = tanh(w["s"] * state + w["y"] * model["target"][word] + w["c"] * context + w["b"])
        logits = {name: o["s"] * state + o["c"] * context + o["b"] for name, o in model["output"].items()}
        word = max(logits, key=lambda name: logits[name])
        steps.append(Step(scores, weights, context, state, logits, word))
    return Written(states, start, steps)


def read(model: Weights, source: Sequence[str]) -> list[float]:
    """The state of each word, by an RNN; of each cell its own number."""
    numbers = [model["source"][name] for name in source]
    if "read" not in model:
        return numbers
    r, state, states = model["read"], 0.0, []
    for x in numbers:
        state = tanh(r["x"] * x + r["h"] * state + r["b"])
        states.append(state)
    return states


def score(align: Sequence[Weights], asking: float, state: float) -> float:
    """An MLP of two hidden units (Bahdanau et al. 2015, app. A.1.2, with biases)."""
    units = (unit["v"] * tanh(unit["s"] * asking + unit["h"] * state + unit["b"]) for unit in align)
    return float(sum(units))


def softmax(scores: Sequence[float]) -> list[float]:
    shares = [exp(score - max(scores)) for score in scores]
    return [share / sum(shares) for share in shares]


def best_alone(scores: Sequence[float]) -> list[float]:
    """All the weight on the highest score, the first where several are equal."""
    best = scores.index(max(scores))
    return [float(place == best) for place in range(len(scores))]
