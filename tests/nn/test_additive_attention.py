"""Fused additive attention in a decoder's loop: the results and gradients of the layer it replaces."""

import pytest
import torch

from regard.kernels import dispatch
from regard.nn.additive_attention import FusedAdditiveAttention
from regard.nn.scores import AdditiveScore, ConcatScore
from tests.nn.test_decoder import BATCH, KINDS, NOTE, SOURCE, STATE, TARGET, WORD, attention, decoder, draw, memory


@pytest.mark.parametrize("kind", ["additive", "cgru", "concat, lstm, feeding, 2 layers"])
def test_it_gives_what_the_attention_gives(kind):
    kind = KINDS[kind]()
    annotations, summary, visible = memory()
    visible[1] = False  # a sentence in which it may look nowhere
    words = draw(BATCH, TARGET, WORD, seed=2)

    def results():
        decoded = kind(words, kind.start(annotations, summary, visible))
        gradients = torch.autograd.grad(decoded.features.square().sum(), list(kind.parameters()))
        steps = {step.name: step.value for step in decoded.attended[0].steps()}
        return [decoded.features, decoded.weights, steps["context"], *gradients]

    assert FusedAdditiveAttention.can_replace(kind.attention, annotations, draw(BATCH, SOURCE, 8))
    fused = results()
    with dispatch.forced("plain"):
        assert not FusedAdditiveAttention.can_replace(kind.attention, annotations, draw(BATCH, SOURCE, 8))
        for one, other in zip(fused, results(), strict=True):
            torch.testing.assert_close(one, other)
    assert (fused[1][1] == 0).all()


def test_keys_too_large_for_it_go_to_the_attention_itself():
    kind, words = decoder(attention()), draw(BATCH, TARGET, WORD, seed=2)
    annotations, summary, visible = memory()
    for size in (1.0, 1e4):
        keys = size * kind.attention.project(annotations)
        assert FusedAdditiveAttention.can_replace(kind.attention, annotations, keys) == (size == 1.0)
    far = kind.start(1e4 * annotations, summary, visible)
    expected = kind.step(words[:, :1], far)[0].features
    torch.testing.assert_close(kind(words[:, :1], far).features, expected)


@pytest.mark.parametrize("score", [AdditiveScore, ConcatScore])
def test_a_score_that_projects_queries_its_own_way_is_trained_that_way(score):
    class Shifted(score):  # type: ignore[misc, valid-type]
        def project_query(self, query):
            return super().project_query(query) + 1

    kind = decoder(attention())
    kind.attention.score = Shifted(STATE, NOTE, 8).double()
    words = draw(BATCH, 1, WORD, seed=2)
    state = kind.start(*memory())
    assert FusedAdditiveAttention.can_replace(kind.attention, state.memory.annotations, state.memory.ready)
    torch.testing.assert_close(kind(words, state).features, kind.step(words, state)[0].features)


@pytest.mark.parametrize("size", [40.0, 1e3, 1e30])
def test_queries_may_be_of_any_size(size):
    kind, words = decoder(attention()), draw(BATCH, TARGET, WORD, seed=2)

    def results():
        decoded = kind(words, kind.start(*memory()))
        return [decoded.features, *torch.autograd.grad(decoded.features.square().sum(), list(kind.parameters()))]

    with torch.no_grad():
        kind.attention.score.W_q.weight.mul_(size)
    fused = results()
    with dispatch.forced("plain"):
        for one, other in zip(fused, results(), strict=True):
            torch.testing.assert_close(one, other)
