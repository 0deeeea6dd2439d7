"""The ``regard`` command: one file a verb, each imported when it is called."""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn

from cyclopts import App

import regard
from regard.errors import RegardError

VERBS = {
    "attend": "Compute attention on your own numbers and see every step.",
    "init": "Write a commented run file with every default.",
    "train": "Train a model as a run file says.",
    "translate": "Translate sentences, and see where the model looked.",
    "caption": "Describe photographs, and see where the model looked for each word.",
    "evaluate": "Measure models on a test set, also by length.",
    "align": "Align given sentence pairs word by word.",
    "export": "Write a trained model as a small folder to hand on.",
    "serve": "Open a page on this machine to step through attention.",
    "demo": "Run the worked examples and write their pictures.",
}


def build_app() -> App:
    """The command with its verbs; no verb's own imports happen here."""
    app = App(
        name="regard",
        help="Attention you can compute, train and see.",
        version=f"regard {regard.__version__}",
    )
    for verb, help_line in VERBS.items():
        app.command(f"regard.cli.{verb}:{verb}", name=verb, help=help_line)
    return app


def main() -> NoReturn:
    """Run the command; what a person can mend is said in one line and ends with 2 (``--debug`` shows the traceback)."""
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    debug = len(arguments) < len(sys.argv) - 1
    warnings.formatwarning = _warning_line
    try:
        build_app()(arguments)
    except RegardError as error:
        if debug:
            raise
        sys.exit(fail(str(error)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    sys.exit(0)


def fail(message: str) -> int:
    """Say what went wrong on stderr; returns the exit code."""
    sys.stderr.write(f"regard: {message}\n")
    return 2


def _warning_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> str:
    """A warning of our own as one line, without the line of code that gave it."""
    name = "regard" if category.__module__.startswith("regard.") else category.__name__
    return f"{name}: {message}\n"
