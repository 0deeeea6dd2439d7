"""``regard demo``: the whole story in about two minutes, ending in one page with all its pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from regard.errors import InputError

if TYPE_CHECKING:
    from regard.demo.report import Section


def demo(*, out: Path = Path("demo"), updates: int | None = None) -> None:
    """Compute the worked examples, train with and without attention, run the bundled models, and write a report.

    Parameters
    ----------
    out
        The folder for the report and its pictures; made if it is not there.
    updates
        How many updates the small training has; fewer are quicker and show less.
    """
    if updates is not None and updates < 1:
        raise InputError(f"--updates must be 1 or more; {updates} came")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with --out.") from None
    from regard import worked_examples
    from regard.show.terminal import print_steps

    console = Console()
    if not console.is_terminal:
        console.width = 10**4  # a file has no edge to fold tables at
    examples = {
        "a decoder state looks at four annotations": worked_examples.first(),
        "four words attend to each other, softmax row by row: attention as it is defined": worked_examples.second(),
        "the same with one softmax over the whole matrix: the result that is widely published": worked_examples.second(
            over_the_whole_matrix=True
        ),
    }
    for title, attended in examples.items():
        console.print(f"[bold reverse] {title} [/]\n", soft_wrap=True)
        print_steps([step for step in attended.steps() if step.value.ndim <= 2], console)
    _write(out, updates)


def _write(out: Path, updates: int | None) -> None:
    """The chapters one after the other, with a bar for each, and the page."""
    from regard.demo import lengths, report, sections

    errors, console = Console(stderr=True), Console()
    started = time.monotonic()
    count = updates or lengths.UPDATES
    bars = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    chapters: list[report.Section] = []
    with Progress(*bars, console=errors) as progress:

        def step(title: str, chapter: Callable[[], report.Section]) -> None:
            bar = progress.add_task(title, total=1)
            chapters.append(chapter())
            progress.update(bar, completed=1)
            if chapters[-1].missing:
                errors.print(chapters[-1].missing.partition(",")[0] + "; this part is left out.", highlight=False)

        step("one query", lambda: sections.one_query(out))
        step("four words", lambda: sections.four_words(out))
        training = {name: progress.add_task(f"training {name}", total=count) for name in lengths.KINDS}

        def progress_of(name: str, done: int) -> None:
            progress.update(training[name], completed=done)

        chapters.append(lengths.lengths(out, updates=count, report=progress_of))
        step("translator", lambda: sections.translation(out))
        step("captioner", lambda: sections.captions(out))
    chapters.append(next_steps(out))
    seconds = time.monotonic() - started
    page = report.write_report(out / "index.html", chapters, f"Made in {seconds:.0f} seconds by `regard demo`.")
    console.print(f"the report: {page}", soft_wrap=True, highlight=False)


def next_steps(out: Path) -> Section:
    """What to try from here."""
    from regard.demo import report

    return report.Section(
        "Go on from here",
        ["Your own numbers, your own sentences, your own models; and a page to step through all of it:"],
        commands=[
            "regard serve                                    # the explorer, in your browser",
            'regard attend --query "1 0; 0 1" --keys "1 0; 0 1" --causal',
            f"regard evaluate {out / 'runs' / 'with-attention'} {out / 'runs' / 'without-attention'} "
            f"{out / 'runs' / 'test.tsv'} --by-length",
            "regard init translate > run.toml                # every setting, with its default and a comment",
            "regard train run.toml --set model.attention=general",
            "regard translate --help",
        ],
    )
