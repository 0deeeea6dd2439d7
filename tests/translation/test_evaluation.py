from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from sacrebleu import corpus_bleu

import regard
from regard.errors import DataError, InputError
from regard.training.config import load_config
from regard.translation.batches import padded_batch
from regard.translation.corpus import Pair
from regard.translation.evaluation import _loss, evaluate, plot_by_length
from regard.translation.gold import Gold, alignment_error_rate, parse_gold, read_gold
from regard.translation.task import TranslationTask
from tests.translation import grammar
from tests.translation.test_watched import RNN
from tests.translation.test_watched import translator as untrained

ROWS = [Pair(*pair) for pair in grammar.pairs()[:100]]


def test_figures_are_sacrebleus_with_its_signature(toy):
    found = evaluate(toy, ROWS, beam=2)
    assert found.bleu == corpus_bleu(found.translations, [[pair.target for pair in ROWS]]).score
    assert found.bleu > 85
    assert found.signatures["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert found.signatures["chrf"].startswith("nrefs:1|case:mixed")
    assert 0 < found.loss < 0.2
    assert found.translations[3] == toy.translate(ROWS[3].source, beam=2).text


def test_the_loss_is_that_of_the_references_and_looks_nowhere(toy, monkeypatch):
    source, target = (toy.vocabularies[i].encode([pair[i] for pair in ROWS]) for i in (0, 1))
    forced = toy.model.force(padded_batch(source, target))
    monkeypatch.setattr(type(toy.model), "force", None)
    monkeypatch.setattr("regard.nn.decoder.Decoded.weights", None)
    expected = -float(forced.log_probs.double().sum()) / int((forced.log_probs != 0).sum())
    assert _loss(toy, ROWS) == pytest.approx(expected, rel=1e-5)


def test_validation_and_evaluation_mean_the_same_by_bleu(toy, toy_run, tmp_path):
    """Both compare with the references as they are: here some words are joined by a character that training drops."""
    rows = [Pair(pair.source, pair.target.replace(" ", "\x07", i % 2)) for i, pair in enumerate(ROWS)]
    (tmp_path / "dev.tsv").write_text(grammar.tsv(rows))
    values = load_config(toy_run / "config.toml").model_dump()
    values["data"]["validation"] = [{"path": str(tmp_path / "dev.tsv")}]
    task = TranslationTask(load_config({**values, "run": str(tmp_path / "run")}))
    task.prepare(toy_run, begun=True, threads=1, report=lambda _: None)
    with torch.no_grad():
        found = task.validate(toy.model, torch.device("cpu"))
    assert found.metrics["bleu"] == evaluate(toy, rows, beam=1).bleu
    assert found.metrics["bleu"] < evaluate(toy, ROWS, beam=1).bleu - 1


def test_by_length_splits_by_the_words_of_the_source(toy, blind_run, tmp_path):
    short = [Pair(*pair) for pair in grammar.phrases()[:10]]
    longer = [Pair(f"{a.source} {b.source}", f"{a.target} {b.target}") for a, b in pairwise(ROWS[:6])]
    found = evaluate(toy, [*short, *longer], beam=1)
    assert [(b.first, b.last, b.sentences) for b in found.buckets] == [(1, 10, 10), (11, 20, 5)]
    blind = evaluate(regard.Translator.load(blind_run), [*short, *longer], beam=1)
    drawn = plot_by_length({"additive": found, "none": blind}, tmp_path / "curve.png")
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_a_text_on_one_line_is_refused_by_its_number_in_the_file():
    with pytest.raises(InputError, match=r"sentence 100 is \d+ pieces long"):
        evaluate(untrained(**RNN), [*ROWS[:99], Pair("the cat " * 10_000, "le chat")])


def test_nothing_to_evaluate_is_refused(toy):
    with pytest.raises(DataError, match="no pairs"):
        evaluate(toy, [])


def test_the_toy_aligns_as_the_grammar_says(toy):
    found = [alignment.links for alignment in toy.align_all(ROWS)]
    assert alignment_error_rate(found, [parse_gold(grammar.GOLD)] * len(ROWS)) < 0.35


def test_error_rate_by_hand(tmp_path):
    """|A| = 3, |S| = 2, A∩S = 1, A∩P = 2: 1 - 3/5."""
    gold = Gold({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1)})
    assert alignment_error_rate([[(0, 0), (2, 1), (5, 5)]], [gold]) == pytest.approx(0.4)
    (tmp_path / "gold").write_text("0-0 1-1 2p1\n\n")
    assert read_gold(tmp_path / "gold") == [gold, Gold(set(), set())]
    (tmp_path / "gold").write_text("0-0 x\n")
    with pytest.raises(DataError, match=r"gold:1: expected links such as 3-4 \(sure\) or 3p4 \(possible\), found 'x'"):
        read_gold(tmp_path / "gold")
