"""A translation with the scores, weights and context of every decoder step, recorded while it is searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.decoding import Hypothesis, Stepped
from regard.text.vocabulary import Word
from regard.text.words import Weights, merge_pieces, without_end
from regard.translation.model import RNNModel, TranslationModel
from regard.translation.results import Translation


class DecoderStep(NamedTuple):
    """The attention of the decoder for one target word."""

    word: str
    scores: Weights | None
    """(source words,); -inf outside a window. None without attention, and for the mean over several heads"""
    weights: Weights | None
    """(source words,), summing to 1; None without attention"""
    context: Weights
    """the context vector: the weighted annotations, or without attention the encoder's summary at every step"""


class Pieces(NamedTuple):
    """The attention as the model has it: of pieces of words, before they are joined to words."""

    source: list[str]
    """the pieces read, the end last, which the attention may see too"""
    target: list[str]
    weights: Weights | None
    """(target, source), rows sum to 1; None without attention"""


class Watched(NamedTuple):
    """A translation with the attention of every decoder step: what `Translator.watch` gives."""

    translation: Translation
    """the same that `Translator.translate` gives"""
    steps: list[DecoderStep]
    """one for each target word, with its `word`, `scores`, `weights` and `context`"""
    heads: dict[str, Weights]
    """(target words, source words) for "layer 1, head 1" and so on; empty where there are no heads"""
    pieces: Pieces = Pieces([], [], None)
    """what the words were joined from"""


class RecordedSteps:
    """A translation model to be searched, whose hypotheses keep the scores, contexts and heads of their steps."""

    def __init__(self, model: TranslationModel) -> None:
        self.model = model

    def step(self, tokens: Tensor, state: Any) -> Stepped:
        """One step of the model, with traces "context", and "scores" (RNN with attention) or "heads" (Transformer)."""
        features, attended, after = self.model.attend(tokens.to(self.model.output.weight.device), state)
        stepped = self.model.stepped(features, self.model.shown_weights(attended), after)
        if not attended:
            summary = state.memory.summary[:, None]
            return stepped._replace(traces={"context": summary.expand(-1, tokens.shape[1], -1)})
        if isinstance(self.model, RNNModel):
            return stepped._replace(traces={"context": attended[0].context, "scores": attended[0].scores})
        heads = torch.stack([layer.weights for layer in attended], 1)  # (b, layers, h, w, k)
        context = attended[self.model.shown_layer(len(attended))].context
        return stepped._replace(traces={"context": context, "heads": heads.movedim(3, 1)})


def watched(
    translation: Translation,
    found: Hypothesis,
    target: Sequence[Word],
    source: Sequence[Word],
    *,
    soft: bool,
    last: int = -1,
) -> Watched:
    """The traces of a hypothesis, from pieces to words; ``soft`` says that the weights are a softmax of the scores.

    ``last`` is the source word that EOS counts with, as for `without_end`.
    """
    traces = _of_words(found.traces, target)
    context, weights = traces["context"], translation.weights
    scores = merge_scores(traces["scores"], target, source, soft=soft, last=last) if "scores" in traces else None
    steps = [
        DecoderStep(
            word.text,
            None if scores is None else scores[row],
            None if weights is None else weights[row],
            context[word.start : word.stop].mean(0),
        )
        for row, word in enumerate(target)
    ]
    heads = {
        f"layer {layer}, head {head}": without_end(merge_pieces(table, target, source), last)
        for layer, tables in enumerate(np.moveaxis(traces["heads"], 0, 2) if "heads" in traces else (), 1)
        for head, table in enumerate(tables, 1)
    }
    return Watched(translation, steps, heads)


def _of_words(traces: Mapping[str, NDArray[Any]], target: Sequence[Word]) -> dict[str, Weights]:
    """The rows of the target's pieces alone: the row of EOS belongs to no word."""
    stop = target[-1].stop if target else 0
    return {name: np.asarray(trace[:stop], dtype=np.float64) for name, trace in traces.items()}


def merge_scores(
    scores: Weights, target: Sequence[Word], source: Sequence[Word], *, soft: bool = True, last: int = -1
) -> Weights:
    """Scores of pieces (the last column is EOS) to scores of words, such that their softmax still gives the weights.

    A source word gets the logsumexp of its pieces' scores: its softmax then is the sum of their weights. EOS
    counts with the ``last`` word, as it does in the weights. Where the weights are no softmax, it gets the highest.
    A target word gets the mean of its pieces' rows.

    >>> pieces = np.log([[0.5, 0.25, 0.125, 0.125]])
    >>> np.exp(merge_scores(pieces, [Word("un", 0, 1)], [Word("word", 0, 2), Word("too", 2, 3)]))
    array([[0.75, 0.25]])
    """
    joined = np.logaddexp if soft else np.maximum
    columns = [joined.reduce(scores[:, word.start : word.stop], 1) for word in source]
    columns[last] = joined(columns[last], scores[:, -1])
    by_source = np.stack(columns, 1)
    rows = [by_source[word.start : word.stop].mean(0) for word in target]
    return np.stack(rows) if rows else np.zeros((0, len(source)))
