"""The guard itself: what a device would refuse or wait for is refused or counted."""

import copy
import pickle
from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from minispore import Tensor, ops
from minispore._array import Array, from_host, to_host

from .library import GUARDED, Breach, GuardedArray, Traffic, guarded


def values(*numbers: float) -> Array:
    return cast("Array", guarded(np.array(numbers, np.float32)))


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
    "function": lambda x, y: GUARDED.maximum(x, y),
    "sequence": lambda x, y: GUARDED.stack([x, y], axis=0),
    "index": lambda x, y: x[(y,)],
}


@pytest.mark.parametrize("look", IMPLICIT.values(), ids=IMPLICIT)
def test_nothing_looks_at_elements_but_to_host(look: Callable[[Array], object]) -> None:
    with pytest.raises(Breach):
        look(values(1.0))


@pytest.mark.parametrize("mix", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("host", [np.ones(1, np.float32), np.float32(1)], ids=["array", "scalar"])
def test_arrays_of_numpy_do_not_mix_with_it(
    mix: Callable[[Array, Array], object], host: Array
) -> None:
    with pytest.raises(Breach):
        mix(values(1.0), host)


def test_numpys_own_functions_do_not_take_it() -> None:
    with pytest.raises(TypeError):
        np.exp(cast("float", values(1.0)))


def test_what_the_contract_does_not_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="cumsum is not in the contract"):
        GUARDED.cumsum  # type: ignore[attr-defined] # noqa: B018


def test_a_call_must_be_as_the_contract_and_as_cupy_has_it() -> None:
    x = values(1.0)
    with pytest.raises(TypeError, match="keepdims"):
        GUARDED.exp(x, keepdims=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="shape"):
        GUARDED.reshape(x, shape=(1, 1))  # type: ignore[call-arg]


def test_reductions_stay_arrays_and_types_stay() -> None:
    total = GUARDED.sum(values(1.0, 2.0))
    assert isinstance(total, GuardedArray)
    assert (total.shape, total.dtype) == ((), np.float32)
    assert (total * 2.0).dtype == np.float32
    assert isinstance(values(1.0, 2.0)[(0,)], GuardedArray)


def test_every_way_in_and_out_is_counted(gpu: Traffic) -> None:
    x = from_host(np.ones(3, np.float32))
    assert gpu.counts() == (1, 0)
    GUARDED.asarray(2.0, np.float32)
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
        lambda x: GUARDED.add(x, 1.0, out=x),
        lambda x: GUARDED.copyto(x, 1.0),
        lambda x: GUARDED.assign(x, (0,), 1.0),
        lambda x: x[0:1],
    ],
)
def test_memory_is_there_to_be_read_when_the_device_was_waited_for(
    ask: Callable[[Array], object], gpu: Traffic
) -> None:
    x = values(1.0, 2.0)
    buffer = cast("GuardedArray", x)
    for _ in range(2):
        ask(x)
        with pytest.raises(Breach, match="before the device was waited for"):
            buffer.__cuda_array_interface__  # noqa: B018
        GUARDED.synchronize()
        assert buffer.__cuda_array_interface__["shape"] == (2,)
    assert gpu.to_mpi == 2


def test_a_tensor_of_a_device_holds_its_array_and_is_copied_there(gpu: Traffic) -> None:
    x = Tensor([1.0, 2.0])
    assert isinstance(x._data, GuardedArray)
    gpu.clear()
    for other in (copy.copy(x), copy.deepcopy(x), Tensor(x), ops.zeros_like(x), x[0:1], x + 1):
        assert isinstance(other._data, GuardedArray)
    assert gpu.counts() == (0, 0)
    assert bool(x[0] == 1.0)
    assert gpu.counts() == (0, 1)
