"""``regard evaluate --attention``: does the attention of models matter?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from regard.text.faithfulness import Faithfulness


def evaluate_attention(
    models: list[str], data: Path, task: str, *, target: Path | None, gold: Path | None, json_: bool, plot: Path | None
) -> None:
    """Measure the models' attention on the data, and print a table, or JSON; draw the curves where asked."""
    found = {}
    with Console(stderr=True).status("measuring the attention"):
        for name in models:
            found[name] = _of_captioner(name, data) if task == "caption" else _of_translator(name, data, target, gold)
    if json_:
        for name, measured in found.items():
            sys.stdout.write(json.dumps({"model": name, **measured.to_json()}, ensure_ascii=False) + "\n")
    else:
        Console().print(_table(found))
    if plot is not None:
        from regard.show.faithfulness_figures import plot_faithfulness

        plot_faithfulness(found, plot)
        sys.stderr.write(f"wrote {plot}\n")


def _of_translator(name: str, data: Path, target: Path | None, gold: Path | None) -> Faithfulness:
    from regard.cli.pairs import corpus_of, pairs_for
    from regard.translation.translator import Translator

    translator = Translator.load(name)
    return translator.faithfulness(pairs_for(translator, corpus_of(data, target)), gold=gold)


def _of_captioner(name: str, data: Path) -> Faithfulness:
    from regard.captioning.captioner import Captioner

    return Captioner.load(name).faithfulness(data)


def _table(found: dict[str, Faithfulness]) -> Table:
    """A row for each figure, a column for each model, 95 % intervals in brackets."""
    table = Table("costs in nats a word", *found)
    rows = [dict(measured.rows()) for measured in found.values()]
    for name in rows[0]:
        table.add_row(name, *(row.get(name, "") for row in rows))
    return table
