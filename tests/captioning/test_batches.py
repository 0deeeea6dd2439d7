"""Every caption is an example, with its own picture."""

from __future__ import annotations

import numpy as np
import torch

from regard.captioning.batches import Captions
from regard.text.special_tokens import BOS, EOS, PAD


class Numbered:
    """Picture i is one cell that holds i."""

    def rows(self, numbers):
        return torch.as_tensor(np.asarray(numbers), dtype=torch.float32)[:, None, None]


def test_a_batch_holds_captions_with_their_pictures():
    captions = Captions(Numbered(), [[[5, 6], [7]], [], [[8]]])
    assert len(captions) == 3
    assert captions.sizes(np.array([0, 2])).tolist() == [[3], [2]]
    batch = captions.batch(np.array([2, 0]))
    assert batch.target.tolist() == [[BOS, 8, EOS, PAD], [BOS, 5, 6, EOS]]
    assert batch.pictures.flatten().tolist() == [2, 0]
    assert batch.numbers.tolist() == [2, 0]
    assert len(batch.to("cpu")) == 2
