"""Where local attention puts its window: by hand, by formula, and what is refused."""

import pytest
import torch

from regard.errors import InputError
from regard.nn import MonotonicWindow, PredictedWindow
from regard.nn.windows import check_sliding
from tests.nn.gradients import normal


def test_monotonic_centers_by_hand():
    """Query t is centered on key t, and on the last key where there are fewer."""
    centers = MonotonicWindow(2).centers(torch.zeros(2, 4, 3), torch.tensor([5, 2]), 1)
    assert centers.tolist() == [[1, 2, 3, 4], [1, 1, 1, 1]]
    of_each = MonotonicWindow(2).centers(torch.zeros(1, 2, 3), torch.tensor([9]), torch.tensor([7, 3]))
    assert of_each.tolist() == [[7, 3]]
    assert MonotonicWindow(2).centers(torch.zeros(1, 1, 3), torch.tensor([0]), 4).tolist() == [[0]]


def test_predicted_centers_are_the_formula():
    """Luong et al. 2015, equation 9: S sigmoid(v_p · tanh(W_p q))."""
    window, query, lengths = PredictedWindow(2, 3, 4).double(), normal(2, 5, 3), torch.tensor([7, 4])
    centers = window.centers(query, lengths, 0)
    for b in range(2):
        for q in range(5):
            energy = window.v_p @ torch.tanh(window.W_p.weight @ query[b, q])
            torch.testing.assert_close(centers[b, q], lengths[b] * torch.sigmoid(energy))


def test_windows_of_other_widths_are_refused():
    with pytest.raises(InputError, match="query_dim must be a whole number"):
        PredictedWindow(2, 0)
    with pytest.raises(InputError, match="whole number >= 1, not 0"):
        MonotonicWindow(0)
    assert check_sliding(None, causal=False) is None
    assert check_sliding(3, causal=True) == 3
    with pytest.raises(InputError, match=r"pass visible=masks.causal\(n\)"):
        check_sliding(None, causal=True)
