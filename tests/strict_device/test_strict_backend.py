"""The guard itself: what a device would refuse or wait for is refused or counted."""

import copy
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from minispore import Tensor, ops
from minispore.engine.array import Array, HostArray, from_host, to_host
from tests.strict_device import strict_backend


def values(*numbers: float) -> Array:
    return cast("Array", strict_backend.strict_array(np.array(numbers, np.float32)))


X = values(1.0)
# Without its type, which has none of these functions.
LOOSE: Any = X
HOST: HostArray = np.ones(1, np.float32)
# To read elements, to mix arrays with numpy's, and to call with arguments of neither library.
REFUSED: dict[str, Callable[[], object]] = {
    "asarray": lambda: np.asarray(LOOSE),
    "bool": lambda: bool(X),
    "float": lambda: float(LOOSE),
    "index": lambda: [0, 1][LOOSE],
    "len": lambda: len(LOOSE),
    "iteration": lambda: list(LOOSE),
    "item": lambda: LOOSE.item(),
    "equality": lambda: X == X,  # noqa: PLR0124 (that is what is refused)
    "sum with an array": lambda: X + HOST,
    "product with a scalar": lambda: HOST[0] * X,
    "function of both": lambda: strict_backend.STRICT_BACKEND.maximum(X, HOST),
    "sequence of both": lambda: strict_backend.STRICT_BACKEND.stack([X, HOST], axis=0),
    "index by an array": lambda: X[(HOST,)],
    "numpy's function": lambda: np.exp(LOOSE),
    "another argument": lambda: strict_backend.STRICT_BACKEND.exp(X, keepdims=True),  # type: ignore[call-arg]
    "a name of CuPy's": lambda: strict_backend.STRICT_BACKEND.reshape(X, shape=(1, 1)),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
def test_what_a_device_does_not_support_raises(use: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        use()


def test_functions_outside_of_the_protocol_are_missing() -> None:
    with pytest.raises(AttributeError, match="cumsum is not a function of the protocol"):
        strict_backend.STRICT_BACKEND.cumsum  # type: ignore[attr-defined] # noqa: B018


def test_all_transfers_are_counted(gpu: strict_backend.TransferCounter) -> None:
    x = from_host(np.ones(3, np.float32))
    assert gpu.counts() == (1, 0)
    strict_backend.STRICT_BACKEND.asarray(2.0, np.float32)
    _ = x * 2.0 + 1
    assert gpu.counts() == (1, 0)
    host = to_host(x)
    assert gpu.counts() == (1, 1)
    host[0] = 7
    assert to_host(x)[0] == 1
    _ = x[(x > 0.0,)]
    assert gpu.counts() == (1, 3)


def grow(x: Array) -> None:
    x += 1.0


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x + 1.0,
        grow,
        lambda x: strict_backend.STRICT_BACKEND.add(x, 1.0, out=x),
        lambda x: strict_backend.STRICT_BACKEND.copyto(x, 1.0),
        lambda x: strict_backend.STRICT_BACKEND.assign(x, (0,), 1.0),
        lambda x: x[0:1],
    ],
)
def test_memory_is_readable_after_synchronization(
    ask: Callable[[Array], object], gpu: strict_backend.TransferCounter
) -> None:
    x = values(1.0, 2.0)
    buffer = cast("strict_backend.StrictArray", x)
    for _ in range(2):
        ask(x)
        with pytest.raises(
            strict_backend.DeviceViolation, match="before the device is synchronized"
        ):
            buffer.__cuda_array_interface__  # noqa: B018
        strict_backend.STRICT_BACKEND.synchronize()
        assert buffer.__cuda_array_interface__["shape"] == (2,)
    assert gpu.to_mpi == 2


def test_device_tensor_copies_stay_on_the_device(gpu: strict_backend.TransferCounter) -> None:
    x = Tensor([1.0, 2.0])
    assert isinstance(x._data, strict_backend.StrictArray)
    gpu.clear()
    for other in (copy.copy(x), copy.deepcopy(x), Tensor(x), ops.zeros_like(x), x[0:1], x + 1):
        assert isinstance(other._data, strict_backend.StrictArray)
    assert gpu.counts() == (0, 0)
    assert bool(x[0] == 1.0)
    assert gpu.counts() == (0, 1)
