"""A translator as a person uses it, on a grammar small enough to know the right answers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import regard
from regard.errors import CheckpointError, DataError, InputError, UnknownName
from regard.training import runs
from tests.translation import grammar
from tests.translation.untrained import RNN, untrained

SENTENCE = "the small cat sees a red house"


def test_translates_and_shows_the_changed_order(toy):
    found = toy.translate(SENTENCE)
    assert found.text == "la chatte petite voit une maison rouge"
    assert found.source_words == SENTENCE.split()
    assert found.target_words == found.text.split()
    assert found.weights.shape == (7, 7)
    assert_allclose(found.weights.sum(1), 1)
    looked_at = {
        word: found.source_words[i] for word, i in zip(found.target_words, found.weights.argmax(1), strict=True)
    }
    expected = {"chatte": "cat", "petite": "small", "maison": "house", "rouge": "red"}
    assert {word: looked_at[word] for word in expected} == expected
    assert found.finished
    assert found.score < 0


def test_many_at_once_are_those_one_by_one(toy):
    sentences = [source for source, _ in grammar.pairs()[:12]] + [grammar.phrases()[0][0], ""]
    together = toy.translate(sentences)
    assert [found.source for found in together] == sentences
    for found in together:
        alone = toy.translate(found.source)
        assert alone.text == found.text
        assert_allclose(alone.weights, found.weights, atol=1e-5)
        assert alone.score == pytest.approx(found.score, abs=1e-4)


def test_streams_in_order_reading_no_further_than_a_batch(toy):
    sentences = [source for source, _ in grammar.pairs()[:50]]
    read = 0

    def lines():
        nonlocal read
        for sentence in sentences:
            read += 1
            yield sentence

    stream = toy.stream(lines(), batch=8, beam=1)
    assert next(stream).source == sentences[0]
    assert read == 8
    assert [found.source for found in stream] == sentences[1:]


def test_n_best_are_ranked_and_all_different(toy):
    found = toy.translate(SENTENCE, beam=4, n_best=3)
    everything = [found, *found.alternatives]
    assert len({other.text for other in everything}) == 3
    scores = [other.score for other in everything]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("line", ["", "   ", "\t"])
def test_an_empty_line_is_an_empty_translation(toy, line):
    found = toy.translate(line)
    assert (found.text, found.source_words, found.target_words) == ("", [], [])


@pytest.mark.parametrize("line", ["日本語 ☃ the cat", "a\x00b \x07\x1b[31m red", "\u200f\u202eabc", "▁▁ ▁a", "é" * 300])
def test_strange_characters_get_an_answer(toy, line):
    found = toy.translate(line, max_length=20)
    assert found.weights.shape == (len(found.target_words), len(found.source_words))


def test_nothing_that_ends_is_still_an_answer(toy):
    short = toy.translate(SENTENCE, beam=1, max_length=2)
    assert not short.finished
    assert len(short.target_words) >= 1
    with pytest.raises(InputError, match="max_length must be a whole number, 1 or more; it is 0"):
        toy.translate(SENTENCE, max_length=0)


@pytest.mark.parametrize("options", [{"beam": "5"}, {"beam": 2.5}, {"n_best": "1"}, {"max_length": "9"}])
def test_numbers_that_are_none_are_refused_by_name(options):
    (name,) = options
    with pytest.raises(InputError, match=rf"{name} must be a whole number"):
        untrained(**RNN).translate(SENTENCE, **options)


def test_alignment_of_a_given_pair(toy):
    found = toy.align(SENTENCE, "la chatte petite voit une maison rouge")
    assert {(2, 1), (1, 2), (6, 5), (5, 6)} <= set(found.links)
    assert found.pharaoh() == " ".join(f"{i}-{j}" for i, j in found.links)
    assert_allclose(found.weights.sum(1), 1)
    worse = toy.align(SENTENCE, "la chatte rouge voit une maison petite")
    assert worse.log_prob < found.log_prob
    with pytest.raises(DataError, match="pair 1 has an empty side"):
        toy.align("", "la chatte")


def test_offset_1_gives_the_weights_of_the_next_step(toy):
    words = "la chatte petite voit une maison rouge"
    pieces = [len(ids) for ids in toy.vocabularies.target.encode(words.split())]
    here, after = toy.align(SENTENCE, words).raw_weights, toy.align(SENTENCE, words, offset=1).raw_weights
    single = [place for place in range(6) if pieces[place] == pieces[place + 1] == 1]
    assert single
    for place in single:
        assert_allclose(after[place], here[place + 1])
    with pytest.raises(InputError, match="offset = 2 is no step of a word"):
        toy.align(SENTENCE, words, offset=2)


def test_the_map_is_drawn(toy, tmp_path):
    assert toy.translate(SENTENCE).plot(tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert b"</svg>" in toy.align(SENTENCE, "la chatte petite").plot(tmp_path / "map.svg").read_bytes()
    with pytest.raises(InputError, match="there are no words to draw"):
        toy.translate("").plot(tmp_path / "map.png")


def test_without_attention_there_is_no_map_but_a_translation(blind_run, tmp_path):
    blind = regard.Translator.load(blind_run)
    found = blind.translate("a red house sees the old woman")
    assert found.weights is None
    assert len(found.target_words) > 3
    assert found.to_json()["weights"] is None
    with pytest.raises(InputError, match="this model has no attention, so there is nothing to draw"):
        found.plot(tmp_path / "map.png")
    with pytest.raises(InputError, match="this model has no attention to align by"):
        blind.align("a red house", "une maison rouge")


def test_models_that_cannot_be_found_or_used(tmp_path):
    with pytest.raises(UnknownName, match="no model is called 'nowhere', and there is no such directory"):
        regard.Translator.load("nowhere")
    with pytest.raises(CheckpointError, match=r"is not a run directory: it has no config\.toml"):
        regard.Translator.load(tmp_path)


def test_a_folder_of_that_name_does_not_hide_a_model_that_ships(tmp_path, monkeypatch):
    shipped, mine = tmp_path / "shipped" / "en-fr", tmp_path / "here" / "en-fr"
    for folder in (shipped, mine):
        folder.mkdir(parents=True)
    (shipped / "config.toml").touch()
    monkeypatch.setattr(runs, "HOME", shipped.parent)
    monkeypatch.chdir(mine.parent)
    assert runs.find("en-fr") == shipped
    with pytest.raises(CheckpointError, match="is not a run directory"):
        runs.find("./en-fr")
    (mine / "config.toml").touch()
    assert runs.find("en-fr").resolve() == mine


def test_a_damaged_file_is_named(toy_run, tmp_path):
    for name in ("config.toml", "vocabulary.model", "best.safetensors"):
        (tmp_path / name).write_bytes((toy_run / name).read_bytes())
    assert regard.Translator.load(tmp_path).translate(SENTENCE).text
    whole = (tmp_path / "best.safetensors").read_bytes()
    (tmp_path / "best.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match=r"best\.safetensors is damaged"):
        regard.Translator.load(tmp_path)
    (tmp_path / "best.safetensors").unlink()
    with pytest.raises(CheckpointError, match="holds no weights yet"):
        regard.Translator.load(tmp_path)


def test_weights_are_word_by_word_whatever_the_pieces(toy):
    found = toy.translate("the smallhouse")  # no such word: it falls into pieces
    assert len(found.source_words) == 2
    assert np.isfinite(found.weights).all()
