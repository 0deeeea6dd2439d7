"""hide(): a head or an edge is gone, the rest is as it was, on every path."""

import pytest
import torch
from torch import nn

import regard
from regard.errors import InputError
from tests.inspection.models import llama, made, t5, token_ids


def bloom():
    return made("BloomForCausalLM", "eager", hidden_size=32, n_layer=2, n_head=4, vocab_size=97)


def contexts(model, layer):
    """What the output projection of a layer reads: (b, q, h, d)."""
    found = []
    project = (
        model.model.layers[layer].self_attn.o_proj
        if hasattr(model, "model")
        else model.transformer.h[layer].self_attention.dense
    )
    handle = project.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0].unflatten(-1, (4, 8))))
    return found, handle


@pytest.mark.parametrize("make", [llama, lambda: llama("eager"), bloom])
@pytest.mark.parametrize("by", ["zero", "mean"])
@torch.no_grad()
def test_a_head_gives_zero_or_its_mean(make, by):
    model, ids = make(), token_ids()
    found, handle = contexts(model, 1)
    model(ids)
    with regard.hide(model, layer=1, head=2, by=by):
        model(ids)
    handle.remove()
    before, after = found
    others = [0, 1, 3]
    assert torch.equal(before[:, :, others], after[:, :, others])
    expected = torch.zeros(8) if by == "zero" else before[:, :, 2].mean(1, keepdim=True)
    torch.testing.assert_close(after[:, :, 2], expected.expand(2, 11, 8), atol=1e-6, rtol=0)


@pytest.mark.parametrize("make", [llama, bloom])
@torch.no_grad()
def test_hidden_edges_are_a_mask(make):
    model, ids = make(), token_ids()
    with regard.record(model) as whole:
        model(ids)
    with regard.hide(model, layer=0, head=1, queries=[5, 6], keys=[2]), regard.record(model) as recorded:
        output = model(ids).logits
    assert not torch.equal(output, model(ids).logits)
    name = next(iter(recorded))
    before, after = whole[name][0, 1].weights(), recorded[name][0, 1].weights()
    expected = before.clone()
    expected[5:7, 2] = 0
    torch.testing.assert_close(after, expected / expected.sum(-1, keepdim=True), atol=1e-6, rtol=0)
    torch.testing.assert_close(recorded[name][0, 0].weights(), whole[name][0, 0].weights())


@torch.no_grad()
def test_hiding_all_that_a_mask_hides_is_that_mask():
    """A causal model whose first key is hidden everywhere gives what it gives when it is masked."""
    model, ids = llama(), token_ids(1, 6)
    mask = torch.ones(1, 1, 6, 6).tril().bool()
    mask[..., 1:, 0] = False
    expected = model(ids, attention_mask=torch.where(mask, 0.0, torch.finfo(torch.float32).min)).logits
    with regard.hide(model, layer=[0, 1], queries=range(1, 6), keys=0):
        output = model(ids).logits
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_torch_layers_and_the_fast_path():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    inputs = torch.randn(1, 4, 8)
    alone = layer(inputs)
    with regard.hide(layer, layer="self_attn", head=0):
        hidden = layer(inputs)
    assert not torch.allclose(alone, hidden)
    assert torch.equal(layer(inputs), alone)


@torch.no_grad()
def test_refusals():
    model, ids = llama(), token_ids()
    with pytest.raises(InputError, match="no attention ran in layer 9"), regard.hide(model, layer=9):
        model(ids)
    with pytest.raises(InputError, match=r"there is no head 4 in model.layers.0"), regard.hide(model, layer=0, head=4):
        model(ids)
    with pytest.raises(InputError, match="hidden by 'zero' or by its 'mean'"), regard.hide(model, layer=0, by="noise"):
        pass
    with pytest.raises(InputError, match="did not run inside the block"), regard.hide(model, layer=0):
        pass
    with pytest.raises(InputError, match="say which by its name"), regard.hide(t5(), layer=0, head=0):
        t5()(input_ids=ids, decoder_input_ids=ids)
