"""Whether attention matters: measured on models whose attention is known to matter, or not to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import regard
from regard.errors import DataError, InputError
from regard.normalizers import hard
from regard.text import faithfulness
from regard.text.faithfulness import SHARES, Erased, Estimate, Faithfulness, Subject, estimate, measure, spearman
from regard.text.interventions import Permuted
from regard.text.padding import padded_targets
from tests.captioning.test_model import GRID, pictures, trained
from tests.translation.untrained import RNN, untrained


def subjects(model, count: int = 24) -> list[Subject]:
    cells, captions, _ = pictures(np.random.default_rng(5), count)
    target, _ = padded_targets(captions)
    places = torch.arange(GRID.cells).expand(count, -1)
    with torch.no_grad():
        return [Subject(model.start(cells), target, places, places)]


@pytest.fixture(scope="module")
def reader():
    """A captioner that reads the named cells, trained until it does."""
    return trained(250, asked_by="current").eval()


def test_attention_that_reads_cells_matters(reader):
    found = measure(reader, subjects(reader))
    assert found.uniform.low > 0.2
    assert found.permuted.low > 0.2
    fifth = next(erased for erased in found.hidden if erased.share == 0.2)
    assert fifth.most.value > 3 * max(fifth.random.value, 0.05)
    kept = next(erased for erased in found.kept if erased.share == 0.5)
    assert kept.most.value < kept.random.value
    assert found.entropy.high < 0.7
    assert [erased.share for erased in found.hidden] == list(SHARES)


def test_a_model_that_must_look_at_known_places_has_near_perfect_figures(reader):
    found = measure(reader, subjects(reader))
    fifth, rest = (next(e for e in curve if e.share == 0.2) for curve in (found.hidden, found.kept))
    assert fifth.most.low > 3  # the two named cells of nine
    assert rest.most.high < 0.05
    assert rest.random.low > 2
    assert "matters much" in found.verdict
    assert "Its maps say what it needs" in found.verdict


def test_the_same_model_with_its_weights_permuted_is_at_chance(reader):
    shuffled = Permuted(reader.normalizer, torch.Generator().manual_seed(1))
    found = measure(reader, [s._replace(state=s.state.normalized_by(shuffled)) for s in subjects(reader)])
    assert found.uniform.high < 0.5
    for erased in found.hidden + found.kept:
        assert erased.most.low < erased.random.high
        assert erased.random.low < erased.most.high
    assert "do not say what it needs" in found.verdict


def test_cells_that_hard_attention_leaves_at_zero_are_ordered_by_their_scores(reader, monkeypatch):
    orders, erasures = [], faithfulness._erasures
    monkeypatch.setattr(
        faithfulness,
        "_erasures",
        lambda received, *rest: orders.append(received) or erasures(received, *rest),
    )
    measure(reader, [s._replace(state=s.state.normalized_by(hard)) for s in subjects(reader, 4)])
    for received in orders[0]:
        assert len(received.unique()) == GRID.cells  # no ties, which would hide cells by their place in the grid
        assert (
            received.sort().values[: -len(received[received >= 1])] < 0.01
        ).all()  # a cell that was taken comes first


def test_weights_that_order_the_parts_by_what_they_cost_correlate_with_it(reader, monkeypatch):
    def as_weighted(model, state, target, _):
        return [weights.T for weights in model.force_from(state, target).weights]

    monkeypatch.setattr("regard.text.faithfulness.left_out", as_weighted)
    assert measure(reader, subjects(reader, 4)).correlation == pytest.approx((1, 1, 1))


def test_attention_whose_context_is_not_read_costs_nothing(reader):
    class Even:
        """The same state, whatever is done to its attention."""

        def __init__(self, state):
            self._state = state

        def __getattr__(self, name):
            if name in ("hide", "normalized_by"):
                return lambda *_: self
            return getattr(self._state, name)

        def keep(self, rows):
            return Even(self._state.keep(rows))

    subject = subjects(reader)[0]
    original = reader.force_from
    reader.force_from = lambda state, target: original(getattr(state, "_state", state), target)
    try:
        found = measure(reader, [subject._replace(state=Even(subject.state))])
    finally:
        del reader.force_from
    assert found.uniform == found.permuted == (0, 0, 0)
    for erased in found.hidden + found.kept:
        assert (erased.most.value, erased.random.value) == pytest.approx((0, 0), abs=1e-6)


@pytest.mark.parametrize(
    ("uniform", "message"),
    [
        (Estimate(-0.05, -0.07, -0.03), "harms: uniform weights would save 0.050"),
        (Estimate(0.013, -0.006, 0.034), "does nothing that can be measured: uniform weights cost 0.013"),
        (Estimate(0.03, 0.01, 0.05), "matters little: uniform weights cost 0.030"),
        (Estimate(0.17, 0.14, 0.2), "matters: uniform weights cost 0.170"),
        (Estimate(3.9, 3.8, 4.0), "matters much: uniform weights cost 3.900"),
    ],
)
def test_the_verdict_says_how_much_it_matters(uniform, message):
    none = Estimate(0, 0, 0)
    alike = Erased(0.2, most=Estimate(0.01, -0.01, 0.03), random=Estimate(0.006, 0, 0.012))
    verdict = Faithfulness(9, 90, none, uniform, none, [alike], [], none, none).verdict
    assert verdict.startswith(f"Its attention {message} nats a word. Its maps do not say what it needs: ")


def test_figures_are_a_table_json_and_a_picture(reader, tmp_path):
    found = measure(reader, subjects(reader, 6))
    figures = found.to_json()
    assert figures["uniform"] == list(found.uniform)
    assert figures["hidden"][2]["share"] == 0.2
    assert dict(found.rows())["uniform weights cost"] == f"{found.uniform:.3f}"
    assert found.plot(tmp_path / "curves.png").stat().st_size > 10_000


def test_an_interval_holds_the_mean_and_narrows_with_more_examples():
    rng = np.random.default_rng(0)
    few, many = (estimate(rng.normal(2, 1, size=n), np.ones(n)) for n in (20, 2000))
    assert few.low < few.value < few.high
    assert many.high - many.low < (few.high - few.low) / 4
    assert many.low < 2 < many.high
    assert f"{many:.1f}".startswith("2.0 (")


def test_ranks_agree_as_spearman_has_them():
    assert spearman([1, 2, 3], [3, 5, 9]) == pytest.approx(1)
    assert spearman([1, 2, 3], [9, 5, 3]) == pytest.approx(-1)
    assert spearman([1, 1, 2], [1, 2, 3]) == pytest.approx(np.sqrt(3) / 2)  # ties at their mean: 1.5, 1.5, 3
    assert np.isnan(spearman([1, 1, 1], [1, 2, 3]))


def test_translators_are_measured_and_those_without_attention_refused(tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("the red cat sees a dog\tle chat rouge voit un chien\na dog sees the cat\tun chien voit le chat\n")
    found = regard.faithfulness(untrained(**RNN), pairs)
    assert found.examples == 2
    with pytest.raises(InputError, match="no attention"):
        regard.faithfulness(untrained(**RNN, attention="none"), pairs)
    with pytest.raises(InputError, match="Translator or a Captioner; str came"):
        regard.faithfulness("en-fr", pairs)
    with pytest.raises(DataError, match="no texts"):
        measure(untrained(**RNN).model, [])
