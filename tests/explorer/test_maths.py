"""The page's own maths against the package's, number by number, in a real browser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import regard
from regard import scores
from regard.local import attend_local
from regard.normalizers import NORMALIZERS
from regard.positions import sinusoidal

RANDOM = np.random.default_rng(7)
QUERY, KEY = RANDOM.normal(size=(3, 5)), RANDOM.normal(size=(7, 5))
W, W_Q, W_K, V = (RANDOM.normal(size=size) for size in ((5, 5), (2, 5), (2, 5), (2,)))
WIDE, PLACES = RANDOM.normal(size=(2, 10)), RANDOM.normal(size=(9, 5))


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
    found = run("maths/maths.js", f"m.SCORES.{name}(x[0], x[1], x[2])", [QUERY.tolist(), KEY.tolist(), weights])
    assert_allclose(found, regard.attend(QUERY, KEY, score=score).scores, rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "hard"])
@pytest.mark.parametrize(
    "row",
    [[1.0, 0.8, 0.1], [927.0, 397.0, 148.0, 929.0], [0.0, -np.inf, 3.0, 3.0], [-np.inf, -np.inf], [1e200, -1e200]],
)
def test_normalizers_are_those_of_the_package(run, name, row):
    found = run("maths/maths.js", f"m.NORMALIZERS.{name}(x)", row)
    assert_allclose(found, NORMALIZERS[name](np.array(row)), rtol=1e-12)


def test_softmax_over_the_whole_matrix(run):
    found = run("maths/maths.js", "m.softmaxOverAll(x)", KEY.tolist())
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
        run("maths/maths.js", expression, {"scores": dots, "centre": 4, "bell": gaussian}),
        attended.weights[0],
        rtol=1e-12,
    )


def test_sinusoidal_places(run):
    assert_allclose(run("maths/maths.js", "m.sinusoidal(6, 5)"), sinusoidal(6, 5), rtol=1e-12, atol=1e-15)
