"""Which library an array belongs to, and what each library must offer."""

import ast
import importlib.util
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import cast

import numpy as np
import pytest

from minispore import Tensor, _array, get_context, set_context
from minispore._array import (
    Array,
    DeviceNamespace,
    Namespace,
    current,
    device,
    device_namespace,
    from_host,
    namespace,
    own,
    to_host,
)
from minispore._array import _numpy as numpy_names
from minispore._array.registry import NUMPY
from minispore._functional import namespace as tensor_names


def public(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


CONTRACT = public(Namespace)
DEVICE = public(DeviceNamespace)


@pytest.mark.parametrize(
    ("module", "contract"), [(numpy_names, CONTRACT | DEVICE), (tensor_names, CONTRACT)]
)
def test_a_namespace_has_all_that_the_contract_names(
    module: ModuleType, contract: set[str]
) -> None:
    assert contract <= set(dir(module))


def test_numpys_names_are_the_contracts_and_no_more() -> None:
    assert set(numpy_names.__all__) == CONTRACT | DEVICE


def test_cupys_names_are_numpys() -> None:
    """CuPy's module cannot be run without a GPU, but what it defines itself can be read."""
    path = Path(numpy_names.__file__ or "").with_name("_cupy.py")
    defined = {
        name
        for node in ast.parse(path.read_text("utf-8")).body
        for name in (
            [node.name]
            if isinstance(node, ast.FunctionDef)
            else [t.id for t in node.targets if isinstance(t, ast.Name)]
            if isinstance(node, ast.Assign)
            else []
        )
    }
    assert {"assign", "constant", "scatter", "to_host", "is_available"} <= defined


def test_arrays_scalars_subclasses_and_tensors_have_a_namespace() -> None:
    for x in (np.zeros(2), np.float32(1.0), np.zeros(2).view(np.ma.MaskedArray)):
        assert namespace(cast("Array", x)) is NUMPY
    assert namespace(Tensor([1.0])) is cast("Namespace[Tensor]", tensor_names)


def test_memory_of_a_new_kind_has_the_namespace_of_what_it_inherits() -> None:
    class Own(np.ndarray):
        """A kind that nobody has asked about before."""

    assert device_namespace(cast("Array", np.zeros(2).view(Own))) is NUMPY


def test_what_is_no_array_has_none() -> None:
    with pytest.raises(TypeError, match="No array namespace is registered for objects of type str"):
        namespace(cast("Array", "abc"))


def test_on_the_cpu_the_way_to_the_device_and_back_copies_nothing() -> None:
    x = np.zeros(3)
    assert to_host(from_host(x)) is x
    assert current() is NUMPY


def test_own_gives_memory_that_nobody_else_has() -> None:
    x = cast("Array", np.zeros(3))
    assert own(x, copy=False) is x
    assert not np.shares_memory(to_host(own(x, copy=True)), to_host(x))
    assert not np.shares_memory(to_host(own(x[1:], copy=False)), to_host(x))


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is there")
def test_without_cupy_a_gpu_is_refused_and_nothing_changes() -> None:
    before = get_context("device_target")
    with pytest.raises(RuntimeError, match="needs CuPy, which cannot be imported"):
        set_context(device_target="GPU")
    assert get_context("device_target") == before


@pytest.mark.parametrize("is_there", [False, True])
def test_a_gpu_is_what_cupy_finds(is_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("minispore._array._cupy")
    kind = type("ndarray", (), {})
    vars(module).update(is_available=lambda: is_there, ndarray=kind)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(_array, "_cupy", module, raising=False)
    monkeypatch.setattr(device, "_libraries", dict(device._libraries))
    try:
        if is_there:
            set_context(device_target="GPU")
            assert current() is module is namespace(cast("Array", object.__new__(kind)))
        else:
            with pytest.raises(RuntimeError, match="CuPy finds none"):
                set_context(device_target="GPU")
    finally:
        set_context(device_target="CPU")


@pytest.mark.parametrize("index", [(0,), (slice(1, 3),), (..., None), (np.array([1, 1, 3]),)])
def test_scatter_adds_where_indexing_takes(index: tuple[object, ...]) -> None:
    taken = np.arange(4.0)[cast("tuple[slice, ...]", index)]
    found = numpy_names.scatter(np.ones_like(taken), index=index, shape=(4,))
    expected = np.zeros(4)
    np.add.at(expected, cast("list[int]", index), 1.0)
    np.testing.assert_array_equal(np.asarray(found, np.float64), expected)


STEPS = """
import resource
import numpy as np
import minispore._array

def faults(steps):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(steps):
        kept = [np.ones(1 << 20) for _ in range(4)]
        del kept
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults(3)
print(faults(10))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of that C library")
def test_memory_that_a_step_frees_is_there_for_the_next_one() -> None:
    """Not one page of it is asked of the system anew."""
    run = subprocess.run(
        [sys.executable, "-c", STEPS], capture_output=True, encoding="utf-8", check=True
    )
    assert int(run.stdout) < 50
