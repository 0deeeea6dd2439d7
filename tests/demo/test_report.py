import re

from regard.demo.report import Picture, Section, write_report
from regard.show.figures import plot_map


def test_the_page_holds_its_pictures_and_asks_for_nothing(tmp_path):
    picture = plot_map([[1.0]], ["a"], ["b"], tmp_path / "map.png")
    section = Section(
        "Title <b>",
        ["one & two"],
        [Picture(picture, 'says "a"', tmp_path / "live.html")],
        [["words", "BLEU"], ["1 to 10", "99.0"]],
        ['regard attend --query "1 2"'],
        facts={"source": "x < y"},
    )
    sections = [section, Section("Nothing", missing="not here")]
    page = write_report(tmp_path / "index.html", sections, "the end").read_text()
    assert "Title &lt;b&gt;" in page
    assert "one &amp; two" in page
    assert "x &lt; y" in page
    assert "<td>99.0</td>" in page
    assert '<p class="missing">not here</p>' in page
    assert 'alt="says &quot;a&quot;"' in page
    assert re.findall(r'(?:src|href)="([^"]{5})', page) == ["#part", "#part", "data:", "live."]
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", page)
    assert "light-dark(" in page
