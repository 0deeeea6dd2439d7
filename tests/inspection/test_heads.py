"""The head table: shares by pairs are those of the whole map, and heads made to do one thing are named for it."""

import pytest
import torch

import regard
from regard.errors import UnknownName
from regard.inspection.call import Call
from regard.inspection.heads import pair_weights
from regard.inspection.passes import with_lse
from regard.inspection.recorded import Recorded
from regard.inspection.visibility import causal
from tests.inspection.models import mistral, token_ids

TOKENS = list("abcdefgh") * 2
SIZE = len(TOKENS)


def looking(target):
    """A head that looks at ``target[i]`` from place i."""
    query = torch.zeros(1, 1, SIZE, SIZE)
    query[0, 0, torch.arange(SIZE), torch.tensor(target)] = 20.0
    return with_lse(Call(query, torch.eye(SIZE)[None, None], 1.0, causal(SIZE, SIZE)))


PREVIOUS = [max(0, place - 1) for place in range(SIZE)]
INDUCTION = [0] * 8 + [place - 7 for place in range(8, SIZE)]
DUPLICATE = [0] * 8 + [place - 8 for place in range(8, SIZE)]


@pytest.mark.parametrize(
    ("target", "name", "share"),
    [
        (PREVIOUS, "previous token", "previous"),
        (INDUCTION, "induction", "induction"),
        (DUPLICATE, "duplicate", "duplicate"),
        ([0] * SIZE, "first token", "first"),
        (list(range(SIZE)), "itself", "itself"),
    ],
)
def test_a_head_is_named_for_what_it_does(target, name, share):
    recorded = Recorded()
    recorded.add("layers.3.attn", looking(target))
    recorded.tokens = TOKENS
    (head,) = recorded.heads()
    assert (head.name, head.number, head.head) == (name, 3, 0)
    assert getattr(head, share) > 0.99


@torch.no_grad()
def test_shares_are_those_of_the_map():
    with regard.record(mistral()) as recorded:
        mistral()(token_ids(2, 30))
    recorded.tokens = [str(n % 6) for n in range(30)]
    head = next(row for row in recorded.heads(batch=1) if (row.number, row.head) == (1, 2))
    table = recorded["model.layers.1.self_attn"][1, 2].weights()
    rows, columns = torch.arange(30)[:, None], torch.arange(30)[None]
    assert head.previous == pytest.approx(float(table.diagonal(-1).mean()), abs=1e-6)
    assert head.itself == pytest.approx(float(table.diagonal().mean()), abs=1e-6)
    assert head.first == pytest.approx(float(table[1:, 0].mean()), abs=1e-6)
    near = ((rows - columns).abs() > 1) & ((rows - columns).abs() <= 5) & (columns > 0)
    assert head.near == pytest.approx(float((table * near).sum(-1).mean()), abs=1e-6)
    earlier = ((rows - columns) % 6 == 0) & (columns < rows)
    assert head.duplicate == pytest.approx(float((table * earlier).sum(-1)[6:].mean()), abs=1e-6)
    follows = ((rows - columns + 1) % 6 == 0) & (columns <= rows)
    assert head.induction == pytest.approx(float((table * follows).sum(-1)[6:].mean()), abs=1e-6)
    assert head.entropy == pytest.approx(float(torch.special.entr(table).sum(-1).mean()), abs=1e-5)


def test_pairs_cost_no_map():
    call = looking(PREVIOUS)
    rows, columns = torch.tensor([3, 5]), torch.tensor([2, 9])
    assert pair_weights(call, 0, rows, columns)[0].tolist() == pytest.approx([1.0, 0.0], abs=1e-6)


def test_the_table_is_sorted_and_written(capsys):
    recorded = Recorded()
    recorded.add("layers.0.attn", looking(PREVIOUS))
    recorded.add("layers.1.attn", looking([0] * SIZE))
    table = recorded.heads()
    assert [head.number for head in table.by("first")] == [1, 0]
    assert table.to_json()[0]["name"] == "previous token"
    with pytest.raises(UnknownName, match="no share is called 'second'; choose from previous, first"):
        table.by("second")
    recorded.show()
    printed = capsys.readouterr().out
    assert "previous token" in printed
    assert "layers.0.attn, head 0" in printed
