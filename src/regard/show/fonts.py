"""Fonts for any script: matplotlib's own first, then, glyph by glyph, what the machine has."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

BASE = "DejaVu Sans"  # comes with matplotlib: Latin, Greek, Cyrillic, Arabic, Hebrew, symbols and some emoji
# What says little (placeholders for every character) or cannot be scaled.
_UNFIT = ("last resort", "lastresort", "blank", "color emoji", "dejavu")
_DEBIAN = {"CJK": "fonts-noto-cjk", "emoji": "fonts-symbola"}
_CJK = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "KANGXI", "FULLWIDTH", "HALFWIDTH")
_SHOWN = 5  # characters named in the warning


class MissingFontWarning(UserWarning):
    """Characters that no font of this machine can draw."""


class _Face(NamedTuple):
    name: str
    path: str
    number: int


def families_for(texts: Iterable[str]) -> list[str]:
    """Font families that together draw the texts, best first; warns once of what none of them can."""
    wanted = {char for text in texts for char in text if _needs_glyph(char)}
    missing = {char for char in wanted if not _base().get_char_index(ord(char))}
    families = [BASE]
    faces = _faces() if missing else []
    while missing:
        found = [(sum(_has_glyph(face, char) for char in missing), face) for face in faces]
        best, face = max(found, key=lambda pair: (pair[0], _preference(pair[1], wanted)), default=(0, None))
        if not best or face is None:
            break
        families.append(face.name)
        missing = {char for char in missing if not _has_glyph(face, char)}
    if missing:
        warnings.warn(_missing_text(sorted(missing)), MissingFontWarning, stacklevel=2)
    return families


def script_of(char: str) -> str:
    """The name people know the character's script by.

    >>> [script_of(char) for char in "語かनไ🤖"]
    ['CJK', 'CJK', 'Devanagari', 'Thai', 'emoji']
    """
    if ord(char) >= 0x1F000 and unicodedata.category(char) in ("So", "Sk"):
        return "emoji"
    first = unicodedata.name(char, "").split(" ")[0]
    if not first:
        return f"U+{ord(char):04X}"
    return "CJK" if first.split("-")[0] in _CJK else first.capitalize()


def _missing_text(missing: list[str]) -> str:
    scripts: dict[str, list[str]] = {}
    for char in missing:
        scripts.setdefault(script_of(char), []).append(char)
    named = " and ".join(
        f"{script} ({' '.join(chars[:_SHOWN])}{' …' if len(chars) > _SHOWN else ''})"
        for script, chars in scripts.items()
    )
    packages = " ".join(dict.fromkeys(_DEBIAN.get(script, "fonts-noto-core") for script in scripts))
    return (
        f"no font on this machine draws {named}: drawn as boxes. Install a font that does "
        f"(on Debian and Ubuntu: apt install {packages}) and draw again."
    )


def _needs_glyph(char: str) -> bool:
    """Joiners, selectors and spaces need no glyph of their own."""
    hidden = unicodedata.category(char) in ("Cf", "Zs", "Cc", "Cs")
    return not hidden and not 0xFE00 <= ord(char) <= 0xFE0F and not 0xE0100 <= ord(char) <= 0xE01EF


def _preference(face: _Face, wanted: set[str]) -> tuple[bool, ...]:
    """Between fonts that draw as much: the one for the language at hand, sans before serif, proportional."""
    kinds = {unicodedata.name(char, "").split(" ")[0] for char in wanted}
    region = "JP" if kinds & {"HIRAGANA", "KATAKANA"} else "KR" if "HANGUL" in kinds else "SC"
    name = face.name
    return (name.endswith(region), "Noto" in name, "Sans" in name, "Mono" not in name, "UI" not in name)


def _faces() -> list[_Face]:
    """Upright scalable faces of the machine, one for each family."""
    from matplotlib import font_manager

    _add_new_fonts()
    manager = font_manager.fontManager
    faces: dict[str, _Face] = {}
    for entry in sorted(manager.ttflist, key=lambda entry: (str(entry.weight) not in ("400", "normal"), entry.name)):
        fit = not any(word in entry.name.lower() for word in _UNFIT)
        if fit and entry.style == "normal" and entry.size == "scalable":
            faces.setdefault(entry.name, _Face(entry.name, entry.fname, entry.index))
    return list(faces.values())


@lru_cache(maxsize=1)
def _add_new_fonts() -> None:
    """matplotlib keeps a list of the fonts it once found; those installed since are added, once a process."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    for path in sorted(set(font_manager.findSystemFonts()) - {entry.fname for entry in manager.ttflist}):
        with suppress(OSError, RuntimeError, ValueError, KeyError):  # a file that FreeType cannot read is no font
            manager.addfont(path)


@lru_cache(maxsize=1)
def _base() -> Any:
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    return FT2Font(font_manager.findfont(BASE))


@lru_cache(maxsize=4096)
def _open(face: _Face) -> Any:
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(face.path, face_index=face.number)
    except (OSError, RuntimeError):
        return None
    return font if font.scalable else None


def _has_glyph(face: _Face, char: str) -> bool:
    font = _open(face)
    return font is not None and bool(font.get_char_index(ord(char)))
