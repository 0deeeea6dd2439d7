"""The report: one HTML file with everything in it, light or dark as the reader has it, that asks no network."""

from __future__ import annotations

import base64
import html
import importlib.resources
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import regard
from regard.files import write_text

WIDE = 1.8  # width to height; a wider picture may be scrolled on a narrow screen


@dataclass(frozen=True)
class Picture:
    """A PNG file that was drawn, and what it shows; ``live`` is a page beside the report to look closer with."""

    path: Path
    caption: str
    live: Path | None = None


@dataclass(frozen=True)
class Section:
    """A chapter of the report. ``missing`` says why there is nothing to see, where that is so."""

    title: str
    story: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Sequence[Sequence[str]] = ()
    """the first row is the head"""
    commands: Sequence[str] = ()
    missing: str = ""
    facts: dict[str, str] = field(default_factory=dict)


def write_report(path: Path, sections: Sequence[Section], closing: str) -> Path:
    """Write the sections as one page."""
    chapters = "\n".join(_chapter(number, section) for number, section in enumerate(sections, 1))
    contents = "".join(
        f'<li><a href="#part-{number}">{html.escape(section.title)}</a></li>'
        for number, section in enumerate(sections, 1)
    )
    style = importlib.resources.files("regard.demo").joinpath("report.css").read_text("utf-8")
    page = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>regard: attention you can compute, train and see</title>
<style>
{style}</style>
<body>
<header>
<h1>Attention, computed, trained and seen</h1>
<p>Every number and picture on this page was made on this computer a moment ago by regard {regard.__version__}.</p>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
</header>
<main>
{chapters}
</main>
<footer><p>{html.escape(closing)}</p></footer>
</body>
</html>
"""
    write_text(path, page)
    return path


def _chapter(number: int, section: Section) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>"]
    parts += [f"<p>{html.escape(paragraph)}</p>" for paragraph in section.story]
    if section.missing:
        parts.append(f'<p class="missing">{html.escape(section.missing)}</p>')
    if section.facts:
        rows = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in section.facts.items()
        )
        parts.append(f"<dl>{rows}</dl>")
    parts += [_figure(picture) for picture in section.pictures]
    if section.table:
        parts.append(_table(section.table))
    if section.commands:
        parts.append(f"<pre><code>{html.escape(chr(10).join(section.commands))}</code></pre>")
    return f'<section id="part-{number}">\n' + "\n".join(parts) + "\n</section>"


def _figure(picture: Picture) -> str:
    content = picture.path.read_bytes()
    width, height = struct.unpack(">II", content[16:24])  # where a PNG file says its size
    caption = html.escape(picture.caption)
    image = (
        f'<img src="data:image/png;base64,{base64.b64encode(content).decode()}" alt="{caption}" '
        f'width="{width}" height="{height}">'
    )
    more = f' <a href="{html.escape(picture.live.name)}">Point at its cells</a>' if picture.live else ""
    frame = "frame wide" if width > WIDE * height else "frame"
    return f'<figure><div class="{frame}">{image}</div><figcaption>{caption}{more}</figcaption></figure>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    top = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
