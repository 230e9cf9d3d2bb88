"""Where new arrays live, and the way to the host's memory and back."""

from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from minispore._array.protocol import Array, DeviceNamespace
from minispore._array.registry import NUMPY, register

DeviceTarget = Literal["CPU", "GPU"]

# Of the whole program, so that every thread makes its tensors in the same place.
_target: list[DeviceTarget] = ["CPU"]
_gpu: list[DeviceNamespace[Array]] = []


def device_target() -> DeviceTarget:
    """The kind of device on which new tensors are made."""
    return _target[0]


def set_device_target(target: DeviceTarget) -> None:
    """Make new tensors on `target`; RuntimeError where CuPy or a GPU is missing."""
    if target == "GPU" and not _gpu:
        _gpu.append(_open_gpu())
    _target[0] = target


def current() -> DeviceNamespace[Array]:
    """The namespace that makes new arrays."""
    return NUMPY if _target[0] == "CPU" else _gpu[0]


def from_host(values: NDArray[np.generic]) -> Array:
    """`values` as an array of the current device; on the CPU it is the same memory."""
    return current().asarray(values) if _target[0] == "GPU" else cast("Array", values)


def to_host(x: Array) -> NDArray[np.generic]:
    """`x` as a numpy array; the same memory if it lies there already."""
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    from minispore._array import _cupy

    return _cupy.to_host(x)


def own(x: Array, *, copy: bool) -> Array:
    """`x` in memory that nobody else has: itself, or a copy if it is a view or `copy` says so."""
    values = cast("NDArray[np.generic]", x)
    if isinstance(x, np.generic) or (values.flags.owndata and not copy):
        return x
    return cast("Array", values.copy())


def _open_gpu() -> DeviceNamespace[Array]:
    try:
        from minispore._array import _cupy
    except ImportError as error:
        raise RuntimeError(
            "For 'set_context', device_target='GPU' needs CuPy, which cannot be imported: "
            f"{error}. Install it with the extra 'gpu', or use device_target='CPU'."
        ) from error
    if not _cupy.is_available():
        raise RuntimeError(
            "For 'set_context', device_target='GPU' needs a CUDA device with its driver, but CuPy "
            "finds none. Use device_target='CPU'."
        )
    names = cast("DeviceNamespace[Array]", _cupy)
    register(cast("type[Array]", _cupy.ndarray), names)
    return names
