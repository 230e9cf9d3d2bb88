"""MindSpore's `.ckpt` bytes: named arrays and texts in a row, written and read in a stream.

A file is a row of `Value` messages, one for each name:

    Checkpoint  { repeated Value value = 1 }
    Value       { string tag = 1; TensorProto tensor = 2 }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

An array beyond 512 MiB is cut into several Values of the same tag, type and dims; an array without
elements is a Value without content, which MindSpore reads but never writes: it leaves it out.
With a check sum the row is followed by the bytes `crc_num` and the CRC-32 of all before them.

Without the check sum nothing shows that a byte inside an array's content has changed, nor that the
file was cut exactly between two Values. All other damage is found.
"""

import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from typing import BinaryIO, Final

from minispore.train._files import protobuf as wire
from minispore.train._files import stored
from minispore.train._files.stored import Chunk, Content, Entry, Value

SLICE_BYTES: Final = 512 * 2**20
_CRC_MARK: Final = b"crc_num"
_TRAILER_BYTES: Final = len(_CRC_MARK) + 10
# AES-GCM, AES-CBC and SM4-CBC.
_ENCRYPTED: Final = (b"\xd8\x5e\x3a\x7f", b"\xd9\x5e\x3a\x7f", b"\xda\x5e\x3a\x7f")

_VALUE, _TAG, _TENSOR, _MAP_TENSOR = 1, 1, 2, 3
_DIMS, _TYPE, _CONTENT = 1, 2, 3


# Writing.


def write(
    file: BinaryIO,
    values: Iterable[tuple[str, Value | Content]],
    *,
    crc_check: bool = False,
    slice_bytes: int = SLICE_BYTES,
) -> None:
    """Write named values to `file`, without making a second copy of any array.

    Args:
        file: Where to write; never sought in.
        values: Names and arrays, texts or another file's contents, in the file's order.
        crc_check: Whether the check sum follows.
        slice_bytes: The most content of one Value.

    Raises:
        TypeError: An array's dtype is none of MindSpore's.
        ValueError: A name is no valid Unicode.
    """
    crc = 0
    for name, value in values:
        content = value if isinstance(value, Content) else stored.content_of(value)
        for chunk in _value_chunks(name, content, slice_bytes):
            if crc_check:
                crc = zlib.crc32(chunk, crc)
            file.write(chunk)
    if crc_check:
        file.write(_CRC_MARK + crc.to_bytes(_TRAILER_BYTES - len(_CRC_MARK), "big"))


def _value_chunks(name: str, content: Content, slice_bytes: int) -> Iterator[Chunk]:
    """Headers and content, in turns, of one name's Values."""
    if content.kind != "str" and content.kind not in stored.SIZES:
        raise ValueError(f"A '.ckpt' file cannot hold {name!r}, whose type is {content.kind}.")
    tag = wire.text_field(_TAG, name)
    shape = b"".join(wire.varint_field(_DIMS, dim) for dim in content.dims)
    description = shape + wire.text_field(_TYPE, content.kind)
    # A text is never cut, as its length stands nowhere; an empty array is one Value, too.
    size = max(content.size, 1)
    step = size if content.kind == "str" else slice_bytes
    for start in range(0, size, step):
        stop = min(start + step, content.size)
        tensor = description + wire.length_header(_CONTENT, stop - start)
        inner = tag + wire.length_header(_TENSOR, len(tensor) + stop - start) + tensor
        yield wire.length_header(_VALUE, len(inner) + stop - start) + inner
        yield from content.read(start, stop)


# Reading.


def scan(file: BufferedIOBase) -> tuple[dict[str, Entry], bool]:
    """Find what a `.ckpt` file holds, and check its structure and, if it has one, its check sum.

    Args:
        file: Open for reading and seekable.

    Returns:
        Where each name's content lies, in the file's order, and whether a check sum was there.

    Raises:
        WireError: The bytes are no checkpoint that can be read here; the text says why.
    """
    size = wire.size_of(file)
    file.seek(0)
    if file.read(4) in _ENCRYPTED:
        raise wire.WireError("it is encrypted, and minispore cannot decrypt")
    crc = _trailer(file, size)
    try:
        return _entries(file, size), False
    except wire.WireError:
        # A trailer is no field, so a sound file with one always comes here. Content that only
        # looks like a trailer was read above.
        if crc is None:
            raise
    stop = size - _TRAILER_BYTES
    entries = _entries(file, stop)
    if crc != stored.crc32(file, 0, stop):
        raise wire.WireError(stored.WRONG_CRC)
    return entries, True


def _trailer(file: BufferedIOBase, size: int) -> int | None:
    if size < _TRAILER_BYTES:
        return None
    found = wire.read_exactly(file, size - _TRAILER_BYTES, _TRAILER_BYTES)
    return int.from_bytes(found[len(_CRC_MARK) :], "big") if found.startswith(_CRC_MARK) else None


def _entries(file: BufferedIOBase, stop: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    last = ""
    for field in wire.fields(file, 0, stop):
        _only(field, {_VALUE}, "Checkpoint")
        tag, entry = _value(file, field)
        if tag not in entries:
            entries[tag] = entry
        elif tag == last and entries[tag].stored < entries[tag].wanted:
            _append_slice(tag, entries[tag], entry)
        else:
            raise wire.WireError(f"the name {tag!r} comes twice")
        last = tag
    for tag, entry in entries.items():
        stored.check(tag, entry)
    return entries


def _append_slice(tag: str, entry: Entry, more: Entry) -> None:
    if (entry.kind, entry.dims) != (more.kind, more.dims):
        raise wire.WireError(f"the slices of {tag!r} differ in type or shape")
    entry.extend(more)


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
            if len(dims) > stored.MAX_DIMS:
                raise wire.WireError(f"{tag!r} has more than {stored.MAX_DIMS} dimensions")
        else:
            _only(field, {_TYPE, _CONTENT}, "TensorProto", found)
            found[field.number] = field
    if found.keys() != {_TYPE, _CONTENT}:
        raise wire.WireError(f"{tag!r} has no type or no content")
    kind = wire.text(file, found[_TYPE])
    if kind != "str" and kind not in stored.SIZES:
        raise wire.WireError(f"{tag!r} has the unknown type {kind!r}")
    where = found[_CONTENT]
    # MindSpore takes dims of one 0 for a scalar, too.
    scalar = dims == [0] and where.value and kind != "str"
    return Entry(kind, () if scalar else tuple(dims), where.start, where.value)


def _dims(file: BufferedIOBase, tag: str, field: wire.Field) -> list[int]:
    """One dimension, or all of them where they are packed: readers of protobuf take both."""
    if field.wire != wire.LENGTH:
        return [wire.signed(field)]
    if field.value > 10 * stored.MAX_DIMS:
        raise wire.WireError(f"{tag!r} has more than {stored.MAX_DIMS} dimensions")
    return list(wire.varints(file, field.start, field.stop))


def _only(
    field: wire.Field, known: set[int], message: str, found: dict[int, wire.Field] | None = None
) -> None:
    """Refuse fields that MindSpore does not write: far more often damage than a new version."""
    # Every field but dims, which its caller treats, is of this wire type.
    if field.number not in known or field.wire != wire.LENGTH:
        raise wire.WireError(f"unknown field {field.number} of {message} before byte {field.start}")
    if found is not None and field.number in found:
        raise wire.WireError(f"field {field.number} of {message} comes twice at byte {field.start}")
