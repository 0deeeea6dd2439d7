"""The vocabularies of a translator: shared or not, learned once, stored with the run."""

from __future__ import annotations

import pytest

from regard.translation.config import CorpusConfig, VocabularyConfig
from regard.translation.corpus import Corpus
from regard.translation.vocabularies import (
    given_vocabularies,
    learned_vocabularies,
    store_vocabularies,
    stored_vocabularies,
)
from tests.translation import grammar


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "train.tsv").write_text(grammar.tsv(grammar.pairs()[:150]))
    return Corpus(CorpusConfig(path=str(tmp_path / "train.tsv")))


@pytest.mark.parametrize("shared", [True, False])
def test_they_are_learned_once_stored_and_read_back(corpus, tmp_path, shared):
    config, messages = VocabularyConfig(size=60, shared=shared), []
    learned = learned_vocabularies([corpus], [1.0], config, tmp_path / "cache", report=messages.append)
    again = learned_vocabularies([corpus], [1.0], config, tmp_path / "cache", report=messages.append)
    assert len(messages) == (1 if shared else 2)
    assert (learned.source is learned.target) == shared or not shared
    store_vocabularies(learned, tmp_path, config)
    names = sorted(path.name for path in tmp_path.glob("vocabulary*"))
    assert names == (["vocabulary.model"] if shared else ["vocabulary.source.model", "vocabulary.target.model"])
    stored = stored_vocabularies(tmp_path, config)
    for side in (0, 1):
        assert stored[side].fingerprint() == learned[side].fingerprint() == again[side].fingerprint()
    assert (learned[0].fingerprint() == learned[1].fingerprint()) == shared


def test_given_files_come_before_learning(corpus, tmp_path):
    config = VocabularyConfig(size=60)
    assert given_vocabularies(config) is None
    learned = learned_vocabularies([corpus], [1.0], config, tmp_path / "cache")
    store_vocabularies(learned, tmp_path, config)
    given = given_vocabularies(VocabularyConfig(source_file=str(tmp_path / "vocabulary.model")))
    assert given is not None
    assert given.source.fingerprint() == learned.source.fingerprint()


def test_other_weights_or_settings_are_learned_anew(corpus, tmp_path):
    messages = []
    for weight, size in ((1.0, 60), (2.0, 60), (1.0, 70)):
        config = VocabularyConfig(size=size)
        learned_vocabularies([corpus], [weight], config, tmp_path / "cache", report=messages.append)
    assert len(messages) == 3
