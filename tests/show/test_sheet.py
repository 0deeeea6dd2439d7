import os
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from regard.errors import InputError
from regard.show.figures import Curve, checked_path, plot_curves, plot_map
from regard.show.sheet import Sheet, save


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x" * 300 + ".png", "File name too long. Choose another name or folder."),
        ("map.bmp", "a figure's name ends in .png, .svg, .pdf"),
        ("no/map.png", "there is no folder"),
        ("zero\0.png", "null"),
        ("file/map.png", "Not a directory"),
        ("folder.png", "it is a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_before_any_work(tmp_path, name, said):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=said):
        checked_path(tmp_path / name)


def test_a_failed_drawing_leaves_nothing_behind(tmp_path):
    figure = Sheet(1, 1).figure
    figure.savefig = lambda *_, **__: 1 / 0
    with pytest.raises(ZeroDivisionError):
        save(figure, tmp_path / "map.png")
    assert list(tmp_path.iterdir()) == []


def test_an_older_picture_stays_where_the_new_one_fails(tmp_path):
    target = tmp_path / "map.svg"
    target.write_text("old")

    def full(*_, **__):
        raise OSError(28, os.strerror(28))

    figure = Sheet(1, 1).figure
    figure.savefig = full
    with pytest.raises(InputError, match="No space left on device"):
        save(figure, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_threads_may_draw_at_once(tmp_path):
    def draw(number):
        return plot_map([[1.0]], [f"a{number}"], ["b"], tmp_path / f"{number}.svg").read_text()

    with ThreadPoolExecutor(4) as pool:
        for number, svg in enumerate(pool.map(draw, range(8))):
            assert f"<!-- a{number} -->" in svg


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_curves_give_the_same_file(tmp_path, ending):
    for name in ("one", "two"):
        plot_curves([Curve("a", [1, 2], [3, 4])], tmp_path / f"{name}.{ending}", across="x", up="y")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_curves_are_named_with_what_was_given(tmp_path):
    curves = [Curve("with $ttention", [5, 15], [90, 80]), Curve("日", [5, 15], [80, 10])]
    with warnings.catch_warnings(action="ignore"):  # where no font draws the name
        plot_curves(curves, tmp_path / "curve.svg", across="words", up="BLEU")
    svg = (tmp_path / "curve.svg").read_text()
    for said in ("with $ttention", "words", "BLEU"):
        assert f"<!-- {said} -->" in svg
