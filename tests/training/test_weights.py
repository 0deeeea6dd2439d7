"""Weights on disk: shared tensors once, any float width, another model refused by name; averages."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.errors import CheckpointError
from regard.training.weights import average, load_weights, read_weights, save_weights, weights_of


class Tied(nn.Module):
    def __init__(self, dim: int = 3) -> None:
        super().__init__()
        self.embedding, self.output = nn.Embedding(5, dim), nn.Linear(dim, 5, bias=False)
        self.output.weight = self.embedding.weight


def test_a_shared_tensor_is_written_once_and_read_into_both(tmp_path):
    model, other = Tied(), Tied()
    assert list(weights_of(model)) == ["embedding.weight"]
    half = {name: tensor.half() for name, tensor in weights_of(model).items()}
    save_weights(half, tmp_path / "w.safetensors")
    load_weights(other, tmp_path / "w.safetensors")
    assert other.output.weight is other.embedding.weight
    assert other.output.weight.dtype == torch.float32
    torch.testing.assert_close(other.output.weight, model.output.weight.half().float())


def test_weights_of_another_model_are_refused_by_name(tmp_path):
    path = tmp_path / "w.safetensors"
    save_weights(weights_of(Tied()), path)
    with pytest.raises(CheckpointError, match=r"it lacks bias, weight; has also embedding\.weight"):
        load_weights(nn.Linear(2, 2), path)
    with pytest.raises(CheckpointError, match=r"embedding.weight is \(5, 3\) there, \(5, 4\) by the settings"):
        load_weights(Tied(4), path)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(CheckpointError, match="is damaged"):
        read_weights(path)
    with pytest.raises(CheckpointError, match="there is no file"):
        read_weights(tmp_path / "missing.safetensors")


def test_the_average_is_the_mean_of_floats_and_leaves_counts(tmp_path):
    paths = []
    for number in (1.0, 2.0):
        paths.append(tmp_path / f"{number}.safetensors")
        save_weights({"w": torch.full((2,), number), "count": torch.tensor(7)}, paths[-1])
    mean = average(paths, {"w": torch.full((2,), 6.0), "count": torch.tensor(9)})
    assert mean["w"].tolist() == [3, 3]
    assert mean["w"].dtype == torch.float32
    assert int(mean["count"]) == 9
