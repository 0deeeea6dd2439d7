"""Kernels on disk: found again, made anew when any kernel changes, and not needed where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import regard
from regard.kernels import additive_cpu, compiling

CALL = """
import torch
from regard.kernels import additive_cpu, additive_scores
x = torch.ones(1, 2, 8)
print(additive_scores(x, x, x[0, 0])[0, 0, 0].item(), sum(additive_cpu._forward.stats.cache_hits.values()))
"""
TANH = 8 * torch.tanh(torch.tensor(2.0)).item()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, with a home folder beside it."""
    copy = tmp_path / "site" / "regard"
    shutil.copytree(Path(regard.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def call(package: Path) -> tuple[float, int]:
    """The score that a new process computes, and how many kernels it found on disk; it must say nothing else."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "PYTHONPATH", "XDG"))}
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        env={**kept, "HOME": str(package.parents[1]), "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stderr == ""
    score, found = done.stdout.split()
    return float(score), int(found)


def test_kernels_are_compiled_once(package: Path) -> None:
    assert call(package) == (pytest.approx(TANH), 0)
    assert call(package) == (pytest.approx(TANH), 1)


def test_a_change_in_what_a_kernel_is_made_of_is_noticed(package: Path) -> None:
    call(package)
    lanes = package / "kernels" / "simd.py"
    text = lanes.read_text()
    assert "1.4426950408889634" in text
    lanes.write_text(text.replace("builder.fmul(x, _constant(vector, 1.4426950408889634))", "_constant(vector, 0.0)"))
    score, found = call(package)
    assert found == 0
    assert score != pytest.approx(TANH)  # without its reduction, exp(2) is a series cut short


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_package_that_cannot_be_written_to(package: Path) -> None:
    for folder in [package, *package.rglob("*/")]:
        folder.chmod(0o555)
    assert call(package) == (pytest.approx(TANH), 0)
    assert call(package) == (pytest.approx(TANH), 1)


def test_a_package_folder_where_no_cache_can_be_made(package: Path) -> None:
    """A file stands where the folder would be made: the user's cache folder is used."""
    (package / "kernels" / "__pycache__").write_text("")
    assert call(package) == (pytest.approx(TANH), 0)
    assert call(package) == (pytest.approx(TANH), 1)


def test_no_cache_anywhere(package: Path) -> None:
    (package / "kernels" / "__pycache__").write_text("")
    (package.parents[1] / ".cache").write_text("")
    assert call(package) == (pytest.approx(TANH), 0)
    assert call(package) == (pytest.approx(TANH), 0)


def test_where_numba_hides_its_stamp_nothing_is_taken_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks when ``_cache._cache_file._source_stamp`` disappears: the cache, never the results."""
    asked = []

    def njit(**options: object) -> object:
        asked.append(options.get("cache", False))
        return lambda function: function  # as compiled, but without the stamp

    monkeypatch.setattr(compiling, "njit", njit)
    assert compiling.kernel(len) is len
    assert asked == [True, False]


def test_the_stamp_of_a_kernel_is_that_of_all_of_them() -> None:
    stamp = additive_cpu._forward._cache._cache_file._source_stamp
    assert isinstance(stamp, tuple), "Numba keeps its stamp elsewhere now: kernels are compiled anew by every process"
    assert stamp[1] == compiling._package()
