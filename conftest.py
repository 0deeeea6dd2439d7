"""Names that the examples in docstrings use."""

from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests import shapes

shapes.install()  # before anything of the package is imported

import regard  # noqa: E402

pytest_plugins = ["tests.chromium", "tests.markers"]

settings.register_profile("regard", deadline=None)  # a busy machine is not a defect
settings.load_profile("regard")


@pytest.fixture(autouse=True)
def _names_in_examples(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.update(np=np, regard=regard)
