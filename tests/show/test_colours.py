import numpy as np
import pytest

from regard.show.colours import NOTHING, colours_of, ink_on, signed_shades


def luminance(colours):
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def oklab(colours):
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    cones = np.cbrt(
        linear @ np.array([[0.41222, 0.2119, 0.0883], [0.53633, 0.6807, 0.28172], [0.05145, 0.1074, 0.62998]])
    )
    return cones @ np.array([[0.21045, 1.978, 0.0259], [0.79362, -2.42859, 0.78277], [-0.00407, 0.45059, -0.80868]])


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_larger_number_is_always_darker(side):
    falls = np.diff(luminance(colours_of(side * np.linspace(0, 1, 129))))
    assert (falls < 0).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_equal_steps_look_equal(side):
    """Distances in OKLab between neighbours differ by a tenth at most."""
    steps = np.linalg.norm(np.diff(oklab(colours_of(side * np.linspace(0, 1, 17))), axis=0), axis=1)
    assert steps.max() / steps.min() < 1.1


def test_numbers_stand_out_from_every_colour():
    colours = colours_of(np.linspace(-1, 1, 401))
    paper = luminance(colours)
    ink = np.where(ink_on(colours) == "white", 1.0, 0.0)
    contrast = (np.maximum(paper, ink) + 0.05) / (np.minimum(paper, ink) + 0.05)
    assert contrast.min() >= 4.5


def test_zero_is_between_and_what_is_no_number_is_grey():
    assert signed_shades(np.array([[2.0, -4.0, 0.0]])).tolist() == [[0.5, -1.0, 0.0]]
    assert signed_shades(np.array([0.0, 0.0])).tolist() == [0.0, 0.0]
    for odd in (np.nan, np.inf, -np.inf):
        assert (colours_of(signed_shades(np.array([1.0, odd])))[1] == NOTHING).all()
    assert luminance(colours_of(np.array(0.0))) > 0.9
