"""What a layer can take, and the words in which the rest is refused."""

import numpy as np
import pytest
import torch
from torch import nn

from regard.errors import DtypeError, InputError, ShapeError
from regard.nn.checks import check_rows, check_share

LAYER = nn.Linear(3, 3)


@pytest.mark.parametrize(
    ("tensor", "kind", "text"),
    [
        ([[1.0]], DtypeError, r"x must be a torch tensor, not list; convert it with torch.tensor\(x\)"),
        (np.ones((2, 3)), DtypeError, "x must be a torch tensor, not numpy.ndarray"),
        (torch.ones(3), ShapeError, r"x must be \(..., rows, 3\) as told; it is \(3,\)"),
        (torch.ones(2, 4), ShapeError, r"it is \(2, 4\)"),
        (torch.ones(2, 3, dtype=torch.int64), DtypeError, r"they are torch.int64. Use x.float\(\)"),
        (torch.ones(2, 3).double(), DtypeError, "x is torch.float64, the layer's weights are torch.float32"),
    ],
)
def test_rows_that_the_layer_cannot_take_are_refused_in_words(tensor, kind, text):
    with pytest.raises(kind, match=text):
        check_rows(LAYER, 3, " as told", x=tensor)


def test_rows_that_it_can_take_pass():
    check_rows(LAYER, 3, x=torch.ones(2, 3), y=torch.ones(4, 2, 3))
    with torch.autocast("cpu", torch.bfloat16):
        check_rows(LAYER, 3, x=torch.ones(2, 3, dtype=torch.bfloat16))


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), "0.5", None])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(InputError, match="dropout must be a share from 0 to 1; it is"):
        check_share(dropout=share)


def test_shares_pass():
    check_share(a=0, b=0.5, c=1)
