import warnings

import pytest

from regard.show.figures import Curve, plot_curves


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
    for message in ("with $ttention", "words", "BLEU"):
        assert f"<!-- {message} -->" in svg
