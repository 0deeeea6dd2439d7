"""``regard attend`` as a person uses it: words in, tables, JSON, pictures or one clear line out."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

QUERY, KEYS = "5 1 20", "3 12 45; 59 2 5; 1 43 5; 4 3 45.3"


def regard(*words: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "regard", *words], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def test_steps_are_printed_as_tables():
    printed = regard("attend", "--query", QUERY, "--keys", KEYS, "--score", "dot")
    for line in ("scores  query · key", "927  397  148  929", "0.1192  7.9e-232  0  0.8808", "3.8808  4.0728  45.2642"):
        assert line in printed


def test_json_holds_the_same():
    printed = json.loads(
        regard("attend", "--query", QUERY, "--keys", KEYS, "--score", "dot", "--visible", "1 1 1 0", "--json")
    )
    assert printed["scores"] == [927, 397, 148, 929]
    assert printed["weights"][3] == 0
    masked = next(step for step in printed["steps"] if step["name"] == "masked")
    assert masked["value"] == [927, 397, 148, None]


def test_vectors_may_begin_with_a_minus_and_be_long():
    printed = regard("attend", "--query", "-1 " * 60, "--keys", "-2 " * 60, "--score", "dot")
    assert "120" in printed
    assert "…" not in printed


def test_several_queries_are_shown_and_drawn_one_by_one(tmp_path):
    words = ["attend", "--query", "1 0; 0 1", "--keys", "1 0; 0 1", "--causal", "--plot", str(tmp_path / "steps.png")]
    printed = regard(*words, "--score", "dot")
    assert "weighted values of query 2  weight * value" in printed
    assert printed.rstrip().endswith("0.2689  0.7311")
    assert (tmp_path / "steps.png").exists()


def test_a_page_that_stands_alone(tmp_path):
    target = tmp_path / "steps.html"
    regard("attend", "--query", QUERY, "--keys", KEYS, "--score", "dot", "--plot", str(target))
    page = target.read_text()
    assert page.startswith("<!doctype html>")
    assert "[[927.0,397.0,148.0,929.0]]" in page


def test_the_page_answers_with_the_sum_behind_a_number(page, tmp_path):
    target = tmp_path / "steps.html"
    regard("attend", "--query", QUERY, "--keys", KEYS, "--score", "dot", "--plot", str(target))
    page.goto(target.as_uri())
    grid = page.get_by_role("grid", name=re.compile("^scores"))
    grid.locator("td").last.hover()
    assert page.locator(".rg-readout").inner_text() == "5·4 + 1·3 + 20·45.3 = 929"
    grid.locator("td").first.click()
    assert page.locator(".rg-readout").inner_text() == "5·3 + 1·12 + 20·45 = 927"
    assert page.locator(".rg-source").count() == 6


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_figure_is_written(tmp_path, ending):
    target = tmp_path / f"steps.{ending}"
    regard("attend", "--query", QUERY, "--keys", KEYS, "--plot", str(target))
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert target.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [target]


def test_numbers_come_from_files(tmp_path):
    np.save(tmp_path / "keys.npy", np.array([[3, 12, 45], [4, 3, 45.3]]))
    (tmp_path / "query.csv").write_text("5,1,20\n")
    printed = json.loads(
        regard(
            "attend", "--query", f"{tmp_path}/query.csv", "--keys", f"{tmp_path}/keys.npy", "--score", "dot", "--json"
        )
    )
    assert printed["scores"] == [927, 929]


def test_causal_counts_the_rows_of_each_of_a_batch(tmp_path):
    np.save(tmp_path / "keys.npy", np.ones((5, 2, 3)))
    keys = str(tmp_path / "keys.npy")
    printed = json.loads(regard("attend", "--query", keys, "--keys", keys, "--causal", "--json"))
    assert printed["weights"] == [[[1.0, 0.0], [0.5, 0.5]]] * 5


def test_scores_with_weights_and_causal_queries():
    words = ["attend", "--query", "1 0; 0 1", "--keys", "1 0; 0 1", "--causal", "--json", "--score"]
    printed = json.loads(regard(*words, "additive", "--weight", "W_q=1 0; 0 1", "W_k=1 0; 0 1", "v=1 2"))
    assert printed["scores"][0][0] == pytest.approx(np.tanh(2.0))
    assert printed["weights"][0] == [1, 0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--query", "5 x 20", "--keys", KEYS], "query: 'x' is not a number"),
        (["--query", QUERY, "--keys", "1 2; 3"], "keys: the rows differ in length (2, 1)"),
        (["--query", QUERY, "--keys", ""], "keys holds no numbers"),
        (["--query", QUERY, "--keys", "nowhere.npy"], "keys: cannot read nowhere.npy"),
        (["--query", "1 2", "--keys", KEYS], "scaled_dot compares vectors of one width"),
        (["--query", QUERY, "--keys", KEYS, "--score", "dott"], "Did you mean 'dot'?"),
        (["--query", QUERY, "--keys", KEYS, "--score", "general"], "the score 'general' needs --weight W=…"),
        (["--query", QUERY, "--keys", KEYS, "--score", "dot", "--weight", "W=1"], "the score 'dot' has no weights"),
        (
            ["--query", QUERY, "--keys", KEYS, "--score", "general", "--weight", "V=1"],
            "no weight of general is",
        ),
        (["--query", QUERY, "--keys", KEYS, "--visible", "1 2 1 1"], "--visible is made of 1 (may look) and 0"),
        (["--query", QUERY, "--keys", KEYS, "--causal"], "--causal needs several queries"),
        (["--query", QUERY, "--keys", KEYS, "--plot", "steps.bmp"], "a figure's name ends in .png, .svg, .pdf"),
        (["--query", QUERY, "--keys", KEYS, "--plot", "nowhere/steps.png"], "there is no folder 'nowhere'"),
    ],
)
def test_what_a_person_can_mend_is_said_in_one_line(words, message):
    printed = regard("attend", *words, code=2)
    assert message in printed
    assert len(printed.splitlines()) == 1
