"""Skip the tests of this folder, with the reason, where there is no GPU."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

from minispore import set_context


def absent() -> str | None:
    """Return the reason why there is no usable GPU; None if there is one."""
    if find_spec("cupy") is None:
        return "CuPy is not installed"
    try:
        there = bool(import_module("cupy").is_available())
    except Exception as error:  # whatever a broken driver or CUDA makes of it
        return f"CuPy cannot be used: {error}"
    return None if there else "CuPy finds no CUDA device"


@pytest.fixture
def card() -> Iterator[str]:
    """Create new tensors on the GPU; return its name."""
    reason = absent()
    if reason:
        pytest.skip(reason)
    set_context(device_target="GPU")
    cupy = import_module("cupy")
    yield cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    set_context(device_target="CPU")
    cupy.get_default_memory_pool().free_all_blocks()
