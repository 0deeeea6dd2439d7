"""Settings written as commented TOML read back as they were."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.settings import Settings, setting, validate
from regard.training.config import TASKS, load_config, template
from regard.training.toml import render


@pytest.mark.parametrize("task", TASKS)
def test_the_written_template_reads_back_as_the_defaults(task, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(render(template(task)), encoding="utf-8")
    assert load_config(path) == template(task)


@pytest.mark.parametrize("task", TASKS)
def test_every_setting_of_the_template_has_a_comment(task):
    lines = render(template(task)).splitlines()
    keys = [i for i, line in enumerate(lines) if " = " in line and not line.startswith("#")]
    assert len(keys) > 20
    assert all(lines[i - 1].startswith("# ") for i in keys)


class Odd(Settings):
    text: str = ""
    number: float = 0.0
    many: tuple[str, ...] = setting((), strict=False)
    truth: bool = False


@given(st.builds(Odd, text=st.text(), number=st.floats(allow_nan=False), many=st.lists(st.text()).map(tuple)))
def test_any_value_survives_writing_and_reading(odd):
    assert validate(Odd, tomllib.loads(render(odd))) == odd
