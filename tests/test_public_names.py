"""The names people rely on, and what importing them costs."""

import subprocess
import sys

import regard


def test_every_public_name_is_there_and_listed():
    assert sorted(regard.__all__) == sorted(
        [
            "Alignment", "Attended", "Caption", "Captioner", "Faithfulness", "RunResult", "Step", "Translation",
            "Translator", "Watched", "__version__", "attend", "attend_local", "errors", "faithfulness", "hide",
            "kernels", "masks", "nn", "normalizers", "positions", "record", "scores", "show", "softmax", "train",
        ]
    )  # fmt: skip
    for name in regard.__all__:
        assert getattr(regard, name) is not None
    assert dir(regard) == regard.__all__


def loaded_after(code: str) -> set[str]:
    run = f"import sys\n{code}\nsys.stdout.write(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True).stdout.split())


def test_importing_does_not_import_torch():
    assert not {"torch", "numpy", "numba", "matplotlib"} & loaded_after("import regard")
    assert "torch" not in loaded_after("import regard; regard.attend([1], [[1]])")


def test_the_command_is_built_without_torch_or_numpy():
    code = "from regard.cli import build_app; build_app()"
    assert not {"torch", "numpy", "matplotlib", "pydantic"} & loaded_after(code)


def test_help_loads_nothing_that_it_does_not_need():
    code = 'from regard.cli import build_app; build_app()(["--help"], result_action="return_value")'
    assert not {"torch", "numpy", "matplotlib", "pydantic", "markdown_it", "pygments"} & loaded_after(code)
