"""requirements.lock: everything that pyproject.toml asks for, at a version that it allows, with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PIN = r"^(\S+)==(\S+).*((?:\n +--hash=sha256:[0-9a-f]{64}.*)*)"
LOCKED = re.findall(PIN, (ROOT / "requirements.lock").read_text(), re.M)


def test_what_is_asked_for_is_locked_at_a_version_that_is_allowed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
        wanted = Requirement(line)
        versions = [version for name, version, _ in LOCKED if name == canonicalize_name(wanted.name)]
        assert all(wanted.specifier.contains(version) for version in versions), line
        assert bool(versions) == (wanted.name != "torch"), f"{line}: run `make lock`"


def test_every_file_has_a_hash():
    assert len(LOCKED) > 100
    assert all(hashes for *_, hashes in LOCKED)
