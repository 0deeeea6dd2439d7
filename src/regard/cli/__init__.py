"""The ``regard`` command: one file a verb, each imported when it is called."""

from __future__ import annotations

import io
import os
import sys
import warnings
from typing import NoReturn

from cyclopts import App, CycloptsError

import regard
from regard.errors import RegardError

VERBS = {
    "attend": "Compute attention on your own numbers and see every step.",
    "init": "Write a commented run file with every default.",
    "train": "Train a model as a run file says.",
    "translate": "Translate sentences, and see where the model looked.",
    "caption": "Describe photographs, and see where the model looked for each word.",
    "scenes": "Draw scenes of coloured shapes to learn captioning on.",
    "evaluate": "Measure models on a test set, also by length.",
    "align": "Align given sentence pairs word by word.",
    "inspect": "Look into a model that others trained: what its heads do, and its strongest maps.",
    "export": "Write a trained model as a small folder to hand on.",
    "serve": "Open a page on this machine to step through attention.",
    "demo": "Compute the worked examples, train two small models, and write a report.",
}


def build_app() -> App:
    """The command with its verbs; no verb's own imports happen here."""
    app = App(
        name="regard",
        help="Attention you can compute, train and see.",
        version=f"regard {regard.__version__}",
        help_format="plaintext",  # the default, Markdown, costs a fifth of the time that --help takes
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
        build_app()(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        if sys.stdout is not None:  # None where the shell closed it
            sys.stdout.flush()
    except (RegardError, CycloptsError, UnicodeEncodeError) as error:
        if debug:
            raise
        sys.exit(fail(_said(error)))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except (MemoryError, RuntimeError) as error:
        if debug or not _out_of_memory(error):
            raise
        sys.exit(fail(f"there is not enough memory for this. {str(error).partition(chr(10))[0]}".rstrip()))
    except OSError as error:
        if debug:
            raise
        _drop_stdout()
        where = f"{error.filename}: " if error.filename else "cannot write the output: "
        sys.exit(fail(f"{where}{error.strerror or error}"))
    sys.exit(0)


def _said(error: Exception) -> str:
    """An error's text, as ours are written."""
    if isinstance(error, UnicodeEncodeError):
        return (
            f"stdout is {error.encoding}, which cannot hold {error.object[error.start : error.end]!r}; "
            "set PYTHONIOENCODING=utf-8"
        )
    if isinstance(error, CycloptsError):
        text = " ".join(str(error).split())
        return f"{text[:1].lower()}{text[1:]} See --help."
    return str(error)


def _out_of_memory(error: Exception) -> bool:
    """Whether memory was all that was lacking; torch says so in words only."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error)


def _drop_stdout() -> None:
    """Let what could not be written go, so that the interpreter does not try it again while it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # it has no file
        sys.stdout = io.StringIO()


def fail(message: str) -> int:
    """Say what went wrong on stderr; returns the exit code."""
    sys.stderr.write(f"regard: {message}\n")
    return 2


def _warning_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> str:
    """A warning of our own as one line, without the line of code that gave it."""
    name = "regard" if category.__module__.startswith("regard.") else category.__name__
    return f"{name}: {message}\n"
