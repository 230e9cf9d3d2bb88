"""The array namespace of each array type, the backend of each device, and transfers."""

from collections.abc import Callable, Sequence
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from minispore.engine.array import _numpy
from minispore.engine.array.protocol import (
    A,
    Array,
    ArrayBackend,
    DeviceNamespace,
    Namespace,
    SupportsDLPack,
)
from minispore.utils.arrays import HostArray
from minispore.utils.checks import caller

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

NUMPY: Final = cast("DeviceNamespace[Array]", _numpy)

# numpy's reductions return its scalars, which the same functions accept.
_NAMESPACES: dict[type, Any] = {np.ndarray: NUMPY, np.generic: NUMPY}


NUMPY_TYPES: tuple[type, ...] = (np.ndarray, np.generic)
# The types of arrays in the host's memory.
_host_types = NUMPY_TYPES


def register_namespace(array_type: type[A], names: Namespace[A]) -> None:
    """Use the functions of `names` for arrays of `array_type` and its subclasses.

    Args:
        array_type: The type of a library's arrays.
        names: An object with the functions of `Namespace`, such as a module.
    """
    _NAMESPACES[array_type] = names


def register_host_arrays(array_type: type[A], names: Namespace[A]) -> None:
    """Use the functions of `names` for a type of arrays in the host's memory.

    Args:
        array_type: The type.
        names: As for `register_namespace`; its `to_host` returns a numpy array.
    """
    global _host_types  # noqa: PLW0603 (a tuple, since every operation may check it)
    register_namespace(array_type, names)
    _host_types = (*_host_types, array_type)


def namespace(x: A) -> Namespace[A]:
    """Return the functions that compute with arrays of the type of `x`.

    A rule that calls no other functions runs on every array library and on tensors.

    Args:
        x: An array of a registered type, such as numpy's, or a tensor.

    Returns:
        The functions of `Namespace`, with `x`'s type as argument and result.

    Raises:
        TypeError: The type of `x` is not registered.

    Examples:
        >>> namespace(np.zeros(2)).exp(np.zeros(2)).tolist()
        [1.0, 1.0]
    """
    # Every operation calls this function, so it calls nothing itself, not even `cast`.
    try:
        names: Namespace[A] = _NAMESPACES[type(x)]
    except KeyError:
        names = _namespace_from_mro(type(x))
    return names


def device_namespace(x: A) -> DeviceNamespace[A]:
    """Return what `namespace` returns, for an array with memory.

    Args:
        x: An array of a registered type, but not a tensor.

    Returns:
        The functions of `DeviceNamespace`.

    Examples:
        >>> device_namespace(np.zeros(2)).ones((2,), np.float32).tolist()
        [1.0, 1.0]
    """
    try:
        names: DeviceNamespace[A] = _NAMESPACES[type(x)]
    except KeyError:
        names = _namespace_from_mro(type(x))
    return names


def _namespace_from_mro(kind: type) -> Any:  # noqa: ANN401 (a namespace of arrays of that type)
    for base in kind.__mro__:
        if base in _NAMESPACES:
            _NAMESPACES[kind] = _NAMESPACES[base]
            return _NAMESPACES[base]
    raise TypeError(f"No array namespace is registered for objects of type {kind.__name__}.")


DeviceTarget = Literal["CPU", "GPU"]

# One for the whole program, so that all threads create their tensors on the same device.
_target: list[DeviceTarget] = ["CPU"]
_backends: dict[DeviceTarget, DeviceNamespace[Array]] = {"CPU": NUMPY}


def register_backend(target: DeviceTarget, backend: ArrayBackend[Array]) -> None:
    """Use `backend` for all computations on the device `target`.

    Args:
        target: "CPU" or "GPU".
        backend: The functions of an array library. Operations on its arrays call them from now on.
    """
    register_namespace(backend.ndarray, backend)
    _backends[target] = backend


def device_target() -> DeviceTarget:
    """Return the device on which new tensors are created.

    Returns:
        "CPU" or "GPU".

    Examples:
        >>> device_target()
        'CPU'
    """
    return _target[0]


def set_device_target(target: DeviceTarget) -> None:
    """Create new tensors on `target` from now on.

    Args:
        target: "CPU" or "GPU".

    Raises:
        RuntimeError: There is no GPU, or CuPy is not installed.
    """
    _backend(target)
    _target[0] = target


def current_namespace() -> DeviceNamespace[Array]:
    """Return the namespace of the current device, which creates new arrays.

    Returns:
        The functions of `DeviceNamespace`.

    Examples:
        >>> current_namespace().zeros((2,), np.float32).tolist()
        [0.0, 0.0]
    """
    return _backends[_target[0]]


def from_host(values: HostArray) -> Array:
    """Return a numpy array as an array on the current device.

    Args:
        values: A numpy array.

    Returns:
        `values` itself on the CPU, otherwise a copy on the device.

    Examples:
        >>> x = np.zeros(2)
        >>> from_host(x) is x
        True
    """
    return current_namespace().asarray(values) if _target[0] == "GPU" else values


# DLPack's numbers of the devices whose memory the host reads: CPU and pinned memory.
_DLPACK_HOSTS: Final = (1, 3)


def from_dlpack(x: SupportsDLPack) -> Array:
    """Return an array of another library as one of numpy's or CuPy's that shares its memory.

    Args:
        x: An array of any library, on the host or on the GPU.

    Returns:
        An array on the device of `x`.

    Raises:
        RuntimeError: `x` is on a GPU, and there is none, or CuPy is not installed.

    Examples:
        >>> x = np.zeros(2)
        >>> np.shares_memory(from_dlpack(x), x)
        True
    """
    if x.__dlpack_device__()[0] in _DLPACK_HOSTS:
        shared: HostArray = np.from_dlpack(x)
        return shared
    return _backend("GPU").asarray(x)


def to_dlpack(x: Array, **options: object) -> "CapsuleType":
    """Return what `__dlpack__` of an array returns: a capsule that owns its memory.

    Args:
        x: An array on any device.
        **options: The arguments of `__dlpack__`.

    Raises:
        BufferError: A stride is negative, which other libraries do not read, and a copy is not
            allowed.
    """
    values = _like_numpy(x)
    if min(values.strides, default=0) < 0:
        if options.get("copy") is False:
            raise BufferError("An array with a negative stride is not shared without a copy.")
        values = values.copy()
    return cast("Callable[..., CapsuleType]", values.__dlpack__)(**options)


def dlpack_device(x: Array) -> tuple[int, int]:
    """Return DLPack's number of the kind of an array's device, and the number of the device.

    Args:
        x: An array on any device.

    Examples:
        >>> dlpack_device(np.zeros(2))
        (1, 0)
    """
    kind, number = _like_numpy(x).__dlpack_device__()
    return int(kind), int(number)


def to_device_of(values: HostArray, x: Array) -> Array:
    """Return a numpy array as an array on the device of another array.

    Args:
        values: A numpy array.
        x: An array on the device.

    Returns:
        `values` itself on the CPU, otherwise a copy on the device.
    """
    return values if is_host(x) else device_namespace(x).asarray(values)


def to_host(x: Array) -> HostArray:
    """Return an array as a numpy array.

    Args:
        x: An array on any device.

    Returns:
        An array of the same memory if `x` is on the host, otherwise a copy, for which the host
        waits.

    Examples:
        >>> to_host(np.float32(1.5)).item()
        1.5
    """
    if isinstance(x, NUMPY_TYPES):
        return np.asarray(x)
    backend: ArrayBackend[Array] = _namespace_from_mro(type(x))
    return backend.to_host(x)


def as_buffer(x: Array) -> object:
    """Return an array for a library that accesses its memory directly.

    Args:
        x: An array on any device.

    Returns:
        `x` itself, after its values have been computed.
    """
    if not is_host(x):
        backend: ArrayBackend[Array] = _namespace_from_mro(type(x))
        backend.synchronize()
    return x


def is_host(x: Array) -> bool:
    """Return whether an array is in the host's memory, where its elements need no transfer.

    Args:
        x: An array on any device.

    Returns:
        True for numpy's arrays and scalars.

    Examples:
        >>> is_host(np.zeros(2))
        True
    """
    return isinstance(x, _host_types)


def is_ndarray(value: object) -> TypeGuard[HostArray]:
    """Return whether a value is an array of numpy, and not one of its scalars."""
    return isinstance(value, np.ndarray)


def device_of(x: Array) -> DeviceTarget:
    """Return the device of an array.

    Args:
        x: An array on any device.

    Returns:
        "CPU" or "GPU".

    Examples:
        >>> device_of(np.zeros(2))
        'CPU'
    """
    return "CPU" if is_host(x) else "GPU"


def to_device(x: Array, target: DeviceTarget) -> Array:
    """Return an array on a device.

    Args:
        x: An array on any device.
        target: "CPU" or "GPU".

    Returns:
        `x` itself if it is there already, otherwise a copy.

    Raises:
        RuntimeError: There is no GPU, or CuPy is not installed.
    """
    backend = _backend(target)
    if device_of(x) == target:
        return x
    return to_host(x) if target == "CPU" else backend.asarray(to_host(x))


def ensure_owned(x: Array, *, copy: bool) -> Array:
    """Return an array that owns its memory.

    Args:
        x: An array on any device.
        copy: Whether to copy `x` even if it owns its memory.

    Returns:
        `x` itself, or a copy if `x` is a view or `copy` is true.

    Examples:
        >>> x = np.zeros(2)
        >>> ensure_owned(x, copy=False) is x, ensure_owned(x[:1], copy=False) is x[:1]
        (True, False)
    """
    # Every gradient is passed to this function, so it calls nothing itself, not even `cast`.
    values: Any = x
    if isinstance(x, np.generic) or (values.flags.owndata and not copy):
        return x
    owned: Array = values.copy()
    return owned


def in_layout_of(x: Array, other: Array) -> Array:
    """Return a large matrix in the layout of another: operations on two layouts are slow.

    Args:
        x: An array on any device.
        other: An array of the same shape.

    Examples:
        >>> in_layout_of(np.ones((200, 200)), np.ones((200, 200)).T).flags.f_contiguous
        True
    """
    is_large = other.ndim == 2 and is_host(x) and prod(x.shape) > 16_000
    if not is_large or _numpy.is_by_columns(x) or not _numpy.is_by_columns(other):
        return x
    # numpy takes five times as long to copy the whole.
    xp = device_namespace(x)
    moved = xp.empty(x.shape[::-1], x.dtype).mT
    for i in range(0, x.shape[0], 16):
        xp.assign(moved, (slice(i, i + 16),), x[i : i + 16])
    return moved


def root_of(array: object) -> object:
    """Return the object that owns the memory of an array.

    Args:
        array: An array on any device.

    Examples:
        >>> x = np.zeros((2, 2))
        >>> root_of(x.T[0]) is x
        True
    """
    base: object = getattr(array, "base", None)
    return array if base is None else root_of(base)


def copied_together(arrays: Sequence[HostArray]) -> list[HostArray]:
    """Return the arrays in a copy of the memory that they share.

    Args:
        arrays: Views of the memory of one array.

    Examples:
        >>> x = np.zeros(2)
        >>> y, first = copied_together([x, x[:1]])
        >>> first[0] = 3.0
        >>> x, y
        (array([0., 0.]), array([3., 0.]))
    """
    memory = bytes_of(*arrays)
    low, copy = address_of(memory), memory.copy()
    copies: list[HostArray] = []
    for x in arrays:
        offset = address_of(x) - low if x.size else 0
        copies.append(np.ndarray(x.shape, x.dtype, copy, offset, x.strides))
        copies[-1].flags.writeable = x.flags.writeable
    return copies


def bytes_of(*arrays: HostArray) -> HostArray:
    """Return the memory of arrays as an array of bytes.

    Args:
        *arrays: Arrays in the memory of one array.

    Examples:
        >>> bytes_of(np.zeros(2)).nbytes
        16
    """
    ends = [byte_bounds(x) for x in arrays if x.size] or [byte_bounds(arrays[0])]
    low, high = min(end for end, _ in ends), max(end for _, end in ends)
    interface = {"data": (low, False), "shape": (high - low,), "typestr": "|u1", "version": 3}
    # The bytes refer to this object, and that to the owner of the memory.
    return np.asarray(SimpleNamespace(__array_interface__=interface, owner=arrays))


def address_of(x: HostArray) -> int:
    """Return the address of the first element of an array.

    Args:
        x: A numpy array.

    Examples:
        >>> x = np.zeros(2)
        >>> address_of(x[1:]) - address_of(x)
        8
    """
    return int(x.__array_interface__["data"][0])


def _like_numpy(x: Array) -> HostArray:
    """Return an array of numpy, or one of a library that gives its arrays the same methods."""
    return to_host(x) if is_host(x) else cast("HostArray", x)


def _backend(target: DeviceTarget) -> DeviceNamespace[Array]:
    if target not in _backends:
        register_backend(target, _open_gpu())
    return _backends[target]


def _open_gpu() -> ArrayBackend[Array]:
    try:
        from minispore.engine.array import _cupy
    except ImportError as error:
        raise RuntimeError(
            f"For '{caller()}', the device 'GPU' needs CuPy, which cannot be imported: "
            f"{error}. Install it with the extra 'gpu', or use the device 'CPU'."
        ) from error
    if not _cupy.is_available():
        raise RuntimeError(
            f"For '{caller()}', the device 'GPU' needs a CUDA device with its driver, but CuPy "
            "finds none. Use the device 'CPU'."
        )
    return cast("ArrayBackend[Array]", _cupy)
