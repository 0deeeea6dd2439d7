"""python train.py: the blackboard models of the story, trained in seconds; --search 200 tries so many seeds.

Each is a whole encoder-decoder whose states are single numbers, so that every weight can stand on one page, rounded to
two decimals. `words-plain` has one context for all words, `words-attention` one for each word, `grid` attends to the
cells of a drawn picture. Which seed ships was chosen: of those that write all nine texts, the one whose map is easiest
to read; without attention none writes more than four.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.explorer.blackboard import FOLDER, START, STOP, write

UPDATES, RATE = 6000, 0.02
NOUNS = {"cat": "chat", "dog": "chien", "wolf": "loup"}
VERBS = {"sleeps": "dort", "eats": "mange", "sings": "chante"}
ABOVE, BELOW = ("sun", "moon", "star"), ("hill", "sea", "wood")
PULL = 0.03  # towards sharp weights, while it learns
RELEASE = 0.003  # and away from the sharpest in the end: weights of 1 and 0 would leave nothing to see


class Lesson(NamedTuple):
    """What a model learns: texts with what they are of."""

    sources: list[list[str]]
    targets: list[list[str]]
    is_read: bool
    """by an RNN, word after word; cells of a picture are not"""
    attends: bool


def words(*, attends: bool) -> Lesson:
    pairs = [(noun, verb) for noun in NOUNS for verb in VERBS]
    sources = [["the", noun, verb] for noun, verb in pairs]
    return Lesson(sources, [["le", NOUNS[noun], VERBS[verb], STOP] for noun, verb in pairs], True, attends)


def picture(above: str, below: str, column: int = 1) -> list[str]:
    """The nine cells of a picture: a thing in the upper row, sky around it, another thing all along the lower row."""
    return [above if cell == column else "sky" for cell in range(6)] + [below] * 3


def grid() -> Lesson:
    pairs = [(above, below) for above in ABOVE for below in BELOW]
    return Lesson([picture(*pair) for pair in pairs], [[a, "over", b, STOP] for a, b in pairs], False, True)


LESSONS = {
    "words-plain": (words(attends=False), 40),
    "words-attention": (words(attends=True), 151),
    "grid": (grid(), 51),
}
"""by the name of the model: what it learns, and the seed that ships"""


class Learner:
    """Many models of one kind, one a seed, trained side by side: parameters are (seeds, ...)."""

    def __init__(self, lesson: Lesson, seeds: list[int]) -> None:
        self.lesson = lesson
        self.inputs = list(dict.fromkeys(word for source in lesson.sources for word in source))
        self.outputs = list(dict.fromkeys(word for target in lesson.targets for word in target))
        self.written = [START, *(word for word in self.outputs if word != STOP)]
        self.source = torch.tensor([[self.inputs.index(word) for word in source] for source in lesson.sources])
        self.target = torch.tensor([[self.outputs.index(word) for word in target] for target in lesson.targets])
        before = [[START, *target[:-1]] for target in lesson.targets]
        self.before = torch.tensor([[self.written.index(word) for word in words] for words in before])
        drawn = [self._drawn(torch.Generator().manual_seed(seed)) for seed in seeds]
        self.weights = {name: torch.stack([one[name] for one in drawn]).requires_grad_() for name in drawn[0]}

    def _drawn(self, generator: torch.Generator) -> dict[str, Tensor]:
        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        drawn = {"source": normal(len(self.inputs)), "first": 0.7 * normal(2), "target": normal(len(self.written))}
        drawn |= {"write": normal(4), "output": normal(3, len(self.outputs))}
        if self.lesson.is_read:
            drawn["read"] = normal(3) * torch.tensor([1, 0.7, 0.3])
        if self.lesson.attends:
            drawn["align"] = normal(4, 2) * torch.tensor([[1], [1.5], [0.3], [1.5]])
        return drawn

    def train(self) -> Tensor:
        """The last loss of each seed."""
        optimizer = torch.optim.Adam(self.weights.values(), lr=RATE)
        for update in range(UPDATES):
            part = update / UPDATES
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1, 2 * (1 - part))
            logits, weights = self.forward()
            loss = self.loss(logits)
            objective = loss + 2e-4 * sum(w.square().flatten(1).sum(1) for w in self.weights.values())
            if weights is not None:
                objective = objective + pull(part) * entropy(weights).mean((1, 2))
            optimizer.zero_grad()
            objective.sum().backward()
            optimizer.step()
        return loss.detach()

    def loss(self, logits: Tensor) -> Tensor:
        seeds, target = len(logits), self.target.expand(len(logits), -1, -1)
        return F.cross_entropy(logits.flatten(0, -2), target.flatten(), reduction="none").view(seeds, -1).mean(1)

    def forward(self) -> tuple[Tensor, Tensor | None]:
        """Logits (seeds, texts, words, outputs), and the attention weights (seeds, texts, words, states)."""
        states = self._states()
        summary = states[..., -1] if self.lesson.is_read else states.mean(-1)
        state = torch.tanh(self._part("first", 0) * summary + self._part("first", 1))
        logits, looked = [], []
        for time in range(self.target.shape[1]):
            context = summary
            if self.lesson.attends:
                weights = self._scores(state, states).softmax(-1)
                looked.append(weights)
                context = (weights * states).sum(-1)
            last = self.weights["target"][:, self.before[:, time]]
            s, y, c, b = (self._part("write", place) for place in range(4))
            state = torch.tanh(s * state + y * last + c * context + b)
            of_state, of_context, bias = (self.weights["output"][:, place, None] for place in range(3))
            logits.append(of_state * state[..., None] + of_context * context[..., None] + bias)
        return torch.stack(logits, 2), torch.stack(looked, 2) if looked else None

    def _part(self, name: str, place: int) -> Tensor:
        return self.weights[name][:, place, None]

    def _states(self) -> Tensor:
        numbers = self.weights["source"][:, self.source]
        if not self.lesson.is_read:
            return numbers
        state, states = torch.zeros_like(numbers[..., 0]), []
        x, h, b = (self._part("read", place) for place in range(3))
        for place in range(numbers.shape[-1]):
            state = torch.tanh(x * numbers[..., place] + h * state + b)
            states.append(state)
        return torch.stack(states, -1)

    def _scores(self, state: Tensor, states: Tensor) -> Tensor:
        s, h, b, v = (self.weights["align"][:, place, None, None] for place in range(4))
        return (v * torch.tanh(s * state[..., None, None] + h * states[..., None] + b)).sum(-1)

    def model(self, number: int) -> dict[str, object]:
        """One of the models as it ships: each weight by its name, with two decimals."""
        kept = {name: (weights[number].detach() * 100).round() / 100 for name, weights in self.weights.items()}
        found: dict[str, object] = {"source": named(self.inputs, kept["source"])}
        if "read" in kept:
            found["read"] = named("xhb", kept["read"])
        found["first"] = named("hb", kept["first"])
        if "align" in kept:
            found["align"] = [named("shbv", unit) for unit in kept["align"].T]
        found |= {"target": named(self.written, kept["target"]), "write": named("sycb", kept["write"])}
        return found | {"output": {w: named("scb", o) for w, o in zip(self.outputs, kept["output"].T, strict=True)}}


def named(names: str | list[str], numbers: Tensor) -> dict[str, float]:
    return dict(zip(names, numbers.tolist(), strict=True))


def pull(part: float) -> float:
    """How strongly weights are pulled towards sharp ones when that part of the training is over."""
    if part < 2 / 3:
        return PULL * min(1.0, 4 * part)
    return -RELEASE


def entropy(weights: Tensor) -> Tensor:
    return -(weights * (weights + 1e-9).log()).sum(-1)


def right(model: dict[str, object], lesson: Lesson, *, hard: bool = False) -> int:
    """How many of the texts the model writes, to [STOP]."""
    found = [[step.word for step in write(model, source, hard=hard).steps] for source in lesson.sources]
    return sum(one == target for one, target in zip(found, lesson.targets, strict=True))


def on_what_it_names(model: dict[str, object], lesson: Lesson) -> list[float]:
    """For each word that names something that was read: the share of its attention there."""
    named_by = NOUNS | VERBS | {name: name for name in (*ABOVE, *BELOW)}
    shares = []
    for source in lesson.sources:
        for step in write(model, source).steps:
            there = [place for place, name in enumerate(source) if named_by.get(name) == step.word]
            shares += [sum(step.weights[place] for place in there)] if there else []
    return shares


def search(name: str, count: int) -> None:
    """Print the seeds whose models write all texts: least and mean attention on what a word names, and a first map."""
    lesson, _ = LESSONS[name]
    learner = Learner(lesson, list(range(count)))
    losses = learner.train()
    for seed in range(count):
        model = learner.model(seed)
        good = right(model, lesson)
        if not lesson.attends:
            print(seed, f"{good} of {len(lesson.sources)}, loss {losses[seed]:.3f}")
        elif good == len(lesson.sources):
            shares = on_what_it_names(model, lesson)
            rows = [[round(a, 2) for a in step.weights] for step in write(model, lesson.sources[0]).steps]
            there = f"there {min(shares):.2f} {sum(shares) / len(shares):.2f}"
            print(seed, there, f"hard {right(model, lesson, hard=True)}, loss {losses[seed]:.3f}", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(LESSONS), help="models to train; all unless told")
    parser.add_argument("--search", type=int, metavar="SEEDS", help="try so many seeds, and write nothing")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the JSON files")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.names:
        if asked.search:
            search(name, asked.search)
            continue
        lesson, seed = LESSONS[name]
        learner = Learner(lesson, [seed])
        learner.train()
        model = learner.model(0)
        (asked.out / f"{name}.json").write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {right(model, lesson)} of {len(lesson.sources)} texts right")


if __name__ == "__main__":
    main()
