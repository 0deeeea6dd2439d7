"""Hugging Face models: weights of eager attention, outputs to the bit, and a model left as it was."""

from functools import partial

import pytest
import torch

import regard
from regard.errors import InputError
from regard.inspection import huggingface, long_masks, visibility
from tests.inspection.models import SMALL, furthest, llama, made, mistral, t5, token_ids

WINDOWS = {**SMALL, "head_dim": 8, "num_key_value_heads": 2, "sliding_window": 4}
OLD = {"n_layer": 2, "n_head": 4, "vocab_size": 97}
FAMILIES = {
    "grouped keys": (llama, "sdpa"),
    "sliding window": (mistral, "sdpa"),
    "softcap": (partial(made, "Gemma2ForCausalLM", **WINDOWS), "eager"),
    "sinks": (partial(made, "GptOssForCausalLM", **WINDOWS, num_local_experts=2, num_experts_per_tok=1), "eager"),
    "outside the interface": (partial(made, "BloomForCausalLM", hidden_size=32, **OLD), "eager"),
    "einsum": (partial(made, "XLNetModel", d_model=32, d_inner=48, **OLD), "eager"),
    "a shared layer": (partial(made, "AlbertModel", **SMALL, embedding_size=16), "sdpa"),
}


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_weights_are_those_of_eager_attention(family):
    make, implementation = FAMILIES[family]
    model, ids = make(implementation), token_ids()
    alone = model(ids)[0]
    with regard.record(model) as recorded:
        output = model(ids)[0]
    assert torch.equal(alone, output)
    tables = make("eager")(ids, output_attentions=True).attentions
    assert len(recorded) == len(tables) == 2
    for name, table in zip(recorded, tables, strict=True):
        assert furthest(recorded[name], table) <= 1e-6


@torch.no_grad()
def test_an_encoder_decoder_with_a_position_bias():
    ids, written = token_ids(), token_ids(2, 7)
    with regard.record(t5()) as recorded:
        t5()(input_ids=ids, decoder_input_ids=written)
    expected = t5("eager")(input_ids=ids, decoder_input_ids=written, output_attentions=True)
    inside = [name for name in recorded if name.startswith("decoder")]
    for names, tables in (
        ([name for name in recorded if name.startswith("encoder")], expected.encoder_attentions),
        (inside[::2], expected.decoder_attentions),
        (inside[1::2], expected.cross_attentions),
    ):
        for name, table in zip(names, tables, strict=True):
            assert furthest(recorded[name], table) <= 1e-6
    bias = recorded[inside[0]].call.bias
    assert bias is not None
    assert bias.queries == 7  # a number a distance, not a table


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_padding(side):
    ids, words = token_ids(), torch.ones(2, 11, dtype=torch.long)
    words[0, slice(0, 4) if side == "left" else slice(7, 11)] = 0
    model = mistral()
    with regard.record(model) as recorded:
        model(ids, attention_mask=words)
    tables = mistral("eager")(ids, attention_mask=words, output_attentions=True).attentions
    for name, table in zip(recorded, tables, strict=True):
        first = 4 if side == "left" else 0  # rows of padding see nothing
        assert furthest(recorded[name], table, first) <= 1e-6
        assert recorded[name].call.visible.dense is None


@torch.no_grad()
def test_packed_sequences():
    ids, places = token_ids(1, 9), torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])
    with regard.record(llama()) as recorded:
        llama()(ids, position_ids=places, use_cache=False)
    tables = llama("eager")(ids, position_ids=places, use_cache=False, output_attentions=True).attentions
    found = recorded["model.layers.1.self_attn"]
    assert furthest(found, tables[1]) <= 1e-6
    assert (found[0, 0].weights()[4:, :4] == 0).all()


@torch.no_grad()
def test_long_masks_are_never_made(monkeypatch):
    monkeypatch.setattr(long_masks, "LONGEST_DENSE", 1)
    monkeypatch.setattr(long_masks, "ROWS", 3)

    def made_dense(*_):
        raise AssertionError("the mask was made")

    ids, words = token_ids(), torch.ones(2, 11, dtype=torch.long)
    words[1, :3] = 0
    alone = mistral()(ids, attention_mask=words)[0]
    monkeypatch.setattr(long_masks.LongMask, "__torch_dispatch__", made_dense)
    with regard.record(mistral()) as recorded:
        output = mistral()(ids, attention_mask=words)[0]
    torch.testing.assert_close(output[0], alone[0], atol=1e-6, rtol=0)
    torch.testing.assert_close(output[1, 3:], alone[1, 3:], atol=1e-6, rtol=0)
    tables = mistral("eager")(ids, attention_mask=words, output_attentions=True).attentions
    for name, table in zip(recorded, tables, strict=True):
        assert furthest(recorded[name], table, 3) <= 1e-6


@torch.no_grad()
def test_a_mask_without_storage_is_made_when_it_is_touched():
    visible = visibility.from_function(lambda _, i, j: j <= i, 1, 3, 3)
    mask = long_masks.LongMask(visible, 1, lambda: torch.ones(1, 1, 3, 3).tril().bool(), "cpu")
    assert mask.shape == (1, 1, 3, 3)
    assert torch.equal(~mask, ~torch.ones(1, 1, 3, 3).tril().bool())


def test_the_model_is_left_as_it_was_also_after_an_error():
    from transformers.cache_utils import Cache
    from transformers.generation.utils import GenerationMixin
    from transformers.masking_utils import AttentionMaskInterface
    from transformers.modeling_utils import AttentionInterface

    model = llama()
    owners = (AttentionInterface, AttentionMaskInterface, GenerationMixin, Cache)
    before = [dict(vars(owner)) for owner in owners]
    settings, weights = model.config.to_dict(), {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(IndexError), regard.record(model):
        model(token_ids() + 1000)
    assert [dict(vars(owner)) for owner in owners] == before
    assert model.config.to_dict() == settings
    assert model.config._attn_implementation == "sdpa"
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch._C._len_torch_function_stack() == 0


def test_a_description_that_does_not_give_the_output_is_refused(monkeypatch):
    def wrong(ran):
        yield huggingface._call(ran, ran.query, ran.key, 9.0, None, causal_too=True)

    monkeypatch.setattr(huggingface, "candidates", wrong)
    message = "LlamaAttention ran its attention by 'sdpa' in a way"
    with torch.no_grad(), pytest.raises(InputError, match=message), regard.record(llama()):
        llama()(token_ids())


def test_gradients_pass_through():
    model, ids = llama(), token_ids()
    alone = torch.autograd.grad(model(ids).logits.sum(), model.lm_head.weight)[0]
    with regard.record(model) as recorded:
        watched = torch.autograd.grad(model(ids).logits.sum(), model.lm_head.weight)[0]
    assert torch.equal(alone, watched)
    assert not recorded["model.layers.0.self_attn"].call.query.requires_grad
