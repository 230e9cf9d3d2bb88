"""Where arrays live: which library answers to a device's name, and the way from one to another."""

from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from minispore._array.protocol import Array, DeviceNamespace, Library
from minispore._array.registry import NUMPY, device_namespace, register

DeviceTarget = Literal["CPU", "GPU"]

# Of the whole program, so that every thread makes its tensors in the same place.
_target: list[DeviceTarget] = ["CPU"]
_libraries: dict[DeviceTarget, DeviceNamespace[Array]] = {"CPU": NUMPY}


def plug_in(target: DeviceTarget, library: Library[Array]) -> None:
    """Let `library` be what computes on `target`."""
    register(library.ndarray, library)
    _libraries[target] = library


def device_target() -> DeviceTarget:
    """The kind of device on which new tensors are made."""
    return _target[0]


def set_device_target(target: DeviceTarget, owner: str = "set_context") -> None:
    """Make new tensors on `target`; RuntimeError where CuPy or a GPU is missing."""
    _library(target, owner)
    _target[0] = target


def current() -> DeviceNamespace[Array]:
    """The namespace that makes new arrays."""
    return _libraries[_target[0]]


def from_host(values: NDArray[np.generic]) -> Array:
    """`values` as an array of the current device; on the CPU it is the same memory."""
    return current().asarray(values) if _target[0] == "GPU" else cast("Array", values)


def beside(values: NDArray[np.generic], x: Array) -> Array:
    """`values` as an array where `x` lives; if that is the host it is the same memory."""
    return cast("Array", values) if is_host(x) else device_namespace(x).asarray(values)


def to_host(x: Array) -> NDArray[np.generic]:
    """`x` as a numpy array: the same memory if it lies there already, else a copy waited for."""
    if isinstance(x, np.ndarray | np.generic):
        return np.asarray(x)
    return cast("Library[Array]", device_namespace(x)).to_host(x)


def as_buffer(x: Array) -> object:
    """`x` for a library that reads or writes its memory by itself: what is in it is computed."""
    if not is_host(x):
        cast("Library[Array]", device_namespace(x)).synchronize()
    return x


def is_host(x: Array) -> bool:
    """Whether `x` lies in the host's memory, where looking at its elements costs nothing."""
    return isinstance(x, np.ndarray | np.generic)


def target_of(x: Array) -> DeviceTarget:
    """The kind of device on which `x` lives."""
    return "CPU" if is_host(x) else "GPU"


def place(x: Array, target: DeviceTarget, owner: str) -> Array:
    """`x` on `target`: itself if it lives there; RuntimeError where CuPy or a GPU is missing."""
    library = _library(target, owner)
    if target_of(x) == target:
        return x
    return cast("Array", to_host(x)) if target == "CPU" else library.asarray(to_host(x))


def own(x: Array, *, copy: bool) -> Array:
    """`x` in memory that nobody else has: itself, or a copy if it is a view or `copy` says so."""
    values = cast("NDArray[np.generic]", x)
    if isinstance(x, np.generic) or (values.flags.owndata and not copy):
        return x
    return cast("Array", values.copy())


def _library(target: DeviceTarget, owner: str) -> DeviceNamespace[Array]:
    if target not in _libraries:
        plug_in(target, _open_gpu(owner))
    return _libraries[target]


def _open_gpu(owner: str) -> Library[Array]:
    try:
        from minispore._array import _cupy
    except ImportError as error:
        raise RuntimeError(
            f"For '{owner}', the device 'GPU' needs CuPy, which cannot be imported: "
            f"{error}. Install it with the extra 'gpu', or use the device 'CPU'."
        ) from error
    if not _cupy.is_available():
        raise RuntimeError(
            f"For '{owner}', the device 'GPU' needs a CUDA device with its driver, but CuPy finds "
            "none. Use the device 'CPU'."
        )
    return cast("Library[Array]", _cupy)
