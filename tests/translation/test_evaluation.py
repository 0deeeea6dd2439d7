from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from sacrebleu import corpus_bleu

import regard
from regard.errors import DataError, InputError
from regard.show.curve_figures import plot_by_length
from regard.training.config import load_config
from regard.translation.batches import padded_batch
from regard.translation.corpus import Pair
from regard.translation.evaluation import _loss, evaluate
from regard.translation.task import TranslationTask
from tests.translation import grammar
from tests.translation.untrained import RNN, untrained

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
    (tmp_path / "dev.tsv").write_text(grammar.tsv([*rows]))
    values = load_config(toy_run / "config.toml").model_dump()
    values["data"]["validation"] = [{"path": str(tmp_path / "dev.tsv")}]
    stored: Any = load_config({**values, "run": str(tmp_path / "run")})
    task = TranslationTask(stored)
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
