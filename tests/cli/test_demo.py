from tests.cli.test_attend import regard


def test_the_demo_tells_both_examples_and_draws_them(tmp_path):
    printed = regard("demo", "--out", str(tmp_path / "new"))
    assert "as it is defined" in printed
    assert "widely published" in printed
    assert "3.8808  4.0728  45.2642" in printed
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "first.png",
        "second-whole-matrix.png",
        "second.png",
    ]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make the folder" in regard("demo", "--out", str(tmp_path / "file" / "x"), code=2)
