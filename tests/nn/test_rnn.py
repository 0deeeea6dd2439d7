"""Cells and encoder against torch's own recurrent layers, and against their own single steps."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.errors import UnknownName
from regard.nn.cells import CELLS
from regard.nn.rnn import Encoder

TIME, BATCH, WIDTH = 5, 3, 8  # eight float64 numbers are whole lanes


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def start(cell, seed=7):
    return tuple(draw(BATCH, WIDTH, seed=seed + part) for part in range(cell.parts))


@pytest.fixture(params=CELLS)
def cell(request):
    return CELLS[request.param](WIDTH).double()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_over_time_equals_step_by_step(cell, reverse, padded):
    products = draw(TIME, BATCH, cell.gates * WIDTH)
    active = torch.arange(TIME)[:, None] < torch.tensor([5, 3, 1]) if padded else None
    state, shown = start(cell), {}
    for i in reversed(range(TIME)) if reverse else range(TIME):
        new = cell.step(products[i], state)
        if padded:
            new = tuple(torch.where(active[i, :, None], a, b) for a, b in zip(new, state, strict=True))
        state, shown[i] = new, new[0]
    expected = torch.stack([shown[i] for i in range(TIME)])
    torch.testing.assert_close(cell(products, start(cell), active, reverse=reverse), expected)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_gradient_over_time_by_finite_differences(cell, reverse, padded):
    active = torch.arange(TIME)[:, None] < torch.tensor([5, 3, 1]) if padded else None
    products, state = draw(TIME, BATCH, cell.gates * WIDTH).requires_grad_(), start(cell)

    def run(products, weight, bias, *state):
        return torch.func.functional_call(
            cell, {"weight": weight, "bias": bias}, (products, state, active), {"reverse": reverse}
        )

    weight, bias = (p.detach().clone().requires_grad_() for p in (cell.weight, cell.bias))
    assert torch.autograd.gradcheck(run, (products, weight, bias, *(s.requires_grad_() for s in state)))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("series", [False, True])
def test_gradient_of_steps_by_finite_differences(cell, series):
    def run(weight, bias, products, *state):
        cell.weight, cell.bias = weight, bias
        step = cell.series() if series else cell.step
        for product in products:
            state = step(product, state)
        return state

    inputs = [cell.weight.detach(), cell.bias.detach(), draw(3, BATCH, cell.gates * WIDTH), *start(cell)]
    del cell.weight, cell.bias
    assert torch.autograd.gradcheck(run, [tensor.requires_grad_() for tensor in inputs])


@pytest.mark.usefixtures("way")
def test_a_series_equals_its_steps(cell):
    state = other = start(cell)
    step = cell.series()
    for product in draw(3, BATCH, cell.gates * WIDTH):
        state, other = step(product, state), cell.step(product, other)
    torch.testing.assert_close(state, other)


@pytest.mark.usefixtures("way")
def test_gates_far_from_zero_are_shut_or_open(cell):
    products = torch.tensor([-1e30, -200.0, 200.0, 1e30], dtype=torch.float64)
    state = cell(products[:, None, None].expand(4, 1, cell.gates * WIDTH), tuple(s[:1] for s in start(cell)))
    assert state.isfinite().all()


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("sign", [1, -1])
def test_a_weight_that_is_no_number_shows_in_the_state(cell, sign):
    nothing = cell.bias.detach().zero_()
    for gate in range(cell.gates):
        nothing.zero_()[gate * WIDTH] = sign * torch.nan
        state = cell(torch.zeros(1, 1, cell.gates * WIDTH, dtype=torch.float64), tuple(s[:1] for s in start(cell)))
        assert state.isnan().tolist() == [[[True, *[False] * (WIDTH - 1)]]]


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
