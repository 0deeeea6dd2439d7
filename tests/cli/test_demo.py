from tests.cli.test_attend import regard


def test_the_demo_tells_both_examples_and_ends_in_one_page(tmp_path):
    printed = regard("demo", "--out", str(tmp_path / "new"), "--updates", "2")
    assert "as it is defined" in printed
    assert "widely published" in printed
    assert "3.8808  4.0728  45.2642" in printed
    assert printed.rstrip().endswith("index.html")
    page = (tmp_path / "new" / "index.html").read_text()
    for title in (
        "One query",
        "Four words",
        "Why attention exists",
        "A translator",
        "A captioner",
        "Go on",
    ):
        assert f"<h2>{title}" in page
    assert page.count("data:image/png") >= 4
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert {"index.html", "first.png", "second.png", "second-whole-matrix.png", "lengths.png", "runs"} <= names


def test_what_a_person_can_mend_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in regard("demo", "--out", str(tmp_path / "file" / "x"), code=2)
    assert "--updates must be 1 or more" in regard("demo", "--updates", "0", code=2)
