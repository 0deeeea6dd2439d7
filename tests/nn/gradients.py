"""What the tests of the layers share: numbers drawn by a seed, and gradients by finite differences."""

import torch


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def check_gradients(layer, *inputs, **options):
    """Finite differences for the inputs and for every weight."""
    names = [name for name, _ in layer.named_parameters()]
    weights = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    tensors = [x.clone().requires_grad_() for x in inputs]

    def run(*values):
        state = dict(zip(names, values[len(tensors) :], strict=True))
        attended = torch.func.functional_call(layer, state, tuple(values[: len(tensors)]), options)
        return attended.context, attended.weights

    assert torch.autograd.gradcheck(run, [*tensors, *weights])
