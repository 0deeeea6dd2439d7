"""``regard serve``: the explorer, a page on this machine to step through attention."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number


def serve(*models: str, port: Annotated[int, Parameter(validator=Number(gte=0, lte=65535))] = 8765) -> None:
    """Open a page on this machine to step through attention; Ctrl-C ends it.

    Parameters
    ----------
    models
        Models that ship with regard, run directories, or recordings of `regard.record(store=DIR)`; all models that
        ship with regard when none are named.
    port
        Where to listen on 127.0.0.1; a free port when that one is taken.
    """
    from regard.explorer.server import serve as run

    if not run(models, port=port):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # what is still computed cannot be stopped, and Python would wait for its thread
