"""The viewer's modules against the package: numbers are written and coloured alike in figures and on the page."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from regard.show.colours import colours_of, ink_on, signed_shades
from regard.show.formatting import share, short
from regard.show.html import bundle
from regard.show.map_figures import scale_top
from tests.show.test_colours import luminance, oklab

RANDOM = np.random.default_rng(7)


@pytest.fixture(scope="module")
def run(browser):
    """Run JavaScript with ``m`` the bundle of the viewer's modules and ``x`` the argument."""
    page = browser.new_page()
    page.evaluate(
        """async (code) => {
          window.viewer = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
        }""",
        bundle().script,
    )

    def run(expression, x=None):
        return page.evaluate(f"(x) => {{ const m = window.viewer; return {expression}; }}", x)

    yield run
    page.close()


def test_numbers_are_written_as_in_the_figures(run):
    numbers = [927.0, 0.11920292, 7.94715151e-232, 0.0, np.inf, -np.inf, 0.03125, 0.15625, -0.09375, 1.25e6, 1.35e6]
    numbers += [1e-5, 123456.78905, 999999.99999, 0.00099999, -5e-5, 45.3, 1 / 3, 2.5e-4, 1e300, 12.00005]
    numbers += (RANDOM.normal(size=200) * 10.0 ** RANDOM.integers(-9, 9, 200)).tolist()
    assert run("x.map(m.short)", numbers) == [short(number) for number in numbers]


def test_weights_are_written_as_in_the_figures(run):
    weights = [0.0, 0.004, 0.005, 0.015, 0.125, 0.5, 0.994, 0.996, 1.0]
    assert run("x.map(m.share)", weights) == [share(weight) for weight in weights]


def test_the_scale_of_light_pages_is_the_one_of_the_figures(run):
    places = [*np.linspace(-1.2, 1.2, 997).tolist(), None]
    figures = colours_of(np.array(places, dtype=float))
    assert_allclose(run("x.map((shade) => m.colourOf(shade))", places), figures * 255, atol=1.5)


@pytest.mark.parametrize("side", [-1, 1])
def test_on_dark_pages_a_larger_number_is_always_lighter_and_equal_steps_look_equal(run, side):
    shades = side * np.linspace(0, 1, 33)
    colours = np.array(run("x.map((shade) => m.colourOf(shade, true))", shades.tolist())) / 255
    assert (np.diff(luminance(colours)) > 0).all()
    steps = np.linalg.norm(np.diff(oklab(colours), axis=0), axis=1)
    assert steps.max() / steps.min() < 1.25  # colours are rounded to 8 bits, of which dark ones have few
    red, _, blue = colours[16]
    assert (blue - red) * side > 0.2  # blue above 0, orange below, as everywhere


def test_what_is_no_number_is_grey_and_unlike_zero_on_dark_pages_too(run):
    grey, zero = run("[m.colourOf(NaN, true), m.colourOf(0, true)]")
    assert len(set(grey)) == 1
    assert grey[0] > max(zero) + 20


def test_shades_are_those_of_the_figures(run):
    for table in ([[3.0, -12.0, 45.0], [59.0, 2.0, None]], [[0.0, 0.0, 0.0]]):
        found = run("m.signedShades(x).map((row) => row.map((y) => (y === y ? y : null)))", table)
        assert_allclose(np.array(found, float), signed_shades(np.array(table, float)), rtol=1e-12)
    tops = [0.0, 0.8, 1.0, 0.5, 0.499, 0.31, 0.3, 0.04, 0.0123, 1.7]
    found = run("x.map((top) => m.scaleTop([[0, top], [null, top / 2]]))", tops)
    assert_allclose(found, [scale_top(np.array([[0, top]])) for top in tops], rtol=1e-12)


def test_ink_reads_on_every_colour_and_is_that_of_the_figures(run):
    places = np.linspace(-1, 1, 201)
    found = run(
        "x.map((shade) => { const light = m.luminance(m.colourOf(shade)), ink = m.inkOn(m.colourOf(shade));"
        " return [ink, ink === '#000' ? (light + 0.05) / 0.05 : 1.05 / (light + 0.05)]; })",
        places.tolist(),
    )
    assert min(contrast for _, contrast in found) >= 4.5
    figures = ["#fff" if ink == "white" else "#000" for ink in ink_on(colours_of(places))]
    assert sum(ink != wanted for (ink, _), wanted in zip(found, figures, strict=True)) <= 2  # where both read alike
