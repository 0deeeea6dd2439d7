"""Token ids as padded tensors."""

from __future__ import annotations

import torch

from regard.text.padding import padded, padded_targets
from regard.text.special_tokens import BOS, EOS, PAD


def test_rows_are_filled_up_and_counted():
    rows, lengths = padded([[7, 8, 9], [], [5]])
    assert rows.tolist() == [[7, 8, 9], [PAD, PAD, PAD], [5, PAD, PAD]]
    assert lengths.tolist() == [3, 0, 1]
    assert rows.dtype == lengths.dtype == torch.int64


def test_targets_stand_between_bos_and_eos():
    rows, lengths = padded_targets([[7], [8, 9]])
    assert rows.tolist() == [[BOS, 7, EOS, PAD], [BOS, 8, 9, EOS]]
    assert lengths.tolist() == [3, 4]
