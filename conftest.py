"""Names that the examples in docstrings use."""

from typing import Any

import numpy as np
import pytest

import regard


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(np=np, regard=regard)
