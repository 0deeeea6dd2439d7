"""Beam search for translations, in batches that keep memory bounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regard.decoding import Hypothesis, Stepping, limit_for, search
from regard.errors import InputError
from regard.search_options import SearchOptions
from regard.text.padding import padded
from regard.text.special_tokens import EOS
from regard.text.vocabulary import Vocabulary
from regard.translation.model import TranslationModel

MAX_PIECES = 2000  # of a sentence; more is almost surely a whole text on one line
MAX_NUMBERS = 1 << 25  # attention weights or logits held at a time, by a search or an alignment; 128 MB
MAX_NUMBERS_OF_ONE = 1 << 29  # for a single sentence; 2 GB


class Sentence(NamedTuple):
    """A text and its token ids, without EOS."""

    text: str
    ids: list[int]


def read_sentences(vocabulary: Vocabulary, texts: Sequence[str], *, first: int = 1) -> list[Sentence]:
    """The texts as token ids; refuses, by its number from ``first``, one that is too long to be decoded in one go."""
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"a sentence is a str; {type(text).__name__} came: {text!r}")
    sentences = [Sentence(text, ids) for text, ids in zip(texts, vocabulary.encode(texts), strict=True)]
    for number, sentence in enumerate(sentences, first):
        if len(sentence.ids) > MAX_PIECES:
            raise InputError(
                f"sentence {number} is {len(sentence.ids)} pieces long, more than the {MAX_PIECES} that are "
                f"translated in one go ({sentence.text[:40]!r}…). Split it into sentences, one a line."
            )
    return sentences


def best_hypotheses(
    model: TranslationModel,
    sentences: Sequence[Sentence],
    options: SearchOptions,
    *,
    stepping: Stepping | None = None,
    hidden: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The ``n_best`` hypotheses of each sentence, in the order given; none of the sentences is empty.

    Long sentences are searched few at a time. ``stepping`` decodes instead of the model: one that leaves traces.
    ``hidden`` are the pieces of each sentence that the attention may not see.
    """
    limits = [_limit(model, sentence, options) for sentence in sentences]
    # Each hypothesis keeps its attention weights of every step, and has a logit for every token of the vocabulary.
    vocabulary = len(model.output.weight)
    costs = [
        options.beam * max(len(sentence.ids) * limit, vocabulary)
        for sentence, limit in zip(sentences, limits, strict=True)
    ]
    for sentence, cost in zip(sentences, costs, strict=True):
        if cost > MAX_NUMBERS_OF_ONE:
            raise InputError(
                f"a beam of {options.beam} over {len(sentence.ids)} pieces ({sentence.text[:40]!r}…) may take "
                f"{4 * cost / 2**30:.0f} GB. Ask for a narrower beam, or set a max_length."
            )
    device = model.output.weight.device
    found: dict[int, list[Hypothesis]] = {}
    for rows in groups_within(costs, MAX_NUMBERS):
        source, lengths = padded([[*sentences[row].ids, EOS] for row in rows])
        with torch.inference_mode():
            state = model.start(source.to(device), lengths.to(device))
            if hidden is not None:
                state = state.hide(pieces_mask([hidden[row] for row in rows], source.shape[1]).to(device))
            best = search(stepping or model, state, [limits[row] for row in rows], options)
        found.update(zip(rows, best, strict=True))
    return [found[row] for row in range(len(sentences))]


def pieces_mask(pieces: Sequence[Sequence[int]], longest: int) -> Tensor:
    """True at the given pieces, (b, longest)."""
    mask = torch.zeros(len(pieces), longest, dtype=torch.bool)
    for row, some in enumerate(pieces):
        mask[row, list(some)] = True
    return mask


def _limit(model: TranslationModel, sentence: Sentence, options: SearchOptions) -> int:
    if options.max_length is None:
        return limit_for(len(sentence.ids), model.longest)
    return min(options.max_length, model.longest or options.max_length)


def groups_within(costs: Sequence[int], most: int) -> list[list[int]]:
    """Rows in groups whose size times largest cost is at most ``most``; a row that costs more is a group of its own.

    >>> groups_within([1, 9, 2, 5, 3], 10)
    [[1], [3, 4], [2, 0]]
    >>> groups_within([1, 1, 2], 10)
    [[0, 1, 2]]
    """
    if len(costs) * max(costs, default=0) <= most:
        return [list(range(len(costs)))] if costs else []
    groups: list[list[int]] = []
    for row in sorted(range(len(costs)), key=lambda row: -costs[row]):
        if groups and (len(groups[-1]) + 1) * costs[groups[-1][0]] <= most:
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
