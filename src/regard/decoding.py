"""Greedy and beam search over anything that steps, keeping the attention of what is returned.

A model to be searched has ``step``: given the last token of every hypothesis and its own state, it gives the logits of
the next token and the attention weights. The state of b inputs with w hypotheses each can ``reorder`` the hypotheses
and ``keep`` some of the inputs. Tokens are ids; what is attended to may be tokens or the cells of a picture.
Token ids and indices are handed over on the CPU, wherever the model computes.
"""

from __future__ import annotations

import bisect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.arrays import widened
from regard.errors import InputError, ShapeError
from regard.kernels import dispatch
from regard.search_options import SearchOptions
from regard.text.special_tokens import BOS, EOS, PAD

_WEIGHTS = "weights"  # the trace that every model with attention leaves


class SearchState(Protocol):
    """The decoder's state for b inputs, with w hypotheses of each."""

    def reorder(self, hypotheses: Tensor) -> Self:
        """The state with hypothesis ``hypotheses[i, j]`` of input i at index j; (b, w')."""

    def keep(self, sentences: Tensor) -> Self:
        """The state of these inputs alone; (b',)."""


class Stepped(NamedTuple):
    """One step of a model."""

    logits: Tensor
    """(b, w, v): log-probabilities of the next token, up to a constant a hypothesis; the search writes into them"""
    weights: Tensor | None
    """(b, w, ...): attention weights; None for a model without attention"""
    state: Any
    totals: Tensor | None = None
    """(b, w): logsumexp of the logits, where the model has it already"""
    traces: Mapping[str, Tensor] = {}
    """each (b, w, ...): what else of this step the hypotheses are to keep"""


class Stepping(Protocol):
    """An autoregressive model that can be searched."""

    def step(self, tokens: Tensor, state: Any) -> Stepped:
        """The last tokens of all hypotheses (b, w) to the logits of the next."""


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that was found."""

    tokens: list[int]
    """token ids, without BOS and EOS"""
    log_prob: float
    """log-probability of the tokens, and of EOS if it is finished"""
    score: float
    """what the search ranked it by: log_prob divided by the length penalty"""
    weights: npt.NDArray[Any] | None
    """attention weights of each token, and of EOS if it is finished: (len(tokens) + finished, ...)"""
    finished: bool
    """False when the length limit was reached before EOS"""
    traces: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    """the traces of its steps, each (len(tokens) + finished, ...)"""


def limit_for(length: int, longest: int | None) -> int:
    """The most tokens, EOS included, of an output for ``length`` tokens, by a model that can decode ``longest``.

    >>> limit_for(5, None), limit_for(5, 12)
    (20, 12)
    """
    return min(2 * length + 10, longest or sys.maxsize)


def length_penalty(length: int, alpha: float) -> float:
    """The divisor of a log-probability that lets long hypotheses win (Wu et al. 2016, eq. 14).

    >>> length_penalty(1, 1.0), length_penalty(7, 1.0), length_penalty(7, 0.0)
    (1.0, 2.0, 1.0)
    """
    return float(((5 + length) / 6) ** alpha)


@torch.inference_mode()
def search(
    model: Stepping,
    state: SearchState,
    limits: Sequence[int],
    options: SearchOptions = SearchOptions(),  # noqa: B008 - frozen
    *,
    bos: int = BOS,
    eos: int = EOS,
    forbid: Sequence[int] = (PAD, BOS),
) -> list[list[Hypothesis]]:
    """The best hypotheses of each input, best first; never none.

    ``limits`` is the longest output of each input, EOS included (the caller has applied ``options.max_length``).
    ``beam=1`` is greedy search: the best token at every step, until EOS. A wider beam keeps that many hypotheses, and
    goes on until as many have ended (what Kasai et al. 2022 call a patience of 1), or none can still beat the
    ``n_best`` found, even if every further token were certain. Where fewer than ``n_best`` have ended within the limit,
    the best unfinished ones are returned after them, marked as such.
    """
    if any(limit < 1 for limit in limits):
        raise InputError(f"every limit must leave room for one word; got {min(limits)}")
    run = _Search(model, limits, _Rules(options.beam, options.alpha, options.n_best, bos, eos, list(forbid)))
    return run.over(state) if len(limits) else []


class _Rules(NamedTuple):
    beam: int
    alpha: float
    n_best: int
    bos: int
    eos: int
    forbid: list[int]


class _Past(NamedTuple):
    """One step, as far as backtracking needs it."""

    row: dict[int, int]
    """row of the arrays by input"""
    parents: npt.NDArray[np.int64]
    """(b, w'): the hypothesis that each new one continues"""
    tokens: npt.NDArray[np.int64]
    """(b, w'): the token it adds"""
    traces: dict[str, npt.NDArray[Any]]
    """each (b, w, ...), by parent; the attention weights among them"""


class _Candidates(NamedTuple):
    """The best continuations of each input, best first; each (b, c)."""

    log_probs: npt.NDArray[np.float64]
    parents: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]


class _Found(NamedTuple):
    """A hypothesis before backtracking: hypothesis ``parent`` after ``time`` tokens."""

    score: float
    log_prob: float
    time: int
    parent: int
    finished: bool


class _Search:
    """The search of one batch. The tree of hypotheses is kept as back-pointers; traces are never copied."""

    def __init__(self, model: Stepping, limits: Sequence[int], rules: _Rules) -> None:
        self.model, self.limits, self.rules = model, limits, rules
        self.found: list[list[_Found]] = [[] for _ in limits]
        self.ended = [0] * len(limits)
        self.past: list[_Past] = []

    def over(self, state: Any) -> list[list[Hypothesis]]:
        active = list(range(len(self.limits)))
        log_probs = torch.zeros(len(active), 1, dtype=torch.float64)
        tokens = torch.full((len(active), 1), self.rules.bos)
        while active:
            stepped = self.model.step(tokens, state)
            if stepped.logits.shape[:2] != tokens.shape:
                raise ShapeError(
                    f"step was given tokens {tuple(tokens.shape)}, and gave logits {tuple(stepped.logits.shape)}"
                )
            width = min(self.rules.beam, tokens.shape[1] * (stepped.logits.shape[2] - 1))
            candidates = self._candidates(stepped, log_probs, width)
            parents, new_tokens, new_log_probs = self._split(active, candidates, width)
            self.past.append(_Past({s: row for row, s in enumerate(active)}, parents, new_tokens, _traces(stepped)))
            going = [row for row, sentence in enumerate(active) if not self._done(sentence, new_log_probs[row])]
            state, chosen = stepped.state, torch.from_numpy(parents)
            if len(going) < len(active):
                rows = torch.tensor(going, dtype=torch.int64)
                active = [active[row] for row in going]
                state, chosen = state.keep(rows), chosen[rows]
                new_tokens, new_log_probs = new_tokens[going], new_log_probs[going]
            if active:
                if self.rules.beam > 1:
                    state = state.reorder(chosen)
                tokens, log_probs = torch.from_numpy(new_tokens), torch.from_numpy(new_log_probs)
        return [[self._backtrack(s, found) for found in self.found[s]] for s in range(len(self.limits))]

    def _candidates(self, stepped: Stepped, log_probs: Tensor, width: int) -> _Candidates:
        """At most one candidate of a hypothesis is its EOS, so ``width`` others are always among these."""
        logits = stepped.logits
        w, vocabulary = logits.shape[1:]
        count = min(width + w, w * vocabulary)
        totals = logits.logsumexp(-1) if stepped.totals is None else stepped.totals
        if self.rules.forbid:
            logits[..., self.rules.forbid] = -torch.inf
        top, place = _top_k(logits, log_probs - totals.cpu().double(), count)
        return _Candidates(top, place // vocabulary, place % vocabulary)

    def _split(
        self, active: list[int], candidates: _Candidates, width: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Parents, tokens and log-probabilities of the ``width`` that continue; those that end are set aside.

        EOS counts only among the ``width`` best: an unlikely early EOS must not win by its shortness.
        """
        ends = candidates.tokens == self.rules.eos
        time = len(self.past)
        for row, place in zip(*np.nonzero(ends[:, :width]), strict=True):
            log_prob, parent = float(candidates.log_probs[row, place]), int(candidates.parents[row, place])
            if log_prob > -np.inf:
                self._add(active[row], log_prob, time, parent, finished=True)
                self.ended[active[row]] += 1
        going = np.argsort(ends, axis=1, kind="stable")[:, :width]
        return (
            np.take_along_axis(candidates.parents, going, 1),
            np.take_along_axis(candidates.tokens, going, 1),
            np.take_along_axis(candidates.log_probs, going, 1),
        )

    def _done(self, sentence: int, log_probs: npt.NDArray[np.float64]) -> bool:
        """Whether the search of an input is over; at its limit unfinished hypotheses fill up ``n_best``."""
        found, limit, time = self.found[sentence], self.limits[sentence], len(self.past)
        if time == limit:
            missing = self.rules.n_best - len(found)
            for place in range(min(missing, len(log_probs))):
                self._add(sentence, float(log_probs[place]), time, place, finished=False)
            return True
        if self.ended[sentence] >= self.rules.beam:
            return True
        if len(found) < self.rules.n_best:
            return False
        # No token raises a log-probability, and no length within the limit divides by more.
        best_possible = log_probs[0] / length_penalty(limit, self.rules.alpha)
        return bool(found[-1].score >= best_possible)

    def _add(self, sentence: int, log_prob: float, time: int, parent: int, *, finished: bool) -> None:
        score = log_prob / length_penalty(time + finished, self.rules.alpha)
        found = self.found[sentence]
        bisect.insort(found, _Found(score, log_prob, time, parent, finished), key=lambda f: (not f.finished, -f.score))
        del found[self.rules.n_best :]

    def _backtrack(self, sentence: int, found: _Found) -> Hypothesis:
        tokens: list[int] = []
        hypothesis = found.parent
        steps = [self._traces_of(sentence, found.time, hypothesis)] if found.finished else []
        for time in range(found.time - 1, -1, -1):
            past = self.past[time]
            row = past.row[sentence]
            tokens.append(int(past.tokens[row, hypothesis]))
            hypothesis = int(past.parents[row, hypothesis])
            steps.append(self._traces_of(sentence, time, hypothesis))
        traces = {name: np.stack([step[name] for step in steps[::-1]]) for name in steps[0]}
        weights = traces.pop(_WEIGHTS, None)
        return Hypothesis(tokens[::-1], found.log_prob, found.score, weights, found.finished, traces)

    def _traces_of(self, sentence: int, time: int, hypothesis: int) -> dict[str, npt.NDArray[Any]]:
        past = self.past[time]
        return {name: trace[past.row[sentence], hypothesis] for name, trace in past.traces.items()}


def _traces(stepped: Stepped) -> dict[str, npt.NDArray[Any]]:
    traces = dict(stepped.traces) if stepped.weights is None else {_WEIGHTS: stepped.weights, **stepped.traces}
    return {name: widened(trace).cpu().numpy() for name, trace in traces.items()}


def _top_k(logits: Tensor, offsets: Tensor, count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The largest of each input's logits (b, w, v) with offsets (b, w) added, and their indices into w * v.

    By a compiled kernel where there are enough logits for it to pay.
    """
    in_rows = logits.stride(2) == 1 and logits.stride(0) == logits.shape[1] * logits.stride(1)
    if in_rows and not dispatch.few_logits(logits) and dispatch.takes(logits):
        from regard.kernels.top_k import top_k

        return top_k(logits.flatten(0, 1).numpy(), offsets.numpy(), count, torch.get_num_threads())
    # The best of an input are among the best of its hypotheses.
    tokens = logits.shape[2]
    best, word = (part.cpu() for part in logits.topk(min(count, tokens)))
    top, place = (best.double() + offsets[..., None]).flatten(1).topk(count)
    hypothesis = place // best.shape[2]
    return top.numpy(), (hypothesis * tokens + word.flatten(1).gather(1, place)).numpy()
