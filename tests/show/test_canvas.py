import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from regard.errors import InputError
from regard.show.canvas import Sheet, save
from regard.show.figures import checked_path, plot_map


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x" * 300 + ".png", "File name too long. Choose another name or folder."),
        ("map.bmp", "a figure's name ends in .png, .svg, .pdf"),
        ("no/map.png", "there is no folder"),
        ("zero\0.png", "null"),
        ("file/map.png", "Not a directory"),
        ("folder.png", "it is a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_said_before_any_work(tmp_path, name, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=message):
        checked_path(tmp_path / name)


def test_a_failed_drawing_leaves_nothing_behind(tmp_path):
    figure = Sheet(1, 1).figure
    figure.savefig = lambda *_, **__: 1 / 0  # type: ignore[assignment]
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
