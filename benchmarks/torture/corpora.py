"""Hostile corpora: bombs, endless lines, odd bytes, odd names; refused in a line, or read."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import regard
from benchmarks.torture import folders
from benchmarks.torture.runs import settings, write_data

NAME = "corpora"
WHAT = (
    "hostile corpora: gzip bombs, endless lines, NULs, lone surrogates, deep JSON, FIFOs, devices, huge and empty ones"
)
ISOLATED = True
GOOD = b"the red house\tla maison rouge\n" * 40


def _bomb(line: bytes, times: int) -> bytes:
    written = io.BytesIO()
    with gzip.GzipFile(fileobj=written, mode="wb") as file:
        for _ in range(times):
            file.write(line)
    return written.getvalue()


def _json(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def hostile() -> dict[str, bytes | Callable[[], bytes]]:
    """File name to content, or to what makes it where it is large."""
    pair = {"source": "the red house", "target": "la maison rouge"}
    good = _json(*[pair] * 40)
    deep = b'{"source": ' + b"[" * 100_000 + b"]" * 100_000 + b', "target": "x"}\n'
    return {
        "empty.tsv": b"",
        "newlines.tsv": b"\n" * 100_000,
        "tabs.tsv": b"\t" * 100_000,
        "nul.tsv": GOOD + b"\0\t\0\n",
        "nuls.tsv": b"\0" * 1_000_000,
        "latin1.tsv": GOOD + "caf\xe9\tcaf\xe9\n".encode("latin1"),
        "utf16.tsv": GOOD.decode().encode("utf-16"),
        "utf32.tsv": GOOD.decode().encode("utf-32"),
        "bom.tsv": b"\xef\xbb\xbf" + GOOD,
        "boms.tsv": b"\xef\xbb\xbf" * 1000 + GOOD,
        "crlf.tsv": GOOD.replace(b"\n", b"\r\n"),
        "cr.tsv": GOOD.replace(b"\n", b"\r"),
        "overlong.tsv": GOOD + b"\xc0\x80\t\xc0\x80\n",
        "surrogate.tsv": GOOD + b"\xed\xa0\x80\tx\n",
        "line-1mb.tsv": GOOD + b"x" * (1 << 20) + b"\ty\n",
        "line-3mb.tsv": GOOD + b"x" * 3_000_000 + b"\ty\n" + GOOD,
        "line-300mb.tsv": lambda: b"x" * 300_000_000,
        "word-64k.tsv": GOOD + b"x" * 65_000 + b"\ty\n",
        "words-500k.tsv": GOOD + b"a " * 500_000 + b"\tb\n",
        "characters.tsv": "".join(f"{chr(c)}{chr(c + 1)}\t{chr(c)}\n" for c in range(0x4E00, 0x9FFF, 2)).encode(),
        "combining.tsv": GOOD + ("e" + "\u0301" * 30_000 + "\tx\n").encode(),
        "rtl.tsv": GOOD + "\u202e\u2066abc\t\u200f\u2069\n".encode(),
        "zero-width.tsv": "\u200b\u200c\u200d\t\u2060\ufeff\n".encode() * 20,
        "controls.tsv": bytes(range(1, 9)) + b"\t" + bytes(range(14, 32)) + b"\n" + GOOD,
        "marks.tsv": GOOD + "\u2581\u2581\t\u2581x\n<s>\t</s>\n<unk>\t<pad>\n".encode(),
        "three-fields.tsv": GOOD + b"a\tb\tc\n",
        "one-field.tsv": GOOD + b"a\n",
        "empty-side.tsv": GOOD + b"a\t\n",
        "spaces.tsv": GOOD + b"   \t   \n",
        "one-pair.tsv": b"a\tb\n",
        "same-pair.tsv": b"a\tb\n" * 1000,
        "random.tsv": os.urandom(200_000),
        "random.tsv.gz": os.urandom(200_000),
        "cut.tsv.gz": gzip.compress(GOOD * 100)[:-20],
        "flipped.tsv.gz": gzip.compress(GOOD * 100)[:-30] + b"\0" * 30,
        "twice.tsv.gz": gzip.compress(GOOD) + gzip.compress(GOOD),
        "tail.tsv.gz": gzip.compress(GOOD) + b"garbage",
        "empty.tsv.gz": gzip.compress(b""),
        "zero-bytes.tsv.gz": b"",
        "plain.tsv.gz": GOOD,
        "bomb-line.tsv.gz": lambda: _bomb(b"x" * (1 << 20), 1500),
        "bomb-lines.tsv.gz": lambda: _bomb(b"a\tb\n" * (1 << 18), 1500),
        "bomb-newlines.tsv.gz": lambda: _bomb(b"\n" * (1 << 20), 1500),
        "bomb-nul.tsv.gz": lambda: _bomb(b"\0" * (1 << 20), 1500),
        "bomb.jsonl.gz": lambda: _bomb(b'{"a": ' * (1 << 18), 1000),
        "deep.jsonl": good + deep,
        "list.jsonl": good + _json([1, 2]),
        "numbers.jsonl": good + _json({"source": 1, "target": 2}),
        "null.jsonl": good + _json({"source": None, "target": "x"}),
        "missing.jsonl": good + _json({"source": "x"}),
        "lone-surrogate.jsonl": good + b'{"source": "\\ud800", "target": "\\udfff x"}\n',
        "digits.jsonl": good + b'{"source": ' + b"9" * 5000 + b', "target": "x"}\n',
        "nan.jsonl": good + b'{"source": NaN, "target": "x"}\n',
        "twin-keys.jsonl": good + b'{"source": "a", "source": "b", "target": "c"}\n',
        "many-keys.jsonl": lambda: good + _json({**pair, **{f"k{i}": i for i in range(30_000)}}),
        "cut.jsonl": good + b'{"source": "a", "tar',
        "escapes.jsonl": good + _json({"source": "\0\x1b[31m\x07", "target": "\x9b\u2028"}),
        "line-3mb.jsonl": good + _json({"source": "x" * 3_000_000, "target": "y"}),
        "not.jsonl": GOOD,
    }


DEVICES = ("fifo.tsv", "folder.tsv", "loop.tsv", "missing.tsv", "/dev/zero", "/dev/full", "/proc/self/mem", "")
COUNT = 59 + len(DEVICES)
FULL = 2 * COUNT  # refusing bad lines, and skipping them
SHORT = 30


def prepare(workspace: Path) -> Path:
    write_data(workspace)
    with contextlib.redirect_stderr(io.StringIO()):
        regard.train(_settings(workspace, workspace / "train.tsv", workspace / "first", skip=False))
    return workspace


def strike(workspace: Path, number: int) -> str:
    files = hostile()
    assert len(files) + len(DEVICES) == COUNT, len(files)
    name = (*files, *DEVICES)[number % COUNT]
    folder = workspace / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = Path(name) if name.startswith("/") or not name else folder / name
    if name in files:
        content = files[name]
        path.write_bytes(content() if callable(content) else content)
    elif name == "fifo.tsv":
        os.mkfifo(path)
    elif name == "folder.tsv":
        path.mkdir()
    elif name == "loop.tsv":
        path.symlink_to(path)
    run = folder / "run"
    return folders.outcome(lambda: regard.train(_settings(workspace, path, run, skip=number >= COUNT)))


def _settings(workspace: Path, path: Path, run: Path, *, skip: bool) -> dict[str, object]:
    values = settings(workspace, "rnn", run)
    values["data"] |= {"train": [{"path": str(path)}], "on_bad_line": "skip" if skip else "refuse"}
    values["training"]["updates"] = 1
    values["vocabulary"]["coverage"] = 0.98
    return values
