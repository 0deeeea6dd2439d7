"""The chapters that take no training: the worked examples, and the models that ship with the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from regard import worked_examples
from regard.demo.report import Picture, Section
from regard.show.figures import plot_steps
from regard.training import runs
from regard.training.config import load_config

if TYPE_CHECKING:
    from PIL import Image

LONGEST = 16  # words of a caption, each of which is a picture
SENTENCE = "The agreement on the European Economic Area was signed in August 1992."


def one_query(out: Path) -> Section:
    """The first worked example."""
    attended = worked_examples.first()
    picture, live = attended.plot(out / "first.png"), attended.html(out / "first.html")
    return Section(
        "One query looks at four annotations",
        [
            "A decoder is about to write a word. Its state, three numbers, is the query; the four words of the source "
            "have become four annotations, the keys. Each key is scored by its dot product with the query, the softmax "
            "turns scores into weights that sum to 1, and the context is the weighted sum of the annotations.",
            "Two annotations score 927 and 929, so near the top that the other two weigh nothing. The exponentials "
            "themselves would be too large for any computer; only their ratios are taken.",
        ],
        [Picture(picture, "Every step of the computation. Rows are annotations; deeper blue is larger.", live)],
        commands=['regard attend --query "5 1 20" --keys "3 12 45; 59 2 5; 1 43 5; 4 3 45.3" --score dot'],
    )


def four_words(out: Path) -> Section:
    """The second worked example, with both softmaxes."""
    pictures = []
    for whole, name, caption in (
        (False, "second.png", "Softmax row by row: each word has its own weights, and they sum to 1."),
        (True, "second-whole-matrix.png", "One softmax over the whole matrix: all sixteen weights together sum to 1."),
    ):
        steps = worked_examples.second(over_the_whole_matrix=whole).steps()
        few = [step for step in steps if step.name in ("scaled", "weights", "context")]
        pictures.append(Picture(plot_steps(few, out / name), caption))
    return Section(
        "Four words attend to each other",
        [
            "In self-attention every word is a query, and all words are keys and values. Each word gets a context of "
            "its own, so it needs weights of its own: the softmax is taken row by row. That is attention as it is "
            "defined.",
            "The result that is widely published for this example takes one softmax over the whole matrix. Both are "
            "computed here, so that you can tell which one you are looking at.",
        ],
        pictures,
        commands=["python examples/four_words.py"],
    )


def translation(out: Path, model: str = "en-fr") -> Section:
    """The translator that ships with the package, on a sentence whose words change their order."""
    title = "A translator shows where it looks"
    if not _is_there(model):
        return Section(
            title,
            missing=f"This copy of regard came without the translator {model!r}, so there is nothing to show here. "
            "Train one of your own:",
            commands=["regard init translate > run.toml", "regard train run.toml"],
        )
    from regard.translation.translator import Translator

    found = Translator.load(model).translate(SENTENCE)
    picture, live = found.plot(out / "translation.png"), found.html(out / "translation.html")
    return Section(
        title,
        [
            "Each row is a word that the translator wrote, each column a word that it read. The map follows the "
            "diagonal where both languages agree, and turns back where they order their words differently: "
            "“European Economic Area” is written from its end.",
        ],
        [Picture(picture, "Rows are the words written, columns the words read; deeper blue is more weight.", live)],
        commands=[f'regard translate "{SENTENCE}" --plot map.png'],
        facts={"source": found.source, "translation": found.text},
    )


def captions(out: Path) -> Section:
    """The captioners that ship with the package, soft and hard, word by word."""
    title = "A captioner shows where it looks"
    pictures, facts = [], {}
    for name in _captioners():
        from regard.captioning.captioner import Captioner

        captioner = Captioner.load(name)
        for subject, image in _images(name):
            found = captioner.caption(np.asarray(image), max_length=LONGEST)
            kind = "hard attention: one place at a time" if found.hard else "soft attention: a little everywhere"
            facts[f"{name} ({subject})"] = found.text
            picture = found.plot(out / f"caption-{name}-{subject.replace(' ', '-')}.png")
            pictures.append(Picture(picture, f"“{found.text}” — {name}, {kind}."))
    if not pictures:
        return Section(
            title,
            missing="This copy of regard came without a captioner, so there is nothing to show here. Train one of "
            "your own:",
            commands=["regard init caption > run.toml", "regard train run.toml"],
        )
    return Section(
        title,
        [
            "The picture is cut into a grid of cells, and the decoder looks at them as a translator looks at words. "
            "Soft attention mixes all cells by their weights. Hard attention looks at one cell at a time, and "
            "has to learn by trying, because a choice has no slope to follow.",
        ],
        pictures,
        commands=["regard caption photo.jpg --plot words.png"],
        facts=facts,
    )


def _captioners() -> list[str]:
    return [name for name in runs.names() if load_config(runs.find(name) / "config.toml").task == "caption"]


def _is_there(model: str) -> bool:
    return model in runs.names() or (Path(model) / "config.toml").is_file()


def _images(name: str) -> Iterator[tuple[str, Image.Image]]:
    """What to show a captioner: a drawn scene, or the photograph that comes with matplotlib."""
    from PIL import Image

    if "scene" in name:
        from regard.captioning.scenes import make_scene

        yield "a drawn scene", Image.fromarray(make_scene(np.random.default_rng(1)).picture)
        return
    import matplotlib

    photo = Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg"
    if photo.is_file():
        with Image.open(photo) as opened:
            yield "a photograph", opened.convert("RGB")
