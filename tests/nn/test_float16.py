"""Layers, losses and optimizers compute float16 in float32: only their results are rounded."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, Tensor, nn
from tests.helpers import float16
from tests.helpers.optimizer_cases import each_optimizer, optimizers
from tests.nn.test_invalid_inputs import LAYERS, LOSSES

ERRORS = (TypeError, ValueError, IndexError)
# The lengths after the first axis, of which each layer takes some.
LENGTHS = [(3,), (3, 4), (3, 4, 5)]


def in_both_types(cell: nn.Cell) -> tuple[nn.Cell, nn.Cell]:
    """Return a copy with parameters in float16, and one with the same values in float32."""
    half = deepcopy(cell).to(ms.float16)
    return half, deepcopy(half).to(ms.float32)


def compare_where_accepted(
    name: str, cell: nn.Cell, candidates: list[list[NDArray[np.generic]]], seed: int = 0
) -> None:
    """Compare a cell for all operands that it takes, of which there must be some."""
    compared = 0
    for operands in candidates:
        half, wide = in_both_types(cell)
        try:
            with np.errstate(all="ignore"):
                deepcopy(half)(*map(Tensor, operands))
        except ERRORS:
            continue
        float16.assert_float16_rounds_float32(half, operands, wide, seed)
        compared += 1
    assert compared, name


def inputs(rng: np.random.Generator, rows: int, scale: float) -> list[list[NDArray[np.generic]]]:
    floats: list[NDArray[np.generic]] = [float16.halves(rng, (rows, *n), scale) for n in LENGTHS]
    return [*([x] for x in floats), [rng.integers(0, 4, (rows, 3))]]


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
@given(rng=float16.generators, scale=float16.scales)
def test_float16_of_each_layer_is_its_rounded_float32(
    name: str, training: bool, rng: np.random.Generator, scale: float
) -> None:
    compare_where_accepted(name, LAYERS[name].set_train(training), inputs(rng, 3, scale))


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", LAYERS)
def test_float16_of_a_layer_is_right_for_many_rows(name: str) -> None:
    """Among others the gradients of parameters, which are sums over the rows."""
    rng = np.random.default_rng(0)
    candidates = [[x] for (x,) in inputs(rng, 2, 1.0)]
    tiled = [[np.repeat(x, 70_000 // x.size, 0)] for (x,) in candidates]
    compare_where_accepted(name, LAYERS[name].set_train(True), tiled)


def pairs(rng: np.random.Generator, rows: int, scale: float) -> list[list[NDArray[np.generic]]]:
    """Return outputs of two and of three columns, each with targets and with labels."""
    found: list[list[NDArray[np.generic]]] = []
    for columns in (2, 3):
        x = float16.halves(rng, (rows, columns), scale)
        found.append([x, float16.halves(rng, x.shape, scale)])
        found.append([x, rng.integers(0, columns, rows)])
    return found


def as_probabilities(operands: list[NDArray[np.generic]]) -> list[NDArray[np.generic]]:
    return [np.minimum(np.abs(x), np.float16(1)) if x.dtype == np.float16 else x for x in operands]


# What is no loss of outputs and labels alone.
OF_THREE: dict[str, nn.Cell] = {
    "CosineEmbeddingLoss": nn.CosineEmbeddingLoss(),
    "MarginRankingLoss": nn.MarginRankingLoss(),
}


def with_signs(x: NDArray[np.generic], y: NDArray[np.generic]) -> list[list[NDArray[np.generic]]]:
    rows = np.where(np.arange(len(x)) % 2, np.float16(1), np.float16(-1))
    return [[x, y, rows], [x[:, 0], y[:, 0], rows]]


def compare_loss(
    name: str, reduction: str, rng: np.random.Generator, rows: int, scale: float
) -> None:
    loss = deepcopy(LOSSES.get(name) or OF_THREE[name])
    loss.reduction = reduction
    candidates = pairs(rng, rows, scale)
    if name == "BCELoss":
        candidates = [as_probabilities(operands) for operands in candidates]
    if name in OF_THREE:
        candidates = with_signs(*candidates[0])
    compare_where_accepted(name, loss, candidates)


each_reduction = pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
each_loss = pytest.mark.parametrize("name", [*LOSSES, *OF_THREE])


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@each_reduction
@each_loss
@given(rng=float16.generators, scale=float16.scales)
def test_float16_of_each_loss_is_its_rounded_float32(
    name: str, reduction: str, rng: np.random.Generator, scale: float
) -> None:
    compare_loss(name, reduction, rng, 3, scale)


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@each_loss
def test_float16_of_a_loss_is_right_for_many_rows(name: str) -> None:
    compare_loss(name, "mean", np.random.default_rng(0), 40_000, 1.0)


@each_optimizer
@given(rng=float16.generators, scale=float16.scales)
def test_float16_step_of_each_optimizer_is_its_rounded_float32(
    which: int, rng: np.random.Generator, scale: float
) -> None:
    """From the same weights in each step: the state is float32 in both."""
    first = float16.halves(rng, (4, 5), 1.0)
    half, wide = (Parameter(Tensor(first, dtype), name="w") for dtype in (ms.float16, ms.float32))
    steps = [optimizers([w])[which] for w in (half, wide)]
    for _ in range(5):
        gradient = float16.halves(rng, (4, 5), scale)
        wide.set_data(Tensor(half, ms.float32))
        with np.errstate(over="ignore"):
            for w, step in zip((half, wide), steps, strict=True):
                step((Tensor(gradient, w.dtype),))
        float16.assert_rounded(Tensor(half), Tensor(wide))
        assert half.dtype is ms.float16
        if not np.isfinite(half.asnumpy()).all():
            assert scale > 1
            break  # an infinite weight has no further step
