"""Self-critical training of translators: translations drawn, compared with the reference, and made more likely."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import regard
from regard.errors import ConfigError
from regard.text.self_critical import draw
from regard.text.special_tokens import EOS, UNK
from regard.translation.batches import padded_batch
from regard.translation.critic import TranslationCritic, gleu
from regard.translation.model import build_model
from regard.translation.model_config import RNNConfig, TransformerConfig
from tests.translation.conftest import run_file

RNN = RNNConfig(embedding=12, encoder_size=12, decoder_size=12, attention_size=12)
TRANSFORMER = TransformerConfig(layers=1, size=12, feedforward=24, heads=2, positions="learned", max_positions=8)


def test_gleu_takes_off_for_words_too_many_and_too_few():
    reference = ["a", "man", "in", "a", "red", "hat", "."]
    assert gleu(reference, reference) == 1
    assert gleu(reference[:4], reference) == pytest.approx(10 / 22)  # 4 + 3 + 2 + 1 of 7 + 6 + 5 + 4
    assert gleu([*reference, "."], reference) == pytest.approx(22 / 26)
    assert gleu(["a", "a"], ["a"]) == pytest.approx(1 / 3)  # each word counts once; so does the pair
    assert gleu([], reference) == gleu([], []) == 0


def test_the_critic_compares_words_of_text(toy):
    target = toy.vocabularies.target
    right, wrong = target.encode(["la maison rouge", "le chien noir"])
    batch = padded_batch([[4], [4]], [right, right])
    critic = TranslationCritic(target, 2)
    first, second = critic.scores(batch, [[[*right, EOS], [*wrong, EOS]], [[*wrong, EOS], [*right, EOS]]])
    assert first[0] == second[1] == 1
    assert first[1] == second[0] < 1


class Known:
    """A critic that wants the word 5 wherever a text is; and says how often it was asked."""

    count = 4

    def __init__(self, longest):
        self.asked, self.longest = 0, longest

    def scores(self, batch, drawn):
        self.asked += 1
        assert [len(several) for several in drawn] == [self.count] * len(batch)
        assert all(len(text) <= self.longest for several in drawn for text in several)
        return [[float(text.count(5)) / len(text) for text in several] for several in drawn]


@pytest.mark.parametrize("config", [RNN, TRANSFORMER])
def test_training_makes_what_the_critic_likes_more_likely(config):
    torch.manual_seed(0)
    model = build_model(config, 9, 9, generator=torch.Generator().manual_seed(0))
    model.critic = critic = Known(model.longest or 12)
    batch = padded_batch([[4, 6], [7, 8, 4]], [[4, 4], [6, 6]])
    fives = padded_batch([[4, 6], [7, 8, 4]], [[5, 5], [5, 5]])
    before = model.eval().force(fives).log_probs[:, :2].sum()
    optimizer = torch.optim.Adam(model.train().parameters(), 0.01)
    for _ in range(25):
        optimizer.zero_grad()
        loss = model(batch)
        (loss.objective / loss.tokens).backward()
        optimizer.step()
    assert model.training
    assert critic.asked == 25
    assert model.eval().force(fives).log_probs[:, :2].sum() > before + 1
    assert model(batch).nll > 0  # a validation is by likelihood
    assert critic.asked == 25


@pytest.mark.parametrize("config", [RNN, TRANSFORMER])
def test_a_text_is_learned_from_as_it_was_drawn(config, monkeypatch):
    """The input is read once, and without dropout: each time the loss of the same texts is the same."""
    dropout = {name: 0.9 for name in type(config).model_fields if name.startswith("dropout")}
    model = build_model(config.model_copy(update=dropout), 9, 9, generator=torch.Generator().manual_seed(0)).train()
    model.critic = Known(12)
    monkeypatch.setattr(
        "regard.text.self_critical.draw", lambda *_: [[[5, 6, EOS], [6, EOS], [5, EOS], [6, 6, 6, EOS]]]
    )
    batch = padded_batch([[4, 6]], [[4, 4]])
    begun, begin = [], model.encode
    monkeypatch.setattr(model, "encode", lambda batch: begun.append(batch) or begin(batch))
    one, two = model(batch), model(batch)
    assert one.objective == two.objective != 0
    assert one.tokens == 11
    assert begun == [batch, batch]


@pytest.mark.parametrize("config", [RNN, TRANSFORMER])
def test_gradients_of_sentences_that_are_kept_several_times_are_added_in_order(config):
    """By ``index_select``: threads that add up the gradient of an index do so in any order, one run in ten differs."""
    model = build_model(config, 9, 9, generator=torch.Generator().manual_seed(0)).eval()
    kept = model.encode(padded_batch([[4, 6], [7, 8]], [[4], [4]])).keep(torch.tensor([0, 0, 1, 1]))
    annotations = kept.memory.annotations if config is RNN else kept.memory[0][0]
    assert len(annotations) == 4
    assert annotations.grad_fn.name() == "IndexSelectBackward0"


def test_after_an_error_the_model_still_trains(monkeypatch):
    model = build_model(RNN, 9, 9, generator=torch.Generator().manual_seed(0)).train()
    model.critic = Known(12)
    monkeypatch.setattr(model, "teacher_forced", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model(padded_batch([[4, 6]], [[4, 4]]))
    assert model.training


def test_an_unknown_word_may_be_learned_where_search_may_write_it():
    """A translator's search writes <unk>: the critic must see it too. A captioner's does not."""
    model = build_model(RNN, 9, 9, generator=torch.Generator().manual_seed(0)).eval()
    torch.nn.init.constant_(model.output.bias, 0.0)
    with torch.no_grad():
        model.output.bias[UNK] = 50.0
    batch = padded_batch([[4, 6]], [[4, 4]])
    assert {word for text in draw(model, model.encode(batch), 1, 3, 4)[0] for word in text} == {UNK}


def test_a_run_that_learns_from_its_own_translations(toy_run, tmp_path, monkeypatch):
    asked, scores = [], TranslationCritic.scores
    monkeypatch.setattr(TranslationCritic, "scores", lambda *args: asked.append(args[0].count) or scores(*args))
    run: dict[str, Any] = run_file(toy_run.parent, self_critical=3) | {"run": str(tmp_path / "run")}
    run["training"] |= {"begin_with": str(toy_run), "updates": 2, "learning_rate": 1e-4}
    assert regard.train(run).updates == 2
    assert asked == [3, 3]


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_one_draw_has_nothing_to_be_compared_with(tmp_path, kind):
    run = run_file(tmp_path)
    run["model"] = {"kind": kind, "self_critical": 1}
    with pytest.raises(ConfigError, match="draw 2 or more"):
        regard.train(run)
