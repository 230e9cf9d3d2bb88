"""The wire format: what is written is read, what is broken is refused, what protoc says is so."""

import struct
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train._files import protobuf as wire

INT64 = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.integers(1, 2**29 - 1)


def parse(data: bytes) -> list[wire.Field]:
    return list(wire.fields(BytesIO(data), 0, len(data)))


@given(NUMBERS, INT64)
def test_an_integer_comes_back(number: int, value: int) -> None:
    (field,) = parse(wire.varint_field(number, value))
    assert (field.number, field.wire, wire.signed(field)) == (number, wire.VARINT, value)


@given(st.integers(0, 2**64 - 1))
def test_a_varint_is_as_short_as_can_be(value: int) -> None:
    assert len(wire.varint(value)) == max(1, -(-value.bit_length() // 7))


@given(NUMBERS, st.text(st.characters(codec="utf-8")))
def test_a_text_comes_back(number: int, text: str) -> None:
    data = wire.text_field(number, text)
    (field,) = parse(data)
    assert wire.text(BytesIO(data), field) == text


@given(st.floats(), st.floats(width=32))
def test_floats_come_back(double: float, single: float) -> None:
    first, second = parse(wire.double_field(1, double) + wire.float_field(2, single))
    assert struct.pack("<d", wire.float64(first)) == struct.pack("<d", double)
    assert struct.pack("<f", wire.float32(second)) == struct.pack("<f", single)


def test_a_float_beyond_float32_is_infinite() -> None:
    assert wire.float32(parse(wire.float_field(1, -1e300))[0]) == float("-inf")


@given(st.lists(st.floats(allow_nan=False)))
def test_packed_doubles_are_doubles_in_a_row(values: list[float]) -> None:
    data = wire.packed_doubles_field(6, values)
    inner = wire.content(BytesIO(data), parse(data)[0])
    assert list(struct.unpack(f"<{len(values)}d", inner)) == values


@given(st.lists(st.tuples(NUMBERS, st.binary(max_size=20))))
def test_fields_of_a_message_come_in_its_order(items: list[tuple[int, bytes]]) -> None:
    data = b"".join(wire.bytes_field(number, content) for number, content in items)
    stream = BytesIO(data)
    assert [(f.number, wire.content(stream, f)) for f in parse(data)] == items


@given(st.binary(max_size=40))
def test_any_bytes_are_fields_or_refused(data: bytes) -> None:
    try:
        found = parse(data)
    except wire.WireError:
        return
    assert not data or found[-1].stop == len(data)


@given(st.lists(st.tuples(NUMBERS, st.binary(max_size=9)), min_size=1), st.data())
def test_a_cut_inside_a_field_is_refused(
    items: list[tuple[int, bytes]], draw: st.DataObject
) -> None:
    parts = [wire.bytes_field(number, content) for number, content in items]
    data = b"".join(parts)
    whole = {sum(map(len, parts[:n])) for n in range(len(parts) + 1)}
    cut = draw.draw(st.integers(0, len(data)))
    if cut in whole:
        parse(data[:cut])
    else:
        with pytest.raises(wire.WireError):
            parse(data[:cut])


# From the format's own description: field 1 = 150, field 2 = "testing".
def test_the_documented_example() -> None:
    data = bytes.fromhex("089601") + bytes.fromhex("120774657374696e67")
    assert wire.varint_field(1, 150) + wire.text_field(2, "testing") == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00", "field number 0"),
        ("0b", "wire type 3"),
        ("0e", "wire type 6"),
        ("08" + "ff" * 9 + "02", "does not fit in 64 bits"),
        ("08" + "80" * 10, "no end"),
        ("0a05", "5 bytes beyond the end"),
        ("0901", "7 bytes beyond the end"),
        ("0dffff", "2 bytes beyond the end"),
    ],
)
def test_what_is_wrong_is_said(data: str, reason: str) -> None:
    with pytest.raises(wire.WireError, match=reason):
        parse(bytes.fromhex(data))


def test_a_value_of_another_kind_is_refused() -> None:
    (number,) = parse(wire.varint_field(1, 5))
    (words,) = parse(b"\x0a\x01\xff")
    stream = BytesIO(b"\x0a\x01\xff")
    for read in (wire.float64, wire.float32):
        with pytest.raises(wire.WireError):
            read(number)
    with pytest.raises(wire.WireError):
        wire.signed(words)
    with pytest.raises(wire.WireError, match="holds a number"):
        wire.content(stream, number)
    with pytest.raises(wire.WireError, match="not UTF-8"):
        wire.text(stream, words)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(wire.WireError, match="64 bits"):
        wire.varint(2**64)
    with pytest.raises(wire.WireError, match="Unicode"):
        wire.text_field(1, "\ud800")
