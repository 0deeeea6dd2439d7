"""Does the attention matter? What a model loses when its weights are made uniform, permuted, or what it saw is hidden.

loss        as it is, with uniform and with permuted weights        Jain and Wallace 2019; Wiegreffe and Pinter 2019
erasure     the most attended share hidden against a random one,
            and only that share left                                DeYoung et al. 2020 (comprehensiveness, sufficiency)
leave out   rank correlation of the weights with what hiding each
            part costs                                              Jain and Wallace 2019, sec. 4.1
entropy     of the maps, as a share of a uniform one's
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import DataError, InputError
from regard.normalizers import softmax
from regard.text.interventions import (
    Permuted,
    forced_hiding,
    hidden_positions,
    left_out,
    uniform,
    weights_of_parts,
)
from regard.text.special_tokens import PAD

if TYPE_CHECKING:
    from regard.text.text_model import TextModel

SHARES = (0.05, 0.1, 0.2, 0.5)
"""of the parts of a source that are hidden, or alone left"""
RESAMPLES = 1000
LITTLE, MUCH = 0.05, 0.5
"""nats a word that uniform weights cost: less than the first is little, from the second on much"""

TIE = 1e-6
"""of the weights that softmax would make of the same scores: the order of parts of equal weights, such as 0 by hard"""

Numbers = NDArray[np.float64]
Report = Callable[[int, int], None]
"""told how many of how many examples are done"""


def silent(done: int, total: int) -> None:
    """A report that says nothing."""


class Estimate(NamedTuple):
    """A mean over examples with its 95 % interval, by bootstrap over the examples."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


class Erased(NamedTuple):
    """What hiding a share of the parts costs, in nats a word."""

    share: float
    most: Estimate
    """the parts that were attended to most, over the whole text"""
    random: Estimate
    """as many parts, drawn at random"""


class Subject(NamedTuple):
    """Given texts with what they are about, ready to be forced: a batch."""

    state: Any
    """before the first word"""
    target: Tensor
    """(b, t): begin, words, end, padding"""
    part_of: Tensor
    """(b, k): which part each attended position belongs to, from 0; NO_PART = none"""
    block_of: Tensor
    """(b, k): the same for what is left out one by one, where parts are too many for that"""


@dataclass(frozen=True)
class Faithfulness:
    """Whether a model's maps say what it needed."""

    examples: int
    words: int
    """the ends of texts among them"""
    loss: Estimate
    """nats a word, as it is"""
    uniform: Estimate
    """nats a word that uniform weights cost; 0 = the attention does nothing, below 0 = it harms"""
    permuted: Estimate
    """nats a word that permuted weights cost"""
    hidden: list[Erased]
    """comprehensiveness: what is lost when a share is hidden"""
    kept: list[Erased]
    """sufficiency: what is lost when only that share is left"""
    correlation: Estimate
    """Spearman's, of a word's weights with what leaving each part out costs it; the mean over words"""
    entropy: Estimate
    """of the maps, as a share of a uniform map's"""
    extra: dict[str, Estimate] = field(default_factory=dict)
    """what only one task has: mosaics of captioners, alignment error rate of translators"""

    @property
    def verdict(self) -> str:
        """What the figures say, in two sentences.

        >>> none = Estimate(0, 0, 0)
        >>> fifth = Erased(0.2, most=Estimate(0.3, 0.2, 0.4), random=Estimate(0.01, 0, 0.02))
        >>> print(Faithfulness(9, 90, none, Estimate(0.8, 0.7, 0.9), none, [fifth], [], none, none).verdict)
        Its attention matters much: uniform weights cost 0.800 nats a word. Its maps say what it needs: hiding the most
        attended 20% costs 0.300, a random 20% 0.010.
        """
        fifth = next(erased for erased in self.hidden if erased.share == 0.2)
        says = "say" if fifth.most.low > max(fifth.random.high, 0) else "do not say"
        return (
            f"Its attention {self._matters()} nats a word. Its maps {says} what it needs: hiding the most attended "
            f"{fifth.share:.0%} costs {fifth.most.value:.3f}, a random {fifth.share:.0%} {fifth.random.value:.3f}."
        )

    def _matters(self) -> str:
        cost, low, high = self.uniform
        if high < 0:
            return f"harms: uniform weights would save {-cost:.3f}"
        if low <= 0:
            return f"does nothing that can be measured: uniform weights cost {cost:.3f}"
        much = " little" if cost < LITTLE else " much" if cost >= MUCH else ""
        return f"matters{much}: uniform weights cost {cost:.3f}"

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """What hiding the most attended share costs, against as much at random (.png, .svg, .pdf)."""
        from regard.show.curve_figures import plot_faithfulness

        return plot_faithfulness({"attention": self}, path)

    def to_json(self) -> dict[str, Any]:
        """What ``regard evaluate --attention --json`` prints."""
        figures = {"loss": self.loss, "uniform": self.uniform, "permuted": self.permuted}
        figures |= {"correlation": self.correlation, "entropy": self.entropy, **self.extra}
        curves = {"hidden": self.hidden, "kept": self.kept}
        return {
            "verdict": self.verdict,
            "examples": self.examples,
            "words": self.words,
            **{name: list(estimate) for name, estimate in figures.items()},
            **{
                name: [{"share": e.share, "most": list(e.most), "random": list(e.random)} for e in several]
                for name, several in curves.items()
            },
        }

    def rows(self) -> list[tuple[str, str]]:
        """The figures as a table: what was measured, and what came out."""
        rows = [
            ("examples, words", f"{self.examples:,}, {self.words:,}"),
            ("loss, nats a word", f"{self.loss:.3f}"),
            ("uniform weights cost", f"{self.uniform:.3f}"),
            ("permuted weights cost", f"{self.permuted:.3f}"),
        ]
        for name, several in (("hiding", self.hidden), ("keeping only", self.kept)):
            rows += [(f"{name} the most attended {e.share:.0%}", f"{e.most:.3f}") for e in several]
            rows += [(f"{name} a random {e.share:.0%}", f"{e.random:.3f}") for e in several]
        rows += [
            ("rank correlation with leaving out", f"{self.correlation:.3f}"),
            ("entropy, share of uniform", f"{self.entropy:.3f}"),
        ]
        return rows + [(name, f"{estimate:.3f}") for name, estimate in self.extra.items()]


class Faithful(Protocol):
    """A translator or captioner, whose attention can be questioned."""

    def faithfulness(self, data: Any, *, seed: int = 0) -> Faithfulness: ...


def faithfulness(model: Faithful, data: Any, *, seed: int = 0) -> Faithfulness:
    """Does the attention matter? Measured for a ``Translator`` or ``Captioner`` on pairs or captioned photographs.

    ``seed`` fixes what is drawn: which weights are permuted how, what is hidden at random, the mosaics.

    >>> regard.faithfulness(regard.Translator.load("en-fr"), "dev.tsv").uniform  # doctest: +SKIP
    Estimate(value=1.08, low=0.99, high=1.16)
    """
    if not hasattr(model, "faithfulness"):
        raise InputError(f"faithfulness is of a Translator or a Captioner; {type(model).__name__} came")
    return model.faithfulness(data, seed=seed)


def measure(
    model: TextModel,
    subjects: Iterable[Subject],
    *,
    seed: int = 0,
    report: Callable[[int], None] = lambda _: None,
) -> Faithfulness:
    """The figures of a model on given texts; ``report`` is told after each batch how many texts are done."""
    if model.normalizer is None:
        raise InputError("this model has no attention, so there is nothing to measure; train one with attention")
    generator = torch.Generator().manual_seed(seed)
    found, done = [], 0
    for subject in subjects:
        found.append(_measured(model, subject, generator))
        done += len(subject.target)
        report(done)
    if not found:
        raise DataError("there are no texts to measure the attention on")
    rows = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    words = rows["words"]

    def cost(name: str) -> Estimate:
        return estimate(rows[name] - rows["as it is"], words)

    def curve(kind: str) -> list[Erased]:
        return [Erased(s, cost(f"{kind} most {s}"), cost(f"{kind} random {s}")) for s in SHARES]

    return Faithfulness(
        examples=len(words),
        words=int(words.sum()),
        loss=estimate(rows["as it is"], words),
        uniform=cost("uniform"),
        permuted=cost("permuted"),
        hidden=curve("hidden"),
        kept=curve("kept"),
        correlation=estimate(rows["correlation"], rows["correlated"]),
        entropy=estimate(rows["entropy"], words),
    )


def estimate(sums: Numbers, counts: Numbers, *, seed: int = 0) -> Estimate:
    """A ratio of sums over examples (the mean a word), with its interval: examples are drawn anew, with repeats."""
    drawn = np.random.default_rng(seed).integers(len(sums), size=(RESAMPLES, len(sums)))
    totals = np.maximum(counts[drawn].sum(1), 1e-12)
    low, high = np.quantile(sums[drawn].sum(1) / totals, [0.025, 0.975])
    return Estimate(float(sums.sum() / max(counts.sum(), 1e-12)), float(low), float(high))


@torch.no_grad()
def _measured(model: TextModel, subject: Subject, generator: torch.Generator) -> dict[str, Numbers]:
    """Sums over the words of each text of a batch, by what was done to the attention."""
    state, target, part_of, block_of = subject
    assert model.normalizer is not None
    plain = model.force_from(state, target)
    assert plain.weights is not None
    written = target[:, 1:] != PAD
    parts = int(part_of.max()) + 1
    weights = weights_of_parts(plain.weights, part_of, parts) * written[..., None]
    soft = model.force_from(state.normalized_by(softmax), target).weights
    assert soft is not None
    softly = weights_of_parts(soft, part_of, parts) * written[..., None]
    erasures = _erasures(weights.sum(1) + TIE * softly.sum(1), part_of, generator)
    changed = {"uniform": uniform, "permuted": Permuted(model.normalizer, generator)}
    rows = {"words": written.sum(1), "as it is": -plain.log_probs.sum(1)}
    for name, normalize in changed.items():
        rows[name] = -model.force_from(state.normalized_by(normalize), target).log_probs.sum(1)
    texts = torch.arange(len(target)).repeat(len(erasures))
    erased = forced_hiding(model, state, target, texts, torch.cat(list(erasures.values())))
    rows |= dict(zip(erasures, -erased.sum(1).view(len(erasures), len(target)), strict=True))
    rows["entropy"] = _entropy_share(weights, _parts_of_each(part_of), written)
    blocks = weights_of_parts(plain.weights, block_of, int(block_of.max()) + 1)
    costs = left_out(model, state, target, block_of)
    agreed = [_agreement(*text) for text in zip(blocks, costs, written.sum(1).tolist(), strict=True)]
    rows["correlation"], rows["correlated"] = torch.tensor(agreed, dtype=torch.float64).reshape(-1, 2).T
    return {name: values.double().numpy() for name, values in rows.items()}


def _parts_of_each(part_of: Tensor) -> Tensor:
    """How many parts each example has, (b,)."""
    return part_of.amax(1) + 1


def _erasures(received: Tensor, part_of: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
    """Positions (b, k) to hide: a share of the parts, the most attended (b, parts) or random ones, or all others."""
    count = _parts_of_each(part_of)
    absent = torch.arange(received.shape[1])[None] >= count[:, None]
    drawn = torch.rand(received.shape, generator=generator)
    ranks = {
        name: _ranks(values.masked_fill(absent, -torch.inf)) for name, values in (("most", received), ("random", drawn))
    }
    hidden = {}
    for share in SHARES:
        taken = (share * count).round().clamp(min=1)[:, None]
        for name, rank in ranks.items():
            chosen = (rank < taken) & ~absent
            hidden[f"hidden {name} {share}"] = hidden_positions(chosen, part_of)
            hidden[f"kept {name} {share}"] = hidden_positions(~chosen & ~absent, part_of)
    return hidden


def _ranks(values: Tensor) -> Tensor:
    """The place of each in its row, largest first, from 0."""
    return values.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)


def _entropy_share(weights: Tensor, parts: Tensor, written: Tensor) -> Tensor:
    """Sums over words of the entropy of (b, q, parts), as a share of the largest that so many parts allow."""
    total = weights.sum(-1, keepdim=True)
    p = weights / total.clamp(min=1e-12)
    entropy = -(p * p.clamp(min=1e-30).log()).sum(-1)
    largest = parts.clamp(min=2).double().log()[:, None]
    return (entropy / largest * written).sum(1)


def _agreement(weights: Tensor, costs: Tensor, words: int) -> tuple[float, float]:
    """Sum over the words of Spearman's correlation of weights with what leaving a part out costs; words.

    Of one text: weights (q, at least parts), costs (parts, q). Words whose weights or costs are all alike have no order
    to compare, and are left out.
    """
    parts = len(costs)
    if parts < 3:
        return 0.0, 0.0
    found = [spearman(weights[word, :parts].numpy(), costs[:, word].numpy()) for word in range(words)]
    known = [value for value in found if not math.isnan(value)]
    return sum(known), float(len(known))


def spearman(a: Sequence[float] | Numbers, b: Sequence[float] | Numbers) -> float:
    """The correlation of the ranks, ties at their mean; NaN where one side is all alike.

    >>> spearman([1, 2, 3, 4], [10, 20, 40, 30])
    0.8
    """
    ranked = np.stack([_mean_ranks(np.asarray(side, dtype=float)) for side in (a, b)])
    ranked -= ranked.mean(1, keepdims=True)
    scale = math.sqrt(float((ranked[0] ** 2).sum() * (ranked[1] ** 2).sum()))
    return float((ranked[0] * ranked[1]).sum()) / scale if scale else math.nan


def _mean_ranks(values: Numbers) -> Numbers:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=float)
