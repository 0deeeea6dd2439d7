"""What the views share: the tables that people type or paste, and the names of models."""

import pytest


@pytest.mark.parametrize("text", ["1,2;3", "a,b", "", "1e999", ";", "1,2;NaN,3", ";".join(["1"] * 9)])
def test_tables_that_are_none_are_refused(run, text):
    assert run("page/state.js", "m.parseTable(x)", text) is None


def test_a_pasted_table_is_read(run):
    assert run("page/state.js", "m.parseTable(x)", "1 2.5\n-3, 4e-1\n") == [[1, 2.5], [-3, 0.4]]


def test_models_go_by_the_last_part_of_their_path_unless_two_end_alike(run):
    names = ["/a/en-fr", "/b/en-fr", "/b/de/", "plain"]
    models = [{"name": name, "task": "translate", "attention": "dot"} for name in names]
    found = run("page/models.js", "m.modelsFor(x, 'translate').map((model) => model.label)", models)
    assert found == ["/a/en-fr", "/b/en-fr", "de", "plain"]
