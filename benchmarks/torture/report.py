"""Write the table of README.md: what was struck, what came of it, when, and on which machine."""

from __future__ import annotations

import importlib
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

from benchmarks.torture.__main__ import ATTACKS
from benchmarks.torture.harness import Record

README = Path(__file__).parent / "README.md"
BEGIN, END = "<!-- table -->", "<!-- end of table -->"


def write(folder: Path) -> None:
    """Put the records of ``folder`` between the marks of README.md."""
    rows = ["| attack | what it does | struck, of | outcomes | wrong | date |", "|---|---|---|---|---|---|"]
    for name in ATTACKS:
        attack = importlib.import_module(f"benchmarks.torture.{name}")
        record = Record.load(folder / f"{name}.json")
        outcomes = [f"{count:,} {what}" for what, count in record.outcomes.most_common() if what != "WRONG"]
        struck = f"{record.struck:,} of {attack.FULL:,}"
        outcome = "; ".join(outcomes) or "not run yet"
        rows.append(f"| {name} | {attack.WHAT} | {struck} | {outcome} | {len(record.wrong)} | {record.date} |")
    table = "\n".join([BEGIN, "", machine(), "", *rows, "", END])
    text = README.read_text(encoding="utf-8")
    README.write_text(re.sub(f"(?s){BEGIN}.*{END}", lambda _: table, text), encoding="utf-8")


def machine() -> str:
    """What it ran on."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cores = len(os.sched_getaffinity(0))
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "safetensors", "sentencepiece"))
    system = f"{platform.system()}, Python {platform.python_version()}, {packages}"
    return f"{_processor()}, {cores} cores, {memory:.0f} GB; {system}."


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
