"""Token ids of several texts as one padded tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.text.special_tokens import BOS, EOS


def padded_targets(targets: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ids as a vocabulary gives them, between BOS and EOS, (b, t); and the lengths."""
    return padded([[BOS, *ids, EOS] for ids in targets])


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Rows of ids padded with 0, and the length of each."""
    lengths = [len(row) for row in rows]
    filled = torch.zeros(len(rows), max(lengths), dtype=torch.int64)
    for place, row in enumerate(rows):
        filled[place, : len(row)] = torch.tensor(row)
    return filled, torch.tensor(lengths)
