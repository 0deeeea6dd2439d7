"""The chapters of the demo, on models so small that they know nothing."""

import shutil
from typing import Any

import numpy as np
import pytest

import regard
from regard.captioning.scenes import write_scenes
from regard.demo import language, sections
from regard.demo.lengths import lengths
from regard.errors import TrainingError
from regard.training import runs


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def by_length(out):
    reports = []
    section = lengths(out, updates=40, report=lambda name, done: reports.append((name, done)))
    assert {("with attention", 40), ("without attention", 40)} <= set(reports)
    return section


def test_sentences_are_translated_word_by_word_with_adjectives_behind_their_nouns():
    pairs = language.pairs_of_each_length(np.random.default_rng(0), 50)
    assert [len(source.split()) for source, _ in pairs[:10]] == list(range(3, 43, 4))
    words = {**language.NOUNS, **language.ADJECTIVES, **language.LINKS, "the": "la"}
    for source, target in pairs:
        read, written = [words[word] for word in source.split()], target.split()
        for start in range(0, len(read), 4):
            assert written[start : start + 3] == [read[start], read[start + 2], read[start + 1]]
        nouns = [word for word in source.split() if word in language.NOUNS]
        assert len(set(nouns)) == len(nouns)


def test_both_are_trained_measured_and_drawn(by_length, out):
    assert by_length.table[0] == ["words", "with attention", "without attention"]
    assert [row[0] for row in by_length.table[1:]] == ["1 to 10", "11 to 20", "21 to 30", "31 to 40"]
    assert (out / "lengths.png").exists()
    model: Any = regard.Translator.load(out / "runs" / "without-attention").config.model
    assert model.attention == "none"
    assert not by_length.missing


def test_a_training_that_fails_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("regard.demo.lengths.KINDS", {"with attention": "additive"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "regard.py").write_text("raise SystemExit('broken on purpose')")
    with pytest.raises(TrainingError, match="the training with attention ended with 1: broken on purpose"):
        lengths(tmp_path, updates=1)


@pytest.mark.usefixtures("by_length")
def test_the_translator_chapter_shows_the_sentence_and_its_map(out, tmp_path):
    section = sections.translation(tmp_path, str(out / "runs" / "with-attention"))
    assert section.facts["source"] == sections.SENTENCE
    assert section.pictures[0].path.stat().st_size > 5000


def test_what_did_not_come_with_the_package_is_left_out_with_a_word(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "HOME", tmp_path)
    for section in (sections.translation(tmp_path), sections.captions(tmp_path)):
        assert "came without" in section.missing
        assert not section.pictures
        assert section.commands


def test_captioners_are_shown_soft_and_hard(tmp_path, monkeypatch):
    write_scenes(tmp_path / "scenes", 12, seed=0)
    for attention in ("soft", "hard"):
        small = dict.fromkeys(["annotation_size", "attention_size", "embedding", "decoder_size"], 16)
        regard.train(
            {
                "task": "caption",
                "run": str(tmp_path / "home" / f"scenes-{attention}"),
                "data": {
                    "backbone": "small-cnn",
                    "train": [{"path": str(tmp_path / "scenes")}],
                    "validation": [{"path": str(tmp_path / "scenes")}],
                },
                "vocabulary": {"size": 40},
                "model": {"attention": attention, **small},
                "training": {"updates": 60, "epochs": 0, "validate_every": 60, "threads": 1, "learning_rate": 0.02},
            }
        )
    monkeypatch.setattr(runs, "HOME", tmp_path / "home")
    section = sections.captions(tmp_path)
    assert [picture.caption.split(" — ")[1].split(":")[0] for picture in section.pictures] == [
        "scenes-hard, hard attention",
        "scenes-soft, soft attention",
    ]
    assert all(picture.path.stat().st_size > 5000 for picture in section.pictures)
    shutil.rmtree(tmp_path / "home")
