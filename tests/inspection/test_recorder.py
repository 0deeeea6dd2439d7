"""record(): what is chosen, what is refused, this package's own models, compiled models."""

import pytest
import torch
from torch import nn

import regard
from regard.errors import InputError, ShapeError, UnknownName
from tests.inspection.models import furthest, llama, token_ids


@torch.no_grad()
def test_layers_and_heads_are_chosen():
    model, ids = llama(), token_ids()
    with regard.record(model) as whole:
        model(ids)
    with regard.record(model, layers=[1], heads=[1, 3]) as some:
        model(ids)
    assert list(some) == ["model.layers.1.self_attn"]
    found = some["model.layers.1.self_attn"]
    assert found.shape == (2, 2, 11, 11)
    torch.testing.assert_close(found[1, 3].weights(), whole["model.layers.1.self_attn"][1, 3].weights())
    with pytest.raises(InputError, match="head 0 is not here; there are head 1, 3"):
        found[0, 0]


@torch.no_grad()
def test_tokens_are_the_ids_until_they_are_set():
    ids = token_ids(1, 5)
    with regard.record(llama()) as recorded:
        llama()(ids)
    assert recorded.tokens == [str(int(token)) for token in ids[0]]
    recorded.tokens = list("abcde")
    assert recorded["model.layers.0.self_attn"].rows == list("abcde")
    with pytest.raises(ShapeError, match="3 tokens do not fit: the maps have 5 rows or columns"):
        recorded.tokens = list("abc")
    with pytest.raises(InputError, match="tokens are empty"):
        recorded.tokens = []


@torch.no_grad()
def test_two_passes_are_two_maps():
    with regard.record(llama(), layers=0) as recorded:
        llama()(token_ids(1, 5))
        llama()(token_ids(1, 7))
    assert {name: found.shape[2] for name, found in recorded.items()} == {
        "model.layers.0.self_attn": 5,
        "model.layers.0.self_attn#2": 7,
    }


def test_refusals():
    with pytest.raises(InputError, match="a torch model is needed"), regard.record("bert"):
        pass
    with pytest.raises(InputError, match="on the meta device"), regard.record(nn.Linear(2, 2, device="meta")):
        pass
    with pytest.raises(InputError, match="did not run inside the block"), regard.record(llama()):
        pass
    linear = nn.Linear(2, 2)
    with pytest.raises(InputError, match="Linear ran without attention"), regard.record(linear):
        linear(torch.ones(1, 2))
    with torch.no_grad():
        with (
            pytest.raises(InputError, match=r"no attention ran in layer 7; it ran in model.layers.0"),
            regard.record(llama(), layers=7),
        ):
            llama()(token_ids())
        with (
            pytest.raises(InputError, match="there is no head 9: this attention has 4"),
            regard.record(llama(), heads=9),
        ):
            llama()(token_ids())
        with regard.record(llama()) as recorded:
            llama()(token_ids())
    with pytest.raises(UnknownName, match=r"Did you mean 'model\.layers\.0\.self_attn'"):
        recorded["model.layers.0.attn"]


def test_other_models_are_not_recorded():
    other = nn.MultiheadAttention(8, 2, batch_first=True)
    inputs = torch.ones(1, 3, 8)
    with torch.no_grad(), regard.record(llama()) as recorded:
        other(inputs, inputs, inputs)
        llama()(token_ids())
    assert len(recorded) == 2


@torch.no_grad()
def test_a_compiled_model_runs_uncompiled_meanwhile():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    compiled = torch.compile(layer, backend="eager")
    inputs = torch.randn(1, 4, 8)
    compiled(inputs, inputs, inputs)
    with regard.record(compiled) as recorded:
        compiled(inputs, inputs, inputs)
    _, expected = layer(inputs, inputs, inputs, average_attn_weights=False)
    assert furthest(recorded[""], expected) <= 1e-6


@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@torch.no_grad()
def test_layers_of_this_package(score):
    torch.manual_seed(0)
    layer = regard.nn.Attention(6, 6, score=score)
    query, key = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    with regard.record(layer) as recorded:
        _, weights = layer(query, key)
    assert furthest(recorded[""], weights[:, None]) <= 1e-6


@torch.no_grad()
def test_a_transformer_of_this_package():
    from regard.nn.transformer import Shape, TransformerEncoder

    torch.manual_seed(0)
    encoder = TransformerEncoder(Shape(8, heads=2, feedforward=16), layers=2).eval()
    inputs = torch.randn(1, 5, 8)
    alone = encoder(inputs)
    with regard.record(encoder) as recorded:
        output = encoder(inputs)
    assert torch.equal(alone, output)
    assert {name: found.shape for name, found in recorded.items()} == {
        "layers.0.attention": (1, 2, 5, 5),
        "layers.1.attention": (1, 2, 5, 5),
    }


@torch.no_grad()
def test_the_translator_that_ships():
    translator = regard.Translator.load("en-fr")
    with regard.record(translator) as recorded:
        alignment = translator.align("The house is small.", "La maison est petite.")
    found = recorded["decoder.attention"]
    assert found.shape[2:] == (len(alignment.target_words) + 2, len(alignment.source_words) + 2)
    torch.testing.assert_close(found.weights().sum(-1), torch.ones(found.shape[2]))
