"""``regard translate``: sentences in, translations out, with their maps if asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.cli.written import check_plot, draw, write_result
from regard.errors import DataError, InputError
from regard.search_options import TRANSLATION, SearchKeywords

_LONGEST_LINE = 1 << 20  # bytes


def translate(
    *text: str,
    model: str = "en-fr",
    beam: int = TRANSLATION.beam,
    n_best: int = TRANSLATION.n_best,
    alpha: float = TRANSLATION.alpha,
    max_length: int | None = TRANSLATION.max_length,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    map_: Annotated[bool | None, Parameter(name="--map", negative="--no-map")] = None,
    plot: Path | None = None,
    hide: Annotated[list[str] | None, Parameter(negative="")] = None,
    hide_input: Annotated[bool, Parameter(negative="")] = False,
    needed: Annotated[bool, Parameter(negative="")] = False,
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
        Print the attention map below each translation; in a terminal this is done unless --no-map is given.
    plot
        Write the map of the (single) sentence as a figure (.png, .svg, .pdf) or as a page that stands alone (.html).
    hide
        A source word that the attention may not see, as it is written or by its number from 0; repeat it for several.
    hide_input
        Take the hidden words out of the input too, so that nothing in the model has read them.
    needed
        Show what each word needed instead of where the model looked: the log-probability that it loses when a source
        word is hidden. With --json it is added as "needed". A page (--plot x.html) holds both.
    """
    if plot is not None:
        check_plot(plot)
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
    options: SearchKeywords = {"beam": beam, "n_best": n_best, "alpha": alpha, "max_length": max_length}
    hidden = [int(word) if word.isdecimal() else word for word in hide or ()]
    for found in translator.stream(lines, batch=batch, hide=hidden, hide_input=hide_input, **options):
        write_result(found, as_json=json_, needed=needed)
        if map_ and found.weights is not None and found.weights.size:
            found.show(by="needed" if needed else "weights")
            sys.stdout.write("\n")
        sys.stdout.flush()
        if plot is not None:
            draw(found, plot, needed=needed)


def _stdin_lines() -> Iterator[str]:
    lines = iter(lambda: sys.stdin.buffer.readline(_LONGEST_LINE), b"")
    for number, line in enumerate(lines, 1):
        if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
            raise DataError(
                f"stdin:{number}: this line is longer than {_LONGEST_LINE:,} bytes. Put each sentence on its own line."
            )
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")  # the mark some editors put first
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"stdin:{number}: not UTF-8 at byte {error.start + 1}. Convert the text to UTF-8."
            ) from None
