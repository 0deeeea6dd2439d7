"""``regard inspect``: what the heads of a model do, and where they look."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from regard.errors import DataError, InputError

if TYPE_CHECKING:
    from regard.inspection.recorded import Recorded

TOP = 10  # strongest weights of a map in --json
STRONGEST = 3  # maps in --json


def inspect(
    model: str,
    words: str | None = None,
    /,
    *,
    text: Path | None = None,
    image: Path | None = None,
    layer: str | None = None,
    head: int | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
    plot: Path | None = None,
    html: Path | None = None,
) -> None:
    """Record the attention of a model while it reads a text or a picture, and show what its heads do.

    Parameters
    ----------
    model
        The directory of a Hugging Face model, a run directory, or a model that ships with regard.
    words
        The text.
    text
        A file with the text.
    image
        A picture.
    layer
        Draw this layer, by its number or its module's name, instead of the most telling one.
    head
        Draw this head of it.
    json_
        Print one JSON object: tokens, every head, and the strongest weights of the most telling maps.
    plot
        Write the map of the chosen head as a figure (.png, .svg, .pdf).
    html
        Write it as a page that stands alone (.html).
    """
    if [words, text, image].count(None) != 2:
        raise InputError('give one thing to look at: "a text", --text FILE or --image FILE')
    for path, endings in ((plot, None), (html, (".html",))):
        if path is not None:
            from regard.show.figures import ENDINGS, checked_path

            checked_path(path, endings or ENDINGS)
    recorded = _recorded(model, _read(text) if text is not None else words, image)
    if json_:
        sys.stdout.write(json.dumps(_told(recorded, model), ensure_ascii=False) + "\n")
    elif layer is None and head is None:
        recorded.show()
    if layer is not None or head is not None or plot is not None or html is not None:
        _draw(recorded, layer, head, plot, html, quiet=json_)


def _recorded(model: str, words: str | None, image: Path | None) -> Recorded:
    from regard.inspection.pretrained import is_pretrained, load_model, record_image, record_text

    directory = Path(model)
    if not (directory / "config.toml").is_file() and directory.is_dir() and is_pretrained(directory):
        loaded = load_model(directory)
        return record_text(loaded, directory, words) if words is not None else record_image(loaded, directory, image)  # type: ignore[arg-type]
    return _own_text(model, words) if words is not None else _own_image(model, image)


def _own_text(model: str, words: str) -> Recorded:
    """A translator, made to write its own translation in one pass."""
    from regard.inspection.recorder import record
    from regard.translation.translator import Translator

    if not words.strip():
        raise InputError("the text is empty; give one with at least one word")
    translator = Translator.load(model)
    found = translator.translate(words)
    with record(translator) as recorded:
        translator.align(words, found.text)
    source, target = (
        vocabulary.pieces(vocabulary.encode([text])[0])
        for vocabulary, text in (
            (translator.vocabularies.source, words),
            (translator.vocabularies.target, found.text),
        )
    )
    recorded.crosses.add("decoder.attention")  # of an RNN, whose decoder has no other
    recorded.tokens = ([*source, "end"], [*target, "end"])
    return recorded


def _own_image(model: str, image: Any) -> Recorded:
    """A captioner, which writes word by word."""
    from regard.captioning.captioner import Captioner
    from regard.inspection.recorder import record

    captioner = Captioner.load(model)
    with record(captioner) as recorded:
        captioner.caption(str(image), beam=1)
    return recorded


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start + 1}. Convert the text to UTF-8.") from None


def _told(recorded: Recorded, model: str) -> dict[str, Any]:
    from regard.show.inspection import telling

    heads = recorded.heads()
    maps = [
        {
            "layer": head.layer,
            "head": head.head,
            "name": head.name,
            "top": [
                [peak.row, peak.column, round(peak.weight, 6)] for peak in recorded[head.layer][0, head.head].top(TOP)
            ],
        }
        for head in telling(heads)[:STRONGEST]
    ]
    return {"model": model, "tokens": recorded.tokens, "heads": heads.to_json(), "strongest": maps}


def _draw(
    recorded: Recorded, layer: str | None, head: int | None, plot: Path | None, html: Path | None, *, quiet: bool
) -> None:
    from regard.inspection.names import is_meant, no_such_layer
    from regard.show.inspection import telling

    wanted: int | str | None = int(layer) if layer is not None and layer.isdecimal() else layer
    found = [
        known
        for known in telling(recorded.heads())
        if (wanted is None or is_meant(known.layer, wanted)) and (head is None or known.head == head)
    ]
    if not found and wanted is not None and not any(is_meant(name, wanted) for name in recorded):
        raise no_such_layer([wanted], list(recorded))
    if not found:
        raise InputError(f"there is no head {head} there; the layers have {len(next(iter(recorded.values())).heads)}")
    chosen = recorded[found[0].layer][0, found[0].head]
    if plot is None and html is None and not quiet:
        chosen.show()
    for path, write in ((plot, chosen.plot), (html, chosen.html)):
        if path is not None:
            write(path)
            sys.stderr.write(f"wrote {path}: {found[0].layer}, head {found[0].head}\n")
