"""python -m benchmarks.torture [--short] [ATTACK...]: attack regard, and write the table of README.md.

A run that is stopped goes on where it was; ``--anew`` begins from the first case. Each case has a number by which it
can be struck again: ``--case 17 kills``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes are forked, which threads do not survive

ATTACKS = (
    "kills",
    "torchrun",
    "faults",
    "headers",
    "weights",
    "vocabularies",
    "configs",
    "pickles",
    "corpora",
    "images",
)
ATTACKS += ("run_files", "commands", "server", "scripts", "numerics", "network")
FOLDER = Path(os.environ.get("TORTURE_FOLDER", ".torture"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=f"all when none is named: {', '.join(ATTACKS)}")
    parser.add_argument("--short", action="store_true", help="few cases of each, in minutes; README.md stays as it is")
    parser.add_argument("--anew", action="store_true", help="forget the cases that were struck before")
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after so long; the next call goes on")
    parser.add_argument("--case", type=int, help="strike one case again, and show what comes of it")
    options = parser.parse_args()
    if unknown := set(options.attacks) - set(ATTACKS):
        parser.error(f"there is no attack {', '.join(sorted(unknown))}; there are {', '.join(ATTACKS)}")
    import torch

    from benchmarks.torture import harness, report

    torch.set_num_threads(1)
    chosen = [importlib.import_module(f"benchmarks.torture.{name}") for name in options.attacks or ATTACKS]
    if options.case is not None:
        _again(chosen[0], options.case)
        return
    folder = FOLDER / ("short" if options.short else "full")
    if options.anew:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * options.minutes
    records = {
        attack.NAME: harness.run(attack, folder, attack.SHORT if options.short else attack.FULL, deadline)
        for attack in chosen
    }
    if not options.short:
        report.write(folder)
    sys.exit(any(record.wrong for record in records.values()))


def _again(attack: object, number: int) -> None:
    workspace = FOLDER / "case"
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(parents=True)
    context = attack.prepare(workspace)  # type: ignore[attr-defined]
    try:
        print(attack.strike(context, number))  # type: ignore[attr-defined]
    finally:
        if hasattr(attack, "close"):
            attack.close(context)
        shutil.rmtree(workspace, ignore_errors=True)


if __name__ == "__main__":
    main()
