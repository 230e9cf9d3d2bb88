"""MindSpore's `.ckpt` bytes: named arrays and texts in a row, written and read in a stream.

A file is a row of `Value` messages, one for each name:

    Checkpoint  { repeated Value value = 1 }
    Value       { string tag = 1; TensorProto tensor = 2 }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

Content is little-endian in C order. An array beyond 512 MiB is cut into several Values of the same
tag, type and dims. A text is stored as numpy stores it, as UTF-32 under the type "str" with dims 0.
With a check sum the row is followed by the bytes `crc_num` and the CRC-32 of all before them.

Without the check sum nothing shows that a byte inside an array's content has changed, nor that the
file was cut exactly between two Values. All other damage is found.
"""

import math
import zlib
from collections.abc import Callable, Iterable
from io import BufferedIOBase
from typing import BinaryIO, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from minispore import _dtype as dtypes
from minispore.train import _protobuf as wire

Value = npt.NDArray[np.generic] | str
_T = TypeVar("_T", bound=np.generic)

SLICE_BYTES: Final = 512 * 2**20
_CRC_MARK: Final = b"crc_num"
_TRAILER_BYTES: Final = len(_CRC_MARK) + 10
_CHUNK_BYTES: Final = 2**20
# AES-GCM, AES-CBC and SM4-CBC.
_ENCRYPTED: Final = (b"\xd8\x5e\x3a\x7f", b"\xd9\x5e\x3a\x7f", b"\xda\x5e\x3a\x7f")

_VALUE, _TAG, _TENSOR, _MAP_TENSOR = 1, 1, 2, 3
_DIMS, _TYPE, _CONTENT = 1, 2, 3
_NUMPY: Final = {str(dtype): dtype.numpy_dtype for dtype in dtypes.ALL}
_MAX_DIMS: Final = 64


# ---- writing


def write(
    file: BinaryIO,
    values: Iterable[tuple[str, Value]],
    *,
    crc_check: bool = False,
    slice_bytes: int = SLICE_BYTES,
) -> None:
    """Write named values to `file`, without making a second copy of any array.

    Args:
        file: Where to write; never sought in.
        values: Names and arrays or texts, in the file's order.
        crc_check: Whether the check sum follows.
        slice_bytes: The most content of one Value.

    Raises:
        TypeError: An array's dtype is none of MindSpore's.
        ValueError: A name is no valid Unicode.
    """
    crc = 0
    for name, value in values:
        for chunk in _value_chunks(name, value, slice_bytes):
            if crc_check:
                crc = zlib.crc32(chunk, crc)
            file.write(chunk)
    if crc_check:
        file.write(_CRC_MARK + crc.to_bytes(_TRAILER_BYTES - len(_CRC_MARK), "big"))


def _value_chunks(name: str, value: Value, slice_bytes: int) -> Iterable[bytes | memoryview]:
    """Headers and content, in turns, of one name's Values."""
    tag = wire.text_field(_TAG, name)
    kind, dims, flat = _encode_text(value) if isinstance(value, str) else _encode_array(value)
    shape = b"".join(wire.varint_field(_DIMS, dim) for dim in dims)
    description = shape + wire.text_field(_TYPE, kind)
    # A text is never cut, as its length stands nowhere; an empty array is one Value, too.
    step = max(len(flat), 1) if isinstance(value, str) else slice_bytes
    for start in range(0, max(len(flat), 1), step):
        piece = flat[start : start + step]
        tensor = description + wire.length_header(_CONTENT, len(piece))
        inner = tag + wire.length_header(_TENSOR, len(tensor) + len(piece)) + tensor
        yield wire.length_header(_VALUE, len(inner) + len(piece)) + inner
        yield piece


def _encode_array(array: npt.NDArray[np.generic]) -> tuple[str, tuple[int, ...], memoryview]:
    kind = str(dtypes.of(array.dtype.newbyteorder("=")))
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return kind, array.shape, little.reshape(-1).view(np.uint8).data


def _encode_text(text: str) -> tuple[str, tuple[int, ...], memoryview]:
    # numpy knows no text of length 0: MindSpore stores "" as one NUL, and loses NULs at the end.
    content = (text or "\0").encode("utf-32-le", "surrogatepass")
    return "str", (0,), memoryview(content)


# ---- reading


class Entry(NamedTuple):
    """Where one name's content lies, checked against its type and dims.

    Attributes:
        kind: The type's name in the file.
        dims: The array's shape.
        spans: Start and length of each slice of the content.
    """

    kind: str
    dims: tuple[int, ...]
    spans: list[tuple[int, int]]

    @property
    def stored(self) -> int:
        """How many bytes of content the file has."""
        return sum(length for _, length in self.spans)

    @property
    def wanted(self) -> int:
        """How many bytes of content type and dims ask for."""
        if self.kind == "str":
            return self.stored
        size = 2 if self.kind == "BFloat16" else _NUMPY[self.kind].itemsize
        return size * math.prod(self.dims)


class Index(NamedTuple):
    """What a file holds and where.

    Attributes:
        entries: The values by name, in the file's order.
        crc: The stored check sum, or None.
        crc_start: Where the check sum's trailer begins: the end of what it covers.
    """

    entries: dict[str, Entry]
    crc: int | None
    crc_start: int


def read(
    file: BufferedIOBase, choose: Callable[[str], bool] | None = None
) -> tuple[dict[str, Value], bool]:
    """Read the named values of a `.ckpt` file.

    The whole file's structure (and the check sum, where there is one) is checked before any
    content is read; content goes straight into the arrays that are returned. A BFloat16 array,
    which numpy has not, is widened to float32, which loses nothing.

    Args:
        file: Open for reading and seekable.
        choose: Gets a name, says whether to read it. By default all are read.

    Returns:
        The values by name in the file's order, and whether a check sum was there.

    Raises:
        WireError: The bytes are no checkpoint that can be read here; the text says why.
    """
    index = scan(file)
    if index.crc is not None and index.crc != _crc_of(file, index.crc_start):
        raise wire.WireError("its check sum does not fit: the file has been damaged")
    values = {
        name: _load(file, name, entry)
        for name, entry in index.entries.items()
        if choose is None or choose(name)
    }
    return values, index.crc is not None


def scan(file: BufferedIOBase) -> Index:
    """Find and check what the file holds, without reading any content."""
    size = wire.size_of(file)
    file.seek(0)
    if file.read(4) in _ENCRYPTED:
        raise wire.WireError("it is encrypted, and minispore cannot decrypt")
    trailer = _trailer(file, size)
    try:
        return Index(_entries(file, size), None, size)
    except wire.WireError:
        # A trailer is no field, so a sound file with one always comes here. Content that only
        # looks like a trailer was read above.
        if trailer is None:
            raise
        stop = size - _TRAILER_BYTES
        return Index(_entries(file, stop), trailer, stop)


def _trailer(file: BufferedIOBase, size: int) -> int | None:
    if size < _TRAILER_BYTES:
        return None
    found = wire.read_exactly(file, size - _TRAILER_BYTES, _TRAILER_BYTES)
    return int.from_bytes(found[len(_CRC_MARK) :], "big") if found.startswith(_CRC_MARK) else None


def _crc_of(file: BufferedIOBase, stop: int) -> int:
    file.seek(0)
    crc = 0
    for start in range(0, stop, _CHUNK_BYTES):
        crc = zlib.crc32(file.read(min(_CHUNK_BYTES, stop - start)), crc)
    return crc


def _entries(file: BufferedIOBase, stop: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    last = ""
    for field in wire.fields(file, 0, stop):
        _only(field, {_VALUE}, "Checkpoint")
        tag, entry = _value(file, field)
        if tag not in entries:
            entries[tag] = entry
        elif tag == last and entries[tag].stored < entries[tag].wanted:
            _append_slice(entries[tag], entry, tag)
        else:
            raise wire.WireError(f"the name {tag!r} comes twice")
        last = tag
    for tag, entry in entries.items():
        _check_content(tag, entry)
    return entries


def _append_slice(entry: Entry, more: Entry, tag: str) -> None:
    if (entry.kind, entry.dims) != (more.kind, more.dims):
        raise wire.WireError(f"the slices of {tag!r} differ in type or shape")
    entry.spans.extend(more.spans)


def _value(file: BufferedIOBase, value: wire.Field) -> tuple[str, Entry]:
    found: dict[int, wire.Field] = {}
    for field in wire.fields(file, value.start, value.stop):
        _only(field, {_TAG, _TENSOR, _MAP_TENSOR}, "Value", found)
        found[field.number] = field
    if _MAP_TENSOR in found:
        raise wire.WireError("it holds a MapParameter, which minispore has not")
    if found.keys() != {_TAG, _TENSOR}:
        raise wire.WireError(f"the value at byte {value.start} has no name or no tensor")
    tag = wire.text(file, found[_TAG])
    return tag, _tensor(file, tag, found[_TENSOR])


def _tensor(file: BufferedIOBase, tag: str, tensor: wire.Field) -> Entry:
    dims: list[int] = []
    found: dict[int, wire.Field] = {}
    for field in wire.fields(file, tensor.start, tensor.stop):
        if field.number == _DIMS:
            dims += _dims(file, tag, field)
            if len(dims) > _MAX_DIMS:
                raise wire.WireError(f"{tag!r} has more than {_MAX_DIMS} dimensions")
        else:
            _only(field, {_TYPE, _CONTENT}, "TensorProto", found)
            found[field.number] = field
    if found.keys() != {_TYPE, _CONTENT}:
        raise wire.WireError(f"{tag!r} has no type or no content")
    kind = wire.text(file, found[_TYPE])
    if kind not in _NUMPY and kind not in {"str", "BFloat16"}:
        raise wire.WireError(f"{tag!r} has the type {kind!r}, which minispore has not")
    where = found[_CONTENT]
    return Entry(kind, _shape(tag, kind, dims, where.value), [(where.start, where.value)])


def _dims(file: BufferedIOBase, tag: str, field: wire.Field) -> list[int]:
    """One dimension, or all of them where they are packed: readers of protobuf take both."""
    if field.wire != wire.LENGTH:
        return [wire.signed(field)]
    if field.value > 10 * _MAX_DIMS:
        raise wire.WireError(f"{tag!r} has more than {_MAX_DIMS} dimensions")
    return list(wire.varints(file, field.start, field.stop))


def _shape(tag: str, kind: str, dims: list[int], content: int) -> tuple[int, ...]:
    if any(dim < 0 for dim in dims) or math.prod(dim for dim in dims if dim) >= 2**59:
        raise wire.WireError(f"{tag!r} has the impossible shape {tuple(dims)}")
    # MindSpore takes dims of one 0 for a scalar, too.
    return () if dims == [0] and content and kind != "str" else tuple(dims)


def _check_content(tag: str, entry: Entry) -> None:
    if entry.stored != entry.wanted:
        raise wire.WireError(
            f"{tag!r} has {entry.stored} bytes of content, but the type {entry.kind} and "
            f"the shape {entry.dims} ask for {entry.wanted}"
        )


def _only(
    field: wire.Field, known: set[int], message: str, found: dict[int, wire.Field] | None = None
) -> None:
    """Refuse fields that MindSpore does not write: far more often damage than a new version."""
    # Every field but dims, which its caller treats, is of this wire type.
    if field.number not in known or field.wire != wire.LENGTH:
        raise wire.WireError(f"unknown field {field.number} of {message} before byte {field.start}")
    if found is not None and field.number in found:
        raise wire.WireError(f"field {field.number} of {message} comes twice at byte {field.start}")


def _load(file: BufferedIOBase, tag: str, entry: Entry) -> Value:
    if entry.kind == "str":
        return _load_text(file, tag, entry)
    if entry.kind == "BFloat16":
        halves = _load_array(file, entry, np.dtype(np.uint16))
        return (halves.astype(np.uint32) << 16).view(np.float32)
    if entry.kind == "Bool":
        bits = _load_array(file, entry, np.dtype(np.uint8))
        if bits.size and bits.max() > 1:
            raise wire.WireError(f"{tag!r} has elements that are neither true nor false")
        return bits.view(np.bool_)
    return _load_array(file, entry, _NUMPY[entry.kind])


def _load_array(file: BufferedIOBase, entry: Entry, dtype: np.dtype[_T]) -> npt.NDArray[_T]:
    array = np.empty(entry.dims, dtype.newbyteorder("<"))
    _fill(file, entry, array.reshape(-1).view(np.uint8).data)
    return array.astype(dtype, copy=False)


def _load_text(file: BufferedIOBase, tag: str, entry: Entry) -> str:
    content = bytearray(entry.stored)
    _fill(file, entry, memoryview(content))
    try:
        return content.decode("utf-32-le", "surrogatepass").rstrip("\0")
    except UnicodeDecodeError:
        raise wire.WireError(f"{tag!r} is no text") from None


def _fill(file: BufferedIOBase, entry: Entry, target: memoryview) -> None:
    """Read an entry's slices one after the other into `target`, which has their length."""
    for start, length in entry.spans:
        file.seek(start)
        piece, target = target[:length], target[length:]
        while piece:
            count = file.readinto(piece)
            if not count:
                raise wire.WireError("the file became shorter while it was read")
            piece = piece[count:]
