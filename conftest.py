"""Names that the examples in docstrings use."""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import regard

pytest_plugins = ["tests.chromium"]

settings.register_profile("regard", deadline=None)  # a busy machine is not a defect
settings.load_profile("regard")


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(np=np, regard=regard)
