"""Trained translators and captioners, as the tests of the tasks have them."""

from tests.captioning.conftest import hard_run, scenes, soft_run
from tests.translation.conftest import blind_run, toy_back, toy_run

__all__ = ["blind_run", "hard_run", "scenes", "soft_run", "toy_back", "toy_run"]
