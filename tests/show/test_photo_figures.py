import numpy as np
import pytest
from PIL import Image

from regard.show.photo_figures import cell_light, lit, plot_caption, smooth_light

PHOTO = Image.fromarray(np.full((32, 48, 3), 200, np.uint8))


def test_words_are_written_as_they_are(tmp_path):
    plot_caption(PHOTO, [r"$\frac{$", "a\tb", "économique"], np.full((3, 2, 2), 0.25), tmp_path / "words.svg")
    svg = (tmp_path / "words.svg").read_text()
    for message in (r"<!-- $\frac{$ -->", r"<!-- a\tb -->", "<!-- économique -->"):
        assert message in svg


def test_the_photograph_is_light_where_the_word_looked():
    look = np.array([[0.0, 0.0], [0.0, 1.0]])
    for light in (smooth_light(look, PHOTO.size), cell_light(look, PHOTO.size)):
        shown = lit(PHOTO, light)
        assert shown[-1, -1].tolist() == [200, 200, 200]
        assert shown[0, 0].max() < 60


@pytest.mark.parametrize("hard", [False, True])
def test_there_is_a_panel_for_each_word(tmp_path, hard):
    few, many = (
        plot_caption(PHOTO, ["w"] * count, np.full((count, 2, 2), 0.25), tmp_path / f"{count}.png", hard=hard)
        for count in (1, 12)
    )
    with Image.open(few) as small, Image.open(many) as large:
        assert large.width > 2 * small.width
        assert large.height > 2 * small.height


def test_a_soft_overlay_is_brightest_where_it_looked():
    look = np.zeros((7, 7))
    look[1, 5] = 1.0
    light = smooth_light(look, (70, 70))
    row, column = np.unravel_index(light.argmax(), light.shape)
    assert (row // 10, column // 10) == (1, 5)
    assert light.max() == 1
    assert light[60, 10] == 0
    assert len(np.unique(light.round(2))) > 20  # smooth, not a block
    assert (smooth_light(np.zeros((2, 2)), (4, 4)) == 0).all()


def test_a_hard_overlay_is_the_cell_and_nothing_else():
    look = np.zeros((2, 4))
    look[1, 2] = 1.0
    light = cell_light(look, (40, 20))
    assert (light[10:, 20:30] == 1).all()
    assert light.sum() == 100
    white = Image.new("RGB", (40, 20), "white")
    shown = lit(white, light)
    assert (shown[10:, 20:30] == 255).all()
    assert shown[0, 0, 0] < 80


def test_a_figure_shows_the_photograph_and_every_word(tmp_path, monkeypatch):
    drawn = []
    from matplotlib.axes import Axes

    monkeypatch.setattr(Axes, "set_title", lambda _, text, **__: drawn.append(text))
    words = ["a", "red", "circle", "left", "of", "a", "blue", "square"]
    weights = np.eye(9)[:8].reshape(8, 3, 3)
    plot_caption(Image.new("RGB", (60, 40)), words, weights, tmp_path / "x.png", hard=True)
    assert drawn == words
