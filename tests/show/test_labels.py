import pytest

from regard.show.labels import clusters, literal, right_to_left, shorten


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a\nb", r"a\nb"),
        ("\x07", r"\x07"),
        ("\x85", r"\x85"),
        ("\u202eabc", r"\u202eabc"),
        ("\ufeff", r"\ufeff"),
        ("\udc80", r"\udc80"),
        ("\u2028", r"\u2028"),
        ("  ", "␣␣"),
        ("می\u200cخواهم", "می\u200cخواهم"),  # a joiner shapes its neighbours, and stays
        (r"$\alpha$", r"$\alpha$"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text, shown):
    assert literal(text) == shown


@pytest.mark.parametrize("whole", ["e\u0301\u0323", "👩\u200d🚀", "👍🏽", "🇫🇷", "❤\ufe0f"])
def test_what_is_read_as_one_is_never_cut(whole):
    assert clusters(f"a{whole}b") == ["a", whole, "b"]
    shortened = shorten(whole * 9, lambda text: len(clusters(text)) <= 4)
    assert shortened == f"{whole * 2}…{whole}"


def test_shortening_keeps_as_much_as_fits():
    assert shorten("maison", lambda text: len(text) <= 6) == "maison"
    assert shorten("abcdefghij", lambda text: len(text) <= 6) == "abc…ij"
    assert shorten("abcdefghij", lambda _: False) == "…"


def test_direction_is_that_of_the_first_letter():
    assert right_to_left("«مرحبا»")
    assert right_to_left("12 שלום abc")
    assert not right_to_left("abc שלום")
    assert not right_to_left("123")
