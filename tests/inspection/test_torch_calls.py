"""Plain torch: scaled_dot_product_attention, softmax by hand, nn.MultiheadAttention and the fast path."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import regard
from regard.errors import InputError
from tests.inspection.models import furthest

INPUTS = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0))


class ByHand(nn.Module):
    """Attention as people write it."""

    num_heads = 2

    def __init__(self, how):
        super().__init__()
        torch.manual_seed(0)
        self.project, self.how = nn.Linear(8, 24), how

    def forward(self, inputs):
        query, key, value = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.project(inputs).chunk(3, -1))
        return self.how(query, key, value).transpose(1, 2).flatten(2)


def by_softmax(query, key, value):
    scores = query @ key.mT / 2
    hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
    return torch.dropout(scores.masked_fill(hidden, -torch.inf).softmax(-1), 0.0, False) @ value


WAYS = {
    "sdpa": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "masked": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=torch.ones(6, 6).tril().bool()),
    "softmax": by_softmax,
    "batched": lambda q, k, v: torch.bmm(
        F.softmax((q @ k.mT / 2).masked_fill(torch.ones(6, 6).triu(1).bool(), -1e9).flatten(0, 1), dim=-1),
        v.flatten(0, 1),
    ).unflatten(0, (2, 2)),
}


@pytest.mark.parametrize("way", WAYS)
def test_attention_written_by_hand(way):
    model = ByHand(WAYS[way])
    alone = model(INPUTS)
    with regard.record(model) as recorded:
        output = model(INPUTS)
    assert torch.equal(alone, output)
    query, key, _ = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in model.project(INPUTS).chunk(3, -1))
    expected = (query @ key.mT / 2).masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)
    assert furthest(recorded[""], expected.detach()) <= 1e-6


def test_a_softmax_that_weighs_nothing_is_no_attention():
    class Router(nn.Module):
        def forward(self, inputs):
            return inputs.softmax(-1).topk(2).values

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.router, self.attention = Router(), ByHand(by_softmax)

        def forward(self, inputs):
            return self.router(self.attention(inputs))

    model = Both()
    with regard.record(model) as recorded:
        model(INPUTS)
    assert list(recorded) == ["attention"]


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_multi_head_attention(need_weights, training):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).train(training)
    key = torch.randn(2, 5, 8)
    padding = torch.zeros(2, 5).bool()
    padding[0, 3:] = True
    with torch.no_grad():
        alone, _ = layer(INPUTS, key, key, key_padding_mask=padding, need_weights=need_weights)
        with regard.record(layer) as recorded:
            output, _ = layer(INPUTS, key, key, key_padding_mask=padding, need_weights=need_weights)
        _, expected = layer(INPUTS, key, key, key_padding_mask=padding, average_attn_weights=False)
    assert torch.equal(alone, output)
    assert furthest(recorded[""], expected) <= 1e-6


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_the_fast_path_runs_and_is_recorded(norm_first, padded):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()
    padding = torch.zeros(2, 6).bool()
    padding[1, 4:] = True
    given = {"src_key_padding_mask": padding} if padded else {}
    with torch.no_grad():
        alone = encoder(INPUTS, **given)
        with regard.record(encoder) as recorded:
            output = encoder(INPUTS, **given)
    assert torch.equal(alone, output)
    assert list(recorded) == ["layers.0.self_attn", "layers.1.self_attn"]
    first = encoder.layers[0]
    inputs = first.norm1(INPUTS) if norm_first else INPUTS
    with torch.no_grad():
        _, expected = first.self_attn(
            inputs, inputs, inputs, key_padding_mask=padding if padded else None, average_attn_weights=False
        )
    found = recorded["layers.0.self_attn"]
    for item, rows in ((0, 6), (1, 4 if padded else 6)):
        for head in range(2):
            torch.testing.assert_close(
                found[item, head].weights()[:rows], expected[item, head, :rows], atol=1e-6, rtol=0
            )


def test_a_decoder_gives_self_and_cross_attention():
    torch.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    target = torch.randn(2, 4, 8)
    with torch.no_grad():
        alone = model(INPUTS, target)
        with regard.record(model) as recorded:
            output = model(INPUTS, target)
    assert torch.equal(alone, output)
    shapes = {name: found.shape[2:] for name, found in recorded.items()}
    assert shapes == {
        "encoder.layers.0.self_attn": (6, 6),
        "decoder.layers.0.self_attn": (4, 4),
        "decoder.layers.0.multihead_attn": (4, 6),
    }


def test_attention_without_a_softmax_is_an_error_that_names_it():
    class SigmoidAttention(nn.Module):
        def forward(self, inputs):
            return torch.sigmoid(inputs @ inputs.mT) @ inputs

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([ByHand(by_softmax), SigmoidAttention()])

        def forward(self, inputs):
            return self.blocks[1](self.blocks[0](inputs))

    model = Model()
    message = r"blocks\.1 \(SigmoidAttention\) ran and its attention was not observed"
    with pytest.raises(InputError, match=message), regard.record(model):
        model(INPUTS)
    with regard.record(model, layers=0) as recorded:
        model(INPUTS)
    assert list(recorded) == ["blocks.0"]


def test_a_fast_path_that_fails_leaves_nothing_behind():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    with torch.no_grad(), pytest.raises(Exception, match="8"), regard.record(layer):
        layer(torch.randn(1, 4, 7))
    model = ByHand(by_softmax)
    with regard.record(model) as recorded:  # torch's functions are observed again
        model(INPUTS)
    assert list(recorded) == [""]
