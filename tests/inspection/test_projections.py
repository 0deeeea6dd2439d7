"""Norms of weighted values: those of the dense computation, for every way a layer projects its output."""

import pytest
import torch
from torch import nn

import regard
from regard.errors import InputError
from regard.inspection.store import open_store
from tests.inspection.models import bert, gpt2, llama, token_ids


def dense_norms(weights, value, matrix):
    """|| weight(i, j) v_j W_O || of every pair (b, h, q, k); value (b, h, k, v), W_O (h, v, out)."""
    transformed = torch.einsum("bhkv,hvo->bhko", value, matrix)
    return (weights[..., None] * transformed[:, :, None]).norm(dim=-1)


def value_of(layer, inputs, heads):
    found = layer(inputs)
    return found.view(*found.shape[:2], heads, -1).transpose(1, 2)


@torch.no_grad()
def expected(kind, ids):
    """The eager weights of the second layer, with its values and its projection taken from its parameters."""
    if kind == "llama":
        output = llama("eager")(ids, output_attentions=True, output_hidden_states=True)
        layer = llama().model.layers[1]
        value = value_of(layer.self_attn.v_proj, layer.input_layernorm(output.hidden_states[1]), 2)
        return output.attentions[1], value.repeat_interleave(2, 1), layer.self_attn.o_proj.weight.T
    if kind == "bert":
        output = bert("eager")(ids, output_attentions=True, output_hidden_states=True)
        layer = bert().encoder.layer[1].attention
        value = value_of(layer.self.value, output.hidden_states[1], 4)
        return output.attentions[1], value, layer.output.dense.weight.T
    output = gpt2("eager")(ids, output_attentions=True, output_hidden_states=True)
    layer = gpt2().h[1]
    value = value_of(lambda x: layer.attn.c_attn(x)[..., 64:], layer.ln_1(output.hidden_states[1]), 4)
    return output.attentions[1], value, layer.attn.c_proj.weight


NAMES = {"llama": "model.layers.1.self_attn", "bert": "encoder.layer.1.attention.self", "gpt2": "h.1.attn"}


@pytest.mark.parametrize("kind", NAMES)
def test_norms_are_those_of_the_dense_computation(kind):
    ids, model = token_ids(), {"llama": llama, "bert": bert, "gpt2": gpt2}[kind]()
    weights, value, matrix = expected(kind, ids)
    table = dense_norms(weights, value, matrix.reshape(4, 8, 32))
    with torch.no_grad(), regard.record(model, values=True) as recorded:
        model(ids)
    found = recorded[NAMES[kind]]
    for batch, head in ((0, 0), (1, 3)):
        torch.testing.assert_close(found[batch, head].weights(by="norms"), table[batch, head], atol=1e-6, rtol=1e-5)
    tile = found[1, 2].weights(slice(3, 7), [0, 2], by="norms")
    torch.testing.assert_close(tile, table[1, 2, 3:7][:, [0, 2]], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found[0, 1].row(9, by="norms"), table[0, 1, 9], atol=1e-6, rtol=1e-5)


def test_chosen_heads_and_the_store_keep_their_norms(tmp_path):
    ids = token_ids()
    with torch.no_grad(), regard.record(llama(), values=True) as recorded:
        llama()(ids)
    with torch.no_grad(), regard.record(llama(), values=True, heads=[1, 3], store=tmp_path):
        llama()(ids)
    name = NAMES["llama"]
    whole, some = recorded[name][1, 3], open_store(tmp_path)[name][1, 3]
    assert torch.equal(whole.weights(by="norms"), some.weights(by="norms"))


def test_the_norms_of_what_is_generated_grow_with_it():
    ids = token_ids(batch=1)
    with torch.no_grad(), regard.record(llama(), values=True) as written:
        output = llama().generate(ids, max_new_tokens=5, num_beams=2, do_sample=False)
    with torch.no_grad(), regard.record(llama(), values=True) as again:
        llama()(output[:, :-1])
    for name in written:
        torch.testing.assert_close(
            written[name][0, 2].weights(by="norms"), again[name][0, 2].weights(by="norms"), atol=1e-5, rtol=1e-4
        )


def test_multi_head_attention_of_torch_projects_by_a_function():
    torch.manual_seed(0)
    layer, inputs = nn.MultiheadAttention(8, 2, batch_first=True).eval(), torch.randn(1, 5, 8)
    value = nn.functional.linear(inputs, layer.in_proj_weight[16:], layer.in_proj_bias[16:])
    with torch.no_grad(), regard.record(layer, values=True) as recorded:
        _, weights = layer(inputs, inputs, inputs, average_attn_weights=False)
        layer(inputs, inputs, inputs, need_weights=False)
    matrix = layer.out_proj.weight.T.reshape(2, 4, 8)
    table = dense_norms(weights, value.view(1, 5, 2, 4).transpose(1, 2), matrix).detach()
    torch.testing.assert_close(recorded["#2"][0, 1].weights(by="norms"), table[0, 1], atol=1e-6, rtol=1e-5)


class Gated(nn.Module):
    """Its output is scaled before it is projected."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 8)

    def forward(self, inputs):
        heads = inputs.view(1, -1, 2, 4).transpose(1, 2)
        mixed = nn.functional.scaled_dot_product_attention(heads, heads, heads)
        return self.out(mixed.transpose(1, 2).reshape(1, -1, 8) * 2)


@pytest.mark.parametrize("values", [False, True])
def test_unknown_norms_are_refused(values):
    model = Gated() if values else llama()
    with torch.no_grad(), regard.record(model, values=values) as recorded:
        model(torch.randn(1, 5, 8) if values else token_ids())
    with pytest.raises(InputError, match=r"the norms of the values of .* are not known: record the model with values"):
        recorded[next(iter(recorded))][0, 0].weights(by="norms")
