"""Event files read: what is left out has a default, and what is wrong is told word for word."""

import math
import re
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from minispore.train._files import protobuf as wire
from minispore.train.summary import Event, Histogram, Image, Landscape, Value, read_events
from minispore.train.summary._decode import decode
from minispore.train.summary._encode import MINDSPORE, TENSORFLOW, for_mindspore, for_tensorboard
from minispore.train.summary._event import Content
from minispore.train.summary._histogram import histogram
from minispore.train.summary._records import framed, records
from tests.train.summary.encoding import Dialect, encoded


def value(*fields: bytes) -> bytes:
    """An event with one value, which has these fields."""
    return wire.bytes_field(5, wire.bytes_field(1, b"".join(fields)))


def content(*fields: bytes) -> Content:
    [found] = decode(value(*fields)).values
    return found.content


def tensor(*fields: bytes) -> NDArray[np.generic]:
    found = content(*fields)
    assert isinstance(found, np.ndarray)
    return found


def message(number: int, *fields: bytes) -> bytes:
    return wire.bytes_field(number, b"".join(fields))


def theirs(code: int, *lengths: int, data: bytes = b"") -> bytes:
    """TensorFlow's tensor."""
    dims = b"".join(message(2, wire.varint_field(1, n)) for n in lengths)
    return message(8, wire.varint_field(1, code), message(2, dims), wire.bytes_field(4, data))


def ours(code: int, *lengths: int, data: bytes = b"") -> bytes:
    """MindSpore's."""
    dims = b"".join(wire.varint_field(1, n) for n in lengths)
    return message(8, dims, wire.varint_field(2, code), wire.bytes_field(3, data))


def points(*coordinates: object) -> bytes:
    arrays = [np.array(c, "<f4") for c in coordinates]
    parts = [ours(11, *array.shape, data=array.tobytes()) for array in arrays]
    # A tensor as a field of another number.
    return b"".join(
        wire.bytes_field(number, part[len(wire.length_header(8, len(part) - 2)) :])
        for number, part in enumerate(parts, start=1)
    )


SURFACE = message(1, points([1.0], [2.0], [[3.0]]))


def test_what_is_left_out_has_a_default() -> None:
    assert decode(b"") == decode(message(5)) == Event(0.0, 0, None, None, ())
    assert decode(value(wire.float_field(2, 0.5))).values == (Value("", 0.5),)
    assert content(message(4)) == Image(0, 0, 0, b"")
    nothing = content(message(10, SURFACE))
    assert isinstance(nothing, Landscape)
    assert (nothing.x.item(), nothing.y.item(), nothing.z.item()) == (1.0, 2.0, 3.0)
    way = nothing.path_x, nothing.path_y, nothing.path_z
    assert all(each.shape == (0,) and each.dtype == np.float64 for each in way)
    assert (nothing.intervals, nothing.decomposition, nothing.unit) == ((), "", "")
    assert nothing.step_per_epoch == 0
    assert np.isnan(nothing.end).all()
    half = content(message(10, SURFACE, message(4, points([[0.5, 0.75]])), message(3)))
    assert isinstance(half, Landscape)
    assert half.end[0] == 0.5
    assert np.isnan(half.end[1:]).all()
    nowhere = content(message(10, SURFACE, message(2)))
    assert isinstance(nowhere, Landscape)
    assert (nowhere.intervals, nowhere.path_x.shape) == ((), (0,))


@pytest.mark.parametrize("number", [5, 9])
def test_a_histogram_of_nothing(number: int) -> None:
    found = content(message(number))
    assert isinstance(found, Histogram)
    assert (found.edges.shape, found.counts.shape) == ((0,), (0,))
    assert (found.edges.dtype.name, found.counts.dtype.name) == ("float64", "int64")
    assert (found.nan, found.pos_inf, found.neg_inf) == (0, 0, 0)
    assert np.isnan([found.min, found.max]).all()
    assert found.sum == 0.0
    assert found.sum_squares == 0.0 if number == 5 else math.isnan(found.sum_squares)


def test_a_histogram_of_no_numbers_has_zeros_where_tensorboard_wants_numbers() -> None:
    event = Event(0.0, values=(Value("h", histogram(np.array([np.nan]))),))
    zeros = b"".join(wire.double_field(number, 0.0) for number in (1, 2, 3, 4, 5))
    assert zeros in encoded(for_tensorboard, event)


def test_a_bucket_of_mindspores_that_says_nothing_is_empty() -> None:
    found = content(message(9, message(1)))
    assert isinstance(found, Histogram)
    assert (found.edges.tolist(), found.counts.tolist()) == ([0.0, 0.0], [0])


def test_the_first_border_is_the_least_number() -> None:
    for low, first in ((-1.0, -1.0), (3.0, 2.0)):
        borders = wire.packed_doubles_field(6, [2.0, 4.0]) + wire.packed_doubles_field(7, [1, 3])
        found = content(message(5, wire.double_field(1, low), borders))
        assert isinstance(found, Histogram)
        assert found.edges.tolist() == [first, 2.0, 4.0]
        assert found.counts.tolist() == [1, 3]


def test_the_greatest_counts_that_fit() -> None:
    below = math.nextafter(2.0**63, 0)
    borders = wire.packed_doubles_field(6, [1.0]) + wire.packed_doubles_field(7, [below])
    found = content(message(5, borders))
    assert isinstance(found, Histogram)
    assert found.finite == int(below)
    found = content(message(9, message(1, wire.varint_field(3, 2**63 - 1))))
    assert isinstance(found, Histogram)
    assert found.finite == 2**63 - 1


def test_a_tensor_without_a_shape_is_one_number() -> None:
    data = np.array(2.5, "<f4").tobytes()
    found = tensor(message(8, wire.varint_field(1, 1), wire.bytes_field(4, data)))
    assert (found.shape, found.item()) == ((), 2.5)
    assert found.dtype.isnative
    found = tensor(message(8, wire.varint_field(1, 1), message(2), wire.bytes_field(4, data)))
    assert (found.shape, found.item()) == ((), 2.5)
    # A length that says nothing is 0.
    found = tensor(message(8, wire.varint_field(1, 1), message(2, message(2))))
    assert found.shape == (0,)


def test_the_most_axes() -> None:
    found = tensor(theirs(1, *[1] * 64, data=bytes(4)))
    assert found.ndim == 64


@pytest.mark.parametrize("packed", [True, False])
def test_the_lengths_of_mindspores_tensor_packed_or_not(packed: bool) -> None:
    lengths = (2, 1, 300)
    parts = [wire.varint_field(1, n) for n in lengths]
    if packed:
        parts = [wire.bytes_field(1, b"".join(map(wire.varint, lengths)))]
    data = np.arange(600, dtype="<f4").tobytes()
    found = tensor(message(8, *parts, wire.varint_field(2, 5), wire.bytes_field(3, data)))
    assert (found.shape, found.dtype.name) == (lengths, "int64")
    assert found.reshape(-1).tolist() == list(range(600))


def test_pieces_are_put_together() -> None:
    first, second = np.array([1.0], "<f4").tobytes(), np.array([2.0], "<f4").tobytes()
    parts = wire.bytes_field(3, first) + wire.bytes_field(3, second)
    found = content(message(8, wire.varint_field(1, 2), wire.varint_field(2, 11), parts))
    assert np.array_equal(found, [1.0, 2.0])  # type: ignore[arg-type]
    borders = wire.packed_doubles_field(6, [1.0]) + wire.double_field(6, 2.0)
    counts = wire.double_field(7, 3.0) + wire.packed_doubles_field(7, [4.0])
    found = content(message(5, borders, counts))
    assert isinstance(found, Histogram)
    assert (found.edges.tolist(), found.counts.tolist()) == ([0.0, 1.0, 2.0], [3, 4])


def test_of_what_comes_twice_the_last_counts_and_values_add_up() -> None:
    twice = wire.varint_field(2, 1) + wire.varint_field(2, 7)
    first, second = value(wire.float_field(2, 0.5)), value(wire.float_field(3, 1.5))
    assert decode(twice + first + second) == Event(0.0, 7, values=(Value("", 0.5), Value("", 1.5)))


def test_a_landscape_of_mindspores_is_of_float32() -> None:
    x = np.array([0.0, 0.1])
    landscape = Landscape(x, x, np.eye(2), x, x, x, (1, 2), (0.1, 0.2, 0.3), "PCA", "step", 4)
    data = encoded(for_mindspore, Event(0.0, values=(Value("l", landscape),)))
    assert data.count(wire.varint_field(2, MINDSPORE["float32"])) >= 9
    [(_, found)] = decode(data).values
    assert isinstance(found, Landscape)
    assert found.x.tolist() == x.astype(np.float32).tolist()
    assert found.end == tuple(float(np.float32(n)) for n in (0.1, 0.2, 0.3))
    assert (found.decomposition, found.unit, found.step_per_epoch) == ("PCA", "step", 4)


def test_a_number_that_the_type_cannot_hold_is_some_number() -> None:
    found = tensor(ours(MINDSPORE["int8"], 2, data=np.array([np.nan, 1], "<f4").tobytes()))
    assert (found.dtype.name, found[1]) == ("int8", 1)


@pytest.mark.parametrize("encode", [for_mindspore, for_tensorboard])
def test_a_float32_beyond_its_range_is_infinite(encode: Dialect) -> None:
    event = Event(0.0, values=(Value("a", 1e300), Value("b", -1e300)))
    assert [v.content for v in decode(encoded(encode, event)).values] == [np.inf, -np.inf]
    array = np.array([1e300, 1.0])
    if encode is for_mindspore:
        [(_, found)] = decode(encoded(encode, Event(0.0, values=(Value("t", array),)))).values
        assert np.array_equal(found, [np.inf, 1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            value(message(10, message(1, points([[0.0]], [0.0], [[[0.0]]])))),
            "a landscape of (1, 1) by (1,) has (1, 1, 1) heights",
        ),
        (
            value(message(10, message(1, points([0.0], [[0.0]], [[[0.0]]])))),
            "a landscape of (1,) by (1, 1) has (1, 1, 1) heights",
        ),
        (
            value(message(10)),
            "a landscape of (0,) by (0,) has (0,) heights",
        ),
        (
            value(message(10, message(1, points([0.0, 1.0], [0.0], [0.0])))),
            "a landscape of (2,) by (1,) has (1,) heights",
        ),
        (
            value(message(10, SURFACE, message(2, message(2, points([1.0], [1.0], [1.0]))))),
            "a landscape's way has not as many points as intervals",
        ),
        (
            value(
                message(
                    10,
                    SURFACE,
                    message(2, wire.varint_field(1, 1), message(2, points([1.0], [1.0], []))),
                )
            ),
            "a landscape's way has not as many points as intervals",
        ),
        (
            value(message(5, wire.packed_doubles_field(6, [1.0, 2.0]))),
            "a histogram has 2 borders and 0 buckets",
        ),
        (
            value(
                message(
                    5,
                    wire.packed_doubles_field(6, [1.0]) + wire.packed_doubles_field(7, [2.0**63]),
                )
            ),
            "a histogram has counts that are none",
        ),
        (
            value(
                message(
                    5,
                    wire.packed_doubles_field(6, [1.0]) + wire.packed_doubles_field(7, [math.nan]),
                )
            ),
            "a histogram has counts that are none",
        ),
        (
            value(
                message(
                    9,
                    message(1, wire.varint_field(3, 2**63 - 1)),
                    message(1, wire.varint_field(3, 1)),
                )
            ),
            "a histogram has counts that are none",
        ),
        (value(message(5, wire.bytes_field(6, bytes(7)))), "a row of float64 has 7 bytes"),
        (value(message(8)), "a tensor is of TensorFlow's type 0, which minispore has not"),
        (value(theirs(99)), "a tensor is of TensorFlow's type 99, which minispore has not"),
        (value(ours(99)), "a tensor is of MindSpore's type 99, which minispore has not"),
        (value(theirs(1, *[1] * 65, data=bytes(4))), "a tensor has more than 64 dimensions"),
        (value(theirs(1, 3, 2, data=bytes(23))), "a tensor of shape (3, 2) has 23 bytes"),
        (value(ours(11, 3, data=bytes(4))), "a tensor of shape (3,) has 4 bytes"),
        (value(theirs(1, -1, -1, data=bytes(4))), "a tensor of shape (-1, -1) has 4 bytes"),
        (
            value(theirs(1, 0, 2**62, 2**62)),
            f"a tensor is of shape (0, {2**62}, {2**62})",
        ),
        (value(message(4, wire.varint_field(1, -5))), "field 1 at byte 7 counts -5"),
        (value(message(9, wire.varint_field(3, -1))), "field 3 at byte 7 counts -1"),
        (wire.varint_field(5, 3), "field 5 at byte 1 is no message"),
        (value(wire.varint_field(4, 3)), "field 4 at byte 5 is no message"),
    ],
)
def test_what_is_wrong_is_told(data: bytes, told: str) -> None:
    with pytest.raises(wire.WireError, match=f"^{re.escape(told)}$"):
        decode(data)


def test_an_event_of_each_dtype_comes_back_in_both_dialects() -> None:
    for name in TENSORFLOW:
        array = np.array([[0, 1, 1]], name)
        for encode in (for_mindspore, for_tensorboard):
            [(_, found)] = decode(encoded(encode, Event(0.0, values=(Value("t", array),)))).values
            assert isinstance(found, np.ndarray)
            assert (found.dtype, found.tolist()) == (array.dtype, array.tolist())


# The framing.

PIECE = 2**20


@pytest.mark.parametrize("length", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 3])
def test_a_record_of_any_length(length: int) -> None:
    data = bytes(range(256)) * (length // 256 + 1)
    stream = BytesIO(framed(b"before") + framed(data[:length]) + framed(b"after"))
    assert list(records(stream)) == [b"before", data[:length], b"after"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data[:5], "it ends inside the record that begins at byte {}"),
        (lambda data: data[:14], "it ends inside the record that begins at byte {}"),
        (lambda data: data[:-1], "it ends inside the record that begins at byte {}"),
        (
            lambda data: b"x" + data[1:],
            "the length of the record at byte {} has been damaged",
        ),
        (lambda data: data[:13] + b"x" + data[14:], "the record at byte {} has been damaged"),
        (lambda data: data[:-1] + b"x", "the record at byte {} has been damaged"),
        (
            lambda data: framed_length(2**40) + data[12:],
            "it ends inside the record that begins at byte {}",
        ),
    ],
)
@pytest.mark.parametrize("before", [[], [b"", b"another"]])
def test_a_damaged_record_is_told_where_it_is(
    tmp_path: Path, change: Callable[[bytes], bytes], told: str, before: list[bytes]
) -> None:
    whole = b"".join(map(framed, before))
    stream = BytesIO(whole + change(framed(b"the record")))
    found: list[bytes] = []
    text = told.format(len(whole))
    with pytest.raises(wire.WireError, match=f"^{text}$"):
        for data in records(stream):
            found.append(data)  # noqa: PERF402
    assert found == before
    path = tmp_path / "events"
    path.write_bytes(stream.getvalue())
    if not before:
        text = f"For 'read_events', the file '{path}' is no event file that can be read: {text}."
        with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
            list(read_events(path))


def framed_length(length: int) -> bytes:
    """The beginning of a record that promises so much."""
    from minispore.train.summary._crc32c import masked

    data = struct.pack("<Q", length)
    return data + struct.pack("<I", masked(data))
