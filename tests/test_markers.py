"""Which tests are left out when time is short."""

from pathlib import Path

from tests.markers import BY_PLACE, marks_of

ROOT = Path(__file__).parents[1]


def test_marks_come_from_fixtures_and_places():
    assert marks_of({"page", "tmp_path"}, "tests/show/test_html.py::test_x") == {"browser"}
    assert marks_of({"toy"}, "tests/test_wheel.py::test_y") == {"training", "slow"}
    assert marks_of(set(), "tests/captioning/test_model.py::test_it_learns_to_name[soft]") == {"training"}
    assert marks_of({"tmp_path"}, "tests/captioning/test_model.py::test_other") == set()


def test_every_place_is_there():
    for place in (place for places in BY_PLACE.values() for place in places):
        file, _, name = place.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(), place


def test_this_test_has_none_and_others_have_theirs(request):
    assert not [mark for mark in request.node.iter_markers() if mark.name in ("browser", "training", "slow")]
    found = {item.name: item for item in request.session.items if "test_wheel.py" in item.nodeid}
    assert all(item.get_closest_marker("slow") for item in found.values())
