"""``regard evaluate --attention``: does the attention of models matter?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

if TYPE_CHECKING:
    from regard.text.faithfulness import Faithfulness, Report


def evaluate_attention(
    models: list[str],
    data: Path,
    task: str,
    *,
    target: Path | None,
    gold: Path | None,
    seed: int,
    json_: bool,
    plot: Path | None,
) -> None:
    """Measure the models' attention on the data, and print a table, or JSON; draw the curves where asked."""
    found = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for name in models:
            bar = progress.add_task(name, total=None)

            def report(done: int, total: int, bar: TaskID = bar) -> None:
                progress.update(bar, completed=done, total=total)

            if task == "caption":
                found[name] = _of_captioner(name, data, seed, report)
            else:
                found[name] = _of_translator(name, data, target, gold, seed, report)
    if json_:
        for name, measured in found.items():
            sys.stdout.write(json.dumps({"model": name, **measured.to_json()}, ensure_ascii=False) + "\n")
    else:
        console = Console()
        console.print(_table(found))
        for name, measured in found.items():
            console.print(f"{name}: {measured.verdict}", highlight=False)
    if plot is not None:
        from regard.show.curve_figures import plot_faithfulness

        plot_faithfulness(found, plot)
        sys.stderr.write(f"wrote {plot}\n")


def _of_translator(
    name: str, data: Path, target: Path | None, gold: Path | None, seed: int, report: Report
) -> Faithfulness:
    from regard.cli.pairs import corpus_of, pairs_for
    from regard.translation.translator import Translator

    translator = Translator.load(name)
    pairs = pairs_for(translator, corpus_of(data, target))
    return translator.faithfulness(pairs, gold=gold, seed=seed, report=report)


def _of_captioner(name: str, data: Path, seed: int, report: Report) -> Faithfulness:
    from regard.captioning.captioner import Captioner

    return Captioner.load(name).faithfulness(data, seed=seed, report=report)


def _table(found: dict[str, Faithfulness]) -> Table:
    """A row for each figure, a column for each model, 95 % intervals in brackets."""
    table = Table("costs in nats a word", *found)
    rows = [dict(measured.rows()) for measured in found.values()]
    for name in rows[0]:
        table.add_row(name, *(row.get(name, "") for row in rows))
    return table
