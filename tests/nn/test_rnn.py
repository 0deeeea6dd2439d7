"""The recurrent encoder against torch's own layers on packed sentences."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.errors import UnknownName
from regard.nn.rnn import Encoder

TIME, BATCH, WIDTH = 5, 3, 8


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


TWINS = {"gru": nn.GRU, "lstm": nn.LSTM}


def from_twin(twin, layers, directions):
    """Our encoder's weights from torch's; torch orders the LSTM's gates i f g o, ours are i f o g."""

    def ours(tensor):
        if isinstance(twin, nn.GRU):
            return tensor
        write, keep, candidate, show = tensor.chunk(4)
        return torch.cat([write, keep, show, candidate])

    weights = {}
    for layer in range(layers):
        for direction in range(directions):
            tail = f"l{layer}" + ("_reverse" if direction else "")
            for name in ("weight", "bias"):
                weights[f"layers.{layer}.{direction}.cell.{name}"] = ours(getattr(twin, f"{name}_hh_{tail}"))
                weights[f"layers.{layer}.{direction}.inputs.{name}"] = ours(getattr(twin, f"{name}_ih_{tail}"))
    return weights


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_encoder_equals_torch_on_packed_sentences(name, layers, bidirectional):
    twin = TWINS[name](6, WIDTH, layers, batch_first=True, bidirectional=bidirectional).double()
    encoder = Encoder(6, WIDTH, cell=name, layers=layers, bidirectional=bidirectional).double()
    encoder.load_state_dict(from_twin(twin, layers, encoder.directions))
    embedded, lengths = draw(BATCH, TIME, 6), torch.tensor([2, 5, 3])
    packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
    outputs, last = twin(packed)
    expected, _ = pad_packed_sequence(outputs, batch_first=True)
    hidden = last[0] if name == "lstm" else last
    encoded = encoder(embedded, lengths)
    seen = (torch.arange(TIME) < lengths[:, None])[..., None]
    torch.testing.assert_close(encoded.annotations * seen, expected)
    torch.testing.assert_close(encoded.summary, torch.cat(list(hidden[-encoder.directions :]), -1))


def test_padding_changes_nothing():
    encoder = Encoder(6, WIDTH).double()
    embedded = draw(1, 3, 6)
    alone = encoder(embedded, torch.tensor([3]))
    padded = encoder(torch.cat([embedded, draw(1, 4, 6, seed=9)], 1), torch.tensor([3]))
    torch.testing.assert_close(padded.annotations[:, :3], alone.annotations)
    torch.testing.assert_close(padded.summary, alone.summary)


def test_dropout_is_between_the_layers_only():
    words, lengths = draw(2, 4, 6), torch.tensor([4, 4])
    one = Encoder(6, WIDTH, dropout=0.9).double()
    torch.testing.assert_close(one(words, lengths), one(words, lengths))
    two = Encoder(6, WIDTH, layers=2, dropout=0.9).double()
    assert not torch.equal(two(words, lengths).summary, two(words, lengths).summary)


def test_an_unknown_cell_is_named_with_the_nearest():
    with pytest.raises(UnknownName, match=r"no cell is called 'gruu'; choose from gru, lstm. Did you mean 'gru'\?"):
        Encoder(2, 2, cell="gruu")
