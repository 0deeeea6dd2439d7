"""Search against brute force, on a small recurrent model that needs no training."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from regard.decoding import Stepped, length_penalty, search
from regard.errors import InputError, ShapeError
from regard.search_options import SearchOptions
from regard.text.special_tokens import EOS

WORDS, WIDTH, CELLS = 6, 5, (2, 3)  # it attends to a picture of 2 x 3 cells
WRITABLE = [1, 4, 5]  # not PAD, BOS and EOS


@dataclass
class State:
    hidden: torch.Tensor
    constant: torch.Tensor

    def reorder(self, hypotheses):
        return State(self.hidden.gather(1, hypotheses[..., None].expand(-1, -1, WIDTH)), self.constant)

    def keep(self, sentences):
        return State(self.hidden[sentences], self.constant[sentences])


class Model:
    """A random recurrent network; ``end`` is added to the score of the end, so that sentences are short or endless."""

    def __init__(self, seed, end=0.0):
        chance = torch.Generator().manual_seed(seed)

        def draw(*shape):
            return torch.randn(*shape, generator=chance, dtype=torch.float64)

        self.inputs, self.inner, self.outputs = 2 * draw(WORDS, WIDTH), draw(WIDTH, WIDTH), draw(WIDTH, WORDS)
        self.cells, self.starts = draw(WIDTH, 6), draw(20, WIDTH)
        self.end, self.asked = end, []

    def start(self, sentences):
        return State(self.starts[sentences][:, None], self.starts[sentences][:, :1, None])

    def step(self, words, state):
        self.asked.append(tuple(words.shape))
        hidden = torch.tanh(state.hidden @ self.inner + self.inputs[words])
        logits = hidden @ self.outputs + 7 * state.constant  # the same for all words: it must not matter
        logits[..., EOS] += self.end
        looked = torch.softmax(hidden @ self.cells, -1).unflatten(-1, CELLS)
        return Stepped(logits, looked, State(hidden, state.constant))

    def replay(self, sentence, words):
        """Log-probability of each of the words, and the attention weights, word by word."""
        state, last, log_probs, looks = self.start([sentence]), 2, [], []
        for word in words:
            logits, looked, state, *_ = self.step(torch.tensor([[last]]), state)
            log_probs.append(torch.log_softmax(logits[0, 0], -1)[word].item())
            looks.append(looked[0, 0].numpy())
            last = word
        return sum(log_probs), np.stack(looks)


def every_ended(model, sentence, limit, alpha):
    """All sentences that end within the limit, best first, by brute force."""
    found = []
    for length in range(limit):
        for words in itertools.product(WRITABLE, repeat=length):
            log_prob, _ = model.replay(sentence, [*words, EOS])
            found.append((log_prob / length_penalty(length + 1, alpha), list(words)))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_a_beam_wide_enough_finds_the_best_of_all(seed, alpha):
    model = Model(seed)
    limits = [4, 1, 3]
    best = search(model, model.start([0, 1, 2]), limits, SearchOptions(beam=200, n_best=3, alpha=alpha))
    for sentence, (limit, found) in enumerate(zip(limits, best, strict=True)):
        expected = every_ended(model, sentence, limit, alpha)[:3]
        ended = [hypothesis for hypothesis in found if hypothesis.finished]
        assert [hypothesis.tokens for hypothesis in ended] == [words for _, words in expected]
        np.testing.assert_allclose([hypothesis.score for hypothesis in ended], [score for score, _ in expected])


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_what_is_returned_has_the_probability_and_the_attention_of_its_own_words(beam):
    model = Model(5)
    for sentence, found in enumerate(
        search(model, model.start(range(20)), [12] * 20, SearchOptions(beam=beam, n_best=beam))
    ):
        for hypothesis in found:
            written = [*hypothesis.tokens, EOS] if hypothesis.finished else hypothesis.tokens
            log_prob, looks = model.replay(sentence, written)
            assert hypothesis.log_prob == pytest.approx(log_prob)
            assert hypothesis.score == pytest.approx(log_prob / length_penalty(len(written), 1.0))
            np.testing.assert_allclose(hypothesis.weights, looks)


def test_n_best_differ_and_come_best_first():
    model = Model(5)
    for found in search(model, model.start(range(20)), [12] * 20, SearchOptions(beam=6, n_best=6)):
        assert len({tuple(h.tokens) for h in found if h.finished}) == sum(h.finished for h in found)
        ranked = [(not h.finished, -h.score) for h in found]
        assert ranked == sorted(ranked)


def test_greedy_takes_the_best_word_until_the_end():
    model = Model(3)
    for sentence, (found,) in enumerate(search(model, model.start(range(20)), [9] * 20, SearchOptions(beam=1))):
        state, last, words = model.start([sentence]), 2, []
        for _ in range(9):
            logits, _, state, *_ = model.step(torch.tensor([[last]]), state)
            last = max([*WRITABLE, EOS], key=logits[0, 0].tolist().__getitem__)
            words.append(last)
            if last == EOS:
                break
        assert found.tokens == [word for word in words if word != EOS]
        assert found.finished == (words[-1] == EOS)


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_scores_higher_than_greedy_search_on_the_whole(seed):
    model = Model(seed)
    greedy, wide = (
        search(model, model.start(range(20)), [10] * 20, SearchOptions(beam=beam, alpha=0.0)) for beam in (1, 5)
    )
    assert np.mean([found[0].score for found in greedy]) < np.mean([found[0].score for found in wide])


def test_a_sentence_is_decided_when_as_many_have_ended_as_the_beam_is_wide():
    model = Model(5)
    (found,) = search(model, model.start([0]), [1000], SearchOptions(beam=3, n_best=3))
    assert all(hypothesis.finished for hypothesis in found)
    assert len(model.asked) < 100


def test_a_batch_gives_what_its_sentences_give_alone():
    model = Model(5)
    together = search(model, model.start(range(20)), list(range(1, 21)), SearchOptions(beam=4))
    for sentence, found in enumerate(together):
        (alone,) = search(model, model.start([sentence]), [sentence + 1], SearchOptions(beam=4))
        assert alone[0].tokens == found[0].tokens
        assert alone[0].score == pytest.approx(found[0].score)


@pytest.mark.parametrize("beam", [1, 4])
def test_when_nothing_ends_the_best_unfinished_is_returned_and_marked(beam):
    model = Model(1, end=-torch.inf)
    for found in search(model, model.start(range(3)), [5, 2, 7], SearchOptions(beam=beam, n_best=beam)):
        assert len(found) == beam
        assert not any(hypothesis.finished for hypothesis in found)
    lengths = [
        len(found[0].tokens) for found in search(model, model.start(range(3)), [5, 2, 7], SearchOptions(beam=beam))
    ]
    assert lengths == [5, 2, 7]


def test_decided_sentences_leave_the_batch():
    model = Model(5)
    search(model, model.start(range(20)), [30] * 20, SearchOptions(beam=4))
    sizes = [sentences for sentences, _ in model.asked]
    assert sizes[0] == 20
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 20
    assert [width for _, width in model.asked][:3] == [1, 4, 4]


def test_a_certain_end_is_found_at_once():
    model = Model(5, end=1000.0)
    found = search(model, model.start(range(20)), [30] * 20, SearchOptions(beam=4))
    assert len(model.asked) == 1
    assert [hypothesis.tokens for (hypothesis,) in found] == [[]] * 20


def test_forbidden_words_are_never_written():
    model = Model(2)
    free = search(model, model.start(range(20)), [10] * 20, forbid=())
    assert any(0 in found[0].tokens for found in free)
    for found in search(model, model.start(range(20)), [10] * 20, SearchOptions(n_best=5), forbid=(0, 1, 2)):
        assert all({*hypothesis.tokens} <= {4, 5} for hypothesis in found)


def test_a_model_without_attention_leaves_no_weights():
    class Blind(Model):
        def step(self, words, state):
            return super().step(words, state)._replace(weights=None)

    (found,) = search(Blind(1), Blind(1).start([0]), [5])
    assert found[0].weights is None


def test_no_sentences_give_no_hypotheses():
    assert search(Model(1), Model(1).start([]), []) == []


def test_a_limit_without_room_for_a_token_is_refused():
    model = Model(1)
    with pytest.raises(InputError, match="every limit must leave room for one word; got 0"):
        search(model, model.start([0, 1]), [3, 0])


@pytest.mark.parametrize("beam", [1, 3])
def test_traces_are_those_of_the_hypothesis_own_steps(beam):
    class Traced(Model):
        def step(self, words, state):
            stepped = super().step(words, state)
            return stepped._replace(traces={"hidden": stepped.state.hidden, "last": words})

    model = Traced(5)
    for sentence, found in enumerate(search(model, model.start(range(20)), [12] * 20, SearchOptions(beam, beam))):
        for hypothesis in found:
            assert hypothesis.traces.keys() == {"hidden", "last"}
            read = [2, *hypothesis.tokens][: len(hypothesis.weights)]
            assert hypothesis.traces["last"].tolist() == read
            state = model.start([sentence])
            for word, kept in zip(read, hypothesis.traces["hidden"], strict=True):
                state = model.step(torch.tensor([[word]]), state).state
                np.testing.assert_allclose(kept, state.hidden[0, 0])


def test_a_model_that_scores_other_hypotheses_than_asked_is_refused():
    class Wrong(Model):
        def step(self, words, state):
            stepped = super().step(words, state)
            return stepped._replace(logits=stepped.logits[:1])

    with pytest.raises(ShapeError, match=r"given tokens \(2, 1\), and gave logits \(1, 1, 6\)"):
        search(Wrong(1), Wrong(1).start([0, 1]), [3, 3])
