"""Encoded corpora on disk: built once, whole or not at all."""

from __future__ import annotations

import json
import shutil
import socket

import numpy as np
import pytest

from regard import files
from regard.errors import DataError
from regard.text.vocabulary import Vocabulary
from regard.translation import encoded as encoded_module
from regard.translation.batches import Pairs
from regard.translation.config import CorpusConfig, DataConfig, VocabularyConfig
from regard.translation.corpus import Corpus
from regard.translation.encoded import encode_corpus
from regard.translation.vocabularies import Vocabularies, learned_vocabularies

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


def test_the_cache_is_used_again(corpus, tmp_path, monkeypatch):
    messages = []
    encode_corpus(corpus, VOCABULARIES, settings(), tmp_path / "cache", report=messages.append)
    assert messages[-1].endswith("c.tsv: 5 pairs")
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
        pairs = zip(VOCABULARIES.source.encode(SOURCE), VOCABULARIES.target.encode(TARGET), strict=True)
        kept = sum(max(map(len, pair)) <= 6 for pair in pairs)
        assert 0 < kept < 5
    messages = []
    encoded = encode_corpus(corpus, VOCABULARIES, settings(**limit), tmp_path / "cache", report=messages.append)
    assert len(encoded) == kept
    assert f"({5 - kept} too long or empty left out)" in messages[-1]


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


@pytest.mark.parametrize("name", ["source.ids", "target.ids", "source.offsets", "target.offsets", "meta.json"])
@pytest.mark.parametrize("damage", ["bit", "garbage"])
def test_a_damaged_cache_is_encoded_anew_and_told(corpus, tmp_path, name, damage):
    cache, messages = tmp_path / "cache", []
    before = Pairs([encode_corpus(corpus, VOCABULARIES, settings(), cache)]).batch(np.arange(5))
    (file,) = cache.glob(f"*/{name}")
    content = bytearray(file.read_bytes())
    if damage == "bit":
        content[-5 if name == "meta.json" else 0] ^= 1
    else:
        content[:] = b"\xfe" * len(content)
    file.write_bytes(content)
    again = Pairs([encode_corpus(corpus, VOCABULARIES, settings(), cache, report=messages.append)]).batch(np.arange(5))
    assert messages[0] == f"{file.parent}, the encoded {corpus.name}, is damaged; encoding it anew"
    assert before.source.equal(again.source)
    assert before.target.equal(again.target)
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "content"), [("target.ids", np.uint16([60000])), ("source.offsets", np.int64([0, 9])), ("", np.zeros(0))]
)
def test_a_cache_of_before_digests_serves_where_its_ids_are_pieces(corpus, tmp_path, name, content):
    cache, messages = tmp_path / "cache", []
    encode_corpus(corpus, VOCABULARIES, settings(), cache)
    (meta,) = cache.glob("*/meta.json")
    values = json.loads(meta.read_text())
    del values["digests"], values["digest"]
    meta.write_text(json.dumps(values))
    if name:
        file = meta.with_name(name)
        file.write_bytes(content.tobytes() + file.read_bytes()[content.nbytes :])
    assert len(encode_corpus(corpus, VOCABULARIES, settings(), cache, report=messages.append)) == 5
    assert any("is damaged" in line for line in messages) == bool(name)


def test_a_damaged_learned_vocabulary_is_learned_anew_and_told(corpus, tmp_path):
    messages, config = [], VocabularyConfig(size=60)
    first = learned_vocabularies([corpus], [1.0], config, tmp_path)
    (file,) = tmp_path.glob("*-vocabulary.model")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    again = learned_vocabularies([corpus], [1.0], config, tmp_path, report=messages.append)
    assert again.source.model == first.source.model
    assert messages[0] == f"{file}, a learned vocabulary, is damaged; learning it anew"
    learned_vocabularies([corpus], [1.0], config, tmp_path, report=messages.append)
    assert len(messages) == 2
