"""Batches of sentence pairs as padded tensors."""

from __future__ import annotations

import numpy as np
import pytest

from regard.text.vocabulary import Vocabulary
from regard.translation.batches import Pairs
from regard.translation.config import CorpusConfig, DataConfig, VocabularyConfig
from regard.translation.corpus import Corpus
from regard.translation.encoded import encode_corpus
from regard.translation.vocabularies import Vocabularies

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
