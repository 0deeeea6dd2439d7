"""The Transformer against torch's, against itself word by word, and against its own promises."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import ShapeError, UnknownName
from regard.nn import MultiHeadAttention
from regard.nn.transformer import POSITIONS, Shape, TransformerDecoder, TransformerEncoder

BATCH, SOURCE, TARGET, WIDTH = 3, 5, 4, 8
SHAPE = Shape(WIDTH, heads=2, feedforward=11)
VISIBLE = torch.arange(SOURCE) < torch.tensor([5, 2, 3])[:, None]


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(params=POSITIONS)
def decoder(request):
    return TransformerDecoder(SHAPE, 2, positions=request.param).double()


def test_stepping_equals_teaching(decoder):
    words = draw(BATCH, TARGET, WIDTH, seed=2)
    start = decoder.start(draw(BATCH, SOURCE, WIDTH), VISIBLE)
    features, looks = decoder(words, start)
    state = start
    for time, word in enumerate(words.unbind(1)):
        stepped, looked, state = decoder.step(word[:, None], state)
        torch.testing.assert_close(stepped[:, 0], features[:, time])
        for layer, look in zip(looked, looks, strict=True):
            torch.testing.assert_close(layer.weights[:, :, 0], look.weights[:, :, time])


def test_hypotheses_and_sentences_can_be_reordered_and_dropped(decoder):
    start = decoder.start(draw(BATCH, SOURCE, WIDTH), VISIBLE)
    words = draw(BATCH, 3, WIDTH, seed=2)
    _, _, wide = decoder.step(words, start)
    state = wide.reorder(torch.tensor([[2, 0], [1, 1], [0, 2]])).keep(torch.tensor([2, 0]))
    features, _, _ = decoder.step(words[[2, 0]][:, [1, 1]], state)
    everywhere, _, _ = decoder.step(words[:, [1, 1, 1]], wide)
    torch.testing.assert_close(features[1], everywhere[0, [2, 0]])
    torch.testing.assert_close(features[0], everywhere[2, [0, 2]])
    assert not torch.allclose(everywhere[0, 2], everywhere[0, 0])


def test_a_word_does_not_see_those_after_it(decoder):
    start = decoder.start(draw(BATCH, SOURCE, WIDTH))
    words = draw(BATCH, TARGET, WIDTH, seed=2)
    before, _ = decoder(words, start)
    words[:, 2:] += draw(BATCH, 2, WIDTH, seed=3)
    after, _ = decoder(words, start)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert not torch.allclose(after[:, 2:], before[:, 2:])


@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_changes_nothing(positions):
    encoder = TransformerEncoder(SHAPE, 2, positions=positions).double()
    words = draw(1, 3, WIDTH)
    padded = torch.cat([words, draw(1, 2, WIDTH, seed=1)], 1)
    visible = torch.tensor([[True, True, True, False, False]])
    torch.testing.assert_close(encoder(padded, visible)[:, :3], encoder(words))


@pytest.mark.parametrize("positions", POSITIONS)
def test_order_matters(positions):
    encoder = TransformerEncoder(SHAPE, 2, positions=positions).double()
    words = draw(1, 4, WIDTH)
    assert not torch.allclose(encoder(words).flip(1), encoder(words.flip(1)))


def test_layers_equal_torch_with_the_norm_first():
    encoder = TransformerEncoder(SHAPE, 1, positions="rotary").double()
    layer: Any = encoder.layers[0]
    encoder.positions.turn = lambda heads, first=0: heads  # noqa: ARG005 - torch's layer knows no positions
    twin = nn.TransformerEncoderLayer(WIDTH, 2, 11, dropout=0.0, batch_first=True, norm_first=True).double()
    layer.attention = MultiHeadAttention.from_torch(twin.self_attn)
    for ours, theirs in (
        (layer.feed_forward[0], twin.linear1),
        (layer.feed_forward[3], twin.linear2),
        (layer.norms[0], twin.norm1),
        (layer.norms[1], twin.norm2),
    ):
        ours.load_state_dict(theirs.state_dict())
    words = draw(BATCH, SOURCE, WIDTH)
    expected = encoder.norm(twin(words * WIDTH**0.5, src_key_padding_mask=~VISIBLE))
    torch.testing.assert_close(encoder(words, VISIBLE)[VISIBLE], expected[VISIBLE])


def test_gradients_by_finite_differences(decoder):
    def run(words, annotations):
        return decoder(words, decoder.start(annotations, VISIBLE))[0]

    inputs = (draw(BATCH, 2, WIDTH, seed=2).requires_grad_(), draw(BATCH, SOURCE, WIDTH).requires_grad_())
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


def test_weights_are_those_before_dropout():
    shape = Shape(WIDTH, heads=2, feedforward=11, dropout_attention=0.9)
    decoder = TransformerDecoder(shape, 2).double()
    _, looks = decoder(draw(BATCH, TARGET, WIDTH), decoder.start(draw(BATCH, SOURCE, WIDTH, seed=1), VISIBLE))
    for look in looks:
        torch.testing.assert_close(look.weights.sum(-1), torch.ones(BATCH, 2, TARGET, dtype=torch.float64))


def test_learned_positions_end():
    encoder = TransformerEncoder(SHAPE, 1, positions="learned", max_positions=4).double()
    with pytest.raises(ShapeError, match="learned 4 places; this sentence needs 5"):
        encoder(draw(1, 5, WIDTH))


def test_an_unknown_kind_of_positions_is_named():
    with pytest.raises(UnknownName, match="no kind of positions is called 'sinus'"):
        TransformerEncoder(SHAPE, 1, positions="sinus")
