"""REINFORCE for hard attention: its value by hand, its estimate without bias, its baseline and its draws."""

import numpy as np
import pytest
import torch

from regard.nn.reinforce import Drawn, Reinforce

YES = torch.ones(1, dtype=torch.bool)


def test_one_word_by_hand():
    """Two places of scores 0 and ln 3, the second drawn (share 3/4); its word went better than the baseline by 2."""
    module = Reinforce(weight=0.5, entropy=0.0, start=-3.0)
    scores = torch.tensor([[[0.0, np.log(3.0)]]], dtype=torch.float64, requires_grad=True)
    value = module.eval()(scores, torch.tensor([[[0.0, 1.0]]]), torch.tensor([[-1.0]]), YES, YES[None])
    assert value.item() == pytest.approx(-0.5 * 2 * np.log(0.75))
    value.backward()
    assert scores.grad.flatten().tolist() == pytest.approx([0.25, -0.25])  # -0.5 * 2 * (one-hot - shares)


def test_a_place_is_credited_with_the_words_from_there_on_and_none_before():
    module = Reinforce(weight=1.0, entropy=0.0, start=-1.0).eval()
    scores = torch.zeros(1, 3, 2, requires_grad=True)
    weights = torch.tensor([[[1.0, 0.0]] * 3])
    log_probs = torch.tensor([[-5.0, -2.0, -4.0]])
    (by_scores,) = torch.autograd.grad(module(scores, weights, log_probs, YES, YES.expand(1, 3)), scores)
    from_here_on = torch.tensor([-11.0 + 3, -6.0 + 2, -4.0 + 1])
    torch.testing.assert_close(by_scores[0, :, 0], -0.5 * from_here_on)


def test_the_estimate_has_no_bias():
    """Averaged over all draws by their shares, its gradient is that of the expected log-probability."""
    gains = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)  # log-probability of the word from each place
    scores = torch.tensor([0.1, -0.4, 0.7], dtype=torch.float64, requires_grad=True)
    (exact,) = torch.autograd.grad(-(torch.softmax(scores, 0) * gains).sum(), scores)
    module, estimate = Reinforce(weight=1.0, entropy=0.0, start=-0.7).double().eval(), 0.0
    for place, share in enumerate(torch.softmax(scores, 0).tolist()):
        one_hot = torch.eye(3, dtype=torch.float64)[place]
        value = module(scores[None, None], one_hot[None, None], gains[place].view(1, 1), YES, YES[None])
        estimate = estimate + share * torch.autograd.grad(value, scores)[0]
    torch.testing.assert_close(estimate, exact)


def test_rows_that_were_not_drawn_and_padding_teach_nothing():
    module = Reinforce(weight=1.0, entropy=0.0, start=0.0).eval()
    scores = torch.zeros(2, 2, 3, requires_grad=True)
    drawn, written = torch.tensor([True, False]), torch.tensor([[True, False], [True, True]])
    weights = torch.eye(3)[:1].expand(2, 2, 3)
    (by_scores,) = torch.autograd.grad(module(scores, weights, -torch.ones(2, 2), drawn, written), scores)
    assert by_scores[0, 0].any()
    assert not by_scores[0, 1].any()
    assert not by_scores[1].any()


def test_the_baseline_follows_the_words_in_training_only():
    module = Reinforce(weight=1.0, entropy=0.0, start=-4.0)
    log_probs = torch.tensor([[-1.0, -3.0], [-9.0, -9.0]])
    shape, drawn, written = (2, 2, 3), torch.tensor([True, False]), torch.ones(2, 2, dtype=torch.bool)
    module.eval()(torch.zeros(shape), torch.zeros(shape), log_probs, drawn, written)
    assert float(module.baseline) == -4.0
    module.train()(torch.zeros(shape), torch.zeros(shape), log_probs, drawn, written)
    assert float(module.baseline) == pytest.approx(0.9 * -4.0 + 0.1 * -2.0)


def test_entropy_is_rewarded():
    module = Reinforce(weight=0.0, entropy=0.5, start=0.0)
    scores = torch.tensor([[[0.0, 0.0], [50.0, 0.0]]])
    value = module(scores, torch.zeros(1, 2, 2), torch.zeros(1, 2), torch.ones(1) > 0, torch.ones(1, 2) > 0)
    assert float(value) == pytest.approx(-0.5 * np.log(2))


def test_drawn_rows_are_one_hot_by_their_share_and_the_others_soft():
    scores = torch.tensor([[[0.0, 1.0, 2.0]]]).expand(4000, 1, 3).clone().requires_grad_()
    expected = torch.arange(4000) < 1000
    weights = Drawn(torch.Generator().manual_seed(0), expected)(scores)
    shares = torch.softmax(torch.tensor([0.0, 1.0, 2.0]), 0)
    torch.testing.assert_close(weights[:1000, 0], shares.expand(1000, 3))
    assert set(weights[1000:].unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(weights[1000:, 0].mean(0), shares, atol=0.03, rtol=0)
    weights[..., 0].sum().backward()
    assert bool((scores.grad[:1000] != 0).any())
    assert not scores.grad[1000:].any()
