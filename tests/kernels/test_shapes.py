"""The sizes that additive scores take together."""

import pytest

from regard.errors import ShapeError
from regard.kernels.shapes import batch_shape


@pytest.mark.parametrize(
    ("query", "key", "batch"),
    [
        ((3, 7), (5, 7), ()),
        ((2, 3, 7), (2, 5, 7), (2,)),
        ((2, 1, 3, 7), (4, 5, 7), (2, 4)),
        ((3, 7), (4, 2, 5, 7), (4, 2)),
    ],
)
def test_leading_sizes_broadcast(query, key, batch):
    assert batch_shape(query, key, (7,)) == batch


@pytest.mark.parametrize(
    ("query", "key", "v", "text"),
    [
        ((7,), (5, 7), (7,), r"not query \(7,\), key \(5, 7\), v \(7,\)"),
        ((3, 7), (5, 8), (7,), "need the same last size"),
        ((2, 3, 7), (4, 5, 7), (7,), "leading sizes of query and key must be equal, or 1"),
    ],
)
def test_others_are_refused_with_all_sizes_said(query, key, v, text):
    with pytest.raises(ShapeError, match=text):
        batch_shape(query, key, v)
