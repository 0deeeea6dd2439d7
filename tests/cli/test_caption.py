"""``regard caption``: captions, JSON lines and figures from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.cli.caption import caption as caption_verb
from regard.errors import InputError
from tests.cli.test_attend import regard as command


@pytest.fixture(scope="module")
def photo(scenes):
    return str(scenes / "dev/images/000000.png")


def test_json_line_plot_and_words_from_the_command(soft_run, photo, tmp_path):
    plot = tmp_path / "words.png"
    found = json.loads(command("caption", photo, "--model", str(soft_run), "--json", "--plot", str(plot), "--alpha=1"))
    assert list(found) == ["image", "caption", "words", "weights", "score"]
    assert found["image"] == photo
    assert np.shape(found["weights"]) == (len(found["words"]), 4, 4)
    assert plot.exists()


def test_every_photograph_and_its_alternatives_on_a_line(soft_run, photo, capsys):
    caption_verb(photo, photo, model=str(soft_run), n_best=2)
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ([], {}, "there is no photograph to describe"),
        (["a.jpg"], {"model": "nowhere"}, "no model is called 'nowhere'"),
        (["a.jpg", "b.jpg"], {"plot": Path("x.png")}, "--plot draws one photograph; 2 given"),
        (["a.jpg"], {"plot": Path("x.bmp")}, "a figure's name ends in"),
    ],
)
def test_what_a_person_can_mend_is_said(words, options, message):
    with pytest.raises(InputError, match=message):
        caption_verb(*words, **options)
