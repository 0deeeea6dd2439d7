"""importance(): gradients by gates are the derivative of a head's factor, and ablation is hiding."""

import pytest
import torch

import regard
from regard.errors import InputError
from regard.inspection.importance import importance
from tests.inspection.models import llama, made, token_ids

IDS = token_ids(1, 9)


def loss_of(model):
    return lambda: model(IDS, labels=IDS).loss


@pytest.mark.parametrize(
    "make",
    [llama, lambda: made("BloomForCausalLM", "eager", hidden_size=32, n_layer=2, n_head=4, vocab_size=97)],
)
def test_every_head_is_ranked(make):
    model = make()
    with torch.no_grad(), regard.record(model) as recorded:
        model(IDS)
    found = recorded.importance(loss_of(model), ablate=3)
    assert len(found) == 8
    assert [head.score for head in found] == sorted((head.score for head in found), reverse=True)
    assert [head.ablation is None for head in found] == [False] * 3 + [True] * 5
    with torch.no_grad(), regard.hide(model, layer=found[0].layer, head=found[0].head):
        without = float(loss_of(model)())
    assert found[0].ablation == pytest.approx(without - found.loss)


def test_the_score_is_the_derivative_by_the_heads_factor():
    model = llama()
    found = importance(model, loss_of(model), ablate=0)
    head = found[0]
    layer = int(head.layer.split(".")[2])
    project = model.model.layers[layer].self_attn.o_proj

    def loss(factor):
        def scaled(_, inputs):
            heads = inputs[0].unflatten(-1, (4, 8)).clone()
            heads[:, :, head.head] *= factor
            return (heads.flatten(2),)

        handle = project.register_forward_pre_hook(scaled)
        with torch.no_grad():
            value = float(loss_of(model)())
        handle.remove()
        return value

    slope = (loss(1.05) - loss(0.95)) / 0.1
    assert head.score == pytest.approx(abs(slope), rel=0.02)


def test_a_loss_that_cannot_be_used_is_said():
    model = llama()
    with pytest.raises(InputError, match="give one number"):
        importance(model, lambda: model(IDS).logits)
    with pytest.raises(InputError, match="ran no attention"):
        importance(model, lambda: torch.zeros((), requires_grad=True))

    def silent():
        with torch.no_grad():
            return loss_of(model)()

    with pytest.raises(InputError, match="has no gradient"):
        importance(model, silent)


def test_it_is_printed(capsys):
    model = llama()
    importance(model, loss_of(model), ablate=1).show()
    assert "loss without it" in capsys.readouterr().out
