import numpy as np
import pytest

import regard
from regard import worked_examples
from regard.show.fonts import BASE
from regard.show.formatting import short
from regard.show.step_figures import draw_steps
from tests.show.pictures import extent, overlapping, texts


def drawn(attended):
    return draw_steps(attended.steps(), [BASE])


def test_the_first_worked_example_reads_along_the_rows_of_the_keys():
    sheet = drawn(worked_examples.first())
    found = texts(sheet)
    for row in (("45.3", "929", "0.8808", "39.9001"), ("59", "397", "7.9e-232")):
        middles = [extent(sheet, found[number]) for number in row]
        assert np.ptp([box.y0 + box.height / 2 for box in middles]) < 0.01
        assert (np.diff([box.x0 for box in middles]) > 0).all()
    names = ["query", "keys", "scores", "weights", "weighted values", "context"]
    assert [text for text in found if text in {*names, "values"}] == names


@pytest.mark.parametrize("attended", [worked_examples.first(), worked_examples.second()], ids=["first", "second"])
def test_no_text_runs_into_another(attended):
    sheet = drawn(attended)
    assert overlapping([extent(sheet, text) for text in sheet.axes.texts]) == []


def test_many_panels_go_on_in_lines_that_are_about_as_long():
    sheet = drawn(worked_examples.second())
    assert sheet.figure.get_figwidth() < 13.5
    tops = {round(extent(sheet, text).y0, 1) for text in sheet.axes.texts if text.get_weight() == "bold"}
    assert len(tops) == 3


def test_numbers_fit_their_cells_or_are_left_out():
    rng = np.random.default_rng(0)
    for width, written in ((3, True), (20, True), (200, False)):
        key = rng.normal(size=(3, width))
        sheet = drawn(regard.attend(1000 * rng.normal(size=(2, width)), key))
        assert overlapping([extent(sheet, text) for text in sheet.axes.texts]) == []
        found = {text.get_text() for text in sheet.axes.texts}
        whole, shortened = ({write(number) for number in key.flat} for write in (short, "{:.2g}".format))
        assert (whole <= found or shortened <= found) == written


def test_weighted_values_of_many_queries_are_left_out():
    def names(queries):
        sheet = drawn(regard.attend(np.ones((queries, 2)), np.ones((3, 2))))
        return sum("weighted values of query" in text for text in texts(sheet))

    assert names(4) == 4
    assert names(5) == 0


def test_what_belongs_to_a_key_stands_in_its_row_whatever_it_is_called():
    class Own(regard.scores.Dot):
        def steps(self, query, key):
            *_, last = super().steps(query, key)
            return [last._replace(name="likeness")]

    sheet = drawn(regard.attend([5, 1, 20], worked_examples.ANNOTATIONS, score=Own()))
    found = texts(sheet)
    middles = [extent(sheet, found[number]) for number in ("45.3", "929", "0.8808")]
    assert np.ptp([box.y0 + box.height / 2 for box in middles]) < 0.01
    assert "likeness" in found


def test_hidden_keys_are_grey_and_below_zero_is_orange():
    sheet = drawn(regard.attend([[1.0, -1.0]], [[1.0, 0.0], [0.0, 2.0]], visible=[[True, False]]))
    assert "-∞" in texts(sheet)
    query = sheet.axes.collections[0].get_facecolor()
    assert query[0, 2] > query[0, 0]
    assert query[1, 0] > query[1, 2]


def test_a_huge_table_is_drawn(tmp_path):
    attended = regard.attend(np.ones(300), np.ones((900, 300)))
    assert attended.plot(tmp_path / "steps.png").stat().st_size > 1000
    assert max(drawn(attended).figure.get_size_inches()) < 30


def test_there_is_no_minus_zero():
    sheet = drawn(regard.attend([-1.0, 1.0], [[0.0, 1.0]], score="dot"))
    assert "-0" not in texts(sheet)


@pytest.mark.parametrize(("name", "formula"), [("a name that is long", "x"), ("x", "a formula that is long")])
def test_a_heading_has_the_room_it_needs(name, formula):
    sheet = draw_steps([regard.Step(name, formula, np.ones(1)), regard.Step("next", "given", np.ones(1))], [BASE])
    assert overlapping([extent(sheet, text) for text in sheet.axes.texts]) == []
