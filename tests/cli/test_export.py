"""``regard export``: writes the folder and says how large it is."""

from __future__ import annotations

from pathlib import Path

from regard.cli.export import export


def test_the_folder_is_written_and_its_size_said(monkeypatch, tmp_path, capsys):
    folder = tmp_path / "small"

    def written(run: str, where: Path) -> Path:
        assert run == "runs/mine"
        where.mkdir()
        (where / "best.safetensors").write_bytes(bytes(1_500_000))
        return where

    monkeypatch.setattr("regard.training.export.export", written)
    export("runs/mine", folder)
    assert capsys.readouterr().err == f"{folder}: 1.5 MB\n"
