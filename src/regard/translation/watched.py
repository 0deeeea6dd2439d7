"""A translation watched while it is written: what each step of the decoder had before it, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.translation.batches import Batch
from regard.translation.model import RNNModel, TransformerModel, TranslationModel
from regard.translation.results import Translation
from regard.translation.vocabulary import Word
from regard.translation.words import Weights, merge_pieces, without_end


class Look(NamedTuple):
    """One word being written."""

    word: str
    scores: Weights | None
    """(source words,); -inf outside a window. None without attention, and for the mean over several heads"""
    weights: Weights | None
    """(source words,), summing to 1; None without attention"""
    context: Weights
    """what the decoder got: the mix of the annotations, or without attention the same summary at every step"""


class Watched(NamedTuple):
    """A translation and its making."""

    translation: Translation
    looks: list[Look]
    """one for each word of the translation"""
    heads: dict[str, Weights]
    """(target words, source words) for "layer 1, head 1" and so on; empty where there are no heads"""


class Seen(NamedTuple):
    """The same of one sentence, piece by piece and with the end marks: q target pieces, k source pieces."""

    scores: Weights | None
    """(q, k)"""
    contexts: Weights
    """(q, a)"""
    heads: Weights | None
    """(layers, h, q, k)"""


@torch.no_grad()
def see(model: TranslationModel, batch: Batch) -> Seen:
    """What the model has before it while it writes the (single) given translation."""
    state = model.start(batch.source, batch.source_lengths)
    if isinstance(model, RNNModel):
        words = model.target_embedding(batch.target[:, :-1])
        decoded = model.decoder(words, state)
        if not decoded.looks:
            return Seen(None, _numbers(state.memory.summary.expand(words.shape[1], -1)), None)
        contexts = torch.cat([look.context for look in decoded.looks], 1)
        return Seen(_numbers(decoded.scores[0]), _numbers(contexts[0]), None)
    assert isinstance(model, TransformerModel)
    _, looks = model.decoder(model.target_embedding(batch.target[:, :-1]), state)
    heads = torch.stack([look.weights[0] for look in looks])
    shown = looks[max(0, len(looks) - 2)]  # the layer whose mean over heads is the translation's map
    return Seen(None, _numbers(shown.context[0]), _numbers(heads))


def told(
    translation: Translation, seen: Seen, target: Sequence[Word], source: Sequence[Word], *, soft: bool
) -> Watched:
    """Pieces to words; ``soft`` says that the weights are a softmax of the scores."""
    scores = None if seen.scores is None else merge_scores(seen.scores[: _end(target)], target, source, soft=soft)
    contexts = [seen.contexts[word.start : word.stop].mean(0) for word in target]
    weights = translation.weights
    looks = [
        Look(
            word.text,
            None if scores is None else scores[place],
            None if weights is None else weights[place],
            contexts[place],
        )
        for place, word in enumerate(target)
    ]
    heads = {
        f"layer {layer}, head {head}": without_end(merge_pieces(table[: _end(target)], target, source))
        for layer, tables in enumerate(() if seen.heads is None else seen.heads, 1)
        for head, table in enumerate(tables, 1)
    }
    return Watched(translation, looks, heads)


def merge_scores(scores: Weights, target: Sequence[Word], source: Sequence[Word], *, soft: bool = True) -> Weights:
    """Scores piece by piece (the last column is the end mark) to word by word, so that they still tell the weights.

    A source word gets log(sum(exp)) of its pieces' scores: its softmax then is the sum of their weights. The end mark
    counts with the last word, as it does in the weights. Where the weights are no softmax, it gets the highest.
    A target word gets the mean of its pieces' rows.

    >>> pieces = np.log([[0.5, 0.25, 0.125, 0.125]])
    >>> np.exp(merge_scores(pieces, [Word("un", 0, 1)], [Word("word", 0, 2), Word("too", 2, 3)]))
    array([[0.75, 0.25]])
    """
    joined = np.logaddexp if soft else np.maximum
    stops = [word.stop for word in source[:-1]] + [scores.shape[1]]
    columns = [joined.reduce(scores[:, word.start : stop], 1) for word, stop in zip(source, stops, strict=True)]
    by_source = np.stack(columns, 1)
    rows = [by_source[word.start : word.stop].mean(0) for word in target]
    return np.stack(rows) if rows else np.zeros((0, len(source)))


def _end(words: Sequence[Word]) -> int:
    return words[-1].stop if words else 0


def _numbers(tensor: Tensor) -> Weights:
    return tensor.double().cpu().numpy()
