"""Optimizers and schedules match PyTorch's for many steps and random arguments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float64
from minispore.nn.optim import optimizer as optimizer_module
from tests.oracles.torch_layers import torch
from tests.oracles.torch_optimizers import OPTIMIZERS, RATES, STEPS, Kind, settings

SHAPES = [(), (3, 2), (7,)]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=f"{name}{i or ''}")
        for name, kinds in OPTIMIZERS.items()
        for i, kind in enumerate(kinds)
    ],
)
@given(data=st.data(), seed=st.integers(0, 9999), block=st.integers(3, 40))
def test_optimizers_match_pytorch(kind: Kind, data: st.DataObject, seed: int, block: int) -> None:
    """With groups, changing learning rates, weight decay, loss scale, and several blocks.

    In float64, so that what is compared is the formula. Momentum and betas are kept in float32, and
    the powers of betas as well, of which 1 − power loses a few digits.
    """
    drawn = data.draw(settings(len(SHAPES), kind.options))
    rng = np.random.default_rng(seed)
    first = [np.asarray(rng.standard_normal(shape)) for shape in SHAPES]
    ours = [Parameter(Tensor(x), name=f"w{i}") for i, x in enumerate(first)]
    theirs = [torch.tensor(x, requires_grad=True) for x in first]
    assert all(p.dtype is float64 for p in ours)
    optimizer, reference = drawn.ours(kind.ours, ours), kind.theirs(drawn, theirs)
    before, optimizer_module.TILE = optimizer_module.TILE, block
    try:
        for step in range(STEPS):
            gradients = [rng.standard_normal(shape) for shape in SHAPES]
            for p, gradient in zip(theirs, gradients, strict=True):
                p.grad = torch.tensor(gradient)
            for group, (rates, _) in zip(reference.param_groups, drawn.groups, strict=True):
                group["lr"] = rates[step]
            kind.before_step(reference, drawn, step + 1)
            reference.step()
            assert optimizer(tuple(Tensor(g * drawn.scale) for g in gradients)) == (True,) * 3
    finally:
        optimizer_module.TILE = before
    assert optimizer.global_step.tolist() == [STEPS]
    for mine, expected in zip(ours, theirs, strict=True):
        actual = np.asarray(mine.asnumpy(), np.float64)
        np.testing.assert_allclose(actual, expected.detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", RATES)
@given(data=st.data())
def test_schedules_match_pytorch(name: str, data: st.DataObject) -> None:
    ours, theirs = data.draw(RATES[name])
    assert ours == pytest.approx(theirs, rel=1e-5, abs=1e-9)
