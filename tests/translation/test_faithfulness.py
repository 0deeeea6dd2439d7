"""Whether a translator's attention matters: which pairs are measured, and the error rate of its alignments."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.errors import DataError
from regard.text.interventions import uniform
from regard.translation import faithfulness as module
from regard.translation.alignment import alignment_error_rate, read_gold
from regard.translation.batches import padded_batch
from regard.translation.corpus import Pair
from tests.translation import grammar
from tests.translation.untrained import RNN, untrained

PAIRS = [Pair(*pair) for pair in grammar.pairs()[:12]]


@pytest.fixture(scope="module")
def translator():
    return untrained(**RNN)


def test_loss_and_cost_of_uniform_weights_are_those_of_the_forced_references(translator, monkeypatch):
    monkeypatch.setattr(module, "BATCH", 5)
    found = translator.faithfulness(PAIRS)
    nll, even, words = 0.0, 0.0, 0
    for pair in PAIRS:
        source, target = (v.encode([text])[0] for v, text in zip(translator.vocabularies, pair[:2], strict=True))
        batch = padded_batch([source], [target])
        with torch.no_grad():
            state = translator.model.encode(batch)
        nll -= float(translator.model.force(batch).log_probs.sum())
        even -= float(translator.model.force_from(state.normalized_by(uniform), batch.target).log_probs.sum())
        words += len(target) + 1
    assert (found.examples, found.words) == (12, words)
    assert found.loss.value == pytest.approx(nll / words, rel=1e-5)
    assert found.uniform.value == pytest.approx((even - nll) / words, abs=1e-5)
    assert found.extra == {}


def test_a_large_corpus_is_measured_at_places_spread_over_it(translator, monkeypatch):
    monkeypatch.setattr(module, "PAIRS", 3)
    spread = translator.faithfulness(PAIRS)
    by_hand = translator.faithfulness([PAIRS[0], PAIRS[6], PAIRS[11]])
    assert spread == by_hand
    assert spread.examples == 3


def test_gold_links_give_the_alignment_error_rate_of_all_pairs(translator, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAIRS", 2)
    gold = tmp_path / "gold.txt"
    gold.write_text("0-0 1p1\n" * len(PAIRS))
    found = translator.faithfulness(PAIRS, gold=gold).extra["alignment error rate"]
    links = [alignment.links for alignment in translator.align_all(PAIRS)]
    assert found.value == pytest.approx(alignment_error_rate(links, read_gold(gold)))
    assert found.low <= found.value <= found.high
    gold.write_text("0-0\n")
    with pytest.raises(DataError, match="gold links of 1 pairs, but 12 pairs; they must go line by line"):
        translator.faithfulness(PAIRS, gold=gold)


def test_files_are_read_as_the_run_read_them(translator, tmp_path):
    (tmp_path / "pairs.tsv").write_text(grammar.tsv(grammar.pairs()[:12]))
    assert regard.faithfulness(translator, tmp_path / "pairs.tsv") == translator.faithfulness(PAIRS)
    with pytest.raises(DataError, match="no texts to measure"):
        translator.faithfulness([])
