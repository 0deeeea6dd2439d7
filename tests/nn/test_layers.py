"""The layers against what others wrote, against `attend`, and against finite differences."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

import regard
from regard import attend, masks
from regard.errors import DtypeError, InputError, ShapeError, UnknownName
from regard.nn import SCORES, Attention, MultiHeadAttention, PredictedWindow, SelfAttention
from regard.nn.attention import straight_through
from regard.nn.scores import AdditiveScore
from regard.normalizers import Sampled


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture(autouse=True)
def _fixed_initial_weights():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def check_gradients(layer, *inputs, **options):
    """Finite differences for the inputs and for every weight."""
    names = [name for name, _ in layer.named_parameters()]
    weights = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    tensors = [x.clone().requires_grad_() for x in inputs]

    def run(*values):
        state = dict(zip(names, values[len(tensors) :], strict=True))
        attended = torch.func.functional_call(layer, state, tuple(values[: len(tensors)]), options)
        return attended.context, attended.weights

    assert torch.autograd.gradcheck(run, [*tensors, *weights])


@pytest.mark.parametrize("window", [None, 2, "predicted"])
@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_every_score_and_window(score, window):
    window = PredictedWindow(2, 3, 4).double() if window == "predicted" else window
    layer = Attention(3, 3, score=score, hidden_dim=4, window=window).double()
    visible = masks.padding(torch.tensor([5, 3]), 5)
    check_gradients(layer, normal(2, 3, 3), normal(2, 5, 3, seed=1), visible=visible)


@pytest.mark.parametrize("score", SCORES)
def test_gradients_of_self_and_multi_head_attention(score):
    check_gradients(SelfAttention(4, score=score).double(), normal(2, 3, 4), visible=torch.tensor(masks.causal(3)))
    check_gradients(MultiHeadAttention(4, 2, score=score).double(), normal(2, 3, 4), normal(2, 5, 4, seed=1))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_multi_head_attention_is_torchs(masked, bias):
    theirs = nn.MultiheadAttention(8, 2, bias=bias, batch_first=True, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(theirs)
    query, memory = normal(3, 5, 8), normal(3, 7, 8, seed=1)
    visible = masks.padding(torch.tensor([7, 4, 1]), 7) if masked else None
    padding = None if visible is None else ~visible[:, 0]
    expected, averaged = theirs(query, memory, memory, key_padding_mask=padding)
    context, weights = ours(query, memory, visible=None if visible is None else visible[:, None])
    assert_allclose(context.detach(), expected.detach(), rtol=1e-11, atol=1e-13)
    assert_allclose(weights.mean(1).detach(), averaged.detach(), rtol=1e-11, atol=1e-13)


def test_torch_layers_that_cannot_be_taken_are_refused():
    with pytest.raises(InputError, match="without bias_k"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2, add_bias_kv=True))
    with pytest.raises(InputError, match="made with batch_first=False"):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2))
    with pytest.raises(InputError, match=r"only torch's nn.MultiheadAttention can be taken, not Linear"):
        MultiHeadAttention.from_torch(nn.Linear(8, 2))


def test_weights_shown_are_those_before_dropout():
    layer = MultiHeadAttention(8, 2, dropout=0.5)
    inputs = normal(2, 5, 8).float()
    dropped = layer.train()(inputs)
    assert_allclose(dropped.weights.sum(-1).detach(), 1, rtol=1e-5)
    whole = layer.eval()(inputs)
    assert_allclose(dropped.weights.detach(), whole.weights.detach(), rtol=1e-5)
    assert not torch.allclose(dropped.context, whole.context)
    assert [step.name for step in whole.steps()][-3:] == ["context", "joined", "output"]


@pytest.mark.parametrize("window", [None, 2])
def test_steps_show_the_weights_before_dropout_and_what_became_of_them(window):
    layer = MultiHeadAttention(8, 2, dropout=0.5, window=window).train()
    dropped = layer(normal(2, 3, 8).float())
    steps = {step.name: step.value.detach() for step in dropped.steps()}
    assert_allclose(steps["weights"].sum(-1), 1, rtol=1e-5)
    assert ((steps["dropped"] == 0) | torch.isclose(steps["dropped"], 2 * steps["weights"])).all()
    assert (steps["dropped"] == 0).any()
    assert "dropped" not in [step.name for step in layer.eval()(normal(2, 3, 8).float()).steps()]


def test_weights_of_a_half_layer_are_halves_with_dropout_too():
    layer = MultiHeadAttention(8, 2, dropout=0.5).to(torch.bfloat16).train()
    assert layer(normal(2, 5, 8).to(torch.bfloat16)).weights.dtype == torch.bfloat16


@pytest.mark.parametrize("score", SCORES)
def test_projecting_the_keys_once_gives_the_same(score):
    layer = Attention(3, 3, score=score).double()
    query, key, visible = normal(2, 4, 3), normal(2, 5, 3, seed=1), masks.padding(torch.tensor([5, 2]), 5)
    whole = layer(query, key, visible=visible)
    projected = layer.project(key)
    for t in range(4):
        step = layer(query[:, t : t + 1], key, visible=visible, projected=projected)
        assert_allclose(step.context.detach(), whole.context[:, t : t + 1].detach(), rtol=1e-12)
    assert_allclose(layer.score(query, key).detach(), whole.scores.detach(), rtol=1e-12)


@pytest.mark.parametrize("predicted", [True, False])
def test_local_layers_asked_step_by_step_give_the_same(predicted):
    layer = Attention(3, 3, score="general", window=PredictedWindow(1, 3) if predicted else 1).double()
    query, key, visible = normal(2, 6, 3), normal(2, 5, 3, seed=1), masks.padding(torch.tensor([5, 2]), 5)
    whole = layer(query, key, visible=visible)
    for t in range(6):
        step = layer(query[:, t : t + 1], key, visible=visible, position=t)
        assert_allclose(step.weights.detach(), whole.weights[:, t : t + 1].detach(), rtol=1e-12, atol=1e-15)
    assert not whole.weights[1, :, 2:].any()
    assert whole.context[1, 5].any()  # beyond the last word the window stays on it


@pytest.mark.parametrize("window", [None, np.int64(1), "predicted"])
def test_a_mask_may_be_a_list_or_of_numpy(window):
    layer = Attention(3, 3, window=PredictedWindow(1, 3) if window == "predicted" else window).double()
    query, key, visible = normal(2, 4, 3), normal(2, 5, 3, seed=1), masks.padding([5, 2], 5)
    expected = layer(query, key, visible=torch.tensor(visible), position=2).weights
    for mask in (visible, visible.tolist()):
        assert torch.equal(layer(query, key, visible=mask, position=2).weights, expected)


@pytest.mark.parametrize("score", ["dot", "general", "additive", "concat"])
def test_a_monotonic_window_takes_the_kernel(score, monkeypatch):
    called = []
    whole = regard.kernels.window_attention
    monkeypatch.setattr(regard.kernels, "window_attention", lambda *a, **o: called.append(o) or whole(*a, **o))
    layer = Attention(3, 3, score=score, window=2).double()
    query, key, visible = normal(2, 9, 3), normal(2, 6, 3, seed=1), masks.padding(torch.tensor([6, 4]), 6)
    by_kernel = layer(query, key, visible=visible)
    assert called[0]["lengths"].tolist() == [6, 4]
    gathered = layer(query, key, visible=visible, position=torch.arange(9))
    assert len(called) == 1
    assert_allclose(by_kernel.context.detach(), gathered.context.detach(), rtol=1e-10)
    assert_allclose(by_kernel.weights.detach(), gathered.weights.detach(), rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("score", SCORES)
def test_sliding_windows_are_the_layers_under_a_mask(score, causal):
    inputs, lengths = normal(2, 13, 6), torch.tensor([13, 5])
    padding = masks.padding(lengths, 13)
    mask = torch.from_numpy(masks.window(13, 3, causal=causal)) & padding
    layers = [SelfAttention(6, score=score, window=3, causal=causal)]
    layers += [MultiHeadAttention(6, heads, score=score, window=3, causal=causal) for heads in (1, 3)]
    for layer in (layer.double() for layer in layers):
        heads = isinstance(layer, MultiHeadAttention)
        near = layer(inputs, visible=padding[:, None] if heads else padding)
        layer.window = None
        dense = layer(inputs, visible=mask[:, None] if heads else mask)
        assert_allclose(near.context.detach(), dense.context.detach(), rtol=1e-9, atol=1e-12)
        assert_allclose(near.weights.detach(), dense.weights.detach(), rtol=1e-9, atol=1e-12)
        weights = [p for p in layer.parameters() if p.requires_grad]
        losses = (near.context.square().sum(), dense.context.square().sum())
        for one, other in zip(*(torch.autograd.grad(x, weights, materialize_grads=True) for x in losses), strict=True):
            assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "additive"])
def test_sliding_windows_make_no_map_of_all_pairs(score):
    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            sizes = [
                x.numel() for x in (out if isinstance(out, tuple | list) else [out]) if isinstance(x, torch.Tensor)
            ]
            Watch.largest = max(Watch.largest, *sizes, 0)
            return out

    n = 3000
    layer = MultiHeadAttention(4, 2, score=score, window=5, causal=True)
    with Watch():
        layer(
            normal(1, n, 4).float(), visible=masks.padding(torch.tensor([n - 7]), n)[:, None]
        ).context.sum().backward()
    assert 0 < Watch.largest < n * n // 10


def test_weights_of_a_window_are_shown_before_dropout_too():
    layer = MultiHeadAttention(8, 2, dropout=0.5, window=2)
    inputs = normal(2, 9, 8).float()
    dropped, whole = layer.train()(inputs), layer.eval()(inputs)
    assert_allclose(dropped.weights.detach(), whole.weights.detach(), rtol=1e-5, atol=1e-7)
    assert not torch.allclose(dropped.context, whole.context)


def test_the_additive_layer_is_the_formula():
    layer = Attention(3, 4, hidden_dim=5).double()
    query, key = normal(2, 3, 3), normal(2, 7, 4, seed=1)
    W_q, W_k, v = layer.score.W_q.weight, layer.score.W_k.weight, layer.score.v
    pairs = torch.tanh((query @ W_q.T)[:, :, None] + (key @ W_k.T)[:, None])
    assert_allclose(layer(query, key).scores.detach(), (pairs @ v).detach(), rtol=1e-12)
    core = attend(query, key, score=regard.scores.Additive(W_q, W_k, v))
    assert_allclose(layer(query, key).context.detach(), core.context.detach(), rtol=1e-12)


def test_hard_attention_looks_at_one_place_and_still_trains():
    layer = Attention(3, 3, score="general", normalize="hard").double()
    query, key = normal(2, 4, 3), normal(2, 5, 3, seed=1)
    attended = layer(query, key)
    assert_allclose(attended.weights.detach(), np.eye(5)[attended.scores.argmax(-1)], atol=1e-15)
    attended.context.sum().backward()
    assert layer.score.W.weight.grad.any()
    scores = normal(3, 5).requires_grad_()
    value = normal(5, seed=2)
    (hard_grad,) = torch.autograd.grad((straight_through(scores) @ value).sum(), scores)
    (soft_grad,) = torch.autograd.grad((torch.softmax(scores, -1) @ value).sum(), scores)
    assert_allclose(hard_grad, soft_grad, rtol=1e-12)


def test_sampled_attention_takes_a_generator():
    layer = Attention(3, 3, normalize=Sampled(torch.Generator().manual_seed(0)))
    weights = layer(normal(2, 4, 3).float(), normal(2, 5, 3).float()).weights
    assert (weights.sum(-1) == 1).all()
    assert (weights.max(-1).values == 1).all()


def test_a_score_of_an_installed_package_is_known_by_its_name(tmp_path):
    (tmp_path / "nearness-0.1.dist-info").mkdir()
    (tmp_path / "nearness-0.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: nearness\nVersion: 0.1\n"
    )
    (tmp_path / "nearness-0.1.dist-info" / "entry_points.txt").write_text(
        "[regard.scores]\nnearness = nearness:NearnessScore\nlost = nowhere:Lost\ndot = nearness:NearnessScore\n"
    )
    (tmp_path / "nearness.py").write_text(
        "import torch\n"
        "from regard.nn import TrainableScore\n"
        "class NearnessScore(TrainableScore):\n"
        "    def comparison(self):\n"
        "        return lambda query, key: -torch.cdist(query, key)\n"
    )
    code = """
import sys, torch, regard
from regard.errors import InputError
layer = regard.nn.Attention(4, 4, score="nearness")
assert layer(torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)).weights.shape == (2, 3, 5)
from regard.translation.model_config import RNNConfig
RNNConfig(attention="nearness")
assert type(regard.nn.Attention(4, 4, score="dot").score).__name__ == "WeightlessScore"
try:
    regard.nn.Attention(4, 4, score="lost")
except InputError as error:
    print(error)
"""
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "the score 'lost' should be nowhere:Lost" in done.stdout


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: Attention(0, 3), InputError, "query_dim must be a whole number, 1 or more; it is 0"),
        (lambda: Attention(3, -1), InputError, "key_dim must be a whole number, 1 or more; it is -1"),
        (lambda: Attention(3.0, 3), InputError, r"query_dim must be a whole number, 1 or more; it is 3\.0"),
        (lambda: Attention(3, 3, hidden_dim=0), InputError, "hidden_dim must be a whole number, 1 or more; it is 0"),
        (lambda: Attention(3, 3, window="2"), InputError, "window must be None, a width or a Window"),
        (lambda: SelfAttention(0), InputError, "dim must be a whole number"),
        (lambda: MultiHeadAttention(4, 2.0), InputError, "heads must be a whole number"),
        (lambda: MultiHeadAttention(4, 2, dropout=2.0), InputError, r"dropout must be a share from 0 to 1; it is 2\.0"),
        (lambda: PredictedWindow(2, 0), InputError, "query_dim must be a whole number"),
        (
            lambda: Attention(3, 3)(np.ones((2, 3)), np.ones((4, 3))),
            DtypeError,
            "query must be a torch tensor, not n",
        ),
        (lambda: SelfAttention(3)([[1.0, 2.0, 3.0]]), DtypeError, "inputs must be a torch tensor, not list"),
        (lambda: MultiHeadAttention(4, 2)(torch.ones(2, 4), np.ones((2, 4))), DtypeError, "key must be a torch tensor"),
        (lambda: SelfAttention(3)(torch.ones(2, 3, dtype=torch.int64)), DtypeError, r"Use inputs\.float\(\)"),
        (
            lambda: SelfAttention(3)(normal(2, 3)),
            DtypeError,
            "the layer.s weights are torch.float32",
        ),
    ],
)
def test_refused_before_torch_says_it_in_its_words(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_mixed_precision_is_none_of_that():
    with torch.autocast("cpu", torch.bfloat16):
        inputs = normal(2, 3, 4).to(torch.bfloat16)
        assert MultiHeadAttention(4, 2)(SelfAttention(4)(inputs).context.to(torch.bfloat16)).context.isfinite().all()


def test_refused_by_name():
    with pytest.raises(UnknownName, match="Did you mean 'additive'"):
        Attention(3, 3, score="aditive")
    with pytest.raises(InputError, match=r"dot compares vectors of one width; query_dim is 3, key_dim is 4"):
        Attention(3, 4, score="dot")
    with pytest.raises(InputError, match=r"8 / 3 does not"):
        MultiHeadAttention(8, 3)
    with pytest.raises(InputError, match=r"the score was made for queries of width 5 and keys of width 4; .* 6 and 4"):
        Attention(6, 4, score=AdditiveScore(5, 4))
    with pytest.raises(InputError, match="whole number >= 1, not 0"):
        Attention(3, 3, window=0)
    with pytest.raises(ShapeError, match=r"query must be \(..., rows, 3\), as the layer was made with query_dim=3"):
        Attention(3, 3)(torch.ones(2, 4, 5), torch.ones(2, 4, 3))
    with pytest.raises(ShapeError, match=r"inputs must be \(..., rows, 4\)"):
        SelfAttention(4)(torch.ones(2, 3))
    with pytest.raises(InputError, match=r"pass visible=masks.causal\(n\)"):
        SelfAttention(3, causal=True)
    with pytest.raises(ShapeError, match="Leave bias out"):
        MultiHeadAttention(4, 2, window=1)(torch.ones(1, 2, 4), bias=torch.zeros(2, 2))
    with pytest.raises(ShapeError, match="Leave bias out"):
        Attention(3, 3, window=1)(torch.ones(1, 2, 3), torch.ones(1, 2, 3), bias=torch.zeros(2, 2))
