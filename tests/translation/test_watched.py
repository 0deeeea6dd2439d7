"""What each step of the decoder had before it, word by word."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from regard.search_options import SearchOptions
from regard.text.vocabulary import Word
from regard.translation.batches import padded_batch
from regard.translation.search import best_hypotheses, read_sentences
from regard.translation.watched import RecordedSteps, merge_scores
from tests.translation.untrained import RNN, untrained

SENTENCE = "the smallhouse sees a red cat"  # one word that falls into pieces
MODELS = {
    "additive": RNN,
    "dot": {**RNN, "attention": "dot"},
    "feeding": {**RNN, "attention": "general", "input_feeding": True},
    "cgru": {**RNN, "cell": "cgru"},
    "hard": {**RNN, "attention": "general", "normalize": "hard"},
    "local-m": {**RNN, "attention": "general", "span": "local-m", "window": 2},
    "transformer": {"kind": "transformer", "layers": 3, "size": 8, "heads": 2, "feedforward": 16},
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_steps_are_those_of_the_translation(model):
    watching = untrained(**model)
    watched = watching.watch(SENTENCE, beam=3, max_length=12)
    found = watching.translate(SENTENCE, beam=3, max_length=12)
    assert watched.translation.text == found.text
    assert [step.word for step in watched.steps] == found.target_words
    assert_allclose([step.weights for step in watched.steps], found.weights, atol=1e-6)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("hide_input", [False, True])
def test_hidden_words_are_hidden_as_in_a_translation(model, hide_input):
    watching = untrained(**model)
    options = {"beam": 3, "max_length": 12, "hide": ["red", -1], "hide_input": hide_input}
    watched, found = watching.watch(SENTENCE, **options), watching.translate(SENTENCE, **options)
    assert watched.translation.text == found.text
    assert_allclose([step.weights for step in watched.steps], found.weights, atol=1e-6)
    assert len(found.source_words) == (4 if hide_input else 6)
    if not hide_input:
        for weights in (found.weights, *watched.heads.values()):
            assert (weights[:, [4, 5]] == 0).all()  # nor does EOS lend its weight to a word that is hidden
            assert_allclose(weights.sum(1), 1, atol=1e-6)


def test_what_was_hidden_already_costs_nothing_when_it_is_hidden_once_more():
    found = untrained(**RNN).translate(SENTENCE, max_length=12, hide=["red"])
    needed = found.needed()
    assert_allclose(needed[:, 4], 0, atol=1e-6)
    assert np.abs(needed).max() > 1e-4


def test_scores_are_those_the_weights_are_the_softmax_of():
    watching = untrained(**RNN)
    watched = watching.watch(SENTENCE, max_length=12)
    (sentence,) = watching.vocabularies.source.encode([SENTENCE])
    assert len(sentence) > len(watched.translation.source_words)  # there is something to merge
    pieces = [len(watching.vocabularies.target.encode([step.word])[0]) for step in watched.steps]
    assert 1 in pieces
    for step, several in zip(watched.steps, pieces, strict=True):
        if several == 1:
            assert_allclose(np.exp(step.scores) / np.exp(step.scores).sum(), step.weights, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_traces_are_what_a_forced_decoding_gives(model):
    """Recorded hypothesis by hypothesis in a beam, they must be those of the words that were chosen in the end."""
    watching = untrained(**model)
    (sentence,) = read_sentences(watching.vocabularies.source, [SENTENCE])
    options = SearchOptions(beam=4, max_length=9)
    ((found,),) = best_hypotheses(watching.model, [sentence], options, stepping=RecordedSteps(watching.model))
    batch = padded_batch([sentence.ids], [found.tokens])
    rows = len(found.weights)
    with torch.no_grad():
        state = watching.model.start(batch.source, batch.source_lengths)
        decoded = watching.model.decoder(watching.model.target_embedding(batch.target[:, :-1]), state)
    if model["kind"] == "rnn":
        contexts = torch.cat([attended.context for attended in decoded.attended], 1)[0]
        assert_allclose(found.traces["context"], contexts[:rows], atol=1e-5)
        assert_allclose(found.traces["scores"], decoded.scores[0, :rows], atol=1e-5)
    else:
        layers = decoded[1]
        assert_allclose(found.traces["context"], layers[1].context[0, :rows], atol=1e-5)
        heads = torch.stack([layer.weights[0, :, :rows] for layer in layers]).movedim(2, 0)
        assert_allclose(found.traces["heads"], heads, atol=1e-5)


def test_a_sentence_is_encoded_once_and_decoded_once(monkeypatch):
    watching = untrained(**RNN)
    calls = []
    for name in ("encoder", "decoder"):
        layer = getattr(watching.model, name)
        layer.register_forward_hook(lambda *_, name=name: calls.append(name))
    steps, step = [], watching.model.decoder.step
    monkeypatch.setattr(watching.model.decoder, "step", lambda *given: steps.append(1) or step(*given))
    watching.translate(SENTENCE, beam=2, max_length=12)
    plain = len(steps)
    watching.watch(SENTENCE, beam=2, max_length=12)
    assert calls == ["encoder", "encoder"]
    assert len(steps) == 2 * plain


def test_without_attention_every_step_has_the_same_context():
    watched = untrained(**RNN, attention="none").watch(SENTENCE, max_length=12)
    assert len(watched.steps) > 1
    for step in watched.steps:
        assert step.scores is step.weights is None
        assert_allclose(step.context, watched.steps[0].context)
    assert np.ptp(watched.steps[0].context) > 0


def test_every_head_has_its_map_and_their_mean_is_the_translations():
    watched = untrained(kind="transformer", layers=3, size=8, heads=2, feedforward=16).watch(SENTENCE, max_length=12)
    names = [f"layer {layer}, head {head}" for layer in (1, 2, 3) for head in (1, 2)]
    assert list(watched.heads) == names
    shown = (watched.heads["layer 2, head 1"] + watched.heads["layer 2, head 2"]) / 2
    assert_allclose(shown, watched.translation.weights, atol=1e-6)
    for weights in watched.heads.values():
        assert_allclose(weights.sum(1), 1)


def test_an_empty_sentence_has_no_steps():
    watched = untrained(**RNN).watch("  ")
    assert (watched.translation.text, watched.steps, watched.heads) == ("", [], {})


def test_hard_scores_keep_the_highest_of_a_words_pieces():
    scores = np.array([[1.0, 3.0, 2.0, 2.5], [0.0, 1.0, 5.0, 4.0]])
    words = [Word("two", 0, 2), Word("one", 2, 3)]
    assert_allclose(
        merge_scores(scores, [Word("a", 0, 1), Word("b", 1, 2)], words, soft=False), np.array([[3, 2.5], [1, 5]])
    )
    assert_allclose(merge_scores(scores, [Word("both", 0, 2)], words, soft=False), [[2, 3.75]])
