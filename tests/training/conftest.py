"""A trained translator, as the tests of translation have it."""

from tests.translation.conftest import toy_run

__all__ = ["toy_run"]
