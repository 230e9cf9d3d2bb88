"""An array library that computes with numpy and is as strict as a device: what CuPy would refuse,
or what would silently wait for the card, is an error here or is counted.

- Its arrays become numpy's by `to_host` alone, which is counted; whatever else would have to look
  at elements (`float`, `bool`, `len`, iteration, `np.asarray`, `item`) is refused.
- They do not mix with numpy's arrays and scalars; only Python's numbers may stand beside them.
- What has no axes is still an array, as CuPy's reductions give it.
- A function that the contract does not name is not there, and one that it does is called as the
  contract says and as CuPy's own signature allows.
- MPI, which reads the memory by itself, is refused it while anything asked for may not have been
  computed; what it gets is counted.
- Making an array of numpy's is counted; making one of a number is not, for that is a kernel's
  argument.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from inspect import Signature, signature
from pathlib import Path
from typing import ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from minispore._array import Array, DeviceNamespace, Library, _numpy

Host = NDArray[np.generic]
CONTRACT = {name for name in dir(DeviceNamespace) if not name.startswith("_")}
TABLE = Path(__file__).with_name("cupy.txt")


class Breach(TypeError):
    """What a device does not do, in CuPy's type of error."""


@dataclass
class Traffic:
    """What went between host and device. Every copy to the host waits for the device."""

    to_device: int = 0
    to_host: int = 0
    # A mask as an index: how many elements it takes has to be known.
    masks: int = 0
    to_mpi: int = 0
    # Whether anything was asked for since the host has last waited for all of it.
    running: bool = False

    def clear(self) -> None:
        self.to_device = self.to_host = self.masks = self.to_mpi = 0

    def counts(self) -> tuple[int, int]:
        """How many arrays went in, and how often the host waited."""
        return self.to_device, self.to_host + self.masks


traffic = Traffic()


class GuardedArray:
    """A numpy array that nobody may look at."""

    __slots__ = ("__weakref__", "_values")
    # numpy's operators leave this one to us, and so to `_host`.
    __array_ufunc__: ClassVar[None] = None

    def __init__(self, values: Host) -> None:
        self._values = values
        traffic.running = True

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
    def mT(self) -> "GuardedArray":
        return GuardedArray(self._values.mT)

    @property
    def flags(self) -> object:
        return self._values.flags

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        if traffic.running:
            raise Breach("Memory that is looked at before the device was waited for.")
        traffic.to_mpi += 1
        return self._values.__array_interface__

    def copy(self) -> "GuardedArray":
        return GuardedArray(self._values.copy())

    def __neg__(self) -> "GuardedArray":
        return guarded(operator.neg(cast("NDArray[np.float64]", self._values)))

    def __getitem__(self, index: object) -> "GuardedArray":
        return guarded(self._values[cast("slice", _index(index))])

    def __setitem__(self, index: object, value: object) -> None:
        traffic.running = True
        self._values[cast("slice", _index(index))] = cast("Host", _host(value))

    def __repr__(self) -> str:
        # For the messages of tests: no look that the package could take.
        return f"GuardedArray({self._values!r})"

    def __eq__(self, other: object) -> NoReturn:
        raise Breach("Arrays are compared by 'equal' of their namespace.")

    __hash__ = object.__hash__


def _operator(name: str, compute: Callable[[Host, object], object]) -> None:
    def forward(self: GuardedArray, other: object) -> GuardedArray:
        with np.errstate(all="ignore"):
            return guarded(compute(self._values, _host(other)))

    def backward(self: GuardedArray, other: object) -> GuardedArray:
        with np.errstate(all="ignore"):
            return guarded(compute(cast("Host", _host(other)), self._values))

    def in_place(self: GuardedArray, other: object) -> GuardedArray:
        traffic.running = True
        with np.errstate(all="ignore"):
            np.copyto(self._values, cast("Host", compute(self._values, _host(other))))
        return self

    setattr(GuardedArray, f"__{name}__", forward)
    if name not in {"lt", "le", "gt", "ge"}:
        setattr(GuardedArray, f"__r{name}__", backward)
        setattr(GuardedArray, f"__i{name}__", in_place)


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "lt", "le", "gt", "ge"):
    _operator(_name, getattr(operator, f"__{_name}__"))


def _refused(name: str) -> None:
    def refuse(self: GuardedArray, *args: object, **kwargs: object) -> NoReturn:
        raise Breach(f"Implicit conversion of a device's array by '{name}'.")

    setattr(GuardedArray, name, refuse)


for _name in (
    *("__array__", "__bool__", "__float__", "__int__", "__index__", "__complex__", "__len__"),
    *("__iter__", "__contains__", "__reduce__", "__buffer__", "__dlpack__", "item", "tolist"),
):
    _refused(_name)


def guarded(values: object) -> GuardedArray:
    """A result of numpy's as an array of the device's; also one that has no axes."""
    return GuardedArray(np.asarray(cast("Host", values)))


def _host(x: object) -> object:
    """What numpy is to compute with: of an array its memory, a Python number as it is."""
    if isinstance(x, GuardedArray):
        return x._values
    if isinstance(x, np.ndarray | np.generic):
        raise Breach(f"Unsupported type {type(x)} beside a device's array.")
    if x is None or isinstance(x, bool | int | float | str | np.dtype | type):
        return cast("object", x)
    if isinstance(x, list | tuple):
        items = [_host(item) for item in cast("list[object]", x)]
        return items if isinstance(x, list) else tuple(items)
    raise Breach(f"A device's array does not go with {type(x)}.")


def _index(index: object) -> object:
    """An index of numpy's."""
    items = cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,)
    return tuple(_places(item) for item in items)


def _places(item: object) -> object:
    if item is Ellipsis or isinstance(item, slice | np.integer):
        return cast("object", item)
    if isinstance(item, GuardedArray) and item.dtype == np.bool_:
        traffic.masks += 1
    return _host(item)


class GuardedNamespace:
    """The functions of the contract on guarded arrays."""

    ndarray = GuardedArray

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in CONTRACT:
            raise AttributeError(f"{name} is not in the contract of array libraries.")
        return _function(name)

    def to_host(self, x: object) -> Host:
        if not isinstance(x, GuardedArray):
            raise Breach(f"{type(x)} is no array of this device.")
        traffic.to_host += 1
        return x._values.copy()

    def synchronize(self) -> None:
        traffic.running = False

    def asarray(self, value: object, /, dtype: object = None) -> GuardedArray:
        if isinstance(value, GuardedArray):
            return value
        if not isinstance(value, bool | int | float):
            if not isinstance(value, np.ndarray):
                raise Breach(f"An array is not made of {type(value)}.")
            traffic.to_device += 1
        return GuardedArray(
            np.array(cast("Host", value), dtype=cast("np.dtype[np.generic]", dtype))
        )

    def scatter(
        self, values: GuardedArray, /, *, index: tuple[object, ...], shape: tuple[int, ...]
    ) -> GuardedArray:
        places = cast("tuple[object, ...]", _index(index))
        return guarded(_numpy.scatter(values._values, index=places, shape=shape))

    def assign(self, x: GuardedArray, index: tuple[object, ...], value: object, /) -> None:
        x[index] = value

    def constant(self, x: GuardedArray, /) -> GuardedArray:
        return x


@lru_cache(None)
def _function(name: str) -> Callable[..., object]:
    compute = cast("Callable[..., object]", getattr(_numpy, name))
    ours = signature(getattr(DeviceNamespace, name))
    theirs = cupy_signatures().get(name, ours.replace(parameters=[*ours.parameters.values()][1:]))

    def guard(*args: object, **kwargs: object) -> object:
        ours.bind(None, *args, **kwargs)
        theirs.bind(*args, **kwargs)
        traffic.running = True
        numpys = [_host(arg) for arg in args]
        named = {key: _host(value) for key, value in kwargs.items()}
        with np.errstate(all="ignore"):
            result = compute(*numpys, **named)
        out = kwargs.get("out")
        return out if out is not None or result is None else guarded(result)

    return guard


@lru_cache(None)
def cupy_signatures() -> dict[str, Signature]:
    """How CuPy's functions are called, by the stored table."""
    found: dict[str, Signature] = {}
    for name, told, _ in rows():
        if told.startswith("("):
            scope: dict[str, object] = {}
            exec(f"def function{told}: ...", scope)  # what our own script has written
            found[name] = signature(cast("Callable[..., object]", scope["function"]))
    return found


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """Each line of the table: a name, its signature or what it is, and the types it takes."""
    for line in TABLE.read_text("utf-8").splitlines()[1:]:
        name, _, rest = line.partition(" ")
        told, close, types = rest.partition(")")
        yield name, told + close, types.split()


GUARDED = cast("Library[Array]", GuardedNamespace())
