"""Draw the pictures of the documentation with the package itself: ``make figures``."""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import regard
from regard import worked_examples
from regard.captioning.scenes import COLOURS, make_scene
from regard.demo import lengths
from regard.show.figures import plot_map, plot_steps
from regard.show.photo_figures import plot_caption

HERE = Path(__file__).parent / "pictures"
WIDE = 1100  # pixels of a row of photographs


def steps() -> None:
    worked_examples.first().plot(HERE / "steps.png")
    rng = np.random.default_rng(0)
    score = regard.scores.Additive(W_q=rng.normal(size=(4, 3)), W_k=rng.normal(size=(4, 3)), v=rng.normal(size=4))
    state, annotations = np.array(worked_examples.STATE) / 20, np.array(worked_examples.ANNOTATIONS) / 50
    regard.attend(state, annotations, score=score).plot(HERE / "additive.png")
    plot_steps([step for step in worked_examples.second().steps() if step.name in NEEDED], HERE / "self.png")


NEEDED = ("scores", "weights", "context")


def local() -> None:
    words = np.random.default_rng(0).normal(size=(12, 8))
    near = regard.attend_local(words, words, width=2)
    places = [str(place) for place in range(1, 13)]
    plot_map(near.weights, places, places, HERE / "local.png")


def pictures() -> None:
    scene = make_scene(np.random.default_rng(1))
    cells = scene.picture.reshape(8, 8, 8, 8, 3).mean((1, 3)).reshape(64, 3) / 255
    colours = (cells - cells.mean(1, keepdims=True)) * 20
    asked = np.array([COLOURS["red"], COLOURS["blue"]]) / 255
    photo = Image.fromarray(scene.picture).resize((256, 256), Image.Resampling.NEAREST)
    for name, normalize in (("soft", "softmax"), ("hard", "hard")):
        weights = regard.attend(asked, colours, score="dot", normalize=normalize).weights.reshape(2, 8, 8)
        plot_caption(photo, ["red", "blue"], weights, HERE / f"{name}.png", hard=name == "hard")


def heads() -> None:
    generator = torch.Generator().manual_seed(3)
    layer = regard.nn.MultiHeadAttention(dim=16, heads=4)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.5)
        weights = layer(torch.randn(6, 16, generator=generator)).weights
    plot_steps(
        [regard.Step(f"head {number}", "softmax(q · k / √4)", head.numpy()) for number, head in enumerate(weights, 1)],
        HERE / "heads.png",
    )


def positions() -> None:
    plot_steps(
        [
            regard.Step("sinusoidal", "12 places, 16 numbers each", regard.positions.sinusoidal(12, 16)),
            regard.Step(
                "ALiBi, first of 4 heads", "minus the distance, times a slope", regard.positions.alibi(4, 8)[0]
            ),
        ],
        HERE / "positions.png",
    )


def sentence() -> None:
    translator = regard.Translator.load("en-fr")
    translator.translate("The little girl in the red dress is reading an interesting book.").plot(HERE / "sentence.png")


def captions() -> None:
    """The captioner that ships, on the two drawings of examples/meadow.py."""
    captioner = regard.Captioner.load("flickr8k")
    drawn = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "meadow.py"))
    for name in ("meadow", "snow"):
        path = captioner.caption(drawn[name]()).plot(HERE / f"{name}.png")
        with Image.open(path) as picture:
            small = picture.convert("RGB").resize((WIDE, WIDE * picture.height // picture.width))
        small.save(path.with_suffix(".jpg"), quality=88)
        path.unlink()


def trained() -> None:
    with tempfile.TemporaryDirectory() as folder:
        lengths.lengths(Path(folder))
        shutil.copyfile(Path(folder) / "lengths.png", HERE / "lengths.png")


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for draw in (steps, local, pictures, heads, positions, sentence, captions, trained):
        draw()
