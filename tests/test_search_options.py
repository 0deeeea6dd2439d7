"""The options of a search: checked when they are made, and the defaults that commands and classes share."""

import dataclasses
import inspect
import subprocess
import sys

import pytest

from regard.cli.caption import caption
from regard.cli.evaluate import evaluate
from regard.cli.translate import translate
from regard.errors import InputError
from regard.search_options import CAPTIONING, MAX_BEAM, TRANSLATION, SearchKeywords, SearchOptions


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"beam": 0}, "beam must be a whole number, 1 or more; it is 0"),
        ({"beam": "5"}, "beam must be a whole number, 1 or more; it is '5'"),
        ({"beam": 2.5}, r"beam must be a whole number, 1 or more; it is 2\.5"),
        ({"n_best": "1"}, "n_best must be a whole number, 1 or more; it is '1'"),
        ({"max_length": 0}, "max_length must be a whole number, 1 or more; it is 0"),
        ({"beam": 2, "n_best": 3}, "a beam of 2 cannot give 3 best; ask for 1 <= n_best <= beam"),
        ({"beam": MAX_BEAM + 1}, "a beam of 1001 is more than 1000"),
        ({"alpha": -1.0}, r"alpha = -1\.0 .* use 0"),
        ({"alpha": float("nan")}, "alpha = nan"),
    ],
)
def test_what_cannot_be_searched_with_is_refused(options, text):
    with pytest.raises(InputError, match=text):
        SearchOptions(**options)


def test_the_keywords_are_the_fields():
    assert list(SearchKeywords.__annotations__) == [field.name for field in dataclasses.fields(SearchOptions)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        TRANSLATION.beam = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("command", "options"), [(translate, TRANSLATION), (caption, CAPTIONING)], ids=["translate", "caption"]
)
def test_commands_and_classes_have_the_same_defaults(command, options):
    from regard import Captioner, Translator

    method = Translator.translate if options is TRANSLATION else Captioner.caption
    for name, value in dataclasses.asdict(options).items():
        assert inspect.signature(command).parameters[name].default == value
        assert inspect.signature(method).parameters[name].default == value
    assert inspect.signature(evaluate).parameters["beam"].default == options.beam
    assert f"{options.alpha} for" in inspect.getdoc(evaluate)


def test_commands_know_the_defaults_without_torch():
    code = "import sys, regard.cli.translate, regard.cli.caption; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
