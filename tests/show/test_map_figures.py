from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import ShapeError
from regard.show.canvas import width_of
from regard.show.figures import plot_map
from regard.show.fonts import BASE
from regard.show.map_figures import draw_map
from tests.show.pictures import SOURCE, TARGET, diagonal, extent, overlapping, texts


def drawn(rows, columns, weights=None):
    table = diagonal(len(rows), len(columns)) if weights is None else np.asarray(weights, dtype=float)
    return draw_map(table, rows, columns, [BASE])


def cell_texts(sheet):
    return [text for text in sheet.axes.texts if text.get_text().startswith(".") and len(text.get_text()) == 3]


def test_rows_are_output_columns_are_input_and_labels_stand_on_top():
    sheet = drawn(["une", "maison"], ["a", "house"], [[0.9, 0.1], [0.25, 0.75]])
    found = texts(sheet)
    assert extent(sheet, found["une"]).y0 > extent(sheet, found["maison"]).y1
    assert extent(sheet, found["a"]).x1 < extent(sheet, found["house"]).x0
    top = sheet.figure.get_figheight()
    assert extent(sheet, found["house"]).y0 >= top
    assert extent(sheet, found["maison"]).x1 <= 0
    assert extent(sheet, found[".25"]).y1 < extent(sheet, found[".90"]).y0
    assert extent(sheet, found[".75"]).x0 > extent(sheet, found[".25"]).x1


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (14, 13), (30, 20), (47, 47)])
def test_numbers_fit_their_cells(rows, columns):
    sheet = drawn((TARGET * 9)[:rows], (SOURCE * 9)[:columns])
    width, height = sheet.figure.get_figwidth() / columns, sheet.figure.get_figheight() / rows
    written = cell_texts(sheet)
    assert len(written) >= rows
    for text in written:
        box = extent(sheet, text)
        assert box.width < width
        assert box.height < height


def test_longer_numbers_are_written_smaller():
    sheet = drawn(TARGET, SOURCE, np.full((14, 13), -1000.25))
    boxes = [extent(sheet, text) for text in sheet.axes.texts if text.get_text() == "-1000.25"]
    assert len(boxes) == 14 * 13
    assert max(box.width for box in boxes) < sheet.figure.get_figwidth() / 13


def test_at_120_words_there_is_no_room_for_numbers():
    assert not cell_texts(drawn((TARGET * 9)[:120], (SOURCE * 10)[:120]))


@pytest.mark.parametrize("count", [3, 8, 60, 150, 400])
def test_labels_do_not_overlap(count):
    """Slanted boxes cannot be compared upright, so there the distance between the lines is."""
    sheet = drawn((TARGET * 40)[:count], (SOURCE * 40)[:count])
    labels = [text for text in sheet.axes.texts if text.get_text() in {*TARGET, *SOURCE}]
    upright = [text for text in labels if text.get_rotation() in (0, 90)]
    assert len(upright) > count / 4
    assert overlapping([extent(sheet, text) for text in upright]) == []


def test_slanted_labels_keep_their_distance():
    sheet = drawn(TARGET, SOURCE)
    slanted = [text for text in sheet.axes.texts if text.get_rotation() not in (0, 90)]
    assert [text.get_text() for text in slanted] == SOURCE
    apart = np.diff([text.get_position()[0] for text in slanted]) * np.sin(np.radians(slanted[0].get_rotation()))
    assert (apart * 72 > 1.3 * slanted[0].get_fontsize()).all()


def test_beyond_some_size_only_some_words_are_labelled_and_the_sheet_stays_one_sheet():
    words = [f"w{i}" for i in range(1200)]
    sheet = drawn(words, words, np.eye(1200))
    labels = [text.get_text() for text in sheet.axes.texts if text.get_text().startswith("w")]
    assert len(labels) < 400
    assert labels[0] == "w0"
    assert max(sheet.figure.get_size_inches()) <= 20
    assert all(text.get_fontsize() >= 6 for text in sheet.axes.texts if text.get_text().startswith("w"))


def test_long_words_are_shortened_in_their_middle():
    found = texts(drawn(["Donaudampfschifffahrtsgesellschaftskapitän"], ["x" * 500]))
    assert any(text.startswith("Donau") and "…" in text and text.endswith("kapitän") for text in found)
    assert not any(len(text) > 40 for text in found)


def test_weak_weights_are_still_seen_on_a_scale_that_says_so():
    sheet = drawn(["a"], list("bcdefghijk"), np.full((1, 10), 0.1))
    assert "0.1" in texts(sheet)
    assert texts(drawn(["a"], ["b"], [[0.7]])).keys() >= {"1", "0", ".70"}
    colour = sheet.axes.collections[0].get_facecolor()[0]
    assert colour[:3].max() < 0.5


def test_dollars_and_control_characters_are_shown_as_they_are(tmp_path):
    """As a formula the third could not be drawn at all."""
    plot_map(np.eye(2), ["$x^2$", "a\tb\x00"], [r"$\frac{$", "\u202e"], tmp_path / "map.svg")
    svg = (tmp_path / "map.svg").read_text()
    for message in ("<!-- $x^2$ -->", r"<!-- a\tb\x00 -->", r"<!-- $\frac{$ -->", r"<!-- \u202e -->"):
        assert message in svg


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_map_gives_the_same_file(tmp_path, ending):
    for name in ("one", "two"):
        plot_map(diagonal(4, 5), TARGET[:4], SOURCE[:5], tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_the_callers_matplotlib_is_left_alone_and_does_not_matter(tmp_path):
    import matplotlib

    plot_map(diagonal(2, 2), ["a", "b"], ["c", "d"], tmp_path / "plain.png")
    style: dict[Any, Any] = {"text.usetex": True, "savefig.transparent": True, "text.color": "red", "font.size": 30}
    with matplotlib.rc_context(style):
        before = dict(matplotlib.rcParams)
        plot_map(diagonal(2, 2), ["a", "b"], ["c", "d"], tmp_path / "styled.png")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


def test_arabic_letters_are_joined():
    """Joined, a word is narrower than its letters standing alone."""
    word = "السلام"
    assert width_of(word, 10, [BASE]) < 0.9 * sum(width_of(letter, 10, [BASE]) for letter in word)


@pytest.mark.parametrize(
    ("weights", "rows", "columns", "message"),
    [
        (np.eye(2), ["a"], ["b", "c"], r"there are 1 and 2 words, and weights \(2, 2\)"),
        (np.eye(2), ["a", "b"], ["b", "c", "d"], r"there are 2 and 3 words"),
        (np.zeros((0, 2)), [], ["b", "c"], "nothing to draw: the map has 0 rows"),
        (np.zeros((1, 2, 2)), ["a", "b"], ["b", "c"], "3 dimensions"),
    ],
)
def test_a_map_that_does_not_fit_its_words_is_refused(weights, rows, columns, message, tmp_path):
    with pytest.raises(ShapeError, match=message):
        plot_map(weights, rows, columns, tmp_path / "map.png")
    assert not list(tmp_path.iterdir())


def test_what_is_not_a_number_is_grey_and_asked_about():
    sheet = drawn(["a"], ["b", "c"], [[np.nan, 0.5]])
    assert "?" in texts(sheet)
    assert sheet.axes.collections[0].get_facecolor()[0].round(2).tolist() == [0.87, 0.87, 0.87, 1]


def test_tensors_of_every_precision_are_drawn(tmp_path):
    torch = pytest.importorskip("torch")
    weights = torch.eye(2, dtype=torch.bfloat16, requires_grad=True)
    assert plot_map(weights, ["a", "b"], ["c", "d"], tmp_path / "map.png").exists()
    attended = regard.attend(torch.ones(2, dtype=torch.bfloat16), torch.ones(3, 2, dtype=torch.bfloat16))
    assert attended.plot(tmp_path / "steps.png").exists()
