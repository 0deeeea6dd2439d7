import io

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from regard.errors import ShapeError
from regard.show.terminal_map import TerminalMap
from tests.show.pictures import SOURCE, TARGET, diagonal


def printed(weights, rows, columns, *, width=80, encoding="utf-8", **settings):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Console(file=file, width=width, **settings).print(TerminalMap(weights, rows, columns))
    file.flush()
    return raw.getvalue().decode(encoding)


COLOURED = {"force_terminal": True, "color_system": "truecolor", "no_color": False}


def test_numbers_and_upright_words_where_there_is_room():
    lines = printed(diagonal(14, 13), TARGET, SOURCE).splitlines()
    header, rows = lines[:9], lines[9:]
    assert [line.split()[0] for line in rows] == TARGET
    column = rows[0].index(".") + 1
    assert "".join(line[column : column + 1] for line in header).split() == ["The"]
    weights = [float(number) for number in rows[0].split()[1:]]
    assert weights == [round(weight, 2) for weight in diagonal(14, 13)[0] if weight >= 0.005]


def test_short_words_lie_flat():
    lines = printed([[0.75, 0.25]], ["maison"], ["a", "house"]).splitlines()
    assert [line.split() for line in lines] == [["a", "house"], ["maison", ".75", ".25"]]


@pytest.mark.parametrize("width", [10, 20, 33, 60])
@pytest.mark.parametrize(
    "words", [SOURCE, ["日本語", "テキスト"] * 6, ["السلام", "عليكم"] * 6], ids=["latin", "cjk", "rtl"]
)
def test_nothing_is_wider_than_the_terminal(width, words):
    shown = printed(diagonal(14, len(words)), TARGET, words, width=width)
    assert max(cell_len(line) for line in shown.splitlines()) <= width


def test_columns_that_do_not_fit_go_on_below():
    weights = np.eye(30)
    words = [f"w{i}" for i in range(30)]
    shown = printed(weights, words, words, width=24, no_color=True)
    assert shown.count("██") == 30
    assert shown.count("w29") >= 3


def test_wide_characters_keep_the_cells_in_line():
    lines = printed(np.eye(2), ["日本語", "a"], ["x", "y"]).splitlines()[1:]
    starts = [cell_len(line[: line.index("1")]) for line in lines]
    assert starts[1] - starts[0] == 4


def test_right_to_left_words_are_numbered_and_listed_where_they_would_stand_upright():
    shown = printed(diagonal(3, 9), ["a", "b", "c"], ["السلام", "عليكم", "x"] * 3, width=30)
    assert shown.splitlines()[0].split() == [str(number) for number in range(1, 10)]
    assert "2 عليكم" in shown


def test_colour_shows_the_weight_and_no_color_does_without(monkeypatch):
    strong, weak = (printed([[weight, 1 - weight]], ["a"], ["b", "c"], **COLOURED) for weight in (1.0, 0.5))
    assert "\x1b[38;2;255;255;255;48;2;15;40;110m" in strong
    assert "\x1b[38;2;255;255;255;48;2;15;40;110m" not in weak
    monkeypatch.setenv("NO_COLOR", "1")
    quiet = printed([[1.0, 0.0]], ["a"], ["b", "c"], force_terminal=True, color_system="truecolor")
    assert "48;2" not in quiet
    words = [f"w{i}" for i in range(8)]
    narrow = printed(np.eye(8)[:1], ["a"], words, width=24, force_terminal=True, color_system="truecolor")
    assert "██" in narrow  # a shade where a colour would not be seen
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in printed([[1.0, 0.0]], ["a"], ["b", "c"], force_terminal=True)


def test_without_colour_narrow_cells_are_shades_and_in_ascii_digits():
    words = [f"w{i}" for i in range(8)]
    weights = np.array([[0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 0.0]])
    shown = printed(weights, ["a"], words, width=24).splitlines()[-1]
    assert shown.rstrip() == "a     ░░▒▒▓▓████"
    shown = printed(weights, ["a"], words, width=24, encoding="ascii").splitlines()[-1]
    assert shown.rstrip() == "a    1 2 4 7 8 9"


def test_a_map_that_does_not_fit_its_words_is_refused():
    with pytest.raises(ShapeError, match="there are 1 and 1 words"):
        printed(np.eye(2), ["a"], ["b"])
