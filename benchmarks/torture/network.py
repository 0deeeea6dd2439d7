"""No command reaches out: strace sees every socket that is opened or connected."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.torture import folders
from benchmarks.torture.harness import Missing, Wrong

NAME = "network"
WHAT = "sockets that the commands open, by strace: none but those of the server on 127.0.0.1"
ISOLATED = False
COMMANDS = {
    "attend": ["attend", "--query", "5 1 20", "--keys", "3 12 45; 59 2 5", "--score", "dot"],
    "translate": ["translate", "a red house"],
    "caption": ["caption", "PHOTO"],
    "evaluate": ["evaluate", "MODEL", "TSV"],
    "train": ["train", "RUN"],
    "demo": ["demo", "--out", "DEMO"],
    "serve": ["serve", "en-fr", "--port", "0"],
}
FULL, SHORT = len(COMMANDS), 4  # the short form leaves those that train out
_CALL = re.compile(r"(socket|connect|sendto|sendmsg|bind)\(.*")
_HARMLESS = re.compile(r"AF_UNIX|AF_NETLINK|sin_addr=inet_addr\(\"127\.0\.0\.1\"\)")


def prepare(workspace: Path) -> folders.Context:
    from regard.captioning.scenes import write_scenes

    if not shutil.which("strace"):
        raise Missing("it needs strace: apt-get install strace")
    context = folders.prepare(workspace)
    write_scenes(workspace / "photos", 1, seed=3)
    from benchmarks.torture.runs import settings
    from regard.training.config import load_config
    from regard.training.toml import render

    (workspace / "run.toml").write_text(render(load_config(settings(workspace, "rnn", workspace / "traced"))))
    return context


def strike(context: folders.Context, number: int) -> str:
    name, words = list(COMMANDS.items())[number]
    places = {
        "PHOTO": next((context.workspace / "photos").rglob("*.png")),
        "MODEL": context.translator,
        "TSV": context.workspace / "dev.tsv",
        "RUN": context.workspace / "run.toml",
        "DEMO": context.workspace / "demo",
    }
    trace = context.workspace / f"{name}.strace"
    command = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(trace), sys.executable, "-m", "regard"]
    process = subprocess.Popen(
        [*command, *(str(places.get(word, word)) for word in words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if name == "serve":
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(20)  # the model is loaded meanwhile
        traced = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(traced[0]), signal.SIGINT)
    output, _ = process.communicate(timeout=1500)
    if process.returncode not in (0, 130):
        raise Wrong(f"{name} ended with {process.returncode}: {output.decode()[-300:]}")
    calls = [match[0] for line in trace.read_text().splitlines() if (match := _CALL.search(line))]
    reached = [call for call in calls if not _allowed(call, name)]
    if reached:
        raise Wrong(f"{name} opened a socket: {reached[:3]}")
    return f"{name}: none"


def _allowed(call: str, name: str) -> bool:
    """Sockets of the machine itself; the server's own listening one."""
    if _HARMLESS.search(call):
        return True
    return name == "serve" and call.startswith("socket(AF_INET,")
