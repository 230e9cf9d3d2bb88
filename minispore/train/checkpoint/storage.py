"""Conversion between values and bytes, which both checkpoint formats have in common.

Both formats store the elements little-endian in C order, with the name of a type and a shape. Each
format has its own encoding of names, types and shapes.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BufferedIOBase
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from minispore.engine import dtypes
from minispore.train.checkpoint.protobuf import WireError
from minispore.utils.arrays import AnyArray, Float32Array

Value = AnyArray | str
Chunk = bytes | memoryview
_T = TypeVar("_T", bound=np.generic)
_V = TypeVar("_V")

WRONG_CRC: Final = "its checksum does not fit: the file has been damaged"
MAX_DIMS: Final = 64  # numpy's limit
_CHUNK_BYTES: Final = 2**20
_TEXT: Final = "utf-32-le"
_NUMPY: Final = {str(dtype): dtype.numpy_dtype for dtype in dtypes.DTYPES}
# The bytes of one element. The types after the first line can be converted from file to file, but
# only BFloat16 of them can be loaded; MindSpore loads only Int4 of the others.
SIZES: Final = {kind: dtype.itemsize for kind, dtype in _NUMPY.items()} | {
    "BFloat16": 2, "Int4": 1, "Float8E4M3FN": 1, "Float8E5M2": 1, "HiFloat8": 1,
    "Complex64": 8, "Complex128": 16,
}  # fmt: skip


def by_unique_name(items: Iterable[tuple[str, _V]], problem: str) -> dict[str, _V]:
    """Return the items as a dict; ValueError with `problem` if two values have the same name."""
    values: dict[str, _V] = {}
    for name, value in items:
        if values.setdefault(name, value) is not value:
            raise ValueError(f"{problem} the name {name!r}.")
    return values


# Writing.


class Content(NamedTuple):
    """The bytes to write for one name.

    Attributes:
        kind: MindSpore's name of the type; "str" for a text.
        dims: The shape.
        size: The number of bytes.
        read: Returns the bytes from a start to a stop, in one or more pieces.
    """

    kind: str
    dims: tuple[int, ...]
    size: int
    read: Callable[[int, int], Iterable[Chunk]]


def content_of(value: Value) -> Content:
    """Return the bytes of a value, without a copy if they are little-endian and C-contiguous.

    A text is stored as numpy stores it, as UTF-32 with dims 0.

    Raises:
        TypeError: minispore has no dtype like that of an array.
    """
    if isinstance(value, str):
        # numpy has no text of length 0: MindSpore stores "" as a NUL, and drops NULs at the end.
        text = (value or "\0").encode(_TEXT, "surrogatepass")
        kind, dims = "str", (0,)
        array: AnyArray = np.frombuffer(text, np.uint8)
    else:
        kind = str(dtypes.from_array_dtype(value.dtype.newbyteorder("=")))
        dims, array = value.shape, value

    def read(start: int, stop: int) -> tuple[Chunk]:
        # An array of another layout is copied only while it is written.
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        return (little.ravel().view(np.uint8)[start:stop].data,)

    return Content(kind, dims, array.nbytes, read)


# Reading.


@dataclass(slots=True)
class Location:
    """The location of one name's content in a file.

    Attributes:
        kind: The type's name.
        dims: The array's shape.
        spans: The start and length of each slice of the content.
        stored: The number of bytes in all slices.
    """

    kind: str
    dims: tuple[int, ...]
    spans: list[tuple[int, int]]
    stored: int

    @property
    def expected(self) -> int:
        """The number of bytes for type and shape; that stored if the type's size is unknown."""
        size = SIZES.get(self.kind)
        return self.stored if size is None else size * math.prod(self.dims)

    def extend(self, more: "Location") -> None:
        """Add another slice."""
        self.spans += more.spans
        self.stored += more.stored


def check(name: str, location: Location) -> None:
    """Raise WireError unless the content's size fits type and shape."""
    dims = location.dims
    if len(dims) > MAX_DIMS:
        raise WireError(f"{name!r} has more than {MAX_DIMS} dimensions")
    # numpy rejects even an empty array if the product of its other dimensions is too large.
    if any(dim < 0 for dim in dims) or math.prod(dim for dim in dims if dim) >= 2**59:
        raise WireError(f"{name!r} has the impossible shape {dims}")
    if location.stored != location.expected:
        raise WireError(
            f"{name!r} has {location.stored} bytes of content, but the type {location.kind} and "
            f"the shape {dims} require {location.expected}"
        )


def load(file: BufferedIOBase, name: str, location: Location) -> Value:
    """Read the value of a checked location, directly into its array.

    BFloat16, which numpy does not have, is converted to float32 without loss.

    Raises:
        WireError: minispore does not have the type, or the content is invalid.
    """
    if location.kind == "str":
        return _load_text(file, name, location)
    if location.kind == "BFloat16":
        return _widened(_load_array(file, location, np.dtype(np.uint16)))
    if location.kind == "Bool":
        bits = _load_array(file, location, np.dtype(np.uint8))
        if bits.size and bits.max() > 1:
            raise WireError(f"{name!r} has elements that are neither true nor false")
        return bits.view(np.bool_)
    if location.kind not in _NUMPY:
        raise WireError(
            f"{name!r} has the type {location.kind!r}, which minispore does not have; the other "
            "values can be loaded with a 'choice_func' that leaves it out"
        )
    return _load_array(file, location, _NUMPY[location.kind])


def stored_content(file: BufferedIOBase, location: Location) -> Content:
    """Return the bytes of a location, to be written to another file unchanged."""
    return Content(location.kind, location.dims, location.stored, partial(_bytes, file, location))


def chunks(file: BufferedIOBase, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes from `start` to `stop`, piece by piece."""
    while start < stop:
        file.seek(start)
        piece = file.read(min(_CHUNK_BYTES, stop - start))
        if not piece:
            raise WireError("the file became shorter while it was read")
        yield piece
        start += len(piece)


def crc32(file: BufferedIOBase, start: int, stop: int) -> int:
    """Return the CRC-32 of the bytes from `start` to `stop`."""
    crc = 0
    for chunk in chunks(file, start, stop):
        crc = zlib.crc32(chunk, crc)
    return crc


def _bytes(file: BufferedIOBase, location: Location, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes of the content from `start` to `stop`, across its slices."""
    for offset, length in location.spans:
        yield from chunks(file, offset + max(start, 0), offset + min(stop, length))
        start, stop = start - length, stop - length


def _widened(halves: npt.NDArray[np.uint16]) -> Float32Array:
    """Return the float32 whose upper halves these are, without another array of its size."""
    wide = np.zeros((*halves.shape, 2), "<u2")
    wide[..., 1] = halves
    return wide.view("<f4").reshape(halves.shape).astype(np.float32, copy=False)


def _load_array(file: BufferedIOBase, location: Location, dtype: np.dtype[_T]) -> npt.NDArray[_T]:
    array = np.empty(location.dims, dtype.newbyteorder("<"))
    _fill(file, location, array.ravel().view(np.uint8).data)
    return array.astype(dtype, copy=False)


def _load_text(file: BufferedIOBase, name: str, location: Location) -> str:
    content = bytearray(location.stored)
    _fill(file, location, memoryview(content))
    try:
        return content.decode(_TEXT, "surrogatepass").rstrip("\0")
    except UnicodeDecodeError:
        raise WireError(f"{name!r} is not a text") from None


def _fill(file: BufferedIOBase, location: Location, target: memoryview) -> None:
    """Read the slices of a location into `target`, which has their length."""
    for start, length in location.spans:
        file.seek(start)
        piece, target = target[:length], target[length:]
        while piece:
            count = file.readinto(piece)
            if not count:
                raise WireError("the file became shorter while it was read")
            piece = piece[count:]
