"""Show sections in the terminal, and write them to RESULTS.md with the machine and the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Section

RESULTS = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("regard", "torch", "numba", "llvmlite", "numpy", "jax", "keras")


def show(section: Section, console: Console) -> None:
    table = Table(title=section.title, title_justify="left")
    for column in section.columns:
        table.add_column(column, justify="left" if column in ("", "contestant") else "right")
    for row in section.rows:
        table.add_row(*row)
    console.print(table)
    for note in section.notes:
        console.print(note, markup=False)
    for bar in section.bars:
        mark = "[green]met[/]" if bar.met else "[red]not met[/]"
        console.print(f"  {mark}  {bar.what}: {bar.measured} (asked: {bar.asked})", highlight=False)
    console.print()


def write(sections: list[Section], command: str) -> None:
    lines = ["# What the kernels do against what else there is", ""]
    lines += [f"Written by `{command}`, load average before it {_load_before}.", "", *_machine(), ""]
    lines += ["Every figure is a median over rounds in which all contestants ran one after the other; a ratio is taken"]
    lines += [
        "inside a round, and its spread is the smallest and largest round. Peak memory is what a call needs beyond"
    ]
    lines += ["its inputs, its results included.", "", "## Asked and measured", ""]
    bars = [bar for section in sections for bar in section.bars]
    lines += _table(
        ["figure", "asked", "measured", ""],
        [[bar.what, bar.asked, bar.measured, "met" if bar.met else "**not met**"] for bar in bars],
    )
    for section in sections:
        lines += ["", f"## {section.title}", "", *_table(section.columns, section.rows)]
        for note in section.notes:
            lines += ["", note]
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows)]


_load_before = ", ".join(f"{x:.1f}" for x in os.getloadavg())


def _machine() -> list[str]:
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES if _installed(name))
    return [f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}; {versions}."]


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
