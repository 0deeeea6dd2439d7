"""``regard caption``: photographs in, captions out, with a picture of where each word looked if asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from regard.errors import InputError


def caption(
    *image: str,
    model: str = "flickr8k",
    beam: int = 5,
    n_best: int = 1,
    alpha: float = 1.3,
    max_length: int = 40,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    plot: Path | None = None,
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
        Draw the (single) photograph once for each word, lit where the model looked (.png, .svg, .pdf), or write it as a
        page that stands alone (.html).
    """
    if not image:
        raise InputError("there is no photograph to describe: regard caption photo.jpg")
    if plot is not None:
        from regard.show.figures import ENDINGS, checked_path
        from regard.show.html import ENDING, is_html

        checked_path(plot, (*ENDINGS, ENDING))
        if len(image) != 1:
            raise InputError(f"--plot draws one photograph; {len(image)} given. Give one.")
    from regard.captioning.captioner import Captioner

    captioner = Captioner.load(model)
    for found in captioner.stream(image, beam=beam, n_best=n_best, alpha=alpha, max_length=max_length):
        if json_:
            sys.stdout.write(json.dumps(found.to_json(), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write("\n".join([found.text, *(other.text for other in found.alternatives)]) + "\n")
        sys.stdout.flush()
        if plot is not None:
            (found.html if is_html(plot) else found.plot)(plot)
            sys.stderr.write(f"wrote {plot}\n")
