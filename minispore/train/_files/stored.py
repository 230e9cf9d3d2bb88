"""One named value's bytes, whatever the file's format: from an array to a file and back.

Both formats hold the elements little-endian in C order, under the name of a type and a shape. Here
are the types that MindSpore writes, what is written for a value, and how a value is read; how the
names, types and shapes themselves are written is each format's own.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BufferedIOBase
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from minispore import _dtype as dtypes
from minispore.train._files.protobuf import WireError

Value = npt.NDArray[np.generic] | str
Chunk = bytes | memoryview
_T = TypeVar("_T", bound=np.generic)

WRONG_CRC: Final = "its check sum does not fit: the file has been damaged"
MAX_DIMS: Final = 64  # numpy's limit
_CHUNK_BYTES: Final = 2**20
_TEXT: Final = "utf-32-le"
_NUMPY: Final = {str(dtype): dtype.numpy_dtype for dtype in dtypes.ALL}
# The bytes of one element. The types after the first line can be carried from file to file, but,
# BFloat16 apart, not be loaded; nor does MindSpore load them, apart from Int4.
SIZES: Final = {kind: dtype.itemsize for kind, dtype in _NUMPY.items()} | {
    "BFloat16": 2, "Int4": 1, "Float8E4M3FN": 1, "Float8E5M2": 1, "HiFloat8": 1,
    "Complex64": 8, "Complex128": 16,
}  # fmt: skip


# Writing.


class Content(NamedTuple):
    """What is to be written under one name.

    Attributes:
        kind: MindSpore's name of the type; "str" for a text.
        dims: The shape.
        size: How many bytes there are.
        read: Gives the bytes from one place to another, in one or more pieces.
    """

    kind: str
    dims: tuple[int, ...]
    size: int
    read: Callable[[int, int], Iterable[Chunk]]


def content_of(value: Value) -> Content:
    """The bytes of a value, in its own memory where they lie there as a file wants them.

    A text is stored as numpy stores it, as UTF-32 with dims 0.

    Raises:
        TypeError: An array's dtype is none of minispore's.
    """
    return _of_text(value) if isinstance(value, str) else _of_array(value)


def _of_text(value: str) -> Content:
    # numpy knows no text of length 0: MindSpore stores "" as a NUL, and loses NULs at the end.
    text = (value or "\0").encode(_TEXT, "surrogatepass")

    def read(start: int, stop: int) -> tuple[Chunk]:
        return (text[start:stop],)

    return Content("str", (0,), len(text), read)


def _of_array(value: npt.NDArray[np.generic]) -> Content:
    little = value.dtype.newbyteorder("<")

    def read(start: int, stop: int) -> tuple[Chunk]:
        # An array that lies otherwise is copied only while it is being written.
        flat = np.ascontiguousarray(value, dtype=little).ravel().view(np.uint8)
        return (flat[start:stop].data,)

    kind = str(dtypes.of(value.dtype.newbyteorder("=")))
    return Content(kind, value.shape, value.nbytes, read)


# Reading.


class Entry:
    """Where one name's content lies in a file.

    Attributes:
        kind: The type's name.
        dims: The array's shape.
        spans: Start and length of each slice of the content.
        stored: How many bytes the slices have together.
    """

    __slots__ = ("dims", "kind", "spans", "stored")

    def __init__(self, kind: str, dims: tuple[int, ...], start: int, length: int) -> None:
        self.kind = kind
        self.dims = dims
        self.spans = [(start, length)]
        self.stored = length

    @property
    def wanted(self) -> int:
        """How many bytes of content type and dims ask for; what there is, where nothing says so."""
        size = SIZES.get(self.kind)
        return self.stored if size is None else size * math.prod(self.dims)

    def extend(self, more: "Entry") -> None:
        """Add another slice."""
        self.spans += more.spans
        self.stored += more.stored


def check(name: str, entry: Entry) -> None:
    """Raise WireError unless the content's size is what type and shape ask for."""
    dims = entry.dims
    if len(dims) > MAX_DIMS:
        raise WireError(f"{name!r} has more than {MAX_DIMS} dimensions")
    # numpy refuses an empty array, too, whose other dimensions are too long to multiply.
    if any(dim < 0 for dim in dims) or math.prod(dim for dim in dims if dim) >= 2**59:
        raise WireError(f"{name!r} has the impossible shape {dims}")
    if entry.stored != entry.wanted:
        raise WireError(
            f"{name!r} has {entry.stored} bytes of content, but the type {entry.kind} and "
            f"the shape {dims} ask for {entry.wanted}"
        )


def load(file: BufferedIOBase, name: str, entry: Entry) -> Value:
    """Read the value of an entry that has been checked, straight into its array.

    BFloat16, which numpy has not, is widened to float32, which loses nothing.

    Raises:
        WireError: The type is none of minispore's, or the content is none of the type's.
    """
    if entry.kind == "str":
        return _load_text(file, name, entry)
    if entry.kind == "BFloat16":
        return _widened(_load_array(file, entry, np.dtype(np.uint16)))
    if entry.kind == "Bool":
        bits = _load_array(file, entry, np.dtype(np.uint8))
        if bits.size and bits.max() > 1:
            raise WireError(f"{name!r} has elements that are neither true nor false")
        return bits.view(np.bool_)
    if entry.kind not in _NUMPY:
        raise WireError(
            f"{name!r} has the type {entry.kind!r}, which minispore has not; the other values can "
            "be loaded with a 'choice_func' that leaves it out"
        )
    return _load_array(file, entry, _NUMPY[entry.kind])


def stored_content(file: BufferedIOBase, entry: Entry) -> Content:
    """An entry's bytes, to be written to another file as they are."""
    return Content(entry.kind, entry.dims, entry.stored, partial(_bytes, file, entry))


def chunks(file: BufferedIOBase, start: int, stop: int) -> Iterator[bytes]:
    """The bytes from `start` to `stop`, piece by piece."""
    while start < stop:
        file.seek(start)
        piece = file.read(min(_CHUNK_BYTES, stop - start))
        if not piece:
            raise WireError("the file became shorter while it was read")
        yield piece
        start += len(piece)


def crc32(file: BufferedIOBase, start: int, stop: int) -> int:
    """The CRC-32 of the bytes from `start` to `stop`."""
    crc = 0
    for chunk in chunks(file, start, stop):
        crc = zlib.crc32(chunk, crc)
    return crc


def _bytes(file: BufferedIOBase, entry: Entry, start: int, stop: int) -> Iterator[bytes]:
    """The content's bytes from `start` to `stop`, over the borders of its slices."""
    for place, length in entry.spans:
        yield from chunks(file, place + max(start, 0), place + min(stop, length))
        start, stop = start - length, stop - length


def _widened(halves: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Float32 whose upper halves these are; nothing as large is made beside it."""
    wide = np.zeros((*halves.shape, 2), "<u2")
    wide[..., 1] = halves
    return wide.view("<f4").reshape(halves.shape).astype(np.float32, copy=False)


def _load_array(file: BufferedIOBase, entry: Entry, dtype: np.dtype[_T]) -> npt.NDArray[_T]:
    array = np.empty(entry.dims, dtype.newbyteorder("<"))
    _fill(file, entry, array.ravel().view(np.uint8).data)
    return array.astype(dtype, copy=False)


def _load_text(file: BufferedIOBase, name: str, entry: Entry) -> str:
    content = bytearray(entry.stored)
    _fill(file, entry, memoryview(content))
    try:
        return content.decode(_TEXT, "surrogatepass").rstrip("\0")
    except UnicodeDecodeError:
        raise WireError(f"{name!r} is no text") from None


def _fill(file: BufferedIOBase, entry: Entry, target: memoryview) -> None:
    """Read an entry's slices one after the other into `target`, which has their length."""
    for start, length in entry.spans:
        file.seek(start)
        piece, target = target[:length], target[length:]
        while piece:
            count = file.readinto(piece)
            if not count:
                raise WireError("the file became shorter while it was read")
            piece = piece[count:]
