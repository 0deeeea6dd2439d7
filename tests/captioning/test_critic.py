"""Self-critical training: captions drawn, scored and made more or less likely."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.captioning.batches import CaptionBatch
from regard.captioning.critic import CaptionCritic, exact_meteor
from regard.captioning.model import Grid, build_model
from regard.captioning.model_config import CaptionModelConfig
from regard.errors import ConfigError
from regard.text.padding import padded_targets
from regard.text.self_critical import advantages
from regard.text.special_tokens import BOS, EOS, PAD, UNK
from tests.captioning.conftest import run_file

DOG, CAT, RUNS, SLEEPS, HERE = range(4, 9)
WRITTEN = [[[DOG, RUNS, HERE], [DOG, RUNS]], [[CAT, SLEEPS, HERE]], [[CAT, RUNS, HERE]]]


def test_the_caption_that_people_wrote_beats_the_others():
    right, wrong, cut = [DOG, RUNS, HERE, EOS], [CAT, SLEEPS, EOS], [DOG, RUNS, HERE]
    batch = CaptionBatch(torch.zeros(2, 4, 6), torch.zeros(2, 3), torch.tensor([0, 1]))
    first, second = advantages(CaptionCritic(WRITTEN, 3).scores(batch, [[right, wrong, cut], [right, right, right]]))
    assert first[0] > first[2] > first[1]  # what does not end is worth less
    assert float(first.sum()) == pytest.approx(0, abs=1e-6)
    assert second.tolist() == pytest.approx([0, 0, 0], abs=1e-6)  # captions as good as each other teach nothing


def test_a_score_is_made_of_all_four():
    """[cat runs end], where [dog runs here end] and [dog runs end] were written: by hand, with the end a word.

    "runs" and the end are of two or all of three pictures, so that for METEOR they weigh a third of the other words.
    """
    critic = CaptionCritic([[[DOG, RUNS, HERE], [DOG, RUNS]], [[CAT]], [[RUNS]]], 2)
    batch = CaptionBatch(torch.zeros(1, 4, 6), torch.zeros(1, 3), torch.tensor([0]))
    ((score,),) = critic.scores(batch, [[[CAT, RUNS, EOS]]])
    (cider,) = critic.cider.scores(0, [[CAT, RUNS, EOS]])
    bleus = [2 / 3, (2 / 3 * 1 / 2) ** 0.5, 0, 0]  # runs, end of three words; runs end of two pairs
    rouge = 2 / 3  # two of three in order, both of what is said and of what was written
    meteor = (1 - 0.6 * (1 / 2) ** 0.2) * 2 / 5  # runs, end of both: 2 of 1 + 1 + 3, in one chunk
    assert cider > 0
    assert score == pytest.approx(0.5 * cider + 3 * bleus[0] + 0.75 * bleus[1] + 2 * rouge + 6 * meteor)


@pytest.mark.parametrize(
    ("found", "known", "score"),
    [
        ("dog", "dog", 0.4),  # nothing is missing, but a lone word is scattered
        # four chunks where three would do: the first "a" is taken at once
        ("a dog and a cat", "a cat and a dog", 1 - 0.6 * (4 / 5) ** 0.2),
        ("cat", "dog", 0.0),
        ("", "dog", 0.0),
        # recall (1 + 3) / (1 + 3 x 3) of weights 1/4 and 3/4, precision 1; two words in one chunk
        ("a dog", "a dog runs fast", (1 - 0.6 * 0.5**0.2) * 0.4 / (0.85 + 0.15 * 0.4)),
        # the same words, each a chunk of its own
        ("dog a", "a dog runs fast", 0.4 * 0.4 / (0.85 + 0.15 * 0.4)),
        # the second "a" of the reference goes on from "sees"
        ("sees a cat", "a dog sees a cat", (1 - 0.6 * (1 / 3) ** 0.2) * 7 / 11 / (0.85 + 0.15 * 7 / 11)),
        # a word of the reference is matched once
        ("a dog dog", "a dog", (1 - 0.6 * 0.5**0.2) * 4 / 7 / (0.85 * 4 / 7 + 0.15)),
    ],
)
def test_meteor_of_equal_words_by_hand(found, known, score):
    assert exact_meteor(found.split(), known.split(), {"a"}) == pytest.approx(score)


def test_words_of_most_pictures_say_little():
    """The words of two or three of the three pictures' captions, and not those of one."""
    assert CaptionCritic(WRITTEN, 2).everywhere == {CAT, RUNS, HERE, EOS}


def _model(**settings):
    config = CaptionModelConfig(annotation_size=8, attention_size=8, embedding=8, decoder_size=8, **settings)
    return build_model(config, Grid(2, 2, 6), 9, generator=torch.Generator().manual_seed(0))


def test_training_makes_the_better_of_the_drawn_captions_more_likely(monkeypatch):
    """The same captions are "drawn" at every step: of picture 0 the right one is the first, of picture 1 the second."""
    right, wrong = [DOG, RUNS, HERE, EOS], [CAT, SLEEPS, HERE, EOS]
    drawn = [[right, wrong], [right, wrong]]
    monkeypatch.setattr("regard.text.self_critical.draw", lambda *_: drawn)
    model = _model(self_critical=2)
    model.critic = CaptionCritic(WRITTEN, 2)
    pictures = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(0))
    batch = CaptionBatch(pictures, padded_targets([[DOG], [CAT]])[0], torch.tensor([0, 1]))
    both = CaptionBatch(pictures.repeat_interleave(2, 0), padded_targets([right[:-1], wrong[:-1]] * 2)[0])
    before = model.eval().force(both).log_probs.sum(1)
    optimizer = torch.optim.Adam(model.train().parameters(), 0.01)
    for _ in range(20):
        optimizer.zero_grad()
        model(batch).objective.backward()
        optimizer.step()
    rise = model.eval().force(both).log_probs.sum(1) - before
    assert rise[0] > rise[1] + 1
    assert rise[3] > rise[2] + 1


def test_hard_attention_is_criticized_with_the_straight_through_estimator(scenes, hard_run, tmp_path, monkeypatch):
    asked, scores = [], CaptionCritic.scores
    monkeypatch.setattr(CaptionCritic, "scores", lambda *args: asked.append(args[0].count) or scores(*args))
    hard = {"model__attention": "hard", "model__estimator": "straight_through"}
    run = run_file(
        scenes, tmp_path, **hard, model__self_critical=3, training__begin_with=str(hard_run), training__updates=3
    )
    assert regard.train(run).updates == 3
    assert asked == [3, 3, 3]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({"self_critical": 1}, "draw 2 or more"),
        ({"self_critical": 5, "attention": "hard"}, 'use estimator = "straight_through"'),
    ],
)
def test_what_cannot_be_criticized(scenes, tmp_path, model, says):
    with pytest.raises(ConfigError, match=says):
        regard.train(run_file(scenes, tmp_path, **{f"model__{name}": value for name, value in model.items()}))


def test_what_is_never_drawn_gains_nothing(monkeypatch):
    """However bad the drawn captions are, their share must not go to the words that cannot be drawn."""
    monkeypatch.setattr("regard.text.self_critical.draw", lambda *_: [[[DOG, EOS], [SLEEPS, EOS]]])
    model = _model(self_critical=2)
    model.critic = CaptionCritic(WRITTEN, 2)
    batch = CaptionBatch(torch.ones(1, 4, 6), padded_targets([[DOG]])[0], torch.tensor([0]))
    model(batch).objective.backward()
    assert model.output.bias.grad[[PAD, BOS, UNK]].tolist() == [0, 0, 0]
    assert model.output.bias.grad.abs().sum() > 0
