"""``regard caption``: photographs in, captions out, with figures of their attention if asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.cli.written import check_plot, draw, write_result
from regard.errors import InputError
from regard.search_options import CAPTIONING, SearchKeywords


def caption(
    *image: str,
    model: str = "flickr8k",
    beam: int = CAPTIONING.beam,
    n_best: int = CAPTIONING.n_best,
    alpha: float = CAPTIONING.alpha,
    max_length: int | None = CAPTIONING.max_length,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    plot: Path | None = None,
    hide: Annotated[list[str] | None, Parameter(negative="")] = None,
    hide_input: Annotated[bool, Parameter(negative="")] = False,
    needed: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Describe photographs.

    Parameters
    ----------
    image
        Photographs, each a file.
    model
        A model that ships with regard, or a run directory.
    beam
        Hypotheses kept at every step; 1 is greedy.
    n_best
        How many captions to give of each photograph, best first (at most the beam).
    alpha
        Weight of the length penalty; 0 ranks by probability alone.
    max_length
        The longest caption, in words, its end included.
    json_
        Print a JSON object a line, with the words, the weights and the score.
    plot
        Draw the (single) photograph once for each word, lit where its weights are (.png, .svg, .pdf), or write it as a
        page that stands alone (.html).
    hide
        A cell that the attention may not see, "row,column" from 0; repeat it for several.
    hide_input
        Make the hidden cells grey in the photograph too, so that nothing in the model has seen them.
    needed
        Draw what each word needed instead of where the model looked: the log-probability that it loses when cells are
        hidden. With --json it is added as "needed". A page (--plot x.html) holds both.
    """
    if not image:
        raise InputError("there is no photograph to describe: regard caption photo.jpg")
    if plot is not None:
        check_plot(plot)
        if len(image) != 1:
            raise InputError(f"--plot draws one photograph; {len(image)} given. Give one.")
    from regard.captioning.captioner import Captioner

    captioner = Captioner.load(model)
    options: SearchKeywords = {"beam": beam, "n_best": n_best, "alpha": alpha, "max_length": max_length}
    cells = [_cell(text) for text in hide or ()]
    for found in captioner.stream(image, hide=cells, hide_input=hide_input, **options):
        write_result(found, as_json=json_, needed=needed)
        if plot is not None:
            draw(found, plot, needed=needed)


def _cell(text: str) -> tuple[int, int]:
    """A cell as it is written on the command line.

    >>> _cell("3,5")
    (3, 5)
    """
    row, comma, column = text.partition(",")
    if not (comma and row.strip().isdecimal() and column.strip().isdecimal()):
        raise InputError(f'--hide takes a cell as "row,column" from 0, such as 3,5; {text!r} came')
    return int(row), int(column)
