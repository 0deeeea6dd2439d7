import numpy as np
import torch

from regard import masks


def test_causal_lets_each_query_see_the_past_and_itself():
    assert masks.causal(2, 4, offset=1).tolist() == [[True, True, False, False], [True, True, True, False]]


def test_padding_takes_lengths_of_any_library_and_any_batch():
    assert masks.padding(torch.tensor([[1, 2]]), 3).tolist() == [[[[True, False, False]], [[True, True, False]]]]
    assert isinstance(masks.padding(torch.tensor([1])), torch.Tensor)
    assert masks.padding([0, 2]).tolist() == [[[False, False]], [[True, True]]]
    assert masks.padding(np.array([], dtype=int)).shape == (0, 1, 0)
    assert masks.padding(torch.tensor([], dtype=torch.int64), 3).shape == (0, 1, 3)


def test_padding_counts_past_what_a_small_integer_holds():
    assert masks.padding(np.array([100, 3], np.int8), 300).sum(-1).tolist() == [[100], [3]]


def test_window_and_causal_combine():
    both = masks.window(5, 2) & masks.causal(5)
    assert (both == masks.window(5, 2, causal=True)).all()
    assert both.sum(-1).tolist() == [1, 2, 3, 3, 3]
