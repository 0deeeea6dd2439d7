"""Texts drawn from a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest
import torch

from regard.decoding import Stepped
from regard.text.self_critical import SHARPNESS, advantages, draw
from regard.text.special_tokens import BOS, EOS, PAD, UNK

HEADS, TAILS = 4, 5


@dataclass
class Coins:
    """Says the same of every next word: heads three times as often as tails, the end as often as tails."""

    forbidden: tuple[int, ...] = (PAD, BOS, UNK)

    def step(self, words, state):
        logits = torch.full((*words.shape, 9), -torch.inf)
        logits[..., [PAD, BOS, UNK]] = 50.0
        logits[..., [HEADS, TAILS, EOS]] = torch.tensor([3.0, 1.0, 1.0]).log()
        return Stepped(logits, None, state)

    def reorder(self, hypotheses):
        assert hypotheses.shape == (2, 400)
        return self


def test_advantages_by_hand():
    """From the mean, 1/2 and -1/2; the root of the mean square over all four texts is 1/sqrt(8)."""
    root = 2**0.5
    assert advantages([[0.0, 1.0], [0.5, 0.5]]).flatten().tolist() == pytest.approx([-root, root, 0, 0])
    assert advantages([[3.0, 0.0, 0.0]])[0].tolist() == pytest.approx([root, -root / 2, -root / 2])
    assert advantages([[1.0, 1.0]]).tolist() == [[0, 0]]


def test_words_are_drawn_as_often_as_the_sharpened_model_says():
    torch.manual_seed(0)
    drawn = draw(cast(Any, Coins()), cast(Any, Coins()), 2, 400, longest=6)
    texts = [text for several in drawn for text in several]
    words = [word for text in texts for word in text]
    assert [len(several) for several in drawn] == [400, 400]
    assert {HEADS, TAILS, EOS} == set(words)
    share = 3**SHARPNESS / (3**SHARPNESS + 2)
    assert words.count(HEADS) / len(words) == pytest.approx(share, abs=0.05)
    assert all(EOS not in text[:-1] for text in texts)
    assert all(len(text) == 6 for text in texts if text[-1] != EOS)
