import io

import numpy as np
import pytest
from rich.console import Console

import regard
from regard import worked_examples
from regard.show.colours import colours_of
from regard.show.terminal import print_steps


def printed(attended, width):
    file = io.StringIO()
    print_steps(attended.steps(), Console(file=file, width=width))
    return file.getvalue()


def test_a_table_wider_than_the_terminal_goes_on_below():
    attended = regard.attend(np.arange(30.0) / 7, np.ones((1, 30)))
    narrow = printed(attended, 40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert "columns 1 to 5" in narrow
    for number in np.arange(30) / 7:
        assert f" {number:.4f}".rstrip("0").rstrip(".") in narrow
    assert "columns" not in printed(attended, 400)
    assert "…" not in narrow


def test_attended_shows_itself(capsys):
    worked_examples.first().show()
    assert "0.1192  7.9e-232  0  0.8808" in capsys.readouterr().out


def test_a_translation_and_an_alignment_show_their_maps(capsys):
    weights = np.array([[0.75, 0.25]])
    regard.Translation("a b", "x", ["a", "b"], ["x"], weights, 0.0, 0.0, True).show()
    assert capsys.readouterr().out.splitlines()[-1].split() == ["x", ".75", ".25"]
    regard.Alignment(["a", "b"], ["x"], np.array([[0.75, 0.125, 0.125]]), 0.0).show()
    assert capsys.readouterr().out.splitlines()[-1].split() == ["x", ".75", ".25"]
    with pytest.raises(ValueError, match="this model has no attention"):
        regard.Translation("a", "x", ["a"], ["x"], None, 0.0, 0.0, True).show()


def test_numbers_have_the_colours_of_the_figures():
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="truecolor", no_color=False)
    numbers = np.array([3.0, 0.0, -3.0, np.nan])
    print_steps([regard.Step("mixed", "", numbers)], console)
    for colour in colours_of(np.array([1.0, 0.0, -1.0, np.nan])):
        red, green, blue = np.round(255 * colour).astype(int)
        assert f"48;2;{red};{green};{blue}m" in file.getvalue()
