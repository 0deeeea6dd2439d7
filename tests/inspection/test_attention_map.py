"""AttentionMap: tiles, profiles and pictures of one head, and what it refuses."""

from dataclasses import replace

import pytest
import torch

from benchmarks.harness import peak_bytes
from regard.errors import InputError, ShapeError
from regard.inspection.attention_map import AttentionMap
from regard.inspection.call import Call
from regard.inspection.passes import with_lse
from regard.inspection.visibility import causal
from regard.kernels import dispatch


@pytest.fixture
def found():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 3, 9, 4, generator=generator), torch.randn(2, 1, 9, 4, generator=generator)
    return AttentionMap(with_lse(Call(query, key, 0.5, causal(9, 9))), name="layers.0.attn")


def test_a_tile_is_a_part_of_the_whole(found):
    head = found[1, 2]
    whole = head.weights()
    torch.testing.assert_close(whole.sum(-1), torch.ones(9))
    torch.testing.assert_close(head.weights(slice(2, 5), [0, 3]), whole[2:5][:, [0, 3]])
    torch.testing.assert_close(head.row(-1), whole[8])
    torch.testing.assert_close(head.column(4), whole[:, 4])


def test_top_gives_rows_columns_and_weights(found):
    head = found[0, 0]
    first = head.top(1)[0]
    assert first.weight == pytest.approx(float(head.weights().max()))
    assert float(head.weights(first.row, first.column)) == pytest.approx(first.weight)


def test_mass_of_all_segments_is_one(found):
    mass = found[0, 1].mass({"prompt": range(4), "rest": slice(4, None)})
    torch.testing.assert_close(mass["prompt"] + mass["rest"], torch.ones(9))
    assert (mass["rest"][:4] == 0).all()


def test_a_map_is_drawn_written_and_printed(found, tmp_path, capsys):
    head = found[0, 0].labelled(list("abcdefghi"), None)
    assert head.plot(tmp_path / "map.png").stat().st_size > 1000
    assert '"rows":["a"' in head.html(tmp_path / "map.html").read_text("utf-8")
    head.show()
    assert "a" in capsys.readouterr().out
    assert "<table>" in head._repr_html_()


def test_a_large_map_is_pooled_for_a_picture():
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, 1, 300, 4, generator=generator)
    found = AttentionMap(with_lse(Call(query, query, 0.5, causal(300, 300))))
    table, rows, columns = found.picture()
    assert table.shape == (96, 96)
    assert float(table.max()) == pytest.approx(float(found.weights().max()))
    assert (rows[0], rows[1], len(columns)) == ("0", "4", 96)


def full_passes(head):
    """All that needs every weight of a head."""
    yield torch.tensor(head.top(9))
    yield from (head.entropy(), head.received(), head.pooled(7, 5, by="mean"), head.pooled(5, 7, by="max"))
    yield from head.mass({"first": [0], "rest": slice(1, None)}).values()


def test_both_paths_give_the_same_numbers(found):
    softcapped = AttentionMap(with_lse(replace(found.call, softcap=1.5, sinks=torch.zeros(3), lse=None)))
    for head in (found[1, 2], softcapped[0, 1]):
        with dispatch.forced("plain"):
            plain = list(full_passes(head))
        with dispatch.forced("compiled"):
            compiled = list(full_passes(head))
        torch.testing.assert_close(compiled, plain, atol=2e-6, rtol=0)


def test_large_maps_are_reduced_by_the_kernel_in_bounded_memory(monkeypatch):
    tokens = 6000  # a map of 144 MB
    query = torch.randn(1, 1, tokens, 8, generator=torch.Generator().manual_seed(0))
    found = AttentionMap(with_lse(Call(query, query, 0.5, causal(tokens, tokens), softcap=4.0)))
    monkeypatch.setattr(Call, "weights", None)  # no tile is made on the way
    found.received()  # loads the kernel
    assert peak_bytes(lambda: list(full_passes(found))) < 100e6
    assert float(found.received().sum()) == pytest.approx(tokens, abs=0.01)
    assert found.top(1)[0] == (0, 0, 1.0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda m: m.weights(), "these are 2 x 3 maps"),
        (lambda m: m[0], r"one head is m\[batch, head\]"),
        (lambda m: m[2, 0], "there is no item 2 of the batch"),
        (lambda m: m[0, 3], "head 3 is not here; there are heads 0 to 2"),
        (lambda m: m[0, 0].row(9), "there is no row 9; the map has 9"),
        (lambda m: m[0, 0].top(0), "k must be a whole number from 1"),
        (lambda m: m[0, 0].pooled(4, 4, by="sum"), "pooled by 'max' or 'mean'"),
        (lambda m: m[0, 0].mass({}), "no segments"),
    ],
)
def test_refusals(found, asked, message):
    with pytest.raises(InputError, match=message):
        asked(found)


def test_a_tile_that_would_fill_memory_is_refused(found, monkeypatch):
    monkeypatch.setattr("regard.inspection.attention_map.MOST", 80)
    with pytest.raises(ShapeError, match="ask for a tile"):
        found[0, 0].weights()
