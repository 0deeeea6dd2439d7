"""``regard inspect``: the head table, maps, JSON, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_attend import regard
from tests.inspection.test_pretrained import bert, vit

__all__ = ["bert", "vit"]  # fixtures


def test_the_heads_and_a_map_are_printed(bert):
    printed = regard("inspect", str(bert), "the cat sat on the mat because the cat was tired")
    assert "entropy" in printed
    assert "encoder.layer." in printed


def test_json_holds_every_head(bert, tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("the cat sat", "utf-8")
    output = json.loads(regard("inspect", str(bert), "--text", str(file), "--json"))
    assert output["tokens"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert len(output["heads"]) == 8
    assert {"layer", "head", "previous", "induction", "entropy", "name"} <= set(output["heads"][0])
    row, column, weight = output["strongest"][0]["top"][0]
    assert row < 5 > column
    assert 0 < weight <= 1


def test_a_head_is_drawn(bert, tmp_path):
    regard("inspect", str(bert), "the cat", "--layer", "1", "--head", "2", "--plot", str(tmp_path / "a.png"))
    regard("inspect", str(bert), "the cat", "--html", str(tmp_path / "a.html"))
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert "[CLS]" in (tmp_path / "a.html").read_text("utf-8")


def test_a_model_that_ships_is_opened_by_its_name():
    output = json.loads(regard("inspect", "en-fr", "The house is small.", "--json"))
    assert [head["name"] for head in output["heads"]] == ["cross"]
    assert output["tokens"][-1] == "end"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inspect", "en-fr"], "give one thing to look at"),
        (["inspect", "en-fr", "a", "--text", "b"], "give one thing to look at"),
        (["inspect", "en-fr", " "], "the text is empty"),
        (["inspect", "no-such-model", "a"], "no model is called 'no-such-model'"),
        (["inspect", "en-fr", "a", "--plot", "a.gif"], "a.gif"),
        (
            ["inspect", "en-fr", "The house.", "--layer", "7"],
            "no attention ran in layer 7; it ran in decoder.attention",
        ),
    ],
)
def test_refusals(words, message):
    assert message in regard(*words, code=2)
