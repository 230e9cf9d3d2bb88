"""The comparison of float16 with float32: the same values, computed in both types."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, ops
from minispore.utils.checks import as_items

Half: TypeAlias = NDArray[np.float16]


def halves(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> Half:
    """Return random numbers of about a size, the largest and 0 among them."""
    with np.errstate(over="ignore"):
        x = rng.normal(0, scale, shape).clip(-65504, 65504).astype(np.float16)
    return np.where(rng.random(shape) < 0.1, np.float16(0), x)


def assert_rounded(actual: object, expected: object, ulps: float = 1) -> None:
    """Assert that float16 tensors are float32 ones, rounded; an error of some ulps is allowed."""
    for ours, theirs in zip(as_items(actual) or [actual], as_items(expected) or [expected], strict=True):
        assert isinstance(ours, Tensor)
        assert isinstance(theirs, Tensor)
        assert ours.shape == theirs.shape
        if theirs.dtype is ms.float32 and ours.dtype is ms.float16:
            exact = np.asarray(theirs.asnumpy(), np.float64)
            with np.errstate(all="ignore"):
                rounded = exact.astype(np.float16)
                error = np.abs(ours.asnumpy() - exact)
                near = error <= ulps * np.spacing(np.abs(rounded), dtype=np.float16)
            same = (ours.asnumpy() == rounded) | np.isnan(ours.asnumpy()) & np.isnan(rounded)
            wrong = ~(near | same)
            assert not wrong.any(), (ours.asnumpy()[wrong][:4], exact[wrong][:4])
        else:
            assert ours.dtype is theirs.dtype
            np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy())


def assert_float16_is_rounded(
    function: Callable[..., object], operands: Sequence[Half], rng: np.random.Generator, ulps: float = 1
) -> None:
    """Assert it of the outputs of a function, and of its gradients by all operands."""
    results: list[tuple[object, object]] = []
    state = rng.bit_generator.state
    for dtype in (ms.float16, ms.float32):
        rng.bit_generator.state = state
        tensors = [Tensor(x, dtype) for x in operands]
        with np.errstate(all="ignore"):
            outputs = function(*tensors)
            listed = [y for y in as_items(outputs) or [outputs] if isinstance(y, Tensor)]
            if not tensors or not any(y.dtype in (ms.float16, ms.float32) for y in listed):
                results.append((listed, []))
                continue
            sens = [Tensor(halves(rng, y.shape, 1.0), y.dtype) for y in listed]
            by = tuple(range(len(tensors)))
            gradients = ms.grad(function, by, sens_param=True)(*tensors, tuple(sens))
        results.append((listed, gradients))
    for actual, expected in zip(*results, strict=True):
        assert_rounded(actual, expected, ulps)
