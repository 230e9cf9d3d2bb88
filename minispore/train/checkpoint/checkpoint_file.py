"""MindSpore's `.ckpt` format: named arrays and texts, written and read as a stream.

A file is a sequence of `Value` messages, one for each name:

    Checkpoint  { repeated Value value = 1 }
    Value       { string tag = 1; TensorProto tensor = 2 }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

An array beyond 512 MiB is cut into several Values of the same tag, type and dims; an array without
elements is a Value without content, which MindSpore reads but never writes: it omits such arrays.
With a checksum, the messages are followed by the bytes `crc_num` and the CRC-32 of all before.

Without the checksum, changed bytes inside an array's content are not detected, nor a file that was
cut exactly between two Values. All other damage is detected.
"""

import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from typing import BinaryIO, Final

from minispore.train.checkpoint import protobuf as wire
from minispore.train.checkpoint import storage
from minispore.train.checkpoint.storage import Chunk, Content, Location, Value

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
        file: The file, which is only written to, never sought in.
        values: Names and arrays, texts or another file's contents, in the file's order.
        crc_check: Whether to write the checksum.
        slice_bytes: The maximum number of content bytes in one Value.

    Raises:
        TypeError: MindSpore has no dtype like that of an array.
        ValueError: A name is not valid Unicode.
    """
    crc = 0
    for name, value in values:
        content = value if isinstance(value, Content) else storage.content_of(value)
        for chunk in _value_chunks(name, content, slice_bytes):
            if crc_check:
                crc = zlib.crc32(chunk, crc)
            file.write(chunk)
    if crc_check:
        file.write(_CRC_MARK + crc.to_bytes(_TRAILER_BYTES - len(_CRC_MARK), "big"))


def _value_chunks(name: str, content: Content, slice_bytes: int) -> Iterator[Chunk]:
    """Yield the headers and the content of one name's Values."""
    if content.kind != "str" and content.kind not in storage.SIZES:
        raise ValueError(f"A '.ckpt' file cannot hold {name!r}, whose type is {content.kind}.")
    tag = wire.text_field(_TAG, name)
    shape = b"".join(wire.varint_field(_DIMS, dim) for dim in content.dims)
    description = shape + wire.text_field(_TYPE, content.kind)
    # A text is never cut, since its length is not stored; an empty array is one Value too.
    size = max(content.size, 1)
    step = size if content.kind == "str" else slice_bytes
    for start in range(0, size, step):
        stop = min(start + step, content.size)
        tensor = description + wire.length_header(_CONTENT, stop - start)
        inner = tag + wire.length_header(_TENSOR, len(tensor) + stop - start) + tensor
        yield wire.length_header(_VALUE, len(inner) + stop - start) + inner
        yield from content.read(start, stop)


# Reading.


def scan(file: BufferedIOBase) -> tuple[dict[str, Location], bool]:
    """Return the locations of a `.ckpt` file; check its structure and its checksum.

    Args:
        file: Open for reading and seekable.

    Returns:
        The location of each name's content, in the file's order, and whether there is a checksum.

    Raises:
        WireError: The file is not a checkpoint, or is damaged or encrypted.
    """
    size = wire.size_of(file)
    file.seek(0)
    if file.read(4) in _ENCRYPTED:
        raise wire.WireError("it is encrypted, and minispore cannot decrypt")
    crc = _trailer(file, size)
    try:
        return _locations(file, size), False
    except wire.WireError:
        # A trailer is not a field, so an intact file with one always raises the error. Content that
        # only looks like a trailer was read above.
        if crc is None:
            raise
    stop = size - _TRAILER_BYTES
    locations = _locations(file, stop)
    if crc != storage.crc32(file, 0, stop):
        raise wire.WireError(storage.WRONG_CRC)
    return locations, True


def _trailer(file: BufferedIOBase, size: int) -> int | None:
    if size < _TRAILER_BYTES:
        return None
    trailer = wire.read_exactly(file, size - _TRAILER_BYTES, _TRAILER_BYTES)
    if not trailer.startswith(_CRC_MARK):
        return None
    return int.from_bytes(trailer[len(_CRC_MARK) :], "big")


def _locations(file: BufferedIOBase, stop: int) -> dict[str, Location]:
    locations: dict[str, Location] = {}
    last = ""
    for field in wire.fields(file, 0, stop):
        _check_field(field, {_VALUE}, "Checkpoint")
        tag, location = _value(file, field)
        if tag not in locations:
            locations[tag] = location
        elif tag != last or locations[tag].stored >= locations[tag].expected:
            raise wire.WireError(f"the name {tag!r} comes twice")
        elif (locations[tag].kind, locations[tag].dims) != (location.kind, location.dims):
            raise wire.WireError(f"the slices of {tag!r} differ in type or shape")
        else:
            locations[tag].extend(location)
        last = tag
    for tag, location in locations.items():
        storage.check(tag, location)
    return locations


def _value(file: BufferedIOBase, value: wire.Field) -> tuple[str, Location]:
    by_number: dict[int, wire.Field] = {}
    for field in wire.fields(file, value.start, value.stop):
        _check_field(field, {_TAG, _TENSOR, _MAP_TENSOR}, "Value", by_number)
        by_number[field.number] = field
    if _MAP_TENSOR in by_number:
        raise wire.WireError("it holds a MapParameter, which minispore does not support")
    if by_number.keys() != {_TAG, _TENSOR}:
        raise wire.WireError(f"the value at byte {value.start} has no name or no tensor")
    tag = wire.text(file, by_number[_TAG])
    return tag, _tensor(file, tag, by_number[_TENSOR])


def _tensor(file: BufferedIOBase, tag: str, tensor: wire.Field) -> Location:
    dims: list[int] = []
    by_number: dict[int, wire.Field] = {}
    for field in wire.fields(file, tensor.start, tensor.stop):
        if field.number == _DIMS:
            dims += _dims(file, tag, field)
            if len(dims) > storage.MAX_DIMS:
                raise wire.WireError(f"{tag!r} has more than {storage.MAX_DIMS} dimensions")
        else:
            _check_field(field, {_TYPE, _CONTENT}, "TensorProto", by_number)
            by_number[field.number] = field
    if by_number.keys() != {_TYPE, _CONTENT}:
        raise wire.WireError(f"{tag!r} has no type or no content")
    kind = wire.text(file, by_number[_TYPE])
    if kind != "str" and kind not in storage.SIZES:
        raise wire.WireError(f"{tag!r} has the unknown type {kind!r}")
    content = by_number[_CONTENT]
    # MindSpore reads dims of one 0 as a scalar, too.
    scalar = dims == [0] and content.value and kind != "str"
    size = content.value
    return Location(kind, () if scalar else tuple(dims), [(content.start, size)], size)


def _dims(file: BufferedIOBase, tag: str, field: wire.Field) -> list[int]:
    """Return one dimension, or all of them if they are packed: protobuf allows both."""
    if field.wire != wire.LENGTH:
        return [wire.signed(field)]
    if field.value > 10 * storage.MAX_DIMS:
        raise wire.WireError(f"{tag!r} has more than {storage.MAX_DIMS} dimensions")
    return list(wire.varints(file, field.start, field.stop))


def _check_field(
    field: wire.Field, known: set[int], message: str, previous: dict[int, wire.Field] | None = None
) -> None:
    """Raise WireError for a field that MindSpore does not write, which is probably damage."""
    # Every field but dims, which `_tensor` handles, is of this wire type.
    if field.number not in known or field.wire != wire.LENGTH:
        raise wire.WireError(f"unknown field {field.number} of {message} before byte {field.start}")
    if previous is not None and field.number in previous:
        raise wire.WireError(f"field {field.number} of {message} comes twice at byte {field.start}")
