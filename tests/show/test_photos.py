import numpy as np
import pytest
from PIL import Image

from regard.show.photos import cell_light, lit, plot_caption, smooth_light

PHOTO = Image.fromarray(np.full((32, 48, 3), 200, np.uint8))


def test_words_are_written_as_they_are(tmp_path):
    plot_caption(PHOTO, [r"$\frac{$", "a\tb", "économique"], np.full((3, 2, 2), 0.25), tmp_path / "words.svg")
    svg = (tmp_path / "words.svg").read_text()
    for said in (r"<!-- $\frac{$ -->", r"<!-- a\tb -->", "<!-- économique -->"):
        assert said in svg


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
