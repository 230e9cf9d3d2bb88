"""The comparison of float16 with float32: the same values, computed in both types."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.utils.checks import as_items

Half: TypeAlias = NDArray[np.float16]
FLOATS = (ms.float16, ms.float32, ms.float64)
generators = st.integers(0, 9999).map(np.random.default_rng)
# From numbers of which float16 has few digits to those whose squares and sums are infinite in it.
scales = st.sampled_from([2.0**-22, 1e-4, 2.0**-6, 1.0, 50.0, 3000.0, 60000.0])


def halves(rng: np.random.Generator, shape: Sequence[int], scale: float) -> Half:
    """Return random numbers of both signs, some of them 0."""
    x = rng.normal(0, scale, tuple(shape)).clip(-65504, 65504)
    return np.asarray(x * (rng.random(tuple(shape)) < 0.9), np.float16)


def assert_rounded(actual: object, expected: object) -> None:
    """Assert that float16 tensors are the rounded float32 ones, within one unit in the last place.

    Tensors of another type must be equal.
    """
    for x, y in zip(flattened(actual), flattened(expected), strict=True):
        assert isinstance(x, Tensor)
        assert isinstance(y, Tensor)
        if x.dtype is not ms.float16 or y.dtype is ms.float16:
            assert x.dtype is y.dtype
            np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
            continue
        assert y.dtype is ms.float32
        assert x.shape == y.shape
        with np.errstate(all="ignore"):
            exact = np.asarray(y.asnumpy(), np.float64)
            rounded = exact.astype(np.float16)
            near = np.abs(x.asnumpy() - exact) <= np.spacing(np.abs(rounded))
        same = np.equal(x.asnumpy(), rounded) | (np.isnan(x.asnumpy()) & np.isnan(rounded))
        wrong = ~(near | same)
        assert not wrong.any(), f"{x.asnumpy()[wrong][:3]} for {exact[wrong][:3]}"


def assert_float16_rounds_float32(
    function: Callable[..., object],
    operands: Sequence[NDArray[np.generic]],
    wide: Callable[..., object] | None = None,
    seed: int = 0,
) -> None:
    """Assert it of a function's outputs, and of its gradients by operands and parameters.

    Args:
        function: A function of tensors, or a cell. Before each call the seed is set.
        operands: Operands in float16, and others.
        wide: The same cell with parameters in float32; None for a function.
        seed: The seed.
    """
    results: list[tuple[object, object]] = []
    for dtype, called in ((ms.float16, function), (ms.float32, wide or function)):
        tensors = [Tensor(x, dtype if x.dtype == np.float16 else None) for x in operands]
        with_weights = isinstance(called, nn.Cell) and bool(called.trainable_params())
        gradients_of = ops.GradOperation(True, with_weights, True)
        with np.errstate(all="ignore"):
            ms.set_seed(seed)
            outputs = called(*tensors)
            listed = [y for y in flattened(outputs) if isinstance(y, Tensor)]
            rng = np.random.default_rng(seed)
            start = tuple(Tensor(halves(rng, y.shape, 1.0), y.dtype) for y in listed)
            gradients: list[object] = []
            if any(y.dtype in FLOATS for y in listed):
                ms.set_seed(seed)
                gradients = flattened(gradients_of(called)(*tensors, start))
        # Those by integers are cut to integers.
        results.append((listed, [g for g in gradients if getattr(g, "dtype", None) in FLOATS]))
    for actual, expected in zip(*results, strict=True):
        assert_rounded(actual, expected)


def flattened(nested: object) -> list[object]:
    """Return what nested lists and tuples hold."""
    items = as_items(nested)
    return [nested] if items is None else [x for item in items for x in flattened(item)]
