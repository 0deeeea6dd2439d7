"""generate(): one growing map a layer, whatever the cache; beams follow the winner."""

from typing import Any

import pytest
import torch

import regard
from tests.inspection.models import furthest, llama, made, mistral, t5, token_ids


def gptj(implementation="eager"):
    return made(
        "GPTJForCausalLM",
        implementation,
        vocab_size=97,
        n_embd=32,
        n_layer=2,
        n_head=4,
        rotary_dim=4,
        bos_token_id=1,
        eos_token_id=None,
    )


WAYS: dict[str, Any] = {
    "greedy": (llama, {}),
    "static cache": (llama, {"cache_implementation": "static"}),
    "no cache": (llama, {"use_cache": False}),
    "beams": (llama, {"num_beams": 3}),
    "beams, several given": (llama, {"num_beams": 4, "num_return_sequences": 2}),
    "window": (mistral, {}),
    "window, beams": (mistral, {"num_beams": 3}),
    "outside the interface": (gptj, {"num_beams": 2}),
}


@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_the_map_of_a_generation_is_that_of_one_pass(way):
    make, settings = WAYS[way]
    model, ids = make(), token_ids(2, 7)
    how: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, **settings}
    alone = model.generate(ids, **how)
    with regard.record(model) as recorded:
        output = model.generate(ids, **how)
    assert torch.equal(alone, output)
    assert len(recorded) == 2
    for item, sequence in enumerate(output):
        fed = sequence[None, :-1]
        assert recorded.ids[item] == [str(int(token)) for token in fed[0]]
        tables = make("eager")(fed, output_attentions=True).attentions
        for name, table in zip(recorded, tables, strict=True):
            for head in range(4):
                weights = recorded[name][item, head].weights()
                torch.testing.assert_close(weights, table[0, head], atol=1e-6, rtol=0)


@pytest.mark.parametrize("beams", [1, 3])
@torch.no_grad()
def test_an_encoder_decoder_writes_by_its_source(beams):
    model, ids = t5(), token_ids(2, 7)
    with regard.record(model) as recorded:
        output = model.generate(ids, max_new_tokens=5, num_beams=beams, do_sample=False)
    assert recorded.source_ids[0] == [str(int(token)) for token in ids[0]]
    for item in range(2):
        fed = output[item : item + 1, :-1]
        expected = t5("eager")(input_ids=ids[item : item + 1], decoder_input_ids=fed, output_attentions=True)
        for layer in range(2):
            for name, table in (
                (f"decoder.block.{layer}.layer.0.SelfAttention", expected.decoder_attentions[layer]),
                (f"decoder.block.{layer}.layer.1.EncDecAttention", expected.cross_attentions[layer]),
            ):
                for head in range(4):
                    weights = recorded[name][item, head].weights()
                    torch.testing.assert_close(weights, table[0, head], atol=1e-6, rtol=0)


@torch.no_grad()
def test_steps_by_hand_with_a_cache_grow_one_map():
    model, ids = llama(), token_ids(1, 8)
    with regard.record(model) as recorded:
        past = model(ids[:, :5], use_cache=True).past_key_values
        past = model(ids[:, 5:7], past_key_values=past, use_cache=True).past_key_values
        model(ids[:, 7:], past_key_values=past, use_cache=True)
    tables = llama("eager")(ids, output_attentions=True).attentions
    assert len(recorded) == 2
    for name, table in zip(recorded, tables, strict=True):
        assert furthest(recorded[name], table) <= 1e-6
