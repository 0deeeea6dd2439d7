import warnings

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

from regard.show import fonts
from regard.show.figures import plot_map
from regard.show.fonts import BASE, MissingFontWarning, families_for


def make_font(path, family, characters):
    """A font of black squares for these characters."""
    pen = TTGlyphPen(None)
    for move, point in zip(("moveTo", *["lineTo"] * 3), ((100, 0), (100, 800), (900, 800), (900, 0)), strict=True):
        getattr(pen, move)(point)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"u{ord(char):x}" for char in characters)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(char): f"u{ord(char):x}" for char in characters})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 100)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


@pytest.fixture
def machine_without_fonts(monkeypatch):
    """Only what comes with matplotlib."""
    own = [entry for entry in font_manager.fontManager.ttflist if "mpl-data" in entry.fname and "DejaVu" in entry.name]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    monkeypatch.setattr(fonts, "_add_new_fonts", lambda: None)


@pytest.mark.usefixtures("machine_without_fonts")
class TestOnABareMachine:
    def test_latin_arabic_hebrew_and_combining_marks_need_no_more(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert families_for(["économique e\u0301\u0323", "السلام", "שלום", "Привет", "a\u200db ❤\ufe0f"]) == [BASE]

    def test_one_warning_names_the_scripts_and_what_to_install(self, tmp_path):
        with pytest.warns(MissingFontWarning) as warned:
            plot_map([[1.0, 0.0]], ["日本語"], ["कि", "𓀀"], tmp_path / "map.png")
        assert len(warned) == 1
        text = str(warned[0].message)
        for script in ("CJK (日 本 語)", "Devanagari (क ि)", "Egyptian (𓀀)"):
            assert script in text
        assert "apt install" in text
        assert "fonts-noto-cjk" in text
        assert (tmp_path / "map.png").stat().st_size > 1000

    def test_a_font_that_has_the_glyphs_is_found_and_drawn(self, tmp_path):
        some = make_font(tmp_path / "some.ttf", "Some Kanji", "日")
        more = make_font(tmp_path / "more.ttf", "More Kanji", "日本")
        for path in (some, more):
            font_manager.fontManager.addfont(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert families_for(["日本 a"]) == [BASE, "More Kanji"]
            plot_map([[1.0]], ["日本"], ["a"], tmp_path / "map.png")

    def test_color_emoji_and_placeholders_are_no_fonts(self, tmp_path):
        font_manager.fontManager.addfont(make_font(tmp_path / "last.ttf", "Last Resort", "日"))
        with pytest.warns(MissingFontWarning, match="CJK"):
            assert families_for(["日"]) == [BASE]
