"""The decoder: every kind steps as it was taught, and its gradients are those of its formulas."""

import itertools
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from regard.errors import ConfigError, UnknownName
from regard.nn import Attention, PredictedWindow
from regard.nn.attention import straight_through
from regard.nn.decoder import Decoder
from regard.nn.scores import SCORES
from regard.translation.batches import padded_batch
from regard.translation.model import build_model
from regard.translation.model_config import RNNConfig

BATCH, SOURCE, TARGET = 3, 5, 4
WORD, NOTE, STATE, FEATURE = 3, 8, 8, 2  # dot needs NOTE == STATE; eight float64 numbers fill a SIMD vector


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def attention(score="additive", span="global", normalize="softmax"):
    window: Any = {"global": None, "local-m": 1, "local-p": PredictedWindow(2, STATE, 3)}[span]
    return Attention(STATE, NOTE, score=score, hidden_dim=8, normalize=normalize, window=window)


def decoder(look=None, **options):
    return Decoder(WORD, NOTE, STATE, FEATURE, attention=look, **options).double()


KINDS = {
    "none": lambda: decoder(),
    "none, lstm": lambda: decoder(cell="lstm"),
    "none, 2 layers": lambda: decoder(layers=2),
    "cgru": lambda: decoder(attention(), asked_by="between"),
    "cgru, general": lambda: decoder(attention("general"), asked_by="between"),
    "additive": lambda: decoder(attention()),
    "additive, maxout": lambda: decoder(attention(), readout="maxout"),
    "additive, lstm, gate": lambda: decoder(attention(), cell="lstm", gate=True),
    "additive, 2 layers": lambda: decoder(attention(), layers=2),
    "concat, lstm, feeding, 2 layers": lambda: decoder(
        attention("concat"), asked_by="current", cell="lstm", input_feeding=True, layers=2
    ),
    **{
        f"{score}, {span}": partial(
            lambda score, span: decoder(attention(score, span), asked_by="current"), score, span
        )
        for score, span in itertools.product(SCORES, ("global", "local-m", "local-p"))
    },
    "general, feeding": lambda: decoder(attention("general"), asked_by="current", input_feeding=True),
    "additive, local-m": lambda: decoder(attention(span="local-m")),
    "additive, hard": lambda: decoder(attention(normalize="hard")),
    "additive, sparsemax": lambda: decoder(attention(normalize="sparsemax")),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]().eval()


def memory():
    visible = torch.arange(SOURCE) < torch.tensor([5, 2, 3])[:, None]
    return draw(BATCH, SOURCE, NOTE), draw(BATCH, NOTE, seed=1), visible


@pytest.mark.usefixtures("way")
def test_stepping_equals_teaching(kind):
    words = draw(BATCH, TARGET, WORD, seed=2)
    taught = kind(words, kind.start(*memory()))
    state, features, weights = kind.start(*memory()), [], []
    for word in words.unbind(1):
        decoded, state = kind.step(word[:, None], state)
        features.append(decoded.features)
        weights.append(decoded.weights)
    torch.testing.assert_close(torch.cat(features, 1), taught.features)
    if kind.attention is None:
        assert taught.weights is None
    else:
        torch.testing.assert_close(torch.cat(weights, 1), taught.weights)


def test_hypotheses_and_sentences_can_be_reordered_and_dropped(kind):
    words = draw(BATCH, 2, WORD, seed=2)
    _, wide = kind.step(words[:, :1], kind.start(*memory()))
    wide = wide.reorder(torch.zeros(BATCH, 3, dtype=torch.int64))  # three copies of the one hypothesis
    _, wide = kind.step(draw(BATCH, 3, WORD, seed=3), wide)
    state = wide.reorder(torch.tensor([[2, 0], [1, 1], [0, 2]])).keep(torch.tensor([2, 0]))
    decoded, _ = kind.step(words[[2, 0]], state)
    everywhere, _ = kind.step(words[:, [0, 0, 0]], wide)
    torch.testing.assert_close(decoded.features[1, 0], everywhere.features[0, 2])
    other, _ = kind.step(words[:, [1, 1, 1]], wide)
    torch.testing.assert_close(decoded.features[0, 1], other.features[2, 2])
    assert not torch.allclose(everywhere.features[0, 2], everywhere.features[0, 0])


@pytest.mark.usefixtures("way")
def test_gradients_by_finite_differences(kind):
    if kind.attention is not None and kind.attention.normalize is straight_through:
        pytest.skip("its gradient is that of another function by design")
    annotations, summary, visible = memory()
    whole = Whole(kind)
    parameters = dict(whole.named_parameters())

    def run(words, annotations, summary, *values):
        held = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(whole, held, (words, annotations, summary, visible))

    inputs = (draw(BATCH, 2, WORD, seed=2), annotations, summary, *parameters.values())
    assert torch.autograd.gradcheck(
        run, [tensor.detach().clone().requires_grad_() for tensor in inputs], fast_mode=True
    )


class Whole(nn.Module):
    """Start and decoding in one call, so that functional_call reaches the parameters of both."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, words, annotations, summary, visible):
        return self.decoder(words, self.decoder.start(annotations, summary, visible)).features


@pytest.mark.parametrize("wanted", ["weights", "scores"])
@pytest.mark.usefixtures("way")
def test_weights_and_scores_of_a_taught_decoding_have_gradients(wanted):
    """Regularisers and REINFORCE differentiate through them."""
    kind, words = decoder(attention()), draw(BATCH, 2, WORD, seed=2)
    _, summary, visible = memory()

    def run(annotations):
        found = getattr(kind(words, kind.start(annotations, summary, visible)), wanted)
        return found.masked_fill(~visible[:, None], 0.0)

    assert torch.autograd.gradcheck(run, draw(BATCH, SOURCE, NOTE).requires_grad_(), fast_mode=True)


@pytest.mark.usefixtures("way")
def test_an_annotation_that_is_no_number_shows_where_it_is_seen_and_nowhere_else():
    kind, words = decoder(attention()), draw(BATCH, TARGET, WORD, seed=2)
    annotations, summary, visible = memory()  # the sentences have 5, 2 and 3 words
    annotations[1, 4] = torch.nan
    annotations.requires_grad_()
    decoded = kind(words, kind.start(annotations, summary, visible))
    assert decoded.weights.isfinite().all()
    assert (decoded.weights[1, :, 2:] == 0).all()
    gradients = torch.autograd.grad(decoded.features.sum(), [annotations, kind.attention.score.v])
    assert all(gradient.isfinite().all() for gradient in gradients)
    decoded = kind(words, kind.start(annotations, summary, torch.ones_like(visible)))
    assert decoded.weights.isnan().flatten(1).all(1).tolist() == [False, True, False]


def test_a_second_backward_adds_nothing_of_the_first():
    kind = decoder(attention())
    words = draw(BATCH, TARGET, WORD, seed=2)
    features = kind(words, kind.start(*memory())).features
    once, again = (torch.autograd.grad(features.sum(), list(kind.parameters()), retain_graph=True) for _ in range(2))
    for one, other in zip(once, again, strict=True):
        torch.testing.assert_close(one, other)


def test_without_attention_every_step_gets_the_same_context():
    """Only the summary matters: other annotations change nothing."""
    plain = decoder()
    annotations, summary, visible = memory()
    words = draw(BATCH, TARGET, WORD, seed=2)
    one = plain(words, plain.start(annotations, summary, visible)).features
    assert torch.equal(one, plain(words, plain.start(annotations + 1, summary, visible)).features)
    assert not torch.allclose(one, plain(words, plain.start(annotations, summary + 1, visible)).features)


def test_bahdanau_step_by_hand():
    """One step of sec. 3.1 and app. A.1.2 written out."""
    kind = decoder(attention())
    annotations, summary, _ = memory()
    word = draw(BATCH, 1, WORD, seed=2)
    start = kind.start(annotations, summary)
    decoded, after = kind.step(word, start)
    (before,) = start.hidden
    torch.testing.assert_close(before[:, 0], torch.tanh(kind.first(summary)))
    score = kind.attention.score
    energies = torch.tanh(before @ score.W_q.weight.T + annotations @ score.W_k.weight.T) @ score.v
    weights = torch.softmax(energies, -1)
    context = (weights[..., None] * annotations).sum(1)
    torch.testing.assert_close(decoded.weights[:, 0], weights)
    inputs = word[:, 0] @ kind.from_embedding.weight.T + kind.from_embedding.bias + context @ kind.from_context.weight.T
    recurrent = before[:, 0] @ kind.cells[0].weight.T + kind.cells[0].bias
    (r_x, z_x, n_x), (r_h, z_h, n_h) = inputs.chunk(3, -1), recurrent.chunk(3, -1)
    z, candidate = torch.sigmoid(z_x + z_h), torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    state = z * before[:, 0] + (1 - z) * candidate
    torch.testing.assert_close(after.hidden[0][:, 0], state)
    deep = torch.tanh(kind.readout.linear(torch.cat([state, context, word[:, 0]], -1)))
    torch.testing.assert_close(decoded.features[:, 0], deep)


def test_luong_step_by_hand():
    """Eq. 5: the current state asks, and the features are tanh(W_c [h; c]); the word is not read again."""
    kind = decoder(attention("general"), asked_by="current")
    annotations, summary, _ = memory()
    word = draw(BATCH, 1, WORD, seed=2)
    start = kind.start(annotations, summary)
    decoded, after = kind.step(word, start)
    (state,) = kind.cells[0].step(kind.from_embedding(word), start.hidden)
    torch.testing.assert_close(after.hidden[0], state)
    weights = torch.softmax(state @ (annotations @ kind.attention.score.W.weight.T).mT, -1)
    torch.testing.assert_close(decoded.weights, weights)
    both = torch.cat([state, weights @ annotations], -1)
    torch.testing.assert_close(decoded.features, torch.tanh(kind.readout.linear(both)))


def test_conditional_gru_step_by_hand():
    """Sennrich et al. 2017, sec. 2: word, then attention asked by the state between, then context."""
    kind = decoder(attention(), asked_by="between")
    annotations, summary, _ = memory()
    word = draw(BATCH, 1, WORD, seed=2)
    start = kind.start(annotations, summary)
    decoded, after = kind.step(word, start)
    (between,) = kind.cells[0].step(kind.from_embedding(word), start.hidden)
    found = kind.attention(between, annotations)
    (state,) = kind.cells[1].step(kind.from_context(found.context), (between,))
    torch.testing.assert_close(decoded.weights, found.weights)
    torch.testing.assert_close(after.hidden[0], state)


def test_the_gate_scales_the_whole_context():
    kind = decoder(attention(), gate=True)
    torch.nn.init.zeros_(kind.gate.weight)
    torch.nn.init.constant_(kind.gate.bias, -1000.0)  # shut
    annotations, summary, visible = memory()
    words = draw(BATCH, TARGET, WORD, seed=2)
    shut = kind(words, kind.start(annotations, summary, visible)).features
    assert torch.allclose(shut, kind(words, kind.start(annotations * 2, summary, visible)).features)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"cell": "gruu"}, UnknownName, "no cell is called 'gruu'"),
        ({"readout": "relu"}, UnknownName, "no readout is called 'relu'; choose from tanh, maxout"),
        ({"asked_by": "next"}, UnknownName, "no asking state is called 'next'"),
        ({"input_feeding": True}, ConfigError, "input feeding .* needs an attention that the current state asks for"),
        ({"asked_by": "between", "layers": 2}, ConfigError, "one layer deep, not 2"),
        (
            {"asked_by": "between"},
            ConfigError,
            "attention between two states, and needs one",
        ),
    ],
)
def test_what_does_not_fit_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        decoder(**options)


def test_a_backward_pass_that_stops_short_leaves_nothing_behind():
    """A gradient of the embeddings alone, then the whole: the weights of the loop must not count twice."""
    config = RNNConfig(embedding=8, encoder_size=8, decoder_size=8, attention_size=8)
    model = build_model(config, 20, 20, generator=torch.Generator().manual_seed(0)).eval()
    batch = padded_batch([[5, 6, 7]], [[8, 9]])
    model(batch).objective.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters()}
    model.zero_grad()
    loss = model(batch).objective
    torch.autograd.grad(loss, model.target_embedding.weight, retain_graph=True)
    loss.backward()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], msg=partial("{}: {}".format, name))
