"""Source words hidden from a translator: what it writes without them, and what each word that it wrote needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, UnknownName
from regard.text.interventions import NO_PART, left_out
from regard.translation.batches import padded_batch
from regard.translation.search import pieces_mask

if TYPE_CHECKING:
    from regard.text.vocabulary import Vocabulary, Word
    from regard.text.words import Weights
    from regard.translation.model import TranslationModel
    from regard.translation.vocabularies import Vocabularies

Hide = Sequence[int | str]
"""source words, by their number from 0 or as they are written"""


def hidden_pieces(words: Sequence[Word], hide: Hide) -> list[int]:
    """The pieces of the words to hide.

    >>> from regard.text.vocabulary import Word
    >>> hidden_pieces([Word("a", 0, 1), Word("red", 1, 3), Word("house", 3, 4)], ["red", -1])
    [1, 2, 3]
    """
    if isinstance(hide, str):
        raise InputError(f"hide takes a list of words or of their numbers; {hide!r} came. Write hide=[{hide!r}].")
    pieces: set[int] = set()
    for wanted in hide:
        found = [word for number, word in enumerate(words) if wanted in (word.text, number, number - len(words))]
        if not found:
            raise UnknownName(
                f"there is no source word {wanted!r} to hide; the words are "
                + ", ".join(f"{number} {word.text!r}" for number, word in enumerate(words))
            )
        pieces.update(piece for word in found for piece in range(word.start, word.stop))
    return sorted(pieces)


def last_visible(words: Sequence[Word], hidden: Sequence[int]) -> int:
    """The last word with a piece that is not ``hidden``; the last of all where there is none.

    >>> from regard.text.vocabulary import Word
    >>> last_visible([Word("a", 0, 1), Word("red", 1, 3), Word("house", 3, 4)], [3])
    1
    """
    seen = [number for number, word in enumerate(words) if not set(range(word.start, word.stop)) <= set(hidden)]
    return seen[-1] if seen else -1


def words_of_pieces(vocabulary: Vocabulary, sentences: Sequence[Sequence[int]], longest: int) -> Tensor:
    """Which word each piece belongs to, (b, longest); NO_PART for the end and the padding."""
    word_of = torch.full((len(sentences), longest), NO_PART)
    for row, ids in enumerate(sentences):
        for number, word in enumerate(vocabulary.words(ids)):
            word_of[row, word.start : word.stop] = number
    return word_of


def needed_words(
    model: TranslationModel,
    vocabularies: Vocabularies,
    source: Sequence[int],
    target: Sequence[int],
    hidden: Sequence[int] = (),
) -> Weights:
    """The log-probability that each target word loses when a source word is hidden: (target words, source words).

    The pieces ``hidden`` while it was written are hidden throughout, so that hiding them once more costs nothing.
    """
    if model.normalizer is None:
        raise InputError(
            "this model has no attention to hide words from. Translate again with hide_input=True to see what changes "
            "when a word is left out of the input."
        )
    batch = padded_batch([source], [target])
    words = words_of_pieces(vocabularies.source, [source], batch.source.shape[1])
    with torch.no_grad():
        state = model.encode(batch)
        if hidden:
            state = state.hide(pieces_mask([hidden], batch.source.shape[1]))
    costs = left_out(model, state, batch.target, words)[0].T.double().numpy()
    return np.stack([costs[word.start : word.stop].sum(0) for word in vocabularies.target.words(target)])
