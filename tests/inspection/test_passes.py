"""What needs every weight: block by block, and by the streaming kernel, it is what the whole table gives."""

from dataclasses import replace

import pytest
import torch

from regard.inspection import passes
from regard.inspection.call import Bias, Call
from regard.inspection.dense import DenseCall
from regard.inspection.streamed import reduced, streamed_masses, streams
from regard.inspection.visibility import Visible, causal, everything, from_mask
from regard.kernels import dispatch

GENERATOR = torch.Generator().manual_seed(3)
QUERY, KEY = torch.randn(2, 4, 13, 8, generator=GENERATOR), torch.randn(2, 2, 17, 8, generator=GENERATOR)
HOLES = torch.rand(2, 1, 13, 17, generator=GENERATOR) > 0.3
DISTANCE = (torch.arange(17)[None] - torch.arange(13)[:, None]).abs() * -0.25
ROWS = torch.arange(13)
PADDED = Visible(17, torch.stack([ROWS * 0, ROWS * 0 + 5]), torch.stack([ROWS + 5, (ROWS + 2).clamp(min=5)]))
EDGES = (torch.tensor([1, 2]), torch.tensor([4, 5]), torch.tensor([0, 1, 6]))
CALLS = {
    "all": Call(QUERY, KEY, 0.4, everything(13, 17)),
    "causal": Call(QUERY, KEY[:, :, :13], 0.4, causal(13, 13)),
    "softcap": Call(QUERY, KEY, 0.4, everything(13, 17), softcap=2.0),
    "bias": Call(QUERY, KEY, 0.4, everything(13, 17), bias=Bias(torch.randn(1, 4, 13, 17, generator=GENERATOR))),
    "sinks": Call(QUERY, KEY, 0.4, causal(13, 17), sinks=torch.tensor([0.5, -1.0, 2.0, 0.0])),
    "holes": Call(QUERY, KEY, 0.4, from_mask(HOLES)),
    "distances": Call(QUERY, KEY, 0.4, causal(13, 17, 4), bias=Bias.of(DISTANCE.expand(1, 4, 13, 17))),
    "a bias a key": Call(QUERY, KEY, 0.4, PADDED, bias=Bias(torch.randn(2, 1, 1, 17, generator=GENERATOR))),
    "windows and padding": Call(QUERY, KEY, 0.4, PADDED, softcap=3.0, sinks=torch.tensor([0.5, -1.0, 2.0, 0.0])),
    "hidden edges": Call(QUERY, KEY, 0.4, everything(13, 17), hidden=(EDGES,)),
}


@pytest.fixture(params=["plain", "compiled"])
def path(request):
    with dispatch.forced(request.param):
        yield request.param


@pytest.fixture(params=CALLS)
def call(request, path, monkeypatch):
    monkeypatch.setattr(passes, "AT_ONCE", 60)  # three or four rows at a time
    assert streams(CALLS[request.param]) == (path == "compiled")
    return passes.with_lse(CALLS[request.param])


def naive(call, batch, head):
    """Weights by the definition, in double precision."""
    key = call.key[batch, head * call.key.shape[1] // 4].double()
    scores = call.query[batch, head].double() @ key.T * call.scale
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    if call.bias:
        scores = scores + call.bias.tile(batch, head, torch.arange(13), torch.arange(len(key)))
    seen = call.visible.tile(batch, head, torch.arange(13), torch.arange(len(key)))
    for heads, queries, keys in call.hidden:
        if head in heads:
            seen[queries[:, None], keys] = False
    scores = scores.masked_fill(~seen, -torch.inf)
    if call.sinks is not None:
        scores = torch.cat([scores, call.sinks[head].double().expand(13, 1)], -1)
    return torch.softmax(scores, -1)[:, : len(key)].nan_to_num(0.0)


def test_weights_are_those_of_the_definition(call):
    rows, columns = torch.arange(13), torch.arange(call.key.shape[2])
    for batch, head in ((0, 0), (1, 3)):
        found = call.weights(batch, head, rows, columns).double()
        torch.testing.assert_close(found, naive(call, batch, head), atol=1e-6, rtol=0)


def test_entropy(call):
    expected = torch.special.entr(naive(call, 1, 2)).sum(-1)
    torch.testing.assert_close(passes.entropies(call, 1, 2).double(), expected, atol=2e-6, rtol=0)


def test_received_and_mass(call):
    table = naive(call, 0, 1)
    torch.testing.assert_close(passes.received(call, 0, 1).double(), table.sum(0), atol=1e-6, rtol=0)
    belongs = torch.nn.functional.one_hot(
        torch.arange(table.shape[1]) % 11
    ).float()  # more sets than the heads are wide
    found = passes.masses(call, 0, 1, belongs)
    torch.testing.assert_close(found.double(), table @ belongs.double(), atol=1e-6, rtol=0)


def test_strongest(call):
    table = naive(call, 1, 0)
    rows, columns, values = passes.strongest(call, 1, 0, 9)
    best = table.flatten().topk(9)
    torch.testing.assert_close(values.double(), best.values, atol=1e-6, rtol=0)
    assert torch.equal(rows * table.shape[1] + columns, best.indices)


@pytest.mark.parametrize("by", ["max", "mean"])
def test_pooled(call, by):
    table = naive(call, 0, 3)
    found = passes.pooled(call, 0, 3, 5, 4, by)
    of_row, of_column = torch.arange(13) * 5 // 13, torch.arange(table.shape[1]) * 4 // table.shape[1]
    for i in range(5):
        for j in range(4):
            cell = table[of_row == i][:, of_column == j]
            expected = cell.max() if by == "max" else cell.mean()
            assert float(found[i, j]) == pytest.approx(float(expected), abs=1e-6)


def test_mass_of_sets_that_are_no_runs_or_no_sets(call):
    table = naive(call, 1, 1)
    belongs = (torch.arange(table.shape[1])[:, None] % 3 == torch.arange(2)).float()
    torch.testing.assert_close(passes.masses(call, 1, 1, belongs).double(), table @ belongs.double(), atol=1e-6, rtol=0)
    halves = belongs / 2
    torch.testing.assert_close(passes.masses(call, 1, 1, halves).double(), table @ halves.double(), atol=1e-6, rtol=0)


def test_too_many_runs_go_the_plain_way(monkeypatch):
    call = passes.with_lse(CALLS["softcap"])
    belongs = (torch.arange(17) % 2).float()[:, None]
    assert streamed_masses(call, 0, 0, belongs) is not None
    monkeypatch.setattr("regard.inspection.streamed.MOST_RUNS", 7)
    assert streamed_masses(call, 0, 0, belongs) is None


@pytest.mark.usefixtures("path")
def test_strongest_leaves_out_weights_of_zero():
    call = passes.with_lse(CALLS["causal"])
    rows, columns, values = passes.strongest(call, 0, 0, 64)
    assert (rows >= columns).all()
    assert (values > 0).all()
    assert len(values) == 64
    few = passes.with_lse(Call(QUERY[:, :, :3], KEY[:, :, :3], 0.4, causal(3, 3)))
    assert [len(part) for part in passes.strongest(few, 0, 0, 64)] == [6, 6, 6]


def test_double_precision_and_tables_go_the_plain_way():
    with dispatch.forced("compiled"):
        assert not streams(replace(CALLS["all"], query=QUERY.double()))
        assert not streams(DenseCall(torch.zeros(1, 1, 3, 3)))
        assert reduced(CALLS["all"], 0, 0, top=2).top.keys.shape == (13, 2)


def test_a_bias_by_distance_takes_a_number_a_distance():
    distance = torch.arange(17)[None] - torch.arange(13)[:, None]
    bias = Bias.of((distance.abs() * -0.25)[None, None])
    assert bias.table.shape == (1, 1, 29)
    rows, columns = torch.tensor([0, 5, 12]), torch.tensor([16, 2])
    assert torch.equal(bias.tile(0, 3, rows, columns), distance[rows][:, columns].abs() * -0.25)
    assert torch.equal(bias.pairs(0, 0, rows[:2], columns), torch.tensor([-4.0, -0.75]))


def test_hidden_edges_weigh_nothing_and_the_rest_sums_to_one():
    edges = (torch.tensor([1]), torch.tensor([4, 5]), torch.tensor([0, 1]))
    call = passes.with_lse(replace(CALLS["all"], hidden=(edges,)))
    weights = call.weights(0, 1, torch.arange(13), torch.arange(17))
    assert (weights[4:6, :2] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(13))
    assert (call.weights(0, 0, torch.arange(13), torch.arange(17)) > 0).all()


def test_tables_have_the_same_face():
    table = torch.softmax(torch.randn(1, 1, 6, 6, generator=torch.Generator().manual_seed(0)), -1)
    torch.testing.assert_close(passes.received(DenseCall(table), 0, 0), table[0, 0].sum(0))
    torch.testing.assert_close(passes.entropies(DenseCall(table), 0, 0), torch.special.entr(table[0, 0]).sum(-1))
