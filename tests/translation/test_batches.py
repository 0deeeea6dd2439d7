"""Encoded corpora and the batches made of them."""

from __future__ import annotations

import json
import shutil
import socket

import numpy as np
import pytest

from regard import files
from regard.errors import DataError
from regard.translation import encoded as encoded_module
from regard.translation.batches import Pairs
from regard.translation.config import CorpusConfig, DataConfig, VocabularyConfig
from regard.translation.corpus import Corpus
from regard.translation.encoded import encode_corpus
from regard.translation.vocabularies import Vocabularies
from regard.translation.vocabulary import Vocabulary

SOURCE = ["the cat sat", "the dog", "a man sat on the mat", "a", "the mat the mat"]
TARGET = ["le chat assis", "le chien", "un homme assis sur la natte", "un", "la natte la natte"]
VOCABULARIES = Vocabularies(
    Vocabulary.learn(SOURCE, VocabularyConfig(size=30)), Vocabulary.learn(TARGET, VocabularyConfig(size=40))
)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "c.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in zip(SOURCE, TARGET, strict=True)), encoding="utf-8")
    return Corpus(CorpusConfig(path=str(path)))


def settings(**changes):
    return DataConfig(train=[{"path": "x"}], validation=[{"path": "y"}], **changes)


def test_a_batch_holds_the_sentences_with_their_marks(corpus, tmp_path):
    encoded = encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")
    pairs = Pairs([encoded, encoded])
    rows = np.array([7, 0, 3])
    batch = pairs.batch(rows)
    sources = VOCABULARIES.source.encode([SOURCE[row % 5] for row in rows])
    targets = VOCABULARIES.target.encode([TARGET[row % 5] for row in rows])
    for i in range(3):
        source = [*sources[i], 3]
        target = [2, *targets[i], 3]
        assert batch.source[i].tolist() == source + [0] * (batch.source.shape[1] - len(source))
        assert batch.target[i].tolist() == target + [0] * (batch.target.shape[1] - len(target))
    assert batch.source_lengths.tolist() == [len(ids) + 1 for ids in sources]
    assert batch.target_lengths.tolist() == [len(ids) + 2 for ids in targets]
    assert pairs.sizes(rows).tolist() == [[len(s) + 1, len(t) + 1] for s, t in zip(sources, targets, strict=True)]
    assert len(pairs) == 10
    assert len(batch) == 3


def test_the_cache_is_used_again(corpus, tmp_path, monkeypatch):
    said = []
    encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache", report=said.append)
    assert said[-1].endswith("c.tsv: 5 pairs")
    monkeypatch.setattr(encoded_module, "_write", None)
    assert len(encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")) == 5


def test_anything_that_changes_the_content_is_another_cache_entry(corpus, tmp_path):
    cache = tmp_path / "cache"
    encode_corpus(corpus, VOCABULARIES, settings(), cache)
    encode_corpus(corpus, VOCABULARIES, settings(max_words=3), cache)
    encode_corpus(corpus, Vocabularies(VOCABULARIES.target, VOCABULARIES.target), settings(), cache)
    corpus.paths[0].write_text("the cat\tle chat\n", encoding="utf-8")
    assert len(encode_corpus(corpus, VOCABULARIES, settings(), cache)) == 1
    assert len(list(cache.glob("pairs-*"))) == 4


@pytest.mark.parametrize(("limit", "kept"), [({"max_words": 3}, 3), ({"max_tokens": 6}, None)])
def test_long_pairs_are_left_out_and_counted(corpus, tmp_path, limit, kept):
    if "max_tokens" in limit:
        encoded = zip(VOCABULARIES.source.encode(SOURCE), VOCABULARIES.target.encode(TARGET), strict=True)
        kept = sum(max(map(len, pair)) <= 6 for pair in encoded)
        assert 0 < kept < 5
    said = []
    encoded = encode_corpus(corpus, VOCABULARIES, settings(**limit), tmp_path / "cache", report=said.append)
    assert len(encoded) == kept
    assert f"({5 - kept} too long or empty left out)" in said[-1]


def test_blocks_join_without_a_seam(corpus, tmp_path, monkeypatch):
    whole = Pairs([encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "a")]).batch(np.arange(5))
    monkeypatch.setattr(encoded_module, "_BLOCK", 2)
    parts = Pairs([encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "b")]).batch(np.arange(5))
    assert whole.source.equal(parts.source)
    assert whole.target.equal(parts.target)


def test_a_large_vocabulary_takes_wider_numbers(corpus, tmp_path, monkeypatch):
    narrow = encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "a")
    monkeypatch.setattr(Vocabulary, "__len__", lambda _: 70_000)
    wide = encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "b")
    assert (narrow.meta["dtype"], wide.meta["dtype"]) == ("uint16", "uint32")
    assert wide.ids(0, np.arange(5))[0].tolist() == narrow.ids(0, np.arange(5))[0].tolist()


def test_interrupted_building_leaves_nothing_and_is_begun_anew(corpus, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(encoded_module, "publish_once", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            encode_corpus(corpus, VOCABULARIES, settings(), cache)
    assert list(cache.iterdir()) == []
    leftover = cache / f"pairs-0.partial-{socket.gethostname()}-4194999"  # above the largest process number
    leftover.mkdir()
    encoded = encode_corpus(corpus, VOCABULARIES, settings(), cache)
    assert len(encoded) == 5
    assert not leftover.exists()


def test_two_builders_at_once_leave_one_whole_entry(corpus, tmp_path, monkeypatch):
    """The one that ends second must not pull the entry away under those who use it."""
    cache, write = tmp_path / "cache", encoded_module._write

    def slow(*arguments):
        meta = write(*arguments)
        monkeypatch.setattr(encoded_module, "_write", write)
        monkeypatch.setattr(encoded_module, "partial_path", lambda path: path.with_name("other"))
        encode_corpus(corpus, VOCABULARIES, settings(), cache)
        (entry,) = (path for path in cache.iterdir() if "partial" not in path.name)
        (entry / "in use").touch()
        return meta

    monkeypatch.setattr(encoded_module, "_write", slow)
    assert len(encode_corpus(corpus, VOCABULARIES, settings(), cache)) == 5
    (entry,) = cache.iterdir()
    assert (entry / "in use").exists()


def test_one_that_is_published_at_the_last_moment_serves(corpus, tmp_path, monkeypatch):
    publish = files.publish

    def late(partial, path):
        shutil.copytree(partial, path)
        publish(partial, path)

    monkeypatch.setattr(files, "publish", late)
    assert len(encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")) == 5
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_cache_that_lost_bytes_is_built_again(corpus, tmp_path):
    encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")
    (ids,) = (tmp_path / "cache").glob("*/target.ids")
    ids.write_bytes(ids.read_bytes()[:-1])
    encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")
    meta = json.loads(ids.with_name("meta.json").read_text())
    assert ids.stat().st_size == meta["bytes"]["target.ids"]


def test_a_corpus_with_nothing_to_use_is_refused(corpus, tmp_path):
    corpus.paths[0].write_text("\x01\ta b c d\nx\ty\tz\n", encoding="utf-8")
    corpus.on_bad_line = "skip"
    with pytest.raises(DataError, match=r"holds no pair to use \(1 too long or empty, 1 bad left out\)"):
        encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
