"""Steps, used as a person would."""

import json
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from numpy.testing import assert_allclose

import regard
from regard import worked_examples
from regard.positions import sinusoidal
from regard.show.data import parts_of
from regard.show.formatting import short


@pytest.fixture
def open_steps(page, site):
    def open_steps(query=""):
        page.goto(site.address(f"/steps{query}"))
        page.locator(".computed .rg-cells").first.wait_for()
        return page

    return open_steps


def texts(page, table):
    """The numbers of a table as they are read."""
    rows = page.locator(f"[data-table='{table}'] tbody tr").all()
    return [[cell.inner_text() for cell in row.locator("td").all()] for row in rows]


def written(array):
    return [[short(number) for number in row] for row in np.atleast_2d(array)]


def test_it_opens_on_the_first_worked_example(open_steps):
    page, example = open_steps(), worked_examples.first()
    assert texts(page, "scores") == [["927", "397", "148", "929"]] == written(example.scores)
    assert texts(page, "weights") == [["0.1192", "7.9e-232", "0", "0.8808"]] == written(example.weights)
    assert texts(page, "context") == [["3.8808", "4.0728", "45.2642"]] == written(example.context)


def test_the_second_example_is_one_click_away_with_both_softmaxes(open_steps):
    page = open_steps()
    page.get_by_role("button", name="The four-word example").click()
    for suffix, whole in (("", False), ("_all", True)):
        example = worked_examples.second(over_the_whole_matrix=whole)
        assert texts(page, f"weights{suffix}") == written(example.weights)
        assert texts(page, f"context{suffix}") == written(example.context)
    assert "row by row" in page.locator("[data-table='context']").inner_text()
    assert "over the whole matrix" in page.locator("[data-table='context_all']").inner_text()
    W_Q, W_K, W_V = worked_examples.projections()
    for name, matrix in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
        inputs = page.locator(f"[data-table='{name}'] input").all()
        assert [float(field.input_value()) for field in inputs] == matrix.ravel().tolist()


def test_an_edit_flows_through_every_step_and_into_the_address(open_steps):
    page = open_steps()
    first = page.get_by_label("Query, row q, column 1")
    first.fill("-2.5")
    expected = regard.attend([-2.5, 1, 20], worked_examples.ANNOTATIONS, score="dot")
    assert texts(page, "scores") == written(expected.scores)
    assert texts(page, "context") == written(expected.context)
    page.wait_for_url(lambda url: "query=" in url)
    page.reload()
    page.locator(".computed .rg-cells").first.wait_for()
    assert texts(page, "scores") == written(expected.scores)
    assert "token" not in page.url


def test_a_number_that_is_none_is_said_and_the_last_good_one_counts(open_steps):
    page = open_steps()
    field = page.get_by_label("Query, row q, column 1")
    field.fill("five")
    assert field.get_attribute("aria-invalid") == "true"
    assert "“five” is not a number" in page.locator(".why").inner_text()
    assert texts(page, "scores") == [["927", "397", "148", "929"]]


def test_pointing_at_a_number_marks_what_it_came_from_and_writes_the_sum(open_steps):
    page = open_steps()
    page.locator("[data-table='scores'] tbody td").nth(1).hover()
    assert page.locator(".why").inner_text() == "5·59 + 1·2 + 20·5 = 397"
    assert page.locator("[data-table='query'] .rg-source").count() == 3
    keys = page.locator("[data-table='keys'] tbody tr")
    assert [keys.nth(row).locator(".rg-source").count() for row in range(4)] == [0, 3, 0, 0]
    page.locator("[data-table='context'] tbody td").first.focus()
    assert page.locator("[data-table='weighted'] .rg-source").count() == 4
    page.keyboard.press("ArrowRight")
    assert page.locator(".why").inner_text().endswith("= 4.0728")
    assert page.locator(".rg-target").count() == 1


def test_every_score_on_every_rung_gives_numbers_with_sources_that_exist(open_steps):
    looked, broken = open_steps().evaluate("""async () => {
      const {fromAddress, scoresOf} = await import("/page/state.js");
      const {trace, RUNGS} = await import("/maths/trace.js");
      const broken = [];
      let looked = 0;
      const check = (address) => {
        const {given, computed} = trace(fromAddress(new URLSearchParams(address)).state);
        const all = new Map([...given, ...computed].map((table) => [table.id, table]));
        if (all.size !== given.length + computed.length) broken.push(`${address}: an id twice`);
        for (const table of computed) table.values.forEach((row, i) => row.forEach((x, j) => {
          looked += 1;
          if (!Number.isFinite(x)) broken.push(`${address}: ${table.id} ${i} ${j} is ${x}`);
          if (!/=|from head|given/.test(table.why(i, j))) broken.push(`${address}: ${table.id}: ${table.why(i, j)}`);
          for (const [id, r, c] of table.from(i, j)) {
            if (all.get(id)?.values[r]?.[c] === undefined) broken.push(`${address}: ${table.id} from ${id} ${r},${c}`);
          }
        }));
      };
      for (const rung of Object.keys(RUNGS)) for (const score of scoresOf(rung)) {
        for (const rest of ["", "&softmax=rows&places=on&order=2,0,3,1"]) check(`rung=${rung}&score=${score}${rest}`);
      }
      return [looked, broken];
    }""")
    assert broken == []
    assert looked > 2000


@pytest.mark.parametrize("score", ["dot", "scaled_dot", "cosine"])
def test_the_page_names_axes_and_sources_as_the_package_does(open_steps, score):
    tables = open_steps().evaluate(
        """async (score) => {
      const [{fromAddress}, {trace}] = await Promise.all([import("/page/state.js"), import("/maths/trace.js")]);
      const {given, computed} = trace(fromAddress(new URLSearchParams(`rung=many&score=${score}`)).state);
      const origins = ({values, from}) => values.map((row, i) => row.map((_, j) => from(i, j)));
      const described = (table) => [table.id, {axes: table.axes, made_from: table.made_from, from: origins(table)}];
      return Object.fromEntries([...given, ...computed].map(described));
    }""",
        score,
    )
    attended = regard.attend([[2, 0, 1], [0, 3, 0], [1, 1, 1]], worked_examples.WORDS, score=score)
    for table in parts_of(attended)[0]["tables"]:
        if table["id"] in tables and table["id"] != "context":  # of which the page follows one query
            same = tables[table["id"]]
            assert (same["axes"], same["made_from"]) == (table["axes"], table["made_from"])
            assert [[sorted(cell) for cell in row] for row in same["from"]] == [
                [sorted(cell) for cell in row] for row in table.get("from", same["from"])
            ]
    assert {"query", "keys", "scores", "weights"} <= set(tables)


def test_the_additive_score_with_edited_weights_is_the_package_s(open_steps):
    page = open_steps("?rung=many&score=additive&W_q=1,0,0;0,1,0.5&W_k=0,1,0;1,0,-1&v=2,-1")
    score = regard.scores.Additive([[1, 0, 0], [0, 1, 0.5]], [[0, 1, 0], [1, 0, -1]], [2, -1])
    expected = regard.attend([[2, 0, 1], [0, 3, 0], [1, 1, 1]], worked_examples.WORDS, score=score)
    assert texts(page, "scores") == written(expected.scores)
    assert texts(page, "context") == written(expected.context)
    page.locator("[data-table='scores'] tbody td").first.hover()
    assert page.locator("[data-table='hidden'] .rg-source").count() == 2


def test_multi_head_is_attention_in_slices_then_joined(open_steps):
    page = open_steps("?rung=heads")
    state = page.evaluate("import('/maths/presets.js').then((m) => m.PRESETS.heads)")
    x, W_Q, W_K, W_V, W_O = (np.array(state[name]) for name in ("inputs", "W_Q", "W_K", "W_V", "W_O"))
    heads = [
        regard.attend((x @ W_Q)[:, part], (x @ W_K)[:, part], (x @ W_V)[:, part]).context
        for part in (slice(0, 2), slice(2, 4))
    ]
    assert texts(page, "output") == written(np.concatenate(heads, -1) @ W_O)
    page.locator("[data-table='scaled_2'] tbody td").first.hover()
    sources = page.locator("[data-table='query'] tbody tr").first.locator("td")
    marked = ["rg-source" in (cell.get_attribute("class") or "") for cell in sources.all()]
    assert marked == [False, False, True, True]


def test_shuffling_shows_equivariance_and_places_break_it(open_steps):
    page = open_steps("?rung=self&softmax=rows")
    before = texts(page, "context")
    page.get_by_role("button", name="Shuffle the words").click()
    order = [int(x) for x in parse_qs(urlsplit(page.url).query)["order"][0].split(",")]
    assert sorted(order) == [0, 1, 2, 3] != order
    assert texts(page, "context") == [before[i] for i in order] == texts(page, "expected")
    assert page.locator(".verdict").inner_text().startswith("✓ Same outputs, in the new order")
    page.get_by_label("Give words their places").check()
    assert page.locator(".verdict").inner_text().startswith("✗ Not the same any more")
    W_Q, W_K, W_V = worked_examples.projections()
    words = np.array(worked_examples.WORDS)[order] + sinusoidal(4, 3)
    assert texts(page, "context") == written(regard.attend(words @ W_Q, words @ W_K, words @ W_V).context)
    page.get_by_role("button", name="Put them back").click()
    assert page.locator(".verdict").count() == 0


def test_an_edit_of_shuffled_words_goes_to_the_word_that_is_shown(open_steps):
    page = open_steps("?rung=self&softmax=rows&order=3,0,1,2")
    page.get_by_label("Words, row x4, column 1").fill("7")
    page.wait_for_url(lambda url: "inputs=" in url)
    assert "inputs=1,0,1;0,1,0;1,1,0;7,0,1" in page.url


def test_sizes_grow_and_shrink_together(open_steps):
    page = open_steps("?rung=apart")
    page.get_by_role("button", name="Keys: one more").click()
    page.get_by_role("button", name="Width: one fewer", exact=True).click()
    assert page.locator("[data-table='values'] tbody tr").count() == 5
    assert page.locator("[data-table='keys'] tbody tr").first.locator("td").count() == 2
    assert len(texts(page, "scores")[0]) == 5
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Width: one fewer"


def test_a_pasted_table_replaces_the_keys(open_steps):
    page = open_steps()
    page.evaluate("""() => {
      const data = new DataTransfer();
      data.setData("text", "1 0 0\\n0 1 0");
      const field = document.querySelector("[data-table=keys] input");
      field.focus();
      field.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
    }""")
    assert texts(page, "scores") == [["5", "1"]]


@pytest.mark.parametrize(
    "bad", ["rung=none", "score=aditive", "query=1,2;x", "order=9,9", "heads=3", "keys=" + "1;" * 50]
)
def test_an_address_that_cannot_be_read_says_so_and_shows_the_example(open_steps, bad):
    page = open_steps(f"?{bad}")
    assert bad.partition("=")[0] in page.locator(".why").inner_text()
    assert texts(page, "scores") == [["927", "397", "148", "929"]]


def test_back_returns_to_the_rung_before(open_steps):
    page = open_steps()
    page.get_by_role("button", name="Self-attention").click()
    page.get_by_role("button", name="Multi-head").click()
    page.go_back()
    page.locator("[data-table='context_all']").wait_for()
    assert page.locator(".ladder [aria-current]").inner_text() == "Self-attention"


def test_the_saved_numbers_are_the_package_s(open_steps):
    page = open_steps()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as JSON").click()
    with open(waiting.value.path(), encoding="utf-8") as file:
        tables = {table["name"]: table["values"] for table in json.load(file)["tables"]}
    assert_allclose(tables["Weights"], [worked_examples.first().weights], rtol=1e-12)
    assert_allclose(tables["Context"], [worked_examples.first().context], rtol=1e-12)
