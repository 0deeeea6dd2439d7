"""A small random model and its recording at 8,192 tokens: a causal layer of two heads, and one of cross-attention."""

from __future__ import annotations

import os

import torch
from torch import Tensor, nn
from torch.nn import functional

import regard
from regard.inspection.recorded import Recorded
from regard.inspection.store import Store

TOKENS, SOURCE, HEADS, WIDTH = 8192, 40, 2, 16
WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "looked", "at", "one", "bird", "that", "sang"]


class CausalAttention(nn.Module):
    """Self-attention by torch's fused kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * HEADS * WIDTH)

    def forward(self, inputs: Tensor) -> Tensor:
        query, key, value = self.project(inputs).unflatten(-1, (3, HEADS, WIDTH)).permute(2, 0, 3, 1, 4)
        return functional.scaled_dot_product_attention(3 * query, key, value, is_causal=True)


class Reader(nn.Module):
    """Reads a long text, and asks a short one from its last words."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = CausalAttention()
        self.cross_attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, inputs: Tensor, source: Tensor) -> Tensor:
        self.attention(inputs)
        context: Tensor
        context, _ = self.cross_attn(inputs[:, -12:], source, source, need_weights=False)
        return context


def record(tokens: int = TOKENS) -> Recorded:
    """Every eleventh word has its place in it, so that it is found once."""
    generator = torch.Generator().manual_seed(3)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = Reader().eval()
    inputs, source = (torch.randn(1, size, WIDTH, generator=generator) for size in (tokens, SOURCE))
    with torch.no_grad(), regard.record(model) as recorded:
        model(inputs, source)
    recorded.tokens = [WORDS[i * 7 % len(WORDS)] + (f"-{i}" if i % 11 == 0 else "") for i in range(tokens)]
    return recorded


def store(directory: str | os.PathLike[str], tokens: int = TOKENS) -> Recorded:
    """The same on disk."""
    recorded = record(tokens)
    Store(directory).write(recorded)
    return recorded
