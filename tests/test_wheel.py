"""The wheel, as users get it: complete, small, and at work outside the clone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

import regard

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"


def run(*command: object, cwd: Path) -> str:
    """What the command prints, run outside the clone and without a path to it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment: regard from the wheel, its dependencies from the environment of the tests."""
    environment = tmp_path_factory.mktemp("new") / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=wheel.parent)
    programs = environment / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", wheel, cwd=wheel.parent)
    own = Path(
        run(
            programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=wheel.parent
        ).strip()
    )
    # A folder named by a .pth file comes after the environment's own, and its own .pth files (the clone's) go unread.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


def test_it_holds_every_file_of_the_package_and_is_small(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("regard/")}
    there = {path.relative_to(SOURCES).as_posix() for path in (SOURCES / "regard").rglob("*") if path.is_file()}
    assert held == {name for name in there if "__pycache__" not in name}
    assert {"regard/py.typed", "regard/pretrained/en-fr/best.safetensors"} <= held
    assert {Path(name).suffix for name in held} >= {".js", ".css", ".html", ".svg", ".toml", ".model", ".safetensors"}
    assert wheel.stat().st_size < 70_000_000
    assert wheel.name.startswith(f"regard-{regard.__version__}-")


def test_installed_elsewhere_it_translates(installed, tmp_path):
    home = run(installed / "python", "-c", "import regard; print(regard.__file__)", cwd=tmp_path).strip()
    assert Path(home).is_relative_to(installed.parent)
    line = json.loads(run(installed / "regard", "translate", "a red house", "--json", cwd=tmp_path))
    assert line["translation"] == regard.Translator.load("en-fr").translate("a red house").text
    assert len(line["weights"]) == len(line["target_words"])
