"""The namespaces of arrays, the current device, transfers, and ownership of memory."""

import importlib.util
import sys
from types import ModuleType
from typing import cast

import numpy as np
import pytest

from minispore import Tensor, get_context, set_context
from minispore.engine import array
from minispore.engine.array import (
    Array,
    Namespace,
    current_namespace,
    device,
    device_namespace,
    ensure_owned,
    from_host,
    namespace,
    to_host,
)
from minispore.engine.array.device import NUMPY
from minispore.ops import _namespace as tensor_names
from minispore.utils.arrays import HostArray


@pytest.mark.parametrize("x", [np.zeros(2), np.float32(1.0), np.zeros(2).view(np.ma.MaskedArray)])
def test_namespace_of_arrays_scalars_and_subclasses_is_numpys(x: HostArray) -> None:
    assert namespace(x) is NUMPY
    assert namespace(Tensor([1.0])) is cast("Namespace[Tensor]", tensor_names)


def test_device_namespace_is_inherited_by_subclasses() -> None:
    class Own(np.ndarray):
        """A type whose namespace was not looked up before."""

    assert device_namespace(cast("Array", np.zeros(2).view(Own))) is NUMPY


def test_namespace_of_non_array_raises_type_error() -> None:
    with pytest.raises(TypeError, match="No array namespace is registered for objects of type str"):
        namespace(cast("Array", "abc"))


def test_cpu_device_round_trip_does_not_copy() -> None:
    x = np.zeros(3)
    assert to_host(from_host(x)) is x
    assert current_namespace() is NUMPY


def test_ensure_owned_copies_views() -> None:
    x: HostArray = np.zeros(3)
    assert ensure_owned(x, copy=False) is x
    assert not np.shares_memory(to_host(ensure_owned(x, copy=True)), to_host(x))
    assert not np.shares_memory(to_host(ensure_owned(x[1:], copy=False)), to_host(x))


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is there")
def test_gpu_without_cupy_raises_and_changes_nothing() -> None:
    before = get_context("device_target")
    with pytest.raises(RuntimeError, match="needs CuPy, which cannot be imported"):
        set_context(device_target="GPU")
    assert get_context("device_target") == before


@pytest.mark.parametrize("is_there", [False, True])
def test_gpu_requires_a_cuda_device(is_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("minispore.engine.array._cupy")
    kind = type("ndarray", (), {})
    vars(module).update(is_available=lambda: is_there, ndarray=kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(array, "_cupy", module, raising=False)
    monkeypatch.setattr(device, "_backends", dict(device._backends))
    try:
        if is_there:
            set_context(device_target="GPU")
            assert current_namespace() is module is namespace(cast("Array", object.__new__(kind)))
        else:
            with pytest.raises(RuntimeError, match="CuPy finds none"):
                set_context(device_target="GPU")
    finally:
        set_context(device_target="CPU")
