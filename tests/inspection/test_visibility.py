"""Masks as runs of keys: the same entries as the mask, in O(q)."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.inspection.visibility import causal, everything, from_function, from_mask


def dense(visible, batch=0, head=0):
    return visible.tile(batch, head, torch.arange(visible.queries), torch.arange(visible.keys))


@given(st.integers(1, 7), st.integers(1, 7), st.data())
def test_any_mask_comes_back(queries, keys, data):
    entries = data.draw(st.lists(st.booleans(), min_size=2 * queries * keys, max_size=2 * queries * keys))
    mask = torch.tensor(entries).view(2, 1, queries, keys)
    visible = from_mask(mask)
    for batch in (0, 1):
        assert torch.equal(dense(visible, batch), mask[batch, 0])


def test_runs_need_no_table():
    rows, columns = torch.arange(9)[:, None], torch.arange(9)
    window = (columns <= rows) & (columns > rows - 3)
    visible = from_mask(window[None, None])
    assert visible.dense is None
    assert torch.equal(dense(visible), window)
    assert visible.span(0, 4, 6) == (2, 6)


def test_holes_are_kept_as_a_table():
    mask = torch.tensor([[True, False, True]])[None, None]
    assert from_mask(mask).dense is not None
    assert torch.equal(dense(from_mask(mask)), mask[0, 0])


def test_a_mask_of_each_head_is_kept():
    mask = torch.rand(1, 3, 4, 5, generator=torch.Generator().manual_seed(0)) > 0.5
    visible = from_mask(mask)
    assert torch.equal(dense(visible, 0, 2), mask[0, 2])


def test_causal_is_the_lower_triangle():
    assert torch.equal(dense(causal(4, 6)), torch.ones(4, 6).tril().bool())
    assert dense(everything(2, 3)).all()


def test_a_function_is_asked_a_few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr("regard.inspection.visibility.ROWS_AT_ONCE", 7)
    visible = from_function(lambda _, i, j: (j <= i) & (j > i - 2), 1, 6, 6)
    assert visible.dense is None
    assert torch.equal(dense(visible), torch.ones(6, 6).tril().triu(-1).bool())
    striped = from_function(lambda _, i, j: (i + j) % 2 == 0, 1, 4, 5)
    assert striped.dense is not None
    assert dense(striped)[1].tolist() == [False, True, False, True, False]


def test_pairs_are_those_of_the_table():
    mask = torch.rand(2, 1, 5, 6, generator=torch.Generator().manual_seed(2)) > 0.4
    visible = from_mask(mask)
    rows, columns = torch.tensor([0, 3, 4]), torch.tensor([5, 1, 2])
    assert torch.equal(visible.pairs(1, 0, rows, columns), mask[1, 0, rows, columns])


def test_shifting_counts_from_an_earlier_key():
    visible = causal(2, 3).shifted(4, 7)
    assert (visible.start.tolist(), visible.end.tolist()) == ([[4, 4]], [[5, 6]])
