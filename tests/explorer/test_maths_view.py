"""The page's own maths against the package's, number by number, in a real browser."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import regard
from regard import scores
from regard.explorer.app import PAGE
from regard.local import attend_local
from regard.normalizers import NORMALIZERS
from regard.positions import sinusoidal
from regard.show.cells import share, short
from regard.show.colours import colours_of, hexadecimal, ink_on, signed_shades
from regard.show.maps import scale_top

RANDOM = np.random.default_rng(7)
QUERY, KEY = RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(7, 5))
W, W_Q, W_K, V = (RANDOM.normal(size=size) for size in ((5, 5), (2, 5), (2, 5), (2,)))
WIDE, PLACES = RANDOM.normal(size=(2, 10)), RANDOM.normal(size=(9, 5))


@pytest.fixture(scope="module")
def run(browser, site):
    """Run JavaScript with ``m`` the module and ``x`` the argument."""
    page = browser.new_page()
    page.goto(site.address("/steps"))

    def run(module, expression, x=None):
        return page.evaluate(f"async (x) => {{ const m = await import('/{module}'); return {expression}; }}", x)

    yield run
    page.close()


@pytest.mark.parametrize(
    ("name", "weights", "score"),
    [
        ("dot", {}, "dot"),
        ("scaled_dot", {}, "scaled_dot"),
        ("cosine", {}, "cosine"),
        ("general", {"W": W.tolist()}, scores.General(W)),
        ("additive", {"W_q": W_Q.tolist(), "W_k": W_K.tolist(), "v": V.tolist()}, scores.Additive(W_Q, W_K, V)),
        ("concat", {"W": WIDE.tolist(), "v": V.tolist()}, scores.Concat(WIDE, V)),
        ("location", {"W": PLACES.tolist()}, scores.Location(PLACES)),
    ],
)
def test_scores_are_those_of_the_package(run, name, weights, score):
    found = run("maths.js", f"m.SCORES.{name}(x[0], x[1], x[2])", [QUERY.tolist(), KEY.tolist(), weights])
    assert_allclose(found, regard.attend(QUERY, KEY, score=score).scores, rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "hard"])
@pytest.mark.parametrize(
    "row",
    [[1.0, 0.8, 0.1], [927.0, 397.0, 148.0, 929.0], [0.0, -np.inf, 3.0, 3.0], [-np.inf, -np.inf], [1e200, -1e200]],
)
def test_normalizers_are_those_of_the_package(run, name, row):
    found = run("maths.js", f"m.NORMALIZERS.{name}(x)", row)
    assert_allclose(found, NORMALIZERS[name](np.array(row)), rtol=1e-12)


def test_softmax_over_the_whole_matrix(run):
    found = run("maths.js", "m.softmaxOverAll(x)", KEY.tolist())
    assert_allclose(found, regard.softmax(KEY, axis=None), rtol=1e-12)


@pytest.mark.parametrize("gaussian", [False, True])
def test_windows_are_those_of_local_attention(run, gaussian):
    expression = (
        "m.NORMALIZERS.softmax(m.inWindow(x.scores, x.centre, 2))"
        ".map((w, j) => w * (x.bell ? m.gaussian(7, x.centre, 2)[j] : 1))"
    )
    attended = attend_local(QUERY[:1], KEY, width=2, centers=[4.0], gaussian=gaussian, score="dot")
    dots = (QUERY[:1] @ KEY.T)[0].tolist()
    assert_allclose(
        run("maths.js", expression, {"scores": dots, "centre": 4, "bell": gaussian}), attended.weights[0], rtol=1e-12
    )


def test_sinusoidal_places(run):
    assert_allclose(run("maths.js", "m.sinusoidal(6, 5)"), sinusoidal(6, 5), rtol=1e-12, atol=1e-15)


def test_numbers_are_written_as_in_the_figures(run):
    numbers = [927.0, 0.11920292, 7.94715151e-232, 0.0, np.inf, -np.inf, 0.03125, 0.15625, -0.09375, 1.25e6, 1.35e6]
    numbers += [1e-5, 123456.78905, 999999.99999, 0.00099999, -5e-5, 45.3, 1 / 3, 2.5e-4, 1e300, 12.00005]
    numbers += (RANDOM.normal(size=200) * 10.0 ** RANDOM.integers(-9, 9, 200)).tolist()
    assert run("numbers.js", "x.map(m.short)", numbers) == [short(number) for number in numbers]


def test_the_scale_is_the_one_of_the_figures(run):
    wanted = " ".join(hexadecimal(colour)[1:] for colour in colours_of(np.linspace(-1, 1, 65)))
    scale = re.search(r'const SCALE =\s+"([^;]+)";', (PAGE / "colours.js").read_text("utf-8"))[1]
    assert re.sub(r'" \+\s+"', "", scale) == wanted
    places = [*np.linspace(-1.2, 1.2, 97).tolist(), None]
    figures = colours_of(np.array(places, dtype=float))
    assert_allclose(run("colours.js", "x.map(m.colourOf)", places), figures * 255, atol=1.5)


def test_shades_are_those_of_the_figures(run):
    for table in ([[3.0, -12.0, 45.0], [59.0, 2.0, None]], [[0.0, 0.0, 0.0]]):
        found = run("colours.js", "m.signedShades(x).map((row) => row.map((y) => (y === y ? y : null)))", table)
        assert_allclose(np.array(found, float), signed_shades(np.array(table, float)), rtol=1e-12)
    tops = [0.0, 0.8, 1.0, 0.5, 0.499, 0.31, 0.3, 0.04, 0.0123, 1.7]
    found = run("colours.js", "x.map((top) => m.scaleTop([[0, top], [null, top / 2]]))", tops)
    assert_allclose(found, [scale_top(np.array([[0, top]])) for top in tops], rtol=1e-12)


def test_weights_are_written_as_in_the_figures(run):
    weights = [0.0, 0.004, 0.005, 0.015, 0.125, 0.5, 0.994, 0.996, 1.0]
    assert run("numbers.js", "x.map(m.share)", weights) == [share(weight) for weight in weights]


def test_ink_reads_on_every_colour_and_is_that_of_the_figures(run):
    places = np.linspace(-1, 1, 201)
    found = run(
        "colours.js",
        "x.map((shade) => { const light = m.luminance(m.colourOf(shade)), ink = m.inkOn(m.colourOf(shade));"
        " return [ink, ink === '#000' ? (light + 0.05) / 0.05 : 1.05 / (light + 0.05)]; })",
        places.tolist(),
    )
    assert min(contrast for _, contrast in found) >= 4.5
    figures = ["#fff" if ink == "white" else "#000" for ink in ink_on(colours_of(places))]
    assert sum(ink != wanted for (ink, _), wanted in zip(found, figures, strict=True)) <= 2  # where both read alike


@pytest.mark.parametrize("text", ["1,2;3", "a,b", "", "1e999", ";", "1,2;NaN,3", ";".join(["1"] * 9)])
def test_tables_that_are_none_are_refused(run, text):
    assert run("state.js", "m.parseTable(x)", text) is None


def test_models_go_by_the_last_part_of_their_path_unless_two_end_alike(run):
    names = ["/a/en-fr", "/b/en-fr", "/b/de/", "plain"]
    models = [{"name": name, "task": "translate", "attention": "dot"} for name in names]
    found = run("models.js", "m.modelsFor(x, 'translate').map((model) => model.label)", models)
    assert found == ["/a/en-fr", "/b/en-fr", "de", "plain"]


def test_a_pasted_table_is_read(run):
    assert run("state.js", "m.parseTable(x)", "1 2.5\n-3, 4e-1\n") == [[1, 2.5], [-3, 0.4]]
