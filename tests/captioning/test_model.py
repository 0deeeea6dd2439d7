"""Small captioners learn to read a grid of cells; every kind of attention, and the estimators of the hard one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from regard.captioning.batches import CaptionBatch, Lesson
from regard.captioning.model import CaptionModel, Grid, build_model
from regard.captioning.model_config import CaptionModelConfig
from regard.captioning.mosaic import WHOLE
from regard.captioning.search import best_hypotheses
from regard.errors import InputError
from regard.nn.attention import straight_through
from regard.nn.reinforce import Reinforce
from regard.normalizers import NORMALIZERS
from regard.search_options import SearchOptions
from regard.text.padding import padded_targets

KINDS, GRID = 12, Grid(3, 3, 13)


def pictures(rng: np.random.Generator, count: int) -> tuple[torch.Tensor, list[list[int]], list[list[int]]]:
    """Two things in different cells of an empty grid; a caption names them as one reads, row by row."""
    cells = torch.zeros(count, GRID.cells, GRID.width)
    cells[..., -1] = 1
    captions, places = [], []
    for number in range(count):
        at = sorted(rng.permutation(GRID.cells)[:2].tolist())
        kinds = rng.integers(0, KINDS, 2).tolist()
        cells[number, at] = 0
        cells[number, at, kinds] = 1
        captions.append([4 + kind for kind in kinds])
        places.append(at)
    return cells, captions, places


def config(**settings: Any) -> CaptionModelConfig:
    sizes = {"annotation_size": 32, "attention_size": 32, "embedding": 32, "decoder_size": 32}
    dropouts = dict.fromkeys(
        ["dropout_annotations", "dropout_embedding", "dropout_layers", "dropout_output", "doubly_stochastic"], 0.0
    )
    return CaptionModelConfig(**{**sizes, **dropouts, **settings})


def build(**settings: Any) -> CaptionModel:
    return build_model(config(**settings), GRID, 4 + KINDS, generator=torch.Generator().manual_seed(0))


def trained(updates: int, rate: float = 8e-3, **settings: Any) -> CaptionModel:
    """Without the gate: a grid this small can be told from the first state alone, and then it closes."""
    model, rng = build(gate=False, **settings), np.random.default_rng(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # what hard attention draws from
        for update in range(updates):
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (update + 1) / 30, 2 * (1 - update / updates))
            cells, captions, _ = pictures(rng, 48)
            loss = model(CaptionBatch(cells, padded_targets(captions)[0]))
            optimizer.zero_grad()
            (loss.objective / loss.tokens).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    return model.eval()


def accuracy(model: CaptionModel, beam: int = 1) -> tuple[float, float]:
    """The share of new pictures whose caption is right, and of their words that look most at what they name."""
    cells, captions, places = pictures(np.random.default_rng(2), 100)
    found = [best[0] for best in best_hypotheses(model, cells, SearchOptions(beam, max_length=6))]
    right = [hypothesis.tokens == caption for hypothesis, caption in zip(found, captions, strict=True)]
    seen = [
        int(np.argmax(hypothesis.weights[word])) == at
        for hypothesis, places_of in zip(found, places, strict=True)
        for word, at in enumerate(places_of)
        if word < len(hypothesis.tokens)
    ]
    return float(np.mean(right)), float(np.mean(seen))


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("updates", "least", "settings"),
    [
        (200, 0.9, {"attention": "soft"}),
        (500, 0.9, {"attention": "hard", "reinforce_weight": 1.0}),
        (400, 0.7, {"attention": "hard", "estimator": "straight_through"}),
        (250, 0.9, {"attention": "sparsemax", "score": "general"}),
        (200, 0.9, {"attention": "soft", "score": "dot", "cell": "gru"}),
        (250, 0.9, {"attention": "soft", "asked_by": "current", "input_feeding": True}),
    ],
    ids=["soft", "reinforce", "straight-through", "sparsemax-general", "dot-gru", "current"],
)
def test_it_learns_to_name_what_is_there_and_looks_at_it(updates, least, settings):
    model = trained(updates, **settings)
    for beam in (1, 3):
        right, seen = accuracy(model, beam)
        assert right >= 0.85
        assert seen >= least


@pytest.mark.parametrize("attention", ["soft", "hard", "sparsemax"])
def test_search_keeps_weights_that_sum_to_one(attention):
    cells, _, _ = pictures(np.random.default_rng(0), 5)
    for best in best_hypotheses(build(attention=attention).eval(), cells, SearchOptions(4, 3, max_length=7)):
        for hypothesis in best:
            assert hypothesis.weights.shape == (len(hypothesis.tokens) + hypothesis.finished, GRID.cells)
            np.testing.assert_allclose(hypothesis.weights.sum(-1), 1, rtol=1e-5)
            if attention == "hard":
                assert set(np.unique(hypothesis.weights)) == {0.0, 1.0}


def test_hard_attention_takes_the_best_cell_or_draws_one():
    model, (cells, _, _) = build(attention="hard").eval(), pictures(np.random.default_rng(0), 1)
    best, again = (best_hypotheses(model, cells, SearchOptions(1))[0][0].weights for _ in range(2))
    assert (best == again).all()
    draws = [
        best_hypotheses(model, cells, SearchOptions(1), generator=torch.Generator().manual_seed(seed))[0][0].weights[0]
        for seed in (0, *range(20))
    ]
    assert (draws[0] == draws[1]).all()
    assert len({int(draw.argmax()) for draw in draws}) > 3
    with pytest.raises(InputError, match="cells are drawn by models with attention = \"hard\"; this one has 'soft'"):
        best_hypotheses(build(), cells, generator=torch.Generator())


class Forced:
    """Looks at the given places, one a call."""

    def __init__(self, places):
        self.places = iter(places)

    def __call__(self, scores):
        return F.one_hot(torch.tensor(next(self.places)), scores.shape[-1]).to(scores.dtype).expand_as(scores)


def test_reinforce_is_unbiased():
    """Over all ways of drawing, the estimate's mean is the gradient of the expected log-probability, to the digit."""
    model = build(attention="hard").double().eval()
    model.reinforce = Reinforce(weight=1.0, entropy=0.0, start=-0.7).double().eval()
    target = torch.tensor([[2, 5, 8, 3]])
    cells = torch.randn(1, GRID.cells, GRID.width, generator=torch.Generator().manual_seed(1)).double()
    words, written = target[:, 1:], torch.ones(1, 3, dtype=torch.bool)
    expected, estimate = torch.zeros(()), torch.zeros(())
    for places in itertools.product(range(GRID.cells), repeat=3):
        decoded = model._decode(target[:, :-1], model.start(cells, Forced(places)))
        log_shares = torch.log_softmax(decoded.scores, -1)[0, range(3), list(places)]
        share = log_shares.sum().exp()
        log_prob = torch.log_softmax(model.output(decoded.features), -1)[0, range(3), words[0]]
        expected = expected + share * log_prob.sum()
        taught = model.reinforce(
            decoded.scores, decoded.weights, log_prob.detach()[None], torch.ones(1, dtype=torch.bool), written
        )
        estimate = estimate + share.detach() * (log_prob.sum() - taught)
    asked: Any = [model.decoder.attention.score.v, model.annotate.weight, model.decoder.cells[0].weight]
    exact, estimated = (torch.autograd.grad(value, asked, retain_graph=True) for value in (expected, estimate))
    for one, other in zip(exact, estimated, strict=True):
        assert float(one.abs().max()) > 1e-4
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_straight_through_has_the_gradient_of_soft_attention():
    scores = torch.randn(3, 2, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    gradients = []
    for normalize in (straight_through, NORMALIZERS["softmax"]):
        asked = scores.clone().requires_grad_()
        (normalize(asked) @ values).sum().backward()
        gradients.append(asked.grad)
    torch.testing.assert_close(*gradients)


def test_the_doubly_stochastic_term_by_hand():
    cells, captions, _ = pictures(np.random.default_rng(0), 2)
    batch = CaptionBatch(cells, padded_targets([captions[0], captions[1][:1]])[0])  # 3 words and 2, with their ends
    plain, weighed = build(), build(doubly_stochastic=0.5)
    with torch.no_grad():
        losses = [float(model.train()(batch).objective) for model in (plain, weighed)]
        weights = plain.force(batch).weights
    seen = torch.stack([weights[0, :3].sum(0), weights[1, :2].sum(0)])
    assert losses[1] - losses[0] == pytest.approx(0.5 * float((1 - seen).square().sum()), rel=1e-4)
    assert float(weighed.eval()(batch).objective.detach()) == pytest.approx(losses[0], rel=1e-5)


def lesson_batch() -> CaptionBatch:
    """A mosaic whose upper left quarter is described, where its first thing is, and a whole photograph."""
    cells, captions, places = pictures(np.random.default_rng(1), 2)
    assert places[0] == [0, 7]
    content = torch.tensor([[False, True, False]] * 2)
    return CaptionBatch(cells, padded_targets(captions)[0], lesson=Lesson(torch.tensor([0, WHOLE]), content))


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_what_mosaics_teach_by_hand(attention):
    batch = lesson_batch()
    settings = {"attention": attention, "estimator": "straight_through", "doubly_stochastic": 0}
    untaught, taught = build(**settings), build(**settings, taught=2.0)
    losses = [float(model.train()(batch).objective.detach()) for model in (untaught, taught)]
    with torch.no_grad():
        decoded = taught.eval()._decode(batch.target[:, :-1], taught.start(batch.pictures))
    shares = decoded.scores[0, 1].softmax(-1)
    # Of a grid of 3 x 3 cells the upper left quarter has a whole cell, two halves and a fourth of the middle one.
    inside = shares[0] + (shares[1] + shares[3]) / 2 + shares[4] / 4
    assert losses[1] - losses[0] == pytest.approx(-2 * float(inside.log()), rel=1e-4)
    assert float(taught(batch).objective.detach()) == pytest.approx(losses[0], rel=1e-5)


def test_teaching_moves_the_attention_into_the_quarter():
    batch, model = lesson_batch(), build(taught=5.0, gate=False).train()
    right = model.quarters[0]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(40):
        optimizer.zero_grad()
        model(batch).objective.backward()
        optimizer.step()
    weights = model.eval().force(batch).weights
    assert float(weights[0, 1] @ right) > 0.9
    assert float(build().eval().force(batch).weights[0, 1] @ right) < 0.5


def test_samples_that_are_rewarded_leave_the_teaching_as_it_was():
    class Indifferent:
        count = 2

        def scores(self, _, drawn):
            return [[1.0] * self.count for _ in drawn]

    batch, model = lesson_batch(), build(taught=2.0).train()
    model.critic = Indifferent()
    objective = model(batch).objective.detach()
    model.critic = None
    untaught = build().train()
    assert float(objective) == pytest.approx(float((model(batch).objective - untaught(batch).objective).detach()))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_first_state_of_zero_knows_nothing_of_the_picture(cell):
    cells, _, _ = pictures(np.random.default_rng(0), 3)
    model = build(first_state="zero", cell=cell).eval()
    assert all((part == 0).all() for part in model.start(cells).hidden)
    assert not any(name.startswith("decoder.first") for name in model.state_dict())
    assert all((part != 0).any() for part in build(cell=cell).eval().start(cells).hidden)
    assert best_hypotheses(model, cells, SearchOptions(2, max_length=5))


@pytest.mark.parametrize("places", [False, True])
def test_places_tell_cells_apart(places):
    """Without them the same things in other cells are the same picture."""
    cells, captions, _ = pictures(np.random.default_rng(0), 1)
    model, target = build(places=places).eval(), padded_targets(captions)[0]
    if places:
        torch.nn.init.normal_(model.places, generator=torch.Generator().manual_seed(0))
    first, turned = (model.force(CaptionBatch(picture, target)) for picture in (cells, cells.flip(1)))
    assert torch.allclose(first.log_probs, turned.log_probs, atol=1e-6) is not places
    assert torch.allclose(first.weights, turned.weights.flip(-1), atol=1e-6) is not places


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"score": "aditive"}, "no score is called 'aditive'; choose from .* Did you mean 'additive'?"),
        ({"score": "dot", "decoder_size": 16}, "decoder_size = 16 must equal annotation_size = 32"),
        ({"input_feeding": True}, 'it needs asked_by = "current"'),
        ({"attention": "firm"}, "'soft', 'hard' or 'sparsemax'"),
        ({"expected_share": 1.5}, "less than or equal to 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        config(**settings)
