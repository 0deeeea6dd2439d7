"""Verbs called in this process, as the command calls them."""

from __future__ import annotations

from cyclopts import App


def run(verb, *arguments):
    App(default_command=verb, result_action="return_value")(list(arguments))
