"""config.toml of model folders, mutated: as bytes, and with settings of any value."""

from __future__ import annotations

import random
import re
from pathlib import Path

from benchmarks.torture import folders
from benchmarks.torture.harness import dice

NAME = "configs"
WHAT = "model folders whose config.toml is mutated: bytes, and every setting set to absurd values"
FULL, SHORT = 5_000, 100
ISOLATED = True
VALUES = (
    *(
        "0",
        "-1",
        "1",
        "2",
        "3",
        "7",
        "64",
        "255",
        "256",
        "257",
        "4096",
        "65536",
        "100000",
        "1000000",
        "9223372036854775807",
    ),
    *(
        "9" * 40,
        "1e308",
        "1e-308",
        "nan",
        "inf",
        "-inf",
        "0.0",
        "0.5",
        "1.0",
        "true",
        "false",
        "''",
        "'x'",
        "'../../x'",
    ),
    *(
        "'/dev/zero'",
        "'/proc/self/mem'",
        "[]",
        "[1]",
        "['a', 'b']",
        "{}",
        "{a = 1}",
        "1979-05-27",
        "'none'",
        "'dot'",
        "'rnn'",
    ),
    *(
        "'transformer'",
        "'caption'",
        "'lstm'",
        "'cgru'",
        "'local-m'",
        "'hard'",
        "'all'",
        "'nfkc'",
        "'\\u0000'",
        "'" + "x" * 9000 + "'",
    ),
)


def prepare(workspace: Path) -> folders.Context:
    return folders.prepare(workspace)


def strike(context: folders.Context, number: int) -> str:
    draw = dice(NAME, number)
    folder = folders.copied(context, number % 50)
    path = folder / "config.toml"
    path.write_bytes(changed(path.read_bytes(), draw))
    return folders.outcome(lambda: folders.use(folder))


def changed(content: bytes, draw: random.Random) -> bytes:
    """A run file with some settings set to other values, or with bytes mutated."""
    if draw.random() < 0.3:
        return folders.mutated(content, draw)
    lines = content.decode().split("\n")
    settings = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    for number in draw.sample(settings, draw.choice((1, 1, 1, 2, 5))):
        lines[number] = f"{lines[number].partition(' = ')[0]} = {draw.choice(VALUES)}"
    if draw.random() < 0.1:
        lines.insert(
            draw.randrange(len(lines)), f"{draw.choice(('size', 'x', 'kind', 'task', '[model]', '[[data.train]]'))} = 1"
        )
    return "\n".join(lines).encode()
