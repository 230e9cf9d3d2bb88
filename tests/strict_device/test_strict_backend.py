"""The guard itself: what a device would refuse or wait for is refused or counted."""

import copy
import pickle
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from minispore import Tensor, ops
from minispore.engine.array import Array, from_host, to_host
from tests.strict_device.strict_backend import (
    STRICT_BACKEND,
    DeviceViolation,
    StrictArray,
    TransferCounter,
    strict_array,
)


def values(*numbers: float) -> Array:
    return cast("Array", strict_array(np.array(numbers, np.float32)))


IMPLICIT: dict[str, Callable[[Array], object]] = {
    "asarray": lambda x: np.asarray(cast("list[float]", x)),
    "array": lambda x: np.array(cast("list[float]", x)),
    "bool": bool,
    "float": lambda x: float(cast("float", x)),
    "int": lambda x: int(cast("int", x)),
    "index": lambda x: [0, 1][cast("int", x)],
    "len": lambda x: len(cast("list[float]", x)),
    "iteration": lambda x: list(cast("list[float]", x)),
    "membership": lambda x: 1.0 in cast("list[float]", x),
    "item": lambda x: cast("Tensor", x).item(),
    "pickling": pickle.dumps,
    "equality": lambda x: x == x,  # noqa: PLR0124 (that is what is refused)
}
MIXED: dict[str, Callable[[Array, Array], object]] = {
    "sum": lambda x, y: x + y,
    "product": lambda x, y: y * x,
    "comparison": lambda x, y: x < y,
    "function": lambda x, y: STRICT_BACKEND.maximum(x, y),
    "sequence": lambda x, y: STRICT_BACKEND.stack([x, y], axis=0),
    "index": lambda x, y: x[(y,)],
}


@pytest.mark.parametrize("look", IMPLICIT.values(), ids=IMPLICIT)
def test_only_to_host_reads_elements(look: Callable[[Array], object]) -> None:
    with pytest.raises(DeviceViolation):
        look(values(1.0))


@pytest.mark.parametrize("mix", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("host", [np.ones(1, np.float32), np.float32(1)], ids=["array", "scalar"])
def test_mixing_with_numpy_arrays_raises(
    mix: Callable[[Array, Array], object], host: Array
) -> None:
    with pytest.raises(DeviceViolation):
        mix(values(1.0), host)


def test_numpy_functions_reject_strict_arrays() -> None:
    with pytest.raises(TypeError):
        np.exp(cast("float", values(1.0)))


def test_functions_outside_of_the_protocol_are_missing() -> None:
    with pytest.raises(AttributeError, match="cumsum is not a function of the protocol"):
        STRICT_BACKEND.cumsum  # type: ignore[attr-defined] # noqa: B018


def test_calls_must_match_protocol_and_cupy() -> None:
    x = values(1.0)
    with pytest.raises(TypeError, match="keepdims"):
        STRICT_BACKEND.exp(x, keepdims=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="shape"):
        STRICT_BACKEND.reshape(x, shape=(1, 1))  # type: ignore[call-arg]


def test_reductions_return_arrays_of_the_same_type() -> None:
    total = STRICT_BACKEND.sum(values(1.0, 2.0))
    assert isinstance(total, StrictArray)
    assert (total.shape, total.dtype) == ((), np.float32)
    assert (total * 2.0).dtype == np.float32
    assert isinstance(values(1.0, 2.0)[(0,)], StrictArray)


def test_all_transfers_are_counted(gpu: TransferCounter) -> None:
    x = from_host(np.ones(3, np.float32))
    assert gpu.counts() == (1, 0)
    STRICT_BACKEND.asarray(2.0, np.float32)
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
        lambda x: STRICT_BACKEND.add(x, 1.0, out=x),
        lambda x: STRICT_BACKEND.copyto(x, 1.0),
        lambda x: STRICT_BACKEND.assign(x, (0,), 1.0),
        lambda x: x[0:1],
    ],
)
def test_memory_is_readable_after_synchronization(
    ask: Callable[[Array], object], gpu: TransferCounter
) -> None:
    x = values(1.0, 2.0)
    buffer = cast("StrictArray", x)
    for _ in range(2):
        ask(x)
        with pytest.raises(DeviceViolation, match="before the device is synchronized"):
            buffer.__cuda_array_interface__  # noqa: B018
        STRICT_BACKEND.synchronize()
        assert buffer.__cuda_array_interface__["shape"] == (2,)
    assert gpu.to_mpi == 2


def test_device_tensor_copies_stay_on_the_device(gpu: TransferCounter) -> None:
    x = Tensor([1.0, 2.0])
    assert isinstance(x._data, StrictArray)
    gpu.clear()
    for other in (copy.copy(x), copy.deepcopy(x), Tensor(x), ops.zeros_like(x), x[0:1], x + 1):
        assert isinstance(other._data, StrictArray)
    assert gpu.counts() == (0, 0)
    assert bool(x[0] == 1.0)
    assert gpu.counts() == (0, 1)
