"""Greedy and beam search over anything that steps, keeping the attention of what is returned.

A model to be searched has ``step``: given the last word of every hypothesis and its own state, it scores the next
words and says where it looked. The state of b sentences with w hypotheses each can ``reorder`` the hypotheses and
``keep`` some of the sentences. Words are numbers; what is looked at may be words or the cells of a picture.
Words and places are handed over on the CPU, wherever the model computes.
"""

from __future__ import annotations

import bisect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from regard.arrays import check_sizes, widened
from regard.errors import InputError, ShapeError
from regard.marks import BOS, EOS, PAD

MOST = 1000  # hypotheses of a sentence
WORTH_A_KERNEL = 2**19  # logits of a step from which loading a compiled kernel pays; one sentence should not wait


class SearchState(Protocol):
    """Where b sentences stand, with w hypotheses of each."""

    def reorder(self, hypotheses: Tensor) -> Self:
        """The state with hypothesis ``hypotheses[i, j]`` of sentence i in place j; (b, w')."""

    def keep(self, sentences: Tensor) -> Self:
        """The state of these sentences alone; (b',)."""


class Stepped(NamedTuple):
    """One step of a model."""

    logits: Tensor
    """(b, w, words): log-probabilities of the next word, up to a constant a hypothesis; the search writes into it"""
    weights: Tensor | None
    """(b, w, ...): where it looked; None when it does not look"""
    state: Any
    totals: Tensor | None = None
    """(b, w): log of the sum of e^logit, where the model has it already"""


class Stepping(Protocol):
    """What can be searched."""

    def step(self, words: Tensor, state: Any) -> Stepped:
        """The last words of all hypotheses (b, w) to the scores of the next."""


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that was found."""

    words: list[int]
    """what was written, without start and end"""
    log_prob: float
    """log-probability of the words, and of the end if it is finished"""
    score: float
    """what the search ranked it by"""
    weights: npt.NDArray[Any] | None
    """where the model looked for each word, and for the end if it is finished: (len(words) + finished, ...)"""
    finished: bool
    """False when the longest allowed length was reached before the end"""


def limit_for(length: int, longest: int | None) -> int:
    """How many words, the end included, may answer ``length`` words, for a model that can write ``longest``.

    >>> limit_for(5, None), limit_for(5, 12)
    (20, 12)
    """
    return min(2 * length + 10, longest or sys.maxsize)


def length_penalty(length: int, alpha: float) -> float:
    """By what a log-probability is divided, so that long sentences can win (Wu et al. 2016, eq. 14).

    >>> length_penalty(1, 1.0), length_penalty(7, 1.0), length_penalty(7, 0.0)
    (1.0, 2.0, 1.0)
    """
    return float(((5 + length) / 6) ** alpha)


@torch.inference_mode()
def search(
    model: Stepping,
    state: SearchState,
    limits: Sequence[int],
    *,
    beam: int = 5,
    alpha: float = 1.0,
    n_best: int = 1,
    bos: int = BOS,
    eos: int = EOS,
    forbid: Sequence[int] = (PAD, BOS),
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, best first; never none.

    ``limits`` is the longest output of each sentence, the end included. ``beam=1`` is greedy search: the best word at
    every step, until the end. A wider beam keeps that many hypotheses, and goes on until as many have ended (what
    Kasai et al. 2022 call a patience of 1), or none can still beat the ``n_best`` found, even if every further word
    were certain. Where fewer than ``n_best`` have ended within the limit, the best unfinished ones are returned after
    them, marked as such.
    """
    check_sizes(beam=beam, n_best=n_best)
    if n_best > beam:
        raise InputError(f"a beam of {beam} cannot give {n_best} best; ask for 1 <= n_best <= beam")
    if not 0 <= alpha <= 10:
        raise InputError(f"alpha = {alpha} cannot weigh the length penalty; use 0 (none) to about 1.5, at most 10")
    if beam > MOST:
        raise InputError(f"a beam of {beam} is more than {MOST}; 5 to 10 find what there is to find")
    if any(limit < 1 for limit in limits):
        raise InputError(f"every limit must leave room for one word; got {min(limits)}")
    run = _Search(model, limits, _Rules(beam, alpha, n_best, bos, eos, list(forbid)))
    return run.over(state) if len(limits) else []


class _Rules(NamedTuple):
    beam: int
    alpha: float
    n_best: int
    bos: int
    eos: int
    forbid: list[int]


class _Past(NamedTuple):
    """One step, as far as it is needed to walk back."""

    row: dict[int, int]
    """which row of the arrays is which sentence"""
    parents: npt.NDArray[np.int64]
    """(b, w'): the hypothesis that each new one continues"""
    words: npt.NDArray[np.int64]
    """(b, w'): the word it adds"""
    weights: npt.NDArray[Any] | None
    """(b, w, ...): by parent"""


class _Candidates(NamedTuple):
    """The best continuations of each sentence, best first; each (b, c)."""

    log_probs: npt.NDArray[np.float64]
    parents: npt.NDArray[np.int64]
    words: npt.NDArray[np.int64]


class _Found(NamedTuple):
    """A hypothesis before it is walked back: hypothesis ``parent`` after ``time`` words."""

    score: float
    log_prob: float
    time: int
    parent: int
    finished: bool


class _Search:
    """The search of one batch. The tree of hypotheses is kept as back-pointers; weights are never copied."""

    def __init__(self, model: Stepping, limits: Sequence[int], rules: _Rules) -> None:
        self.model, self.limits, self.rules = model, limits, rules
        self.found: list[list[_Found]] = [[] for _ in limits]
        self.ended = [0] * len(limits)
        self.past: list[_Past] = []

    def over(self, state: Any) -> list[list[Hypothesis]]:
        active = list(range(len(self.limits)))
        log_probs = torch.zeros(len(active), 1, dtype=torch.float64)
        words = torch.full((len(active), 1), self.rules.bos)
        while active:
            stepped = self.model.step(words, state)
            if stepped.logits.shape[:2] != words.shape:
                raise ShapeError(f"step was given words {tuple(words.shape)}, and scored {tuple(stepped.logits.shape)}")
            width = min(self.rules.beam, words.shape[1] * (stepped.logits.shape[2] - 1))
            candidates = self._candidates(stepped, log_probs, width)
            parents, new_words, new_log_probs = self._split(active, candidates, width)
            weights = None if stepped.weights is None else widened(stepped.weights).cpu().numpy()
            self.past.append(_Past({s: row for row, s in enumerate(active)}, parents, new_words, weights))
            going = [row for row, sentence in enumerate(active) if not self._done(sentence, new_log_probs[row])]
            state, chosen = stepped.state, torch.from_numpy(parents)
            if len(going) < len(active):
                rows = torch.tensor(going, dtype=torch.int64)
                active = [active[row] for row in going]
                state, chosen = state.keep(rows), chosen[rows]
                new_words, new_log_probs = new_words[going], new_log_probs[going]
            if active:
                if self.rules.beam > 1:
                    state = state.reorder(chosen)
                words, log_probs = torch.from_numpy(new_words), torch.from_numpy(new_log_probs)
        return [[self._walk_back(s, found) for found in self.found[s]] for s in range(len(self.limits))]

    def _candidates(self, stepped: Stepped, log_probs: Tensor, width: int) -> _Candidates:
        """At most one candidate of a hypothesis is its end, so ``width`` others are always among these."""
        logits = stepped.logits
        w, vocabulary = logits.shape[1:]
        count = min(width + w, w * vocabulary)
        totals = logits.logsumexp(-1) if stepped.totals is None else stepped.totals
        if self.rules.forbid:
            logits[..., self.rules.forbid] = -torch.inf
        top, place = _largest(logits, log_probs - totals.cpu().double(), count)
        return _Candidates(top, place // vocabulary, place % vocabulary)

    def _split(
        self, active: list[int], candidates: _Candidates, width: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Parents, words and log-probabilities of the ``width`` that go on; those that end are set aside.

        An end counts only among the ``width`` best: an unlikely early end must not win by its shortness.
        """
        ends = candidates.words == self.rules.eos
        time = len(self.past)
        for row, place in zip(*np.nonzero(ends[:, :width]), strict=True):
            log_prob, parent = float(candidates.log_probs[row, place]), int(candidates.parents[row, place])
            if log_prob > -np.inf:
                self._add(active[row], log_prob, time, parent, finished=True)
                self.ended[active[row]] += 1
        going = np.argsort(ends, axis=1, kind="stable")[:, :width]
        return (
            np.take_along_axis(candidates.parents, going, 1),
            np.take_along_axis(candidates.words, going, 1),
            np.take_along_axis(candidates.log_probs, going, 1),
        )

    def _done(self, sentence: int, log_probs: npt.NDArray[np.float64]) -> bool:
        """Whether the sentence is decided; at its limit the unfinished fill what is still missing."""
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
        # No word adds to a log-probability, and no length within the limit divides by more.
        best_possible = log_probs[0] / length_penalty(limit, self.rules.alpha)
        return bool(found[-1].score >= best_possible)

    def _add(self, sentence: int, log_prob: float, time: int, parent: int, *, finished: bool) -> None:
        score = log_prob / length_penalty(time + finished, self.rules.alpha)
        found = self.found[sentence]
        bisect.insort(found, _Found(score, log_prob, time, parent, finished), key=lambda f: (not f.finished, -f.score))
        del found[self.rules.n_best :]

    def _walk_back(self, sentence: int, found: _Found) -> Hypothesis:
        words: list[int] = []
        looks = []
        hypothesis = found.parent
        if found.finished:
            looks.append(self._look(sentence, found.time, hypothesis))
        for time in range(found.time - 1, -1, -1):
            past = self.past[time]
            row = past.row[sentence]
            words.append(int(past.words[row, hypothesis]))
            hypothesis = int(past.parents[row, hypothesis])
            looks.append(self._look(sentence, time, hypothesis))
        weights = None if looks[0] is None else np.stack(looks[::-1])
        return Hypothesis(words[::-1], found.log_prob, found.score, weights, found.finished)

    def _look(self, sentence: int, time: int, hypothesis: int) -> Any:
        past = self.past[time]
        return None if past.weights is None else past.weights[past.row[sentence], hypothesis]


def _largest(logits: Tensor, offsets: Tensor, count: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The largest of each sentence's logits (b, w, words) with offsets (b, w) added, and their places among w * words.

    By a compiled kernel where there is enough to look through.
    """
    in_rows = logits.stride(2) == 1 and logits.stride(0) == logits.shape[1] * logits.stride(1)
    known = logits.device.type == "cpu" and logits.dtype in (torch.float32, torch.float64)
    if logits.numel() >= WORTH_A_KERNEL and in_rows and known:
        from regard.kernels.largest import largest

        return largest(logits.flatten(0, 1).numpy(), offsets.numpy(), count, torch.get_num_threads())
    # The best of a sentence are among the best of its hypotheses.
    words = logits.shape[2]
    best, word = (part.cpu() for part in logits.topk(min(count, words)))
    top, place = (best.double() + offsets[..., None]).flatten(1).topk(count)
    hypothesis = place // best.shape[2]
    return top.numpy(), (hypothesis * words + word.flatten(1).gather(1, place)).numpy()
