"""Small models learn tasks whose answers are known: what attention is for, and that every kind of it works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from regard.decoding import search
from regard.search_options import SearchOptions
from regard.translation.batches import Batch, padded_batch
from regard.translation.model import TranslationModel, build_model
from regard.translation.model_config import ModelConfig, RNNConfig, TransformerConfig

WORDS = 64  # numbers 4 to 63 are words, each at most once in a sentence


def sentences(rng: np.random.Generator, count: int, lengths: tuple[int, int]) -> list[list[int]]:
    return [(4 + rng.permutation(WORDS - 4)[: rng.integers(*lengths, endpoint=True)]).tolist() for _ in range(count)]


def reverse(words: list[int]) -> list[int]:
    return words[::-1]


def copy(words: list[int]) -> list[int]:
    return words


def batch_of(rows: list[list[int]], task: Callable[[list[int]], list[int]]) -> Batch:
    return padded_batch(rows, [task(row) for row in rows])


def trained(
    config: ModelConfig,
    task: Callable[[list[int]], list[int]],
    lengths: tuple[int, int],
    updates: int,
    rate: float = 8e-3,
) -> TranslationModel:
    model = build_model(config, WORDS, WORDS, shared=True, generator=torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    rng = np.random.default_rng(1)
    for update in range(updates):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (update + 1) / 50, 2 * (1 - update / updates))
        loss = model(batch_of(sentences(rng, 32, lengths), task))
        optimizer.zero_grad()
        (loss.objective / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def accuracy(model: TranslationModel, task: Callable[[list[int]], list[int]], length: int, beam: int = 1) -> float:
    """The share of new sentences of this length that come out without a mistake."""
    rows = sentences(np.random.default_rng(2), 50, (length, length))
    batch = batch_of(rows, task)
    with torch.no_grad():
        found = search(
            model, model.start(batch.source, batch.source_lengths), [2 * length] * len(rows), SearchOptions(beam=beam)
        )
    return float(np.mean([best[0].tokens == task(row) for row, best in zip(rows, found, strict=True)]))


def rnn(**settings: Any) -> RNNConfig:
    sizes = {"embedding": 32, "encoder_size": 32, "decoder_size": 64, "attention_size": 32}
    dropouts = dict.fromkeys(["dropout_embedding", "dropout_layers", "dropout_annotations", "dropout_output"], 0.0)
    return RNNConfig(**{**sizes, **dropouts, "tie": "all", **settings})


@pytest.fixture(autouse=True)
def _one_thread():
    """Small matrices are slower on more, and the tests run side by side."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_attention_reverses_forty_words_and_one_fixed_context_does_not():
    """The reason attention exists: a state of 64 numbers cannot hold 40 words in order."""
    lengths, updates = (10, 40), 400
    assert accuracy(trained(rnn(), reverse, lengths, updates), reverse, 40) >= 0.9
    assert accuracy(trained(rnn(attention="none"), reverse, lengths, updates), reverse, 40) <= 0.1


@pytest.mark.parametrize(
    ("settings", "updates"),
    [
        ({"attention": "general", "span": "local-m", "window": 2}, 500),
        ({"attention": "general", "span": "local-p", "window": 4}, 600),
        ({"attention": "general", "normalize": "hard"}, 500),
        ({"attention": "dot", "normalize": "sparsemax"}, 500),
        ({"attention": "general", "cell": "lstm", "input_feeding": True}, 400),
        ({"attention": "concat"}, 500),
        ({"cell": "cgru"}, 300),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_every_kind_of_attention_learns_to_copy(settings, updates):
    model = trained(rnn(**settings), copy, (3, 12), updates)
    assert accuracy(model, copy, 10) >= 0.8
    assert accuracy(model, copy, 10, beam=4) >= 0.8


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_transformer_learns_to_copy(positions):
    config = TransformerConfig(layers=1, size=64, feedforward=128, heads=4, positions=positions, dropout=0.0, tie="all")
    assert accuracy(trained(config, copy, (3, 12), 500, rate=4e-3), copy, 10) >= 0.8
