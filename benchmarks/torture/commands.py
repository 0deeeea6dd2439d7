"""Command lines of any words: exit 0, or 2 with one clear line; never a traceback."""

from __future__ import annotations

import io
import os
import random
import sys
from pathlib import Path

from benchmarks.torture import folders
from benchmarks.torture.harness import Wrong, dice

NAME = "commands"
WHAT = "command lines of verbs, options and values drawn at random: exit 0, or 2 and one line"
FULL, SHORT = 2_000, 60
ISOLATED = True

VERBS = (
    "attend",
    "init",
    "train",
    "translate",
    "caption",
    "evaluate",
    "align",
    "export",
    "scenes",
    "",
    "tranlsate",
    "--version",
)
OPTIONS = {
    "attend": ("--query", "--keys", "--values", "--score", "--normalize", "--plot", "--json", "--labels", "--digits"),
    "translate": ("--model", "--beam", "--n-best", "--alpha", "--max-length", "--json", "--map", "--no-map", "--plot"),
    "caption": ("--model", "--beam", "--json", "--plot", "--n-best"),
    "evaluate": ("--json", "--by-length", "--beam"),
    "align": ("--json", "--reverse", "--offset"),
    "train": ("--set", "--resume"),
    "export": (),
    "scenes": ("--seed", "--count"),
    "init": ("--set",),
}
VALUES = (
    *(
        "5 1 20",
        "3 12 45; 59 2 5",
        "1 nan",
        "inf 1",
        "1;2 3",
        "",
        " ",
        "x",
        "dot",
        "additive",
        "softmax",
        "1e309",
        "-1",
        "0",
        "1",
    ),
    *(
        "3",
        "2.5",
        "99999999999999999999",
        "training.seed=x",
        "a.b.c=1",
        "=",
        "model.size=1e9",
        "--",
        "-",
        "--help",
        "-h",
        "\u202e",
    ),
    *(
        "é\u0301",
        "a\tb\nc",
        "'; rm -rf x",
        "{}",
        "[[[[",
        "%s%n",
        "../../etc/passwd",
        "/dev/null",
        "/dev/full",
        "~",
        "x.png",
        "x.html",
    ),
    *(
        "x.exe",
        "FOLDER",
        "FOLDER/config.toml",
        "FOLDER/best.safetensors",
        "MODEL",
        "TSV",
        "the red house",
        "a" * 5000,
        "\udcff",
    ),
)


def prepare(workspace: Path) -> folders.Context:
    context = folders.prepare(workspace)
    (workspace / "here").mkdir()
    return context


def words(context: folders.Context, draw: random.Random) -> list[str]:
    verb = draw.choice(VERBS)
    found = [verb] if verb else []
    for _ in range(draw.choice((0, 1, 2, 3, 5, 8))):
        options = OPTIONS.get(verb, ("--x",))
        found.append(draw.choice((*options, draw.choice(VALUES), draw.choice(VALUES), "--unknown")))
    places = {"FOLDER": context.workspace, "MODEL": context.translator, "TSV": context.workspace / "dev.tsv"}
    for name, path in places.items():
        found = [word.replace(name, str(path)) for word in found]
    if verb == "scenes":
        found += ["--count", "2"]  # a thousand are drawn else, which takes long
    if verb in ("translate", "evaluate", "align") and draw.random() < 0.5:
        found += ["--model", str(context.translator)] if verb == "translate" else [str(context.translator)]
    return found


def strike(context: folders.Context, number: int) -> str:
    from regard import cli

    line = words(context, dice(NAME, number))
    os.chdir(context.workspace / "here")
    sys.argv = ["regard", *line]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="surrogateescape"), io.StringIO()
    sys.stdout, sys.stderr, sys.stdin = out, err, io.TextIOWrapper(io.BytesIO(b"the red car\n"))  # type: ignore[assignment]
    code: object = 0
    try:
        cli.main()
    except SystemExit as ended:
        code = ended.code
    output = err.getvalue()
    if code not in (0, 2):
        raise Wrong(f"{line}: exit {code}: {output[-300:]}")
    if "Traceback" in output:
        raise Wrong(f"{line}: a traceback: {output[-300:]}")
    if code == 2 and not output.splitlines()[-1:][0:1]:
        raise Wrong(f"{line}: exit 2 without a word")
    return f"exit {code}"
