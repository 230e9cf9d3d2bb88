"""Each rule's derivatives against finite differences, and what the engine relies on."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.ops import grad
from tests.helpers.array_backends import frozen, strict_accepts, strictly, to_numpy
from tests.helpers.rule_cases import CASES, Case, Floats, Outcome, all_rules

STEP = 1e-5
seeds = st.integers(0, 2**32 - 1)
every_rule = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def test_all_rules_have_cases() -> None:
    assert all_rules().keys() == CASES.keys()


def inner(x: Floats, y: Floats) -> float:
    return float(np.sum(x * y))


def directional_derivative(f: Callable[[Floats], Floats], x: Floats, direction: Floats) -> Floats:
    """The derivative of `f` at `x` in a direction, by central differences."""
    return (f(x + STEP * direction) - f(x - STEP * direction)) / (2 * STEP)


def close(x: float, y: float, within: float) -> bool:
    return abs(x - y) <= within


def replaced(items: Sequence[Floats], i: int, item: Floats) -> list[Floats]:
    return [*items[:i], item, *items[i + 1 :]]


@every_rule
@given(data=st.data(), seed=seeds)
def test_pullbacks_are_adjoint_to_finite_differences(
    case: Case, data: st.DataObject, seed: int
) -> None:
    """⟨g, ∂f·d⟩ = ⟨∂fᵀ·g, d⟩ for any direction d and any gradient g."""
    shapes, args = data.draw(case.drawn)
    rng = np.random.default_rng(seed)
    operands = case.fill(shapes, rng)

    def value(arrays: Sequence[Floats]) -> Floats:
        return to_numpy(case(arrays, args)[0])

    result, pullbacks = case(operands, args)
    gradient = rng.normal(size=np.shape(result))
    assert len(pullbacks) == len(operands)
    for i, pullback in enumerate(pullbacks):
        if pullback is None:
            continue
        direction = rng.normal(size=shapes[i])

        def moved(x: Floats, i: int = i) -> Floats:
            return value(replaced(operands, i, x))

        change = directional_derivative(moved, operands[i], direction)
        back = to_numpy(pullback(gradient))
        assert back.shape == shapes[i]
        scale = 1 + inner(np.abs(gradient), np.abs(change))
        assert close(inner(gradient, change), inner(back, direction), 1e-7 * scale)
    if strict_accepts(args):
        assert_strict_library_gives(case, args, operands, gradient, (result, pullbacks))


def assert_strict_library_gives(
    case: Case,
    args: tuple[object, ...],
    operands: Sequence[Floats],
    gradient: Floats,
    expected: Outcome,
) -> None:
    """Assert that array-api-strict, which has only the functions of the standard, agrees."""
    value, pullbacks = case([strictly(x) for x in operands], args)
    np.testing.assert_allclose(to_numpy(value), to_numpy(expected[0]), rtol=1e-12, atol=1e-12)
    start = cast("Floats", strictly(gradient))
    for pullback, other in zip(pullbacks, expected[1], strict=True):
        assert (pullback is None) == (other is None)
        if pullback is not None and other is not None:
            actual, back = to_numpy(pullback(start)), to_numpy(other(gradient))
            np.testing.assert_allclose(actual, back, rtol=1e-12, atol=1e-12)


# Those of linear rules are zero.
@pytest.mark.filterwarnings("ignore:The gradients are all zero:UserWarning")
@every_rule
@given(data=st.data(), seed=seeds)
def test_pullbacks_of_recorded_tensors_give_second_derivatives(
    case: Case, data: st.DataObject, seed: int
) -> None:
    """Rules are closed under differentiation: run on tensors, pullbacks can be differentiated."""
    shapes, args = data.draw(case.drawn)
    rng = np.random.default_rng(seed)
    operands = case.fill(shapes, rng)
    result, pullbacks = case(operands, args)
    gradient = rng.normal(size=np.shape(result))
    points: list[Floats] = [*operands, gradient]
    by = tuple(i for i, p in enumerate((*pullbacks, True)) if p is not None)
    for i, pullback in enumerate(pullbacks):
        if pullback is None:
            continue
        weights = rng.normal(size=shapes[i])

        def recorded(*tensors: Tensor, i: int = i, weights: Floats = weights) -> Tensor:
            again = case(tensors[:-1], args)[1][i]
            assert again is not None
            return ops.sum(cast("Tensor", again(cast("Floats", tensors[-1]))) * Tensor(weights))

        def plain(arrays: Sequence[Floats], i: int = i, weights: Floats = weights) -> Floats:
            again = case(arrays[:-1], args)[1][i]
            assert again is not None
            return np.asarray(inner(again(arrays[-1]), weights))

        inputs = [Tensor(x) for x in points]
        for j in by:
            tensor = grad(recorded, j)(*inputs)
            direction = rng.normal(size=points[j].shape)

            def moved(x: Floats, j: int = j) -> Floats:
                return plain(replaced(points, j, x))

            change = directional_derivative(moved, points[j], direction).item()
            back = inner(to_numpy(tensor.asnumpy()), direction)
            size = 1 + abs(change) + sum(np.sum(np.abs(x)).item() for x in points)
            assert close(back, change, 1e-6 * size)


@every_rule
@given(data=st.data(), seed=seeds)
def test_rule_keeps_the_contract_of_pullbacks(case: Case, data: st.DataObject, seed: int) -> None:
    """What the engine relies on, for operands and gradients that may be read-only.

    - Only conditions have no pullback, since none means a gradient of 0.
    - A gradient has the shape and type of its operand, and memory of its own.
    - Operands and gradients are not modified, so a second call gives the same result.
    - In another backward pass the array of the gradient may have other elements.
    """
    shapes, args = data.draw(case.drawn)
    dtype = data.draw(st.sampled_from(case.dtypes))
    rng = np.random.default_rng(seed)
    before = [x if x.dtype == bool else x.astype(dtype) for x in case.fill(shapes, rng)]
    operands = [frozen(x) for x in before]
    result, pullbacks = case(operands, args)
    value = np.array(result)
    assert value.dtype == dtype
    assert [p is None for p in pullbacks] == [x.dtype == np.bool_ for x in operands]
    gradient = frozen(rng.normal(size=value.shape).astype(dtype))
    for x, pullback in zip(operands, pullbacks, strict=True):
        if pullback is not None:
            back = np.asarray(pullback(gradient))
            assert (back.shape, back.dtype) == (x.shape, x.dtype)
            assert not any(np.shares_memory(back, array) for array in (*operands, result))
            np.testing.assert_array_equal(np.asarray(pullback(gradient)), back)
    passes = [pullback for pullback in pullbacks if pullback is not None]
    reused = np.array(gradient)
    for pullback in passes:
        pullback(reused)
    reused[...] = rng.normal(size=value.shape)
    for back, pullback in [(np.asarray(pullback(reused)), pullback) for pullback in passes]:
        np.testing.assert_array_equal(back, np.asarray(pullback(reused.copy())))
    for x, y in zip(operands, before, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(np.asarray(case(operands, args)[0]), value)
