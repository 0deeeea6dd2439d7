"""Training real (tiny) translators from files to weights."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import CheckpointError, ConfigError, DataError
from regard.search_options import TRANSLATION
from regard.training import train
from regard.training.config import load_config
from regard.training.weights import load_weights
from regard.translation.task import TranslationTask
from regard.translation.vocabularies import stored_vocabularies
from tests.training.runs import assert_same_run, log

WORDS = {
    "the": "le",
    "a": "un",
    "red": "rouge",
    "blue": "bleu",
    "old": "vieux",
    "big": "grand",
    "small": "petit",
    "cat": "chat",
    "dog": "chien",
    "bird": "oiseau",
    "man": "homme",
    "sees": "voit",
    "likes": "aime",
    "finds": "trouve",
    "eats": "mange",
    "takes": "prend",
}
ENGLISH, FRENCH = list(WORDS), list(WORDS.values())
RNN = {"embedding": 12, "encoder_size": 12, "decoder_size": 12, "attention_size": 12}
TRANSFORMER = {"kind": "transformer", "layers": 1, "size": 12, "feedforward": 24, "heads": 2}


def lines(count, seed):
    """Words and their translations in reverse order."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        words = generator.integers(0, len(ENGLISH), generator.integers(2, 7))
        yield " ".join(ENGLISH[w] for w in words) + "\t" + " ".join(FRENCH[w] for w in words[::-1])


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpora")
    (directory / "train.tsv").write_text("\n".join(lines(120, 0)) + "\n")
    with gzip.open(directory / "more.tsv.gz", "wt") as file:
        file.write("\n".join(lines(40, 1)) + "\n")
    (directory / "dev.tsv").write_text("\n".join(lines(20, 2)) + "\n")
    return directory


def config(corpora, run, **changes):
    """A run of a tiny model; ``changes`` are dotted keys with __ for the dot."""
    values = {
        "task": "translate",
        "run": str(run),
        "data": {
            "train": [{"path": str(corpora / "train.tsv")}, {"path": str(corpora / "more.tsv.gz"), "weight": 1.5}],
            "validation": [{"path": str(corpora / "dev.tsv")}],
        },
        "vocabulary": {"size": 60},
        "model": RNN,
        "training": {
            "updates": 8,
            "batch_tokens": 150,
            "validate_every": 4,
            "checkpoint_every": 3,
            "threads": 1,
            "learning_rate": 0.01,
        },
    }
    return load_config(values, [f"{key.replace('__', '.')}={json.dumps(value)}" for key, value in changes.items()])


@pytest.fixture(scope="module")
def whole(corpora, tmp_path_factory):
    run = tmp_path_factory.mktemp("whole") / "run"
    train(config(corpora, run))
    return run


def copy_until(monkeypatch, update):
    """Stop the training after so many updates, as Ctrl-C does."""
    from regard.training.loop import Trainer

    original = Trainer._record

    def record(self, *arguments):
        original(self, *arguments)
        if self.state.update == update:
            raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "_record", record)


@pytest.mark.parametrize("model", [RNN, TRANSFORMER, {**RNN, "normalize": "hard"}], ids=["rnn", "transformer", "hard"])
def test_a_stopped_run_goes_on_bit_for_bit(corpora, tmp_path, monkeypatch, model):
    table = "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in model.items()) + "}"
    one, two = (load_config(config(corpora, tmp_path / name), [f"model={table}"]) for name in ("one", "two"))
    train(one)
    copy_until(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        train(two)
    monkeypatch.undo()
    train(two, resume=True)
    assert_same_run(one.run, two.run)
    assert [line["update"] for line in log(two.run, "update")] == list(range(1, 9))


def test_the_run_directory_is_all_that_is_needed_to_use_the_model(corpora, whole):
    stored: Any = load_config(whole / "config.toml")
    assert stored == config(corpora, whole)
    task = TranslationTask(stored)
    task.vocabularies = stored_vocabularies(whole, stored.vocabulary)
    assert task.vocabularies.source is task.vocabularies.target
    model = task.build_model(torch.Generator().manual_seed(99))
    load_weights(model, whole / "best.safetensors")
    assert len(list(whole.glob("vocabulary*.model"))) == 1


def test_validation_measures_loss_and_bleu_with_samples(whole):
    validations = log(whole, "validation")
    assert [line["update"] for line in validations] == [4, 8]
    first = next(lines(20, 2)).split("\t")
    for line in validations:
        assert line["loss"] > 0
        assert 0 <= line["bleu"] <= 100
        assert len(line["samples"]) == 3
        assert (line["samples"][0]["source"], line["samples"][0]["reference"]) == tuple(first)
        assert "model" in line["samples"][0]


def test_bleu_is_100_when_the_model_is_right(corpora, tmp_path, monkeypatch):
    """The references must stand row for row with what is translated, whatever order the batches have."""
    settings = config(corpora, tmp_path / "run")
    task = TranslationTask(settings)
    task.prepare(tmp_path / "run", begun=False, threads=1, report=lambda _: None)

    class Oracle:
        longest = None

        def __call__(self, batch):
            self.batch = batch
            return type("L", (), {"nll": torch.tensor(6.0), "tokens": 3})()

        def start(self, *_):
            return None

    def perfect(model, sentences, options):
        assert options == replace(TRANSLATION, beam=settings.validation.beam)
        assert [s.ids for s in sentences] == task.vocabularies.source.encode([s.text for s in sentences])
        rows = model.batch.target.tolist()
        return [[type("H", (), {"tokens": [w for w in row if w > 3]})()] for row in rows]

    monkeypatch.setattr("regard.translation.task.best_hypotheses", perfect)
    found = task.validate(Oracle(), torch.device("cpu"))
    assert found.metrics == {"loss": 2.0, "bleu": pytest.approx(100)}


def test_validation_leaves_no_line_out(corpora, tmp_path):
    task = TranslationTask(config(corpora, tmp_path / "run", data__max_words=3))
    task.prepare(tmp_path / "run", begun=False, threads=1, report=lambda _: None)
    assert len(task.held_out) == 20
    assert len(task.examples) < 160


@pytest.mark.parametrize("model", [{**RNN, "attention": "location"}, {**TRANSFORMER, "positions": "learned"}])
@pytest.mark.parametrize(("max_tokens", "told"), [(0, "train"), (8, "validation")])
def test_sentences_longer_than_the_model_s_places_are_told_before_the_first_update(
    corpora, whole, tmp_path, model, max_tokens, told
):
    def prepare(places):
        given = {"data__max_tokens": max_tokens, "vocabulary__source_file": str(whole / "vocabulary.model")}
        settings = config(corpora, tmp_path / "run", **given).model_dump()
        task = TranslationTask(load_config({**settings, "model": {**model, "max_positions": places}}))
        task.prepare(tmp_path / "run", begun=False, threads=1, report=lambda _: None)
        return task

    task = prepare(100)
    longest = {
        name: int(pairs.sizes(np.arange(len(pairs)))[:, : 1 if model.get("attention") == "location" else 2].max())
        for name, pairs in (("train", task.examples), ("validation", task.held_out))
    }
    prepare(max(longest.values()))
    places = longest[told] - 1
    message = rf"^model\.max_positions = {places} .* data\.{told}\.\d .* of {places} pieces"
    with pytest.raises(ConfigError, match=message):
        prepare(places)


def test_it_learns(corpora, tmp_path):
    settings = config(
        corpora,
        tmp_path / "run",
        training__updates=90,
        training__validate_every=30,
        training__learning_rate=0.02,
        training__label_smoothing=0.0,
        model__dropout_embedding=0.0,
        model__dropout_output=0.0,
        vocabulary__shared=False,
    )
    result = train(settings)
    losses = [entry["loss"] for entry in result.history]
    assert losses[-1] < 0.75 * losses[0]
    assert len(list((tmp_path / "run").glob("vocabulary.*.model"))) == 2


def test_a_changed_corpus_is_refused_by_name(corpora, tmp_path):
    mine = tmp_path / "corpora"
    mine.mkdir()
    for path in corpora.iterdir():
        (mine / path.name).write_bytes(path.read_bytes())
    train(config(mine, tmp_path / "run", training__updates=2))
    moved = tmp_path / "moved"
    mine.rename(moved)
    train(config(moved, tmp_path / "run", training__updates=3), resume=True)  # only moved: the same corpus
    (moved / "train.tsv").write_text("a\tb\n" + (moved / "train.tsv").read_text())
    with pytest.raises(CheckpointError, match=r"^data\.train\.0, the corpus has changed since"):
        train(config(moved, tmp_path / "run", training__updates=4), resume=True)


def test_a_changed_vocabulary_is_refused_by_name(corpora, tmp_path):
    run = tmp_path / "run"
    settings = config(corpora, run, training__updates=2)
    train(settings)
    train(config(corpora, tmp_path / "other", training__updates=1, vocabulary__size=50))
    (run / "vocabulary.model").write_bytes((tmp_path / "other" / "vocabulary.model").read_bytes())
    with pytest.raises(CheckpointError, match=r"the source vocabulary has changed since .*run was begun"):
        train(settings, resume=True)
    (run / "vocabulary.model").write_bytes(b"rubbish")
    with pytest.raises(CheckpointError, match=r"vocabulary\.model: the vocabulary is not a sentencepiece model"):
        train(settings, resume=True)


def test_a_given_vocabulary_is_used_and_watched(corpora, whole, tmp_path):
    given = tmp_path / "given.model"
    given.write_bytes((whole / "vocabulary.model").read_bytes())
    settings = config(corpora, tmp_path / "run", training__updates=2, vocabulary__source_file=str(given))
    train(settings)
    assert (tmp_path / "run" / "vocabulary.model").read_bytes() == given.read_bytes()
    train(config(corpora, tmp_path / "other", training__updates=1, vocabulary__size=50))
    given.write_bytes((tmp_path / "other" / "vocabulary.model").read_bytes())
    with pytest.raises(CheckpointError, match=r"vocabulary\.source_file has changed since"):
        train(settings, resume=True)


def test_a_bad_line_stops_before_anything_is_begun_and_mending_it_is_enough(corpora, tmp_path):
    mine = tmp_path / "corpora"
    mine.mkdir()
    for path in corpora.iterdir():
        (mine / path.name).write_bytes(path.read_bytes())
    good = (mine / "dev.tsv").read_text()
    (mine / "dev.tsv").write_text(good + "one\ttwo\tthree\n")
    settings = config(mine, tmp_path / "run", training__updates=1)
    with pytest.raises(DataError, match=r"dev\.tsv:21: expected 2 tab-separated fields, found 3\. Fix the line"):
        train(settings)
    (mine / "dev.tsv").write_text(good)
    train(settings)


def test_runs_can_share_a_cache(corpora, tmp_path, capsys):
    cache = tmp_path / "cache"
    for name in ("a", "b"):
        train(config(corpora, tmp_path / name, training__updates=1, data__cache=str(cache)))
        assert not (tmp_path / name / "cache").exists()
    assert capsys.readouterr().err.count("encoded ") == 3


def test_a_table_without_kind_is_an_rnn_and_wrong_names_are_told(corpora, tmp_path):
    assert config(corpora, tmp_path, model__attention="general").model.kind == "rnn"
    with pytest.raises(ConfigError, match=r"model\.attention: no attention is called 'aditive'.*'additive'\?$"):
        config(corpora, tmp_path, model__attention="aditive")
    with pytest.raises(ConfigError, match=r"model\.kind = 'transformr' cannot be used.*Did you mean 'transformer'\?"):
        config(corpora, tmp_path, model__kind="transformr")
    with pytest.raises(ConfigError, match=r"no setting model\.heads; choose from kind, cell"):
        config(corpora, tmp_path, model__heads=2)
