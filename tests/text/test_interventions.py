"""What is done to attention: each against the same done by hand."""

from __future__ import annotations

import pytest
import torch

from regard.text.interventions import (
    NO_PART,
    Permuted,
    hidden_positions,
    left_out,
    uniform,
    weights_of_parts,
)
from regard.translation.batches import padded_batch
from tests.translation.untrained import RNN, untrained

TRANSFORMER = {"kind": "transformer", "size": 8, "heads": 2, "layers": 2, "feedforward": 16}


def softmax(scores: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(scores.softmax(-1))


def test_uniform_weights_are_the_same_for_what_is_visible_and_zero_where_nothing_is():
    hidden = -torch.inf
    weights = uniform(torch.tensor([[5.0, hidden, -3.0, 0.0], [hidden] * 4]))
    torch.testing.assert_close(weights, torch.tensor([[1 / 3, 0, 1 / 3, 1 / 3], [0.0] * 4]))


def test_permuted_weights_are_the_same_numbers_elsewhere_and_nothing_on_what_is_hidden():
    scores = torch.randn(50, 7, generator=torch.Generator().manual_seed(0))
    scores[:, 2] = -torch.inf
    before, after = softmax(scores), Permuted(softmax, torch.Generator().manual_seed(1))(scores)
    torch.testing.assert_close(after.sort().values, before.sort().values)
    assert (after[:, 2] == 0).all()
    assert (after != before).any(1).float().mean() > 0.9
    places = after.argmax(1).bincount(minlength=7)
    assert (places[[0, 1, 3, 4, 5, 6]] > 0).all()  # the largest may come to stand anywhere


def test_parts_gather_the_weights_of_their_positions():
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4]]])
    parts = weights_of_parts(weights, torch.tensor([[0, 1, 1, NO_PART]]), 2)
    torch.testing.assert_close(parts, torch.tensor([[[0.1, 0.5]]]))
    hidden = hidden_positions(torch.tensor([[False, True]]), torch.tensor([[0, 1, 1, NO_PART]]))
    assert hidden.tolist() == [[False, True, True, False]]


@pytest.mark.parametrize("settings", [RNN, RNN | {"attention": "dot", "decoder_size": 12}, TRANSFORMER])
def test_what_is_hidden_has_no_weight_and_no_say(settings):
    translator = untrained(**settings)
    batch = padded_batch([[5, 6, 7], [8, 9]], [[10, 11], [12]])
    with torch.no_grad():
        state = translator.model.encode(batch)
    hidden = torch.tensor([[False, True, False, False], [False] * 4])
    seen, plain = translator.model.force_from(state.hide(hidden), batch.target), translator.model.force(batch)
    assert seen.weights is not None
    assert (seen.weights[0, :, 1] == 0).all()
    torch.testing.assert_close(seen.weights.sum(-1)[:, 0], torch.ones(2))
    torch.testing.assert_close(seen.log_probs[1], plain.log_probs[1])  # padding stays hidden, nothing else is
    assert not torch.allclose(seen.log_probs[0], plain.log_probs[0])


@pytest.mark.parametrize("settings", [RNN, TRANSFORMER])
def test_uniform_attention_is_what_the_state_is_told(settings):
    translator = untrained(**settings)
    batch = padded_batch([[5, 6, 7], [8, 9]], [[10, 11], [12, 13]])
    with torch.no_grad():
        state = translator.model.encode(batch).normalized_by(uniform)
    weights = translator.model.force_from(state, batch.target).weights
    assert weights is not None
    torch.testing.assert_close(weights[0], torch.full((3, 4), 0.25))
    torch.testing.assert_close(weights[1], torch.tensor([[1 / 3, 1 / 3, 1 / 3, 0]]).expand(3, -1))


@pytest.mark.parametrize("most", [1, 26_000, 1 << 24])
@pytest.mark.parametrize("settings", [RNN, TRANSFORMER])
def test_leaving_out_each_part_is_hiding_one_after_the_other(monkeypatch, settings, most):
    monkeypatch.setattr("regard.text.interventions.MOST_NUMBERS", most)
    model = untrained(**settings).model
    sources, targets = [[5, 6, 7], [8, 9]], [[10, 11], [12]]
    part_of = torch.tensor([[0, 1, 1, NO_PART], [0, 1, NO_PART, NO_PART]])
    batch = padded_batch(sources, targets)
    with torch.no_grad():
        found = left_out(model, model.encode(batch), batch.target, part_of)
    plain = model.force(batch).log_probs
    assert [len(costs) for costs in found] == [2, 2]
    for row, costs in enumerate(found):
        for part in range(2):
            hidden = torch.zeros_like(part_of, dtype=torch.bool)
            hidden[row] = part_of[row] == part
            one = model.force_from(model.encode(batch).hide(hidden), batch.target).log_probs[row]
            torch.testing.assert_close(costs[part], plain[row] - one)
