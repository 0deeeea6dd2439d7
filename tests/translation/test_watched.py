"""What each step of the decoder had before it, word by word."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from pydantic import TypeAdapter

from regard.translation.batches import padded_batch
from regard.translation.config import TranslationConfig, VocabularyConfig
from regard.translation.model import build_model
from regard.translation.model_config import ModelConfig
from regard.translation.translator import Translator
from regard.translation.vocabularies import Vocabularies
from regard.translation.vocabulary import Vocabulary, Word
from regard.translation.watched import merge_scores, see
from tests.translation import grammar

SENTENCE = "the smallhouse sees a red cat"  # one word that falls into pieces
RNN = {"kind": "rnn", "embedding": 8, "encoder_size": 6, "decoder_size": 12, "attention_size": 7}


def translator(**model) -> Translator:
    """An untrained one: its numbers are as good as any for being watched."""
    lines = [text for pair in grammar.pairs()[:200] for text in pair]
    vocabulary = Vocabulary.learn(lines, VocabularyConfig(size=70))
    settings = TypeAdapter(ModelConfig).validate_python(model)
    data = {"train": [{"path": "train.tsv"}], "validation": [{"path": "dev.tsv"}]}
    config = TranslationConfig.model_validate({"task": "translate", "run": "run", "data": data, "model": model})
    size = len(vocabulary)
    built = build_model(settings, size, size, shared=True, generator=torch.Generator().manual_seed(3))
    return Translator(built, Vocabularies(vocabulary, vocabulary), config)


@pytest.mark.parametrize(
    "model",
    [
        RNN,
        {**RNN, "attention": "dot"},
        {**RNN, "attention": "general", "input_feeding": True},
        {**RNN, "cell": "cgru"},
        {**RNN, "attention": "general", "normalize": "hard"},
        {**RNN, "attention": "general", "span": "local-m", "window": 2},
        {"kind": "transformer", "layers": 3, "size": 8, "heads": 2, "feedforward": 16},
    ],
    ids=["additive", "dot", "feeding", "cgru", "hard", "local-m", "transformer"],
)
def test_looks_are_those_of_the_translation(model):
    watching = translator(**model)
    watched = watching.watch(SENTENCE, beam=3, max_length=12)
    found = watching.translate(SENTENCE, beam=3, max_length=12)
    assert watched.translation.text == found.text
    assert [look.word for look in watched.looks] == found.target_words
    assert_allclose([look.weights for look in watched.looks], found.weights, atol=1e-6)


def test_scores_are_those_the_weights_are_the_softmax_of():
    watching = translator(**RNN)
    watched = watching.watch(SENTENCE, max_length=12)
    (sentence,) = watching.vocabularies.source.encode([SENTENCE])
    assert len(sentence) > len(watched.translation.source_words)  # there is something to merge
    pieces = [len(watching.vocabularies.target.encode([look.word])[0]) for look in watched.looks]
    assert 1 in pieces
    for look, several in zip(watched.looks, pieces, strict=True):
        if several == 1:
            assert_allclose(np.exp(look.scores) / np.exp(look.scores).sum(), look.weights, rtol=1e-4)


def test_contexts_are_the_mix_of_the_annotations():
    watching = translator(**RNN)
    ids = watching.vocabularies.source.encode([SENTENCE])[0]
    batch = padded_batch([ids], [[7, 8, 9]])
    seen = see(watching.model, batch)
    with torch.no_grad():
        annotations = watching.model.start(batch.source, batch.source_lengths).memory.annotations[0]
        weights = watching.model.force(batch).weights[0]
    assert_allclose(seen.contexts, weights @ annotations, atol=1e-6)
    assert seen.scores.shape == (4, len(ids) + 1)


def test_without_attention_every_step_has_the_same_context():
    watched = translator(**RNN, attention="none").watch(SENTENCE, max_length=12)
    assert len(watched.looks) > 1
    for look in watched.looks:
        assert look.scores is look.weights is None
        assert_allclose(look.context, watched.looks[0].context)
    assert np.ptp(watched.looks[0].context) > 0


def test_every_head_has_its_map_and_their_mean_is_the_translations():
    watched = translator(kind="transformer", layers=3, size=8, heads=2, feedforward=16).watch(SENTENCE, max_length=12)
    names = [f"layer {layer}, head {head}" for layer in (1, 2, 3) for head in (1, 2)]
    assert list(watched.heads) == names
    shown = (watched.heads["layer 2, head 1"] + watched.heads["layer 2, head 2"]) / 2
    assert_allclose(shown, watched.translation.weights, atol=1e-6)
    for weights in watched.heads.values():
        assert_allclose(weights.sum(1), 1)


def test_an_empty_sentence_has_no_steps():
    watched = translator(**RNN).watch("  ")
    assert (watched.translation.text, watched.looks, watched.heads) == ("", [], {})


def test_hard_scores_keep_the_highest_of_a_words_pieces():
    scores = np.array([[1.0, 3.0, 2.0, 2.5], [0.0, 1.0, 5.0, 4.0]])
    words = [Word("two", 0, 2), Word("one", 2, 3)]
    assert_allclose(merge_scores(scores, [Word("a", 0, 1), Word("b", 1, 2)], words, soft=False), [[3, 2.5], [1, 5]])
    assert_allclose(merge_scores(scores, [Word("both", 0, 2)], words, soft=False), [[2, 3.75]])
