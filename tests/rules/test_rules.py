"""Each rule's derivatives against finite differences, on each array library."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.ops import grad

from .cases import CASES, Case, Floats, all_rules
from .libraries import LIBRARIES, Library, frozen, to_numpy

STEP = 1e-5
seeds = st.integers(0, 2**32 - 1)
every_rule = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
every_library = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)


def test_every_rule_is_in_the_table() -> None:
    assert all_rules().keys() == CASES.keys()


def inner(x: Floats, y: Floats) -> float:
    return float(np.sum(x * y))


def slope(f: Callable[[Floats], Floats], x: Floats, direction: Floats) -> Floats:
    """The derivative of `f` at `x` in a direction, by central differences."""
    return (f(x + STEP * direction) - f(x - STEP * direction)) / (2 * STEP)


def close(x: float, y: float, within: float) -> bool:
    return abs(x - y) <= within


def replaced(items: Sequence[Floats], i: int, item: Floats) -> list[Floats]:
    return [*items[:i], item, *items[i + 1 :]]


@every_library
@every_rule
@given(data=st.data(), seed=seeds)
def test_pullbacks_are_adjoint_to_finite_differences(
    case: Case, library: Library, data: st.DataObject, seed: int
) -> None:
    """⟨g, ∂f·d⟩ = ⟨∂fᵀ·g, d⟩ for any direction d and any gradient g."""
    shapes, args = data.draw(case.drawn)
    assume(library.takes(args))
    rng = np.random.default_rng(seed)
    operands = case.fill(shapes, rng)

    def value(arrays: Sequence[Floats]) -> Floats:
        return to_numpy(case([library.make(x) for x in arrays], args)[0])

    result, pullbacks = case([library.make(x) for x in operands], args)
    gradient = rng.normal(size=to_numpy(result).shape)
    assert len(pullbacks) == len(operands)
    for i, pullback in enumerate(pullbacks):
        if pullback is None:
            continue
        direction = rng.normal(size=shapes[i])

        def moved(x: Floats, i: int = i) -> Floats:
            return value(replaced(operands, i, x))

        change = slope(moved, operands[i], direction)
        back = to_numpy(pullback(cast("Floats", library.make(gradient))))
        assert back.shape == shapes[i]
        scale = 1 + inner(np.abs(gradient), np.abs(change))
        assert close(inner(gradient, change), inner(back, direction), 1e-7 * scale)


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

        given = [Tensor(x) for x in points]
        for j in by:
            tensor = grad(recorded, j)(*given)
            direction = rng.normal(size=points[j].shape)

            def moved(x: Floats, j: int = j) -> Floats:
                return plain(replaced(points, j, x))

            change = slope(moved, points[j], direction).item()
            back = inner(to_numpy(tensor.asnumpy()), direction)
            size = 1 + abs(change) + sum(np.sum(np.abs(x)).item() for x in points)
            assert close(back, change, 1e-6 * size)


@every_rule
@given(data=st.data(), seed=seeds, dtype=st.sampled_from([np.float16, np.float32, np.float64]))
def test_gradients_have_their_operands_shape_and_type(
    case: Case, data: st.DataObject, seed: int, dtype: type[np.float64]
) -> None:
    shapes, args = data.draw(case.drawn)
    rng = np.random.default_rng(seed)
    operands = [x if x.dtype == bool else x.astype(dtype) for x in case.fill(shapes, rng)]
    value, pullbacks = case(operands, args)
    value = np.asarray(value)
    assert value.dtype == dtype
    gradient = rng.normal(size=value.shape).astype(dtype)
    for x, pullback in zip(operands, pullbacks, strict=True):
        if pullback is not None:
            back = np.asarray(pullback(gradient))
            assert (back.shape, back.dtype) == (x.shape, x.dtype)


@every_rule
@given(data=st.data(), seed=seeds)
def test_nothing_given_is_written_to(case: Case, data: st.DataObject, seed: int) -> None:
    """Operands and gradients that refuse to be written to do; and asking twice changes nothing."""
    shapes, args = data.draw(case.drawn)
    rng = np.random.default_rng(seed)
    before = case.fill(shapes, rng)
    operands = [frozen(x) for x in before]
    value, pullbacks = case(operands, args)
    value = np.array(value)
    gradient = cast("Floats", frozen(rng.normal(size=value.shape)))
    for pullback in pullbacks:
        if pullback is not None:
            first = np.array(pullback(gradient))
            np.testing.assert_array_equal(np.asarray(pullback(gradient)), first)
    for x, y in zip(operands, before, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(np.asarray(case(operands, args)[0]), value)
