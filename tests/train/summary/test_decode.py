"""Reading events: defaults of missing fields, and error messages."""

import math
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary import Event, Histogram, Image, Landscape, Value
from minispore.train.summary.decode import decode
from minispore.train.summary.encode import MINDSPORE, for_mindspore, for_tensorboard
from minispore.train.summary.event import Content
from minispore.train.summary.histogram import histogram
from tests.helpers.event_bytes import Dialect, encoded


def value(*fields: bytes) -> bytes:
    """Return an event with one value, which has these fields."""
    return wire.bytes_field(5, wire.bytes_field(1, b"".join(fields)))


def content(*fields: bytes) -> Content:
    [result] = decode(value(*fields)).values
    return result.content


def tensor(*fields: bytes) -> NDArray[np.generic]:
    result = content(*fields)
    assert isinstance(result, np.ndarray)
    return result


def message(number: int, *fields: bytes) -> bytes:
    return wire.bytes_field(number, b"".join(fields))


def packed_doubles(number: int, values: list[float]) -> bytes:
    return wire.bytes_field(number, np.array(values, "<f8").tobytes())


def theirs(code: int, *lengths: int, data: bytes = b"") -> bytes:
    """Return a tensor in TensorFlow's format."""
    dims = b"".join(message(2, wire.varint_field(1, n)) for n in lengths)
    return message(8, wire.varint_field(1, code), message(2, dims), wire.bytes_field(4, data))


def ours(code: int, *lengths: int, data: bytes = b"") -> bytes:
    """Return a tensor in MindSpore's format."""
    dims = b"".join(wire.varint_field(1, n) for n in lengths)
    return message(8, dims, wire.varint_field(2, code), wire.bytes_field(3, data))


def points(*coordinates: object) -> bytes:
    arrays = [np.array(c, "<f4") for c in coordinates]
    parts = [ours(11, *array.shape, data=array.tobytes()) for array in arrays]
    # A tensor in a field of another number.
    return b"".join(
        wire.bytes_field(number, part[len(wire.length_header(8, len(part) - 2)) :])
        for number, part in enumerate(parts, start=1)
    )


SURFACE = message(1, points([1.0], [2.0], [[3.0]]))


def test_missing_fields_have_defaults() -> None:
    assert decode(b"") == decode(message(5)) == Event(0.0, 0, None, None, ())
    assert decode(value(wire.float_field(2, 0.5))).values == (Value("", 0.5),)
    assert content(message(4)) == Image(0, 0, 0, b"")
    nothing = content(message(10, SURFACE))
    assert isinstance(nothing, Landscape)
    assert (nothing.x.item(), nothing.y.item(), nothing.z.item()) == (1.0, 2.0, 3.0)
    trajectory = nothing.path_x, nothing.path_y, nothing.path_z
    assert all(x.shape == (0,) and x.dtype == np.float64 for x in trajectory)
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
def test_histogram_without_buckets(number: int) -> None:
    result = content(message(number))
    assert isinstance(result, Histogram)
    assert (result.edges.shape, result.counts.shape) == ((0,), (0,))
    assert (result.edges.dtype.name, result.counts.dtype.name) == ("float64", "int64")
    assert (result.nan, result.pos_inf, result.neg_inf) == (0, 0, 0)
    assert np.isnan([result.min, result.max]).all()
    assert result.sum == 0.0
    assert result.sum_squares == 0.0 if number == 5 else math.isnan(result.sum_squares)


def test_histogram_without_finite_elements_has_zeros() -> None:
    event = Event(0.0, values=(Value("h", histogram(np.array([np.nan]))),))
    zeros = b"".join(wire.double_field(number, 0.0) for number in (1, 2, 3, 4, 5))
    assert zeros in encoded(for_tensorboard, event)


def test_mindspore_bucket_without_fields_is_empty() -> None:
    result = content(message(9, message(1)))
    assert isinstance(result, Histogram)
    assert (result.edges.tolist(), result.counts.tolist()) == ([0.0, 0.0], [0])


@given(st.floats(-9, 9))
@example(3.0)
def test_first_edge_is_the_minimum(low: float) -> None:
    """Or the second edge, if that is lower."""
    borders = packed_doubles(6, [2.0, 4.0]) + packed_doubles(7, [1, 3])
    result = content(message(5, wire.double_field(1, low), borders))
    assert isinstance(result, Histogram)
    assert result.edges.tolist() == [min(low, 2.0), 2.0, 4.0]
    assert result.counts.tolist() == [1, 3]


def test_tensor_without_shape_is_scalar() -> None:
    data = np.array(2.5, "<f4").tobytes()
    result = tensor(message(8, wire.varint_field(1, 1), wire.bytes_field(4, data)))
    assert (result.shape, result.item()) == ((), 2.5)
    assert result.dtype.isnative
    result = tensor(message(8, wire.varint_field(1, 1), message(2), wire.bytes_field(4, data)))
    assert (result.shape, result.item()) == ((), 2.5)
    # A length of 0 may be left out.
    result = tensor(message(8, wire.varint_field(1, 1), message(2, message(2))))
    assert result.shape == (0,)


@given(
    hnp.arrays(np.float32, hnp.array_shapes(max_dims=4, max_side=4), elements=st.integers(0, 99)),
    st.booleans(),
    st.data(),
)
@example(np.zeros((2, 1, 300), np.float32), True, None)
def test_repeated_fields_may_be_packed_in_any_parts(
    array: NDArray[np.float32], packed: bool, data: st.DataObject | None
) -> None:
    dims = [wire.varint_field(1, n) for n in array.shape]
    if packed:
        dims = [wire.bytes_field(1, b"".join(map(wire.varint, array.shape)))]
    elements = array.reshape(-1).tolist()
    cuts = [0, len(elements)]
    if data is not None:
        cuts = sorted([*cuts, *data.draw(st.lists(st.integers(0, len(elements)), max_size=3))])
    parts = [
        wire.float_field(3, elements[start])
        if stop == start + 1
        else wire.bytes_field(3, np.array(elements[start:stop], "<f4").tobytes())
        for start, stop in pairwise(cuts)
    ]
    result = tensor(message(8, *dims, wire.varint_field(2, MINDSPORE["int64"]), *parts))
    assert (result.shape, result.dtype.name) == (array.shape, "int64")
    np.testing.assert_array_equal(result, array)


def test_split_packed_doubles_are_joined() -> None:
    borders = packed_doubles(6, [1.0]) + wire.double_field(6, 2.0)
    counts = wire.double_field(7, 3.0) + packed_doubles(7, [4.0])
    result = content(message(5, borders, counts))
    assert isinstance(result, Histogram)
    assert (result.edges.tolist(), result.counts.tolist()) == ([0.0, 1.0, 2.0], [3, 4])


@given(st.lists(st.integers(0, 9), min_size=1), st.lists(st.floats(width=32, allow_nan=False)))
def test_last_field_counts_and_values_accumulate(steps: list[int], numbers: list[float]) -> None:
    data = [wire.varint_field(2, step) for step in steps]
    data += [value(wire.float_field(2, number)) for number in numbers]
    values = tuple(Value("", number) for number in numbers)
    assert decode(b"".join(data)) == Event(0.0, steps[-1], values=values)


def test_unrepresentable_element_does_not_raise() -> None:
    result = tensor(ours(MINDSPORE["int8"], 2, data=np.array([np.nan, 1], "<f4").tobytes()))
    assert (result.dtype.name, result[1]) == ("int8", 1)


@pytest.mark.parametrize("encode", [for_mindspore, for_tensorboard])
def test_float32_overflow_becomes_infinite(encode: Dialect) -> None:
    event = Event(0.0, values=(Value("a", 1e300), Value("b", -1e300)))
    assert [v.content for v in decode(encoded(encode, event)).values] == [np.inf, -np.inf]
    array = np.array([1e300, 1.0])
    if encode is for_mindspore:
        [(_, result)] = decode(encoded(encode, Event(0.0, values=(Value("t", array),)))).values
        assert np.array_equal(result, [np.inf, 1.0])  # type: ignore[arg-type]


def of_landscape(*fields: bytes) -> bytes:
    return value(message(10, *fields))


def of_histogram(limits: list[float], counts: list[float]) -> bytes:
    return value(message(5, packed_doubles(6, limits) + packed_doubles(7, counts)))


def of_buckets(*counts: int) -> bytes:
    return value(message(9, *[message(1, wire.varint_field(3, count)) for count in counts]))


PATH = message(2, points([1.0], [1.0], [1.0]))
HALF = message(2, wire.varint_field(1, 1), message(2, points([1.0], [1.0], [])))
ZERO, DEEP = [0.0], [[[0.0]]]


# The source of the bytes, and the error.
INVALID = Path(__file__).with_name("invalid_events.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", INVALID)
def test_invalid_event_error_message(row: str) -> None:
    source, _, reason = row.partition("  # ")
    with pytest.raises(wire.WireError, match=f"^{re.escape(reason)}$"):
        decode(eval(source))
