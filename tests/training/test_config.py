"""A run file: defaults, overrides, and errors that name the key."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field

from regard.errors import ConfigError
from regard.settings import Settings, differences, override, validate
from regard.training.config import TrainingConfig, config_class, load_config, template


@pytest.mark.parametrize("task", [["translate"], 3, {"name": "translate"}])
def test_a_task_that_is_no_name_is_refused(task):
    with pytest.raises(ConfigError, match=r"task = .* is not known; choose from"):
        load_config({"task": task})


@pytest.mark.parametrize("config", [None, 3, ["run.toml"]])
def test_what_is_no_run_file_is_refused(config):
    with pytest.raises(
        ConfigError, match=rf"settings are a path, a mapping or a RunConfig; got {type(config).__name__}"
    ):
        load_config(config)


def test_unknown_keys_are_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r"no setting training\.lerning_rate; .*Did you mean 'learning_rate'\?"):
        template("translate", ["training.lerning_rate=0.1"])
    with pytest.raises(ConfigError, match=r"no setting data\.train\.0\.pth.*Did you mean 'path'\?"):
        template("translate", ["data.train.0.pth=x"])


def test_a_wrong_type_names_the_key_what_came_and_what_is_allowed():
    with pytest.raises(ConfigError, match=r"^training\.seed = 'x' cannot be used: it should be a valid integer\.$"):
        template("translate", ["training.seed=x"])
    with pytest.raises(ConfigError, match=r"training\.learning_rate = -1 .* greater than 0"):
        template("translate", ["training.learning_rate=-1"])
    with pytest.raises(ConfigError, match=r"best_by = 'blue' .*'loss' or 'bleu'\. Did you mean 'bleu'\?"):
        template("translate", ["training.best_by=blue"])
    with pytest.raises(ConfigError, match=r"training\.threads = 1000000000 .* less than or equal to 1024"):
        template("translate", ["training.threads=1000000000"])
    with pytest.raises(ConfigError, match=r"training\.seed = True"):
        template("translate", ["training.seed=true"])


def test_all_wrong_keys_are_told_at_once():
    with pytest.raises(ConfigError) as caught:
        template("translate", ["training.seed=x", "training.epochs=y", "data.train=[]"])
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "data.train is empty; give it at least one entry." in lines


def test_settings_that_contradict_each_other_are_refused():
    with pytest.raises(ConfigError, match=r"training: epochs and updates are both 0"):
        template("translate", ["training.epochs=0"])
    with pytest.raises(ConfigError, match=r"training: schedule = 'cosine' falls to 0 at `updates`"):
        template("translate", ["training.schedule=cosine"])
    with pytest.raises(ConfigError, match=r"data\.train\.0: a corpus is one file \(path\) or two"):
        template("translate", ["data.train.0.source=x.en"])


def test_the_task_decides_and_must_be_known():
    with pytest.raises(ConfigError, match=r"task is missing"):
        load_config({})
    with pytest.raises(ConfigError, match=r"task = 'translat' is not known; .*Did you mean 'translate'\?"):
        config_class("translat")


def test_overrides_are_toml_or_else_text():
    values = override({"a": {"b": 1}, "rows": [{"x": 1}]}, ["a.b=[1, 2]", "a.c=dot", "rows.0.x=0.5", "d.e=true"])
    assert values == {"a": {"b": [1, 2], "c": "dot"}, "rows": [{"x": 0.5}], "d": {"e": True}}
    assert override({}, ["a=b=c"]) == {"a": "b=c"}
    for strange in ("[" * 20_000, "9" * 5_000):
        assert override({}, [f"a={strange}"]) == {"a": strange}


def test_overrides_leave_the_original_alone():
    original = {"a": {"b": [1]}}
    override(original, ["a.b.0=2"])
    assert original == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("seed", "takes key=value"),
        ("=3", "takes key=value"),
        ("a.b=1", "a is 5, not a table"),
        ("r.7=1", "entries 0 to 0"),
    ],
)
def test_overrides_that_cannot_be_are_refused(assignment, message):
    with pytest.raises(ConfigError, match=message):
        override({"a": 5, "r": [1]}, [assignment])


def test_files_that_are_not_run_files_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no file .*regard init"):
        load_config(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("task = \nrun = 1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"not TOML: .*line 1"):
        load_config(bad)
    bad.write_bytes(b"task = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(bad)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path)
    bad.write_text("a = " + "[" * 20_000, encoding="utf-8")
    with pytest.raises(ConfigError, match="nested too deep"):
        load_config(bad)
    bad.write_text("a = " + "9" * 5_000, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.toml is not TOML: .*digits"):
        load_config(bad)
    bad.write_bytes(b"#" * (1 << 21))
    with pytest.raises(ConfigError, match=r"longer than 1,048,576 bytes"):
        load_config(bad)


def test_differences_say_what_a_resumed_run_accepts():
    old, new = template("translate"), template("translate", ["training.seed=2", "training.epochs=9", "run=elsewhere"])
    assert sorted(differences(old, new)) == [
        ("run", "runs/translate", "elsewhere", True),
        ("training.epochs", 20, 9, True),
        ("training.seed", 1, 2, False),
    ]


def test_differences_see_an_added_corpus():
    old = template("translate")
    new = template("translate", ['data.train=[{path="train.tsv"}, {path="more.tsv"}]'])
    assert ("data.train.1.weight", None, 1.0, False) in list(differences(old, new))


class Round(Settings):
    kind: Literal["round"] = "round"
    radius: int = 1


class Square(Settings):
    kind: Literal["square"] = "square"
    side: int = 1


class Shape(Settings):
    shape: Annotated[Round | Square, Field(discriminator="kind")] = Round()


def test_a_choice_between_tables_keeps_its_tag_out_of_the_key():
    with pytest.raises(ConfigError, match=r"no setting shape\.sid; choose from kind, side\. Did you mean 'side'\?"):
        validate(Shape, {"shape": {"kind": "square", "sid": 2}})
    with pytest.raises(
        ConfigError, match=r"^shape\.kind = 'squar' cannot be used: it should be 'round', 'square'\. Did"
    ):
        validate(Shape, {"shape": {"kind": "squar"}})


def test_settings_do_not_change():
    with pytest.raises(Exception, match="frozen"):
        TrainingConfig().seed = 2
