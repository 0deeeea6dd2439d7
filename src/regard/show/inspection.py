"""A recorded model in the terminal: the table of its heads, and its strongest maps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.inspection.names import layer_number
from regard.show.terminal import TerminalMap
from regard.show.terminal_map import ink_and_colour

if TYPE_CHECKING:
    from regard.inspection.heads import Head
    from regard.inspection.importance import Importance
    from regard.inspection.recorded import Recorded

SHARES = ("previous", "first", "itself", "near", "duplicate", "induction", "far")
ABBREVIATED = {"previous": "prev", "itself": "self", "duplicate": "dupl", "induction": "induct"}
MOST = 24  # heads of the table; the most telling ones
STRONGEST = 3  # maps that are drawn
WIDEST = 40  # rows and columns of a map


def print_recorded(recorded: Recorded, console: Console) -> None:
    """The most telling heads, and the maps of the first of them."""
    heads = telling(recorded.heads())
    total = sum(len(found.heads) for found in recorded.values())
    console.print(head_rows(heads[:MOST]))
    if total > MOST:
        console.print(Text(f"… and {total - MOST} more heads: recorded.heads()", style="dim"))
    widest = max(8, min(WIDEST, (console.width - 12) // 2))  # a cell is two characters
    for head in heads[:STRONGEST]:
        table, rows, columns = recorded[head.layer][0, head.head].picture(widest)
        console.print(Text.assemble("\n", (f"{head.layer}, head {head.head}", "bold"), f"  {head.name}"))
        console.print(TerminalMap(table.numpy(), rows, columns))


def telling(heads: Iterable[Head]) -> list[Head]:
    """Heads whose name says most first: those that are neither mixed nor a sink."""
    order = {"induction": 0, "duplicate": 1, "previous token": 2, "itself": 3, "cross": 4, "neighbourhood": 5, "far": 6}
    return sorted(heads, key=lambda head: (order.get(head.name, 9), -(_share(head) or 0.0)))


def _share(head: Head) -> float | None:
    share: float | None = getattr(head, head.name.split()[0], None)
    return share


def head_rows(heads: Iterable[Head]) -> Table:
    """A row a head: its shares, shaded, its entropy and its name."""
    heads = list(heads)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("layer", overflow="fold")
    for name in ("head", *SHARES, "entropy"):
        table.add_column(ABBREVIATED.get(name, name), justify="right", no_wrap=True, min_width=4)
    table.add_column("is", no_wrap=True)
    shown = layer_labels([head.layer for head in heads])
    for head, label in zip(heads, shown, strict=True):
        cells = [_cell(getattr(head, share)) for share in SHARES]
        table.add_row(label, str(head.head), *cells, f"{head.entropy:.2f}", head.name)
    return table


def layer_labels(names: Sequence[str]) -> list[str]:
    """The numbers of the layers where they tell the modules apart, else the modules' names.

    >>> layer_labels(["model.layers.3.self_attn", "model.layers.11.self_attn"])
    ['3', '11']
    """
    numbers = {name: layer_number(name) for name in names}
    apart = len(set(numbers.values())) == len(numbers) and None not in numbers.values()
    return [str(numbers[name]) if apart else name for name in names]


def _cell(share: float | None) -> Text:
    return Text("-", style="dim") if share is None else Text(f" {share:.2f} ", style=ink_and_colour(share))


def print_importance(found: Importance, console: Console) -> None:
    """The first heads, with what leaving them out costs."""
    table = Table(box=None, pad_edge=False)
    for name in ("layer", "head", "|dL/dgate|", "loss without it"):
        table.add_column(name, justify="left" if name == "layer" else "right")
    for head in found[:MOST]:
        cost = "" if head.ablation is None else f"{head.ablation:+.4f}"
        table.add_row(head.layer, str(head.head), f"{head.score:.4f}", cost)
    console.print(Text(f"loss {found.loss:.4f}", style="bold"))
    console.print(table)
