"""An array backend that computes with numpy and has the restrictions of a device.

An operation that CuPy rejects, or that would synchronize without being visible, raises an error or
is counted.

- Only `to_host` converts arrays to numpy's, and is counted. Other operations that read elements
  (`float`, `bool`, `len`, iteration, `np.asarray`, `item`) raise an error.
- Arrays cannot be combined with numpy's arrays and scalars, only with Python's numbers.
- Reductions return arrays without axes, as CuPy's do, and not scalars.
- There are only the functions of the protocol, and the arguments must match both the protocol and
  CuPy's signatures.
- MPI, which reads the memory directly, gets it only after `synchronize`, and is counted.
- Creating an array from a numpy array is counted; from a number it is not, since that is an
  argument of a kernel.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from inspect import Signature, signature
from pathlib import Path
from typing import ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import DTypeLike

from minispore.engine.array import (
    NUMPY_TYPES,
    Array,
    ArrayBackend,
    DeviceNamespace,
    HostArray,
    _numpy,
    is_ndarray,
)
from minispore.utils.checks import as_tuple, map_items

# What needs no conversion, and what indexes as it is.
PLAIN: tuple[type, ...] = (type(None), bool, int, float, str, np.dtype, type)
BASIC: tuple[type, ...] = (type(...), slice, np.integer)
CONTRACT = {name for name in dir(DeviceNamespace) if not name.startswith("_")}
TABLE = Path(__file__).with_name("cupy.txt")


class DeviceViolation(TypeError):
    """An operation that a device does not support. CuPy raises TypeError, too."""


@dataclass
class TransferCounter:
    """The number of transfers between host and device. Copies to the host synchronize."""

    to_device: int = 0
    to_host: int = 0
    # Boolean indices synchronize, since the number of elements must be known.
    masks: int = 0
    to_mpi: int = 0
    # Whether an operation was started after the last synchronization.
    running: bool = False

    def clear(self) -> None:
        self.to_device = self.to_host = self.masks = self.to_mpi = 0

    def counts(self) -> tuple[int, int]:
        """Return the number of arrays copied to the device, and of synchronizations."""
        return self.to_device, self.to_host + self.masks


transfers = TransferCounter()


class StrictArray:
    """A numpy array whose elements cannot be read."""

    __slots__ = ("__weakref__", "_values")
    # numpy's operators return NotImplemented for this type.
    __array_ufunc__: ClassVar[None] = None

    def __init__(self, values: HostArray) -> None:
        self._values = values
        transfers.running = True

    @property
    def shape(self) -> tuple[int, ...]:
        return self._values.shape

    @property
    def ndim(self) -> int:
        return self._values.ndim

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self._values.dtype

    @property
    def mT(self) -> "StrictArray":
        return StrictArray(self._values.mT)

    @property
    def flags(self) -> object:
        return self._values.flags

    @property
    def base(self) -> object:
        return self._values

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        if transfers.running:
            raise DeviceViolation("Memory is read before the device is synchronized.")
        transfers.to_mpi += 1
        return self._values.__array_interface__

    def copy(self) -> "StrictArray":
        return StrictArray(self._values.copy())

    def __neg__(self) -> "StrictArray":
        return strict_array(-self._values)

    def __getitem__(self, index: object) -> "StrictArray":
        return strict_array(self._values[cast("slice", _index(index))])

    def __setitem__(self, index: object, value: object) -> None:
        transfers.running = True
        _numpy.assign(self._values, _index(index), cast("HostArray", _host(value)))

    def __repr__(self) -> str:
        # For the messages of tests; minispore does not call it.
        return f"StrictArray({self._values!r})"

    def __eq__(self, other: object) -> NoReturn:
        raise DeviceViolation("Arrays are compared by 'equal' of their namespace.")

    __hash__ = object.__hash__


def _operator(name: str, compute: Callable[[object, object], object]) -> None:
    def forward(self: StrictArray, other: object) -> StrictArray:
        with np.errstate(all="ignore"):
            return strict_array(compute(self._values, _host(other)))

    def backward(self: StrictArray, other: object) -> StrictArray:
        with np.errstate(all="ignore"):
            return strict_array(compute(_host(other), self._values))

    def in_place(self: StrictArray, other: object) -> StrictArray:
        transfers.running = True
        with np.errstate(all="ignore"):
            np.copyto(self._values, np.asarray(compute(self._values, _host(other))))
        return self

    setattr(StrictArray, f"__{name}__", forward)
    if name not in {"lt", "le", "gt", "ge"}:
        setattr(StrictArray, f"__r{name}__", backward)
        setattr(StrictArray, f"__i{name}__", in_place)


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "lt", "le", "gt", "ge"):
    _operator(_name, getattr(operator, f"__{_name}__"))


def _refused(name: str) -> None:
    def refuse(self: StrictArray, *args: object, **kwargs: object) -> NoReturn:
        raise DeviceViolation(f"Implicit conversion of a device array by '{name}'.")

    setattr(StrictArray, name, refuse)


for _name in (
    *("__array__", "__bool__", "__float__", "__int__", "__index__", "__complex__", "__len__"),
    *("__iter__", "__contains__", "__reduce__", "__buffer__", "__dlpack__", "item", "tolist"),
):
    _refused(_name)


def strict_array(values: object) -> StrictArray:
    """Return a result of numpy as a device array, also if it is a scalar."""
    return StrictArray(np.asarray(values))


def _host(x: object) -> object:
    """Return the numpy array of a device array, and Python's numbers unchanged."""
    if isinstance(x, StrictArray):
        return x._values
    if isinstance(x, NUMPY_TYPES):
        raise DeviceViolation(f"Unsupported type {type(x)} with a device array.")
    if isinstance(x, PLAIN):
        return x
    if isinstance(x, list | tuple):
        return map_items(_host, x)
    raise DeviceViolation(f"A device array cannot be combined with {type(x)}.")


def _index(index: object) -> tuple[object, ...]:
    return tuple(_index_item(item) for item in as_tuple(index))


def _index_item(item: object) -> object:
    if isinstance(item, BASIC):
        return item
    if isinstance(item, StrictArray) and item.dtype == np.bool_:
        transfers.masks += 1
    return _host(item)


class StrictBackend:
    """The functions of the protocol for strict arrays."""

    ndarray = StrictArray

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in CONTRACT:
            raise AttributeError(f"{name} is not a function of the protocol.")
        return _function(name)

    def to_host(self, x: object) -> HostArray:
        if not isinstance(x, StrictArray):
            raise DeviceViolation(f"{type(x)} is not an array of this device.")
        transfers.to_host += 1
        return x._values.copy()

    def synchronize(self) -> None:
        transfers.running = False

    def asarray(self, value: object, /, dtype: DTypeLike | None = None) -> StrictArray:
        if isinstance(value, StrictArray):
            return value
        if not isinstance(value, bool | int | float):
            if not is_ndarray(value):
                raise DeviceViolation(f"An array cannot be created from {type(value)}.")
            transfers.to_device += 1
        return StrictArray(np.array(value, dtype=dtype))

    def getitem(self, x: StrictArray, /, *, index: tuple[object, ...]) -> StrictArray:
        return x[index]

    def scatter_add(
        self, values: StrictArray, /, *, index: tuple[object, ...], shape: tuple[int, ...]
    ) -> StrictArray:
        return strict_array(_numpy.scatter_add(values._values, index=_index(index), shape=shape))

    def assign(self, x: StrictArray, index: tuple[object, ...], value: object, /) -> None:
        x[index] = value

    def stop_gradient(self, x: StrictArray, /) -> StrictArray:
        return x


@lru_cache(None)
def _function(name: str) -> Callable[..., object]:
    compute: Callable[..., object] = getattr(_numpy, name)
    ours = signature(getattr(DeviceNamespace, name))
    theirs = cupy_signatures().get(name, ours.replace(parameters=[*ours.parameters.values()][1:]))

    def guard(*args: object, **kwargs: object) -> object:
        ours.bind(None, *args, **kwargs)
        theirs.bind(*args, **kwargs)
        transfers.running = True
        numpys = [_host(arg) for arg in args]
        named = {key: _host(value) for key, value in kwargs.items()}
        with np.errstate(all="ignore"):
            result = compute(*numpys, **named)
        out = kwargs.get("out")
        return out if out is not None or result is None else strict_array(result)

    return guard


@lru_cache(None)
def cupy_signatures() -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for name, parameters, _ in rows():
        if parameters.startswith("("):
            scope: dict[str, Callable[..., object]] = {}
            exec(f"def function{parameters}: ...", scope)  # written by cupy_signatures.py
            found[name] = signature(scope["function"])
    return found


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Each line of the table: a name, its signature or its kind, and its types."""
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        name, _, declaration = line.partition(" ")
        parameters, close, types = declaration.partition(")")
        yield name, parameters + close, types.split()


STRICT_BACKEND = cast("ArrayBackend[Array]", StrictBackend())
