"""``regard translate``: sentences in, translations out, with their maps if asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.errors import DataError, InputError


def translate(
    *text: str,
    model: str = "en-fr",
    beam: int = 5,
    n_best: int = 1,
    alpha: float = 1.4,
    max_length: int | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    map_: Annotated[bool | None, Parameter(name="--map", negative="--no-map")] = None,
    plot: Path | None = None,
) -> None:
    """Translate sentences; stdin, a sentence a line, when none are given.

    Parameters
    ----------
    text
        Sentences to translate, each an argument.
    model
        A model that ships with regard, or a run directory.
    beam
        Hypotheses kept at every step; 1 is greedy.
    n_best
        How many translations to give of each sentence, best first (at most the beam).
    alpha
        Weight of the length penalty; 0 ranks by probability alone.
    max_length
        The longest translation, in pieces of words; twice the source's length and ten when left out.
    json_
        Print a JSON object a line, with the words, the weights and the score.
    map_
        Print where each word looked below each translation; in a terminal this is done unless --no-map is given.
    plot
        Write the map of the (single) sentence as a figure (.png, .svg, .pdf) or as a page that stands alone (.html).
    """
    if plot is not None:
        from regard.show.figures import ENDINGS, checked_path
        from regard.show.html import ENDING, is_html

        checked_path(plot, (*ENDINGS, ENDING))
        if len(text) != 1:
            raise InputError(f"--plot draws one sentence; {len(text) or 'none'} given. Give one as an argument.")
    from regard.translation.translator import BATCH, Translator

    if map_ and json_:
        raise InputError("--json holds the weights already; leave --map out")
    if map_ is None:
        map_ = not json_ and sys.stdout.isatty()
    if not text and sys.stdin is None:
        raise InputError("there is no text to translate: give sentences as arguments, or on stdin")
    translator = Translator.load(model)
    lines = iter(text) if text else _stdin_lines()
    batch = 1 if not text and sys.stdin.isatty() else BATCH
    for found in translator.stream(lines, beam=beam, n_best=n_best, alpha=alpha, max_length=max_length, batch=batch):
        if json_:
            sys.stdout.write(json.dumps(found.to_json(), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write("\n".join([found.text, *(other.text for other in found.alternatives)]) + "\n")
        if map_ and found.weights is not None and found.weights.size:
            found.show()
            sys.stdout.write("\n")
        sys.stdout.flush()
        if plot is not None:
            (found.html if is_html(plot) else found.plot)(plot)
            sys.stderr.write(f"wrote {plot}\n")


def _stdin_lines() -> Iterator[str]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors put first
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"stdin:{number}: not UTF-8 at byte {error.start + 1}. Convert the text to UTF-8."
            ) from None
