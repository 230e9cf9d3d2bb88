"""Encoding events as bytes, in the two dialects of the format.

TensorBoard and MindSpore share the framing, the event and the image, and differ in the rest:

    Event   { double wall_time = 1; int64 step = 2; string version = 3; bytes graph = 4;
              Summary { repeated Value value = 1 } summary = 5 }
              (TensorBoard's also has SessionLog { status 1 } 7: a start of the run)
    Value   { string tag = 1; … }

| | TensorBoard | MindSpore |
|---|---|---|
| scalar | float 2 | float 3 |
| image | {height 1, width 2, colorspace 3, png 4} 4 | the same |
| histogram | {min 1, max 2, number 3, sum 4, …} 5 | {{left 1, width 2, count 3} 1, …} 9 |
| tensor | {type 1, {{size 1} 2} 2, content 4} 8 | {dims 1, type 2, packed floats 3} 8 |
| landscape | – | {points 1, path 2, metadata 3, end 4} 10 |

MindSpore and TensorBoard's Python loader could read a file with the fields of both dialects, but
not the Rust loader that TensorBoard uses by default: it stops at the first field of an unexpected
kind. Hence there is a file for each dialect.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, TypeVar

import numpy as np

from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary.event import Event, Histogram, Image, Landscape, Value
from minispore.utils.arrays import AnyArray, Float64Array

_T = TypeVar("_T")

# The codes of dtypes: TensorFlow's DataType, and MindSpore's.
TENSORFLOW: Final = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9,
    "bool": 10, "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip
MINDSPORE: Final = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8,
    "uint64": 9, "float16": 10, "float32": 11, "float64": 12,
}  # fmt: skip

SESSION_START: Final = 1  # of TensorFlow's SessionLog.SessionStatus

# A bucket of MindSpore's histogram as it is encoded.
_BUCKET: Final[np.dtype[np.void]] = np.dtype(
    {
        "names": ["header", "left_key", "left", "width_key", "width", "count_key", "count"],
        "formats": ["2u1", "u1", "<f8", "u1", "<f8", "u1", "6u1"],
    }
)


def for_tensorboard(events: Sequence[Event]) -> Iterator[bytes]:
    """Return events in TensorBoard's dialect, without landscapes, which it does not have."""
    return (_event(event, None) for event in events)


def for_mindspore(events: Sequence[Event]) -> Iterator[bytes]:
    """Return events in MindSpore's dialect."""
    contents = [value.content for event in events for value in event.values]
    buckets = iter(_buckets([content for content in contents if isinstance(content, Histogram)]))
    return (_event(event, buckets) for event in events)


def _event(event: Event, buckets: Iterator[memoryview] | None) -> bytes:
    """Return an event in MindSpore's dialect, or in TensorBoard's if `buckets` is None.

    Args:
        event: The event.
        buckets: The encoded buckets of the next histograms.
    """
    parts = [wire.double_field(1, event.wall_time), wire.varint_field(2, event.step)]
    if event.version is not None:
        parts.append(wire.text_field(3, event.version))
    if event.graph is not None:
        parts.append(wire.bytes_field(4, event.graph))
    values = [encoded for value in event.values if (encoded := _value(value, buckets))]
    if event.restart and buckets is None:
        parts.append(wire.bytes_field(7, wire.varint_field(1, SESSION_START)))
    if values:
        parts.append(wire.bytes_field(5, b"".join(wire.bytes_field(1, value) for value in values)))
    return b"".join(parts)


@lru_cache
def _tag(text: str) -> bytes:
    """Return the field of a value's name; cached, since each step has the same names."""
    return wire.text_field(1, text)


def _value(value: Value, buckets: Iterator[memoryview] | None) -> bytes:
    tag = _tag(value.tag)
    match value.content:
        case Image() as image:
            sizes = _fields(wire.varint_field, (image.height, image.width, image.colorspace))
            return tag + wire.bytes_field(4, sizes + wire.bytes_field(4, image.png))
        case Histogram() as histogram if buckets is None:
            return tag + wire.bytes_field(5, _tensorboard_histogram(histogram))
        case Histogram() as histogram:
            assert buckets is not None
            return tag + wire.bytes_field(9, _mindspore_histogram(histogram, next(buckets)))
        case np.ndarray() as array:
            encode = _tensorboard_tensor if buckets is None else _mindspore_tensor
            return tag + wire.bytes_field(8, encode(array))
        case Landscape() as landscape:
            return b"" if buckets is None else tag + wire.bytes_field(10, _landscape(landscape))
        case number:
            return tag + wire.float_field(2 if buckets is None else 3, number)


def _fields(encode: Callable[[int, _T], bytes], values: Iterable[_T], first: int = 1) -> bytes:
    """Return fields with consecutive numbers."""
    return b"".join(encode(number, value) for number, value in enumerate(values, start=first))


def _tensorboard_histogram(histogram: Histogram) -> bytes:
    low, high = (histogram.min, histogram.max) if histogram.finite else (0.0, 0.0)
    numbers = (low, high, histogram.finite, histogram.sum, histogram.sum_squares)
    return (
        _fields(wire.double_field, numbers)
        + wire.bytes_field(6, histogram.edges[1:].astype("<f8").tobytes())
        + wire.bytes_field(7, histogram.counts.astype("<f8").tobytes())
    )


def _mindspore_histogram(histogram: Histogram, buckets: memoryview) -> bytes:
    counts = (histogram.nan, histogram.pos_inf, histogram.neg_inf)
    fields: list[bytes | memoryview] = [buckets, _fields(wire.varint_field, counts, first=2)]
    if histogram.counts.size:
        numbers = (histogram.max, histogram.min, histogram.sum)
        fields.append(_fields(wire.double_field, numbers, first=5))
    return b"".join([*fields, wire.varint_field(8, histogram.elements)])


def _buckets(histograms: list[Histogram]) -> list[memoryview]:
    """Return the encoded buckets of each histogram.

    The buckets of all histograms are encoded as one structured array, since they have the same
    length: a count always has six bytes of seven bits, enough for 4e12.
    """
    if not histograms:
        return []
    counts = np.concatenate([histogram.counts for histogram in histograms])
    left = np.concatenate([histogram.edges[:-1] for histogram in histograms])
    right = np.concatenate([histogram.edges[1:] for histogram in histograms])
    buckets = np.empty(len(counts), _BUCKET)
    buckets["header"] = 1 << 3 | wire.LENGTH, _BUCKET.itemsize - 2
    buckets["left_key"] = 1 << 3 | wire.FIXED64
    buckets["left"] = left
    buckets["width_key"] = 2 << 3 | wire.FIXED64
    buckets["width"] = right - left
    buckets["count_key"] = 3 << 3 | wire.VARINT
    for i in range(6):
        # The low eight bits of each number are stored; the highest one marks that a byte follows.
        buckets["count"][:, i] = counts >> 7 * i | (0x80 if i < 5 else 0)
    data = buckets.view(np.uint8).data
    sizes = (len(histogram.counts) * _BUCKET.itemsize for histogram in histograms)
    return [data[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]


def _tensorboard_tensor(array: AnyArray) -> bytes:
    dims = b"".join(wire.bytes_field(2, wire.varint_field(1, n)) for n in array.shape)
    elements = array.astype(array.dtype.newbyteorder("<")).tobytes()
    dtype = wire.varint_field(1, TENSORFLOW[array.dtype.name])
    return dtype + wire.bytes_field(2, dims) + wire.bytes_field(4, elements)


def _mindspore_tensor(array: AnyArray) -> bytes:
    dims = b"".join(wire.varint_field(1, n) for n in array.shape)
    # MindSpore stores elements of any dtype as float32; values beyond its range become infinite.
    with np.errstate(over="ignore"):
        elements = array.astype("<f4").tobytes()
    return dims + wire.varint_field(2, MINDSPORE[array.dtype.name]) + wire.bytes_field(3, elements)


def _landscape(landscape: Landscape) -> bytes:
    path = b""
    if landscape.intervals:
        intervals = b"".join(wire.varint_field(1, n) for n in landscape.intervals)
        points = _points(landscape.path_x, landscape.path_y, landscape.path_z)
        path = wire.bytes_field(2, intervals + wire.bytes_field(2, points))
    metadata = (
        wire.text_field(1, landscape.decomposition)
        + wire.text_field(2, landscape.unit)
        + wire.varint_field(3, landscape.step_per_epoch)
    )
    return (
        wire.bytes_field(1, _points(landscape.x, landscape.y, landscape.z))
        + path
        + wire.bytes_field(3, metadata)
        + wire.bytes_field(4, _points(*np.array(landscape.end)[:, None]))
    )


def _points(*coordinates: Float64Array) -> bytes:
    return _fields(wire.bytes_field, (_mindspore_tensor(c.astype(np.float32)) for c in coordinates))
