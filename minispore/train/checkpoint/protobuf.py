"""The part of Protocol Buffers' wire format that checkpoints and event files need.

A message is a sequence of fields, without a header, a length or names. A field begins with a key, a
varint of `number << 3 | wire type`; the wire type determines how the value is stored.

Source: https://protobuf.dev/programming-guides/encoding/
"""

import math
import os
import struct
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final, NamedTuple

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2
FIXED32: Final = 5

_SIZES: Final = {FIXED64: 8, FIXED32: 4}
_UINT64: Final = 2**64 - 1
_MAX_SHOWN: Final = 1000  # characters
# Most varints are short.
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))


class WireError(ValueError):
    """The bytes are not a valid message; the text says where and why, the caller adds the file."""


def shortened(text: str) -> str:
    """Return `text`, which a damaged file may have made very long, with at most 1000 characters."""
    if len(text) <= _MAX_SHOWN:
        return text
    return f"{text[: _MAX_SHOWN // 2]} … {text[-_MAX_SHOWN // 2 :]}"


# Writing: each function returns the bytes of a field.


def varint(value: int) -> bytes:
    """Return the shortest varint of an int64 or uint64: 7 bits a byte, the low ones first.

    >>> varint(300).hex(), varint(-1).hex()
    ('ac02', 'ffffffffffffffffff01')
    """
    if 0 <= value <= 0x7F:
        return _ONE_BYTE[value]
    if 0 <= value < 2**14:  # mostly lengths: the loop takes three times as long
        return bytes((value & 0x7F | 0x80, value >> 7))
    if not -(2**63) <= value <= _UINT64:
        raise WireError(f"{value} does not fit in 64 bits")
    bits = value & _UINT64
    out = bytearray()
    while bits > 0x7F:
        out.append(bits & 0x7F | 0x80)
        bits >>= 7
    out.append(bits)
    return bytes(out)


def varint_field(number: int, value: int) -> bytes:
    """Return an integer, bool or enum field."""
    return varint(number << 3 | VARINT) + varint(value)


def length_header(number: int, length: int) -> bytes:
    """Return the header of `length` bytes of content, for content that is written in pieces."""
    return varint(number << 3 | LENGTH) + varint(length)


def bytes_field(number: int, content: bytes) -> bytes:
    """Return a field of bytes or of a message.

    >>> bytes_field(2, b"hi").hex()
    '12026869'
    """
    return length_header(number, len(content)) + content


def text_field(number: int, text: str) -> bytes:
    """Return a string field; WireError for a text that UTF-8 cannot encode (lone surrogates)."""
    try:
        return bytes_field(number, text.encode())
    except UnicodeEncodeError as error:
        raise WireError(f"the text {text!r} is not valid Unicode: {error.reason}") from None


def double_field(number: int, value: float) -> bytes:
    """Return a float64 field."""
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def float_field(number: int, value: float) -> bytes:
    """Return a float32 field; a number beyond its range becomes infinite."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", math.copysign(math.inf, value))
    return varint(number << 3 | FIXED32) + packed


# Reading.


class Field(NamedTuple):
    """The location and value of one field in a stream.

    Attributes:
        number: The field's number in its message.
        wire: VARINT, FIXED64, LENGTH or FIXED32.
        value: The unsigned value; of a LENGTH field, the content's length.
        start: The position of the value (of a LENGTH field, of the content).
        stop: The position at which the field ends.
    """

    number: int
    wire: int
    value: int
    start: int
    stop: int


def fields(stream: BufferedIOBase, start: int, stop: int) -> Iterator[Field]:
    """Yield the fields of the message from `start` to `stop`, reading keys and numbers only.

    Content is not read, so a message may be larger than memory. Between two fields the caller may
    change the position of the stream.

    Raises:
        WireError: The bytes are not a message, or end inside a field.
    """
    while start < stop:
        key, after = _varint_at(stream, start, stop)
        number, wire = key >> 3, key & 7
        if not 0 < number < 2**29:
            raise WireError(f"field number {number} at byte {start}")
        field = _field_at(stream, number, wire, after, stop)
        yield field
        start = field.stop


def content(stream: BufferedIOBase, field: Field) -> bytes:
    """Return the bytes of a LENGTH field."""
    if field.wire != LENGTH:
        raise WireError(f"field {field.number} at byte {field.start} holds a number, not bytes")
    return read_exactly(stream, field.start, field.value)


def text(stream: BufferedIOBase, field: Field) -> str:
    """Return the string of a LENGTH field."""
    try:
        return content(stream, field).decode()
    except UnicodeDecodeError:
        raise WireError(f"the text at byte {field.start} is not UTF-8") from None


def signed(field: Field) -> int:
    """Return the int64 of a VARINT field."""
    if field.wire != VARINT:
        raise WireError(f"field {field.number} at byte {field.start} is not an integer")
    return field.value - 2**64 if field.value >> 63 else field.value


def float64(field: Field) -> float:
    """Return the number of a FIXED64 field."""
    if field.wire != FIXED64:
        raise WireError(f"field {field.number} at byte {field.start} is not a float64")
    (value,) = struct.unpack("<d", field.value.to_bytes(8, "little"))
    return float(value)


def float32(field: Field) -> float:
    """Return the number of a FIXED32 field."""
    if field.wire != FIXED32:
        raise WireError(f"field {field.number} at byte {field.start} is not a float32")
    (value,) = struct.unpack("<f", field.value.to_bytes(4, "little"))
    return float(value)


def varints(stream: BufferedIOBase, start: int, stop: int) -> Iterator[int]:
    """Yield the unsigned values of a packed field's content."""
    while start < stop:
        value, start = _varint_at(stream, start, stop)
        yield value


def read_exactly(stream: BufferedIOBase, start: int, length: int) -> bytes:
    """Return `length` bytes from `start`; WireError if the stream ends before."""
    stream.seek(start)
    data = stream.read(length)
    if len(data) != length:
        raise WireError(f"the file ends at byte {start + len(data)}, inside a field")
    return data


def size_of(stream: BufferedIOBase) -> int:
    """Return the number of bytes in `stream`."""
    return stream.seek(0, os.SEEK_END)


def _field_at(stream: BufferedIOBase, number: int, wire: int, start: int, stop: int) -> Field:
    if wire == VARINT:
        value, end = _varint_at(stream, start, stop)
        return Field(number, wire, value, start, end)
    size = _SIZES.get(wire)
    if wire == LENGTH:
        size, start = _varint_at(stream, start, stop)
    if size is None:
        raise WireError(f"wire type {wire} at byte {start}")
    end = start + size
    if end > stop:
        raise WireError(f"field {number} at byte {start} ends {end - stop} bytes beyond the end")
    if wire == LENGTH:
        return Field(number, wire, size, start, end)
    value = int.from_bytes(read_exactly(stream, start, size), "little")
    return Field(number, wire, value, start, end)


def _varint_at(stream: BufferedIOBase, start: int, stop: int) -> tuple[int, int]:
    """Return the varint at `start`, and the position after it."""
    stream.seek(start)
    # Ten bytes of 7 bits hold 64 bits.
    value = 0
    for index, byte in enumerate(stream.read(min(10, stop - start))):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > _UINT64:
                raise WireError(f"the number at byte {start} does not fit in 64 bits")
            return value, start + index + 1
    raise WireError(f"the number at byte {start} has no end")
