"""What tests of whole runs share: reading a run, and running the toy task in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from regard.training.checkpoint import Checkpoints

ROOT = Path(__file__).parents[2]
TIMINGS = {"seconds", "waited", "data_wait"}


def log(run, *kinds):
    """The lines of a run's log without its timings."""
    lines = [json.loads(line) for line in (Path(run) / "log.jsonl").read_text().splitlines()]
    wanted = [line for line in lines if line["kind"] in kinds]
    return [{key: value for key, value in line.items() if key not in TIMINGS} for line in wanted]


def tensors(run):
    """Every tensor of the last checkpoint and of the exposed weights."""
    last = Checkpoints(Path(run)).path(Checkpoints(Path(run)).updates()[-1])
    files = [last / "model.safetensors", last / "training.safetensors"]
    files += [Path(run) / "best.safetensors", Path(run) / "last.safetensors"]
    return {f"{file.name}:{name}": tensor for file in files for name, tensor in load_file(file).items()}


def assert_same_run(run, other):
    """Bit for bit the same weights, moments, random states, updates and validations."""
    one, two = tensors(run), tensors(other)
    assert one.keys() == two.keys()
    assert [name for name in one if not torch.equal(one[name], two[name])] == []
    assert log(run, "update", "validation", "average", "stop") == log(other, "update", "validation", "average", "stop")


def write_config(path, values):
    """A run file of these values."""
    from regard.training.config import load_config
    from regard.training.toml import render

    path.write_text(render(load_config(values)))
    return path


def toy(*arguments, **options):
    """Run the toy task as a command."""
    return start("tests.training.toy_task", *arguments, **options)


def start(module, *arguments, processes=1, restarts=0, **environment):
    """Run a module as a command, by torchrun where there are several processes."""
    command = [sys.executable]
    if processes > 1:
        command += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        command += ["--max-restarts", str(restarts)]
        environment = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **environment}
    variables = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **environment}
    return subprocess.run(
        [*command, "-m", module, *map(str, arguments)],
        env=variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
