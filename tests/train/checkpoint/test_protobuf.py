"""The Protocol Buffers wire format: round trips, invalid bytes, and bytes of protoc."""

import struct
from collections.abc import Callable
from functools import partial
from io import BytesIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.checkpoint import protobuf as wire

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.integers(1, 2**29 - 1)


def parse(data: bytes) -> list[wire.Field]:
    return list(wire.fields(BytesIO(data), 0, len(data)))


@given(NUMBERS, INT64)
@example(1, 2**63 - 1)
@example(2**29 - 1, -(2**63))
def test_integer_round_trip(number: int, value: int) -> None:
    (field,) = parse(wire.varint_field(number, value))
    assert (field.number, field.wire, wire.signed(field)) == (number, wire.VARINT, value)


def test_varint_has_documented_bytes() -> None:
    borders = [2**bits - below for bits in range(15, 64) for below in (0, 1)]
    for value in [*range(2**15), *borders, 2**64 - 1]:
        groups = [value >> shift & 0x7F for shift in range(0, 70, 7)]
        while len(groups) > 1 and not groups[-1]:
            groups.pop()
        expected = bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
        assert wire.varint(value) == expected


@given(NUMBERS, st.text(st.characters(codec="utf-8")))
def test_text_round_trip(number: int, text: str) -> None:
    data = wire.text_field(number, text)
    (field,) = parse(data)
    assert wire.text(BytesIO(data), field) == text


@given(st.floats(), st.floats(width=32))
def test_float_round_trip(double: float, single: float) -> None:
    first, second = parse(wire.double_field(1, double) + wire.float_field(2, single))
    assert struct.pack("<d", wire.float64(first)) == struct.pack("<d", double)
    assert struct.pack("<f", wire.float32(second)) == struct.pack("<f", single)


@given(st.floats(4e38, allow_infinity=False), st.sampled_from([1, -1]))
def test_float_beyond_float32_is_infinite(value: float, sign: int) -> None:
    assert wire.float32(parse(wire.float_field(1, sign * value))[0]) == sign * float("inf")


@given(st.lists(st.tuples(NUMBERS, st.binary(max_size=20))))
def test_fields_are_yielded_in_order(items: list[tuple[int, bytes]]) -> None:
    data = b"".join(wire.bytes_field(number, content) for number, content in items)
    stream = BytesIO(data)
    assert [(f.number, wire.content(stream, f)) for f in parse(data)] == items


@given(st.binary(max_size=40))
def test_random_bytes_are_parsed_or_raise(data: bytes) -> None:
    try:
        result = parse(data)
    except wire.WireError:
        return
    assert not data or result[-1].stop == len(data)


@given(st.lists(st.tuples(NUMBERS, st.binary(max_size=9)), min_size=1), st.data())
def test_truncated_field_raises(items: list[tuple[int, bytes]], draw: st.DataObject) -> None:
    parts = [wire.bytes_field(number, content) for number, content in items]
    data = b"".join(parts)
    complete = {sum(map(len, parts[:n])) for n in range(len(parts) + 1)}
    cut = draw.draw(st.integers(0, len(data)))
    if cut in complete:
        parse(data[:cut])
    else:
        with pytest.raises(wire.WireError):
            parse(data[:cut])


# From the format's own description: field 1 = 150, field 2 = "testing".
def test_documented_example_is_parsed() -> None:
    data = bytes.fromhex("089601") + bytes.fromhex("120774657374696e67")
    assert wire.varint_field(1, 150) + wire.text_field(2, "testing") == data


def test_bytes_after_message_are_not_read() -> None:
    """A message may be surrounded by others, and its content may fill the rest."""
    other = b"\x96"
    data = other + wire.varint_field(1, 300) + wire.bytes_field(2, b"hi") + other
    result = list(wire.fields(BytesIO(data), 1, len(data) - 1))
    assert result == [
        wire.Field(1, wire.VARINT, 300, 2, 4),
        wire.Field(2, wire.LENGTH, 2, 6, 8),
    ]
    assert list(wire.varints(BytesIO(data), 2, 6)) == [300, 18, 2]
    with pytest.raises(wire.WireError, match=r"^the number at byte 2 has no end$"):
        list(wire.fields(BytesIO(data), 1, 3))


def test_fixed_numbers_have_documented_bytes() -> None:
    data = bytes.fromhex("09000000000000f0bf15000080bf1a080000000000000040")
    fields = (wire.double_field(1, -1.0), wire.float_field(2, -1.0))
    assert b"".join(fields) + wire.bytes_field(3, struct.pack("<d", 2.0)) == data
    double, single, packed = parse(data)
    assert double == (1, wire.FIXED64, 0xBFF0000000000000, 1, 9)
    assert single == (2, wire.FIXED32, 0xBF800000, 10, 14)
    assert packed == (3, wire.LENGTH, 8, 16, 24)
    assert wire.size_of(BytesIO(data)) == 24


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00", "field number 0 at byte 0"),
        ("08018080808010", f"field number {2**29} at byte 2"),
        ("0b", "wire type 3 at byte 1"),
        ("0e", "wire type 6 at byte 1"),
        ("08" + "ff" * 9 + "02", "the number at byte 1 does not fit in 64 bits"),
        ("08" + "80" * 10, "the number at byte 1 has no end"),
        ("08" + "80" * 10 + "00", "the number at byte 1 has no end"),
        ("080180", "the number at byte 2 has no end"),
        ("0a05", "field 1 at byte 2 ends 5 bytes beyond the end"),
        ("0a0500", "field 1 at byte 2 ends 4 bytes beyond the end"),
        ("0901", "field 1 at byte 1 ends 7 bytes beyond the end"),
        ("0dffff", "field 1 at byte 1 ends 2 bytes beyond the end"),
    ],
)
def test_invalid_bytes_raise_descriptive_error(data: str, reason: str) -> None:
    with pytest.raises(wire.WireError) as caught:
        parse(bytes.fromhex(data))
    assert str(caught.value) == reason


def test_largest_numbers_are_read() -> None:
    (field,) = parse(bytes.fromhex("f8ffffff0f" + "ff" * 9 + "01"))
    assert field == (2**29 - 1, wire.VARINT, 2**64 - 1, 5, 15)
    assert wire.varint(2**64 - 1) == wire.varint(-1)


def test_wrong_wire_type_raises() -> None:
    data = wire.varint_field(1, 5) + wire.bytes_field(2, b"\xff") + wire.double_field(3, 0.0)
    stream = BytesIO(data)
    number, words, double = parse(data)
    readers: list[tuple[Callable[[wire.Field], object], wire.Field, str]] = [
        (wire.float64, number, "field 1 at byte 1 is not a float64"),
        (wire.float32, double, "field 3 at byte 6 is not a float32"),
        (wire.signed, words, "field 2 at byte 4 is not an integer"),
        (partial(wire.content, stream), number, "field 1 at byte 1 holds a number, not bytes"),
        (partial(wire.text, stream), words, "the text at byte 4 is not UTF-8"),
    ]
    for read, field, reason in readers:
        with pytest.raises(wire.WireError) as caught:
            read(field)
        assert str(caught.value) == reason
    with pytest.raises(wire.WireError, match=r"^the file ends at byte 14, inside a field$"):
        wire.read_exactly(stream, 9, 6)


@given(st.integers(2**64) | st.integers(max_value=-(2**63) - 1))
@example(2**64)
@example(-(2**63) - 1)
def test_number_beyond_64_bits_raises(value: int) -> None:
    with pytest.raises(wire.WireError, match=f"^{value} does not fit in 64 bits$"):
        wire.varint(value)


def test_lone_surrogate_raises() -> None:
    reason = r"^the text '\\ud800' is not valid Unicode: surrogates not allowed$"
    with pytest.raises(wire.WireError, match=reason):
        wire.text_field(1, "\ud800")


@given(st.integers(0, 5000))
@example(1000)
@example(1001)
def test_long_text_is_shortened(length: int) -> None:
    text = "".join(chr(0x4E00 + n) for n in range(length))
    shown = text if length <= 1000 else text[:500] + " … " + text[-500:]
    assert wire.shortened(text) == shown
