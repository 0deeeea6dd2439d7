"""Which tests are left out when time is short: the marks ``browser``, ``training`` and ``slow``, given out by rule.

``make test-fast`` runs the tests that have none of them. A test gets a mark by what it needs (a fixture) or by the file
it stands in, so that nobody has to remember one.
"""

from __future__ import annotations

import pytest

BY_FIXTURE = {
    "browser": {"browser", "page", "phone"},
    "training": {"toy", "toy_run", "toy_back", "blind_run", "soft_run", "hard_run", "reader"},
}
BY_PLACE = {
    "training": (
        "tests/captioning/test_critic.py",
        "tests/captioning/test_model.py::test_it_learns",
        "tests/captioning/test_task.py",
        "tests/cli/test_demo.py",
        "tests/demo/test_sections.py",
        "tests/test_examples.py::test_blackboard",
        "tests/test_examples.py::test_scenes",
        "tests/training/test_damage.py",
        "tests/training/test_directory.py",
        "tests/training/test_distributed.py",
        "tests/training/test_export.py",
        "tests/training/test_loop.py",
        "tests/training/test_run.py",
        "tests/translation/test_distributed.py",
        "tests/translation/test_links.py::test_attention_follows",
        "tests/translation/test_task.py",
        "tests/translation/test_toy_tasks.py",
    ),
    "slow": (
        "tests/captioning/test_backbones.py",  # a CNN of ImageNet, and models of transformers
        "tests/explorer/test_server.py",  # servers as processes of their own, and waits
        "tests/kernels/test_compiling.py",  # kernels compiled anew
        "tests/test_wheel.py",
    ),
}
"""Files, or tests of a file by how their names begin."""


def marks_of(fixtures: set[str], place: str) -> set[str]:
    """The marks of a test that uses these fixtures and stands at this place, ``tests/a/test_b.py::test_c``."""
    needed = {mark for mark, names in BY_FIXTURE.items() if names & fixtures}
    placed = {mark for mark, places in BY_PLACE.items() if place.startswith(places)}
    return needed | placed


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for mark in sorted(marks_of(fixtures, item.nodeid)):
            item.add_marker(mark)
