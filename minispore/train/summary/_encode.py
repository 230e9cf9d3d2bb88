"""Events as bytes, in the two dialects of the format.

TensorBoard and MindSpore share the framing, the event and the picture, and differ in the rest:

    Event   { double wall_time = 1; int64 step = 2; string version = 3; bytes graph = 4;
              Summary { repeated Value value = 1 } summary = 5 }
    Value   { string tag = 1; … }

| | TensorBoard | MindSpore |
|---|---|---|
| scalar | float 2 | float 3 |
| image | {height 1, width 2, colorspace 3, png 4} 4 | the same |
| histogram | {min 1, max 2, number 3, sum 4, …} 5 | {{left 1, width 2, count 3} 1, …} 9 |
| tensor | {type 1, {{size 1} 2} 2, content 4} 8 | {dims 1, type 2, packed floats 3} 8 |
| landscape | – | {points 1, path 2, metadata 3, end 4} 10 |

Both scalar fields and both histogram fields in one file would be read by MindSpore and by
TensorBoard's Python loader, but not by the loader in Rust that TensorBoard starts by default: it
gives a file up at the first field of a kind that it does not expect. Hence a file for each.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minispore.train._files import protobuf as wire
from minispore.train.summary._event import Event, Histogram, Image, Landscape, Value

# The codes of dtypes: TensorFlow's DataType, and MindSpore's.
TENSORFLOW: Final = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "int64": 9,
    "bool": 10, "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23,
}  # fmt: skip
MINDSPORE: Final = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8,
    "uint64": 9, "float16": 10, "float32": 11, "float64": 12,
}  # fmt: skip

_BUCKET: Final = np.dtype(
    [
        ("header", "u1", 2),
        ("left_key", "u1"),
        ("left", "<f8"),
        ("width_key", "u1"),
        ("width", "<f8"),
        ("count_key", "u1"),
        ("count", "u1", 6),
    ]
)


def for_tensorboard(events: Sequence[Event]) -> Iterator[bytes]:
    """The events as TensorBoard reads them; landscapes, which it has not, are left out."""
    for event in events:
        yield _event(event, _tensorboard_value)


def for_mindspore(events: Sequence[Event]) -> Iterator[bytes]:
    """The events as MindSpore writes them."""
    contents = [value.content for event in events for value in event.values]
    buckets = iter(_buckets([content for content in contents if isinstance(content, Histogram)]))
    for event in events:
        yield _event(event, partial(_mindspore_value, buckets=buckets))


def _event(event: Event, encode: Callable[[Value], bytes]) -> bytes:
    parts = [wire.double_field(1, event.wall_time), wire.varint_field(2, event.step)]
    if event.version is not None:
        parts.append(wire.text_field(3, event.version))
    if event.graph is not None:
        parts.append(wire.bytes_field(4, event.graph))
    values = b"".join(wire.bytes_field(1, encoded) for v in event.values if (encoded := encode(v)))
    if values:
        parts.append(wire.bytes_field(5, values))
    return b"".join(parts)


@lru_cache
def _tag(text: str) -> bytes:
    """A value's name; kept, as each step has the same ones, in both dialects."""
    return wire.text_field(1, text)


def _tensorboard_value(value: Value) -> bytes:
    tag = _tag(value.tag)
    match value.content:
        case Image() as image:
            return tag + wire.bytes_field(4, _image(image))
        case Histogram() as histogram:
            return tag + wire.bytes_field(5, _tensorboard_histogram(histogram))
        case np.ndarray() as array:
            return tag + wire.bytes_field(8, _tensorboard_tensor(array))
        case Landscape():
            return b""
        case number:
            return tag + wire.float_field(2, number)


def _mindspore_value(value: Value, buckets: Iterator[memoryview]) -> bytes:
    tag = _tag(value.tag)
    match value.content:
        case Image() as image:
            return tag + wire.bytes_field(4, _image(image))
        case Histogram() as histogram:
            return tag + wire.bytes_field(9, _mindspore_histogram(histogram, next(buckets)))
        case np.ndarray() as array:
            return tag + wire.bytes_field(8, _mindspore_tensor(array))
        case Landscape() as landscape:
            return tag + wire.bytes_field(10, _landscape(landscape))
        case number:
            return tag + wire.float_field(3, number)


def _image(image: Image) -> bytes:
    return b"".join(
        (
            wire.varint_field(1, image.height),
            wire.varint_field(2, image.width),
            wire.varint_field(3, image.colorspace),
            wire.bytes_field(4, image.png),
        )
    )


def _tensorboard_histogram(histogram: Histogram) -> bytes:
    finite = histogram.finite
    return b"".join(
        (
            wire.double_field(1, histogram.min if finite else 0.0),
            wire.double_field(2, histogram.max if finite else 0.0),
            wire.double_field(3, finite),
            wire.double_field(4, histogram.sum),
            wire.double_field(5, histogram.sum_squares),
            wire.bytes_field(6, histogram.edges[1:].astype("<f8").tobytes()),
            wire.bytes_field(7, histogram.counts.astype("<f8").tobytes()),
        )
    )


def _mindspore_histogram(histogram: Histogram, buckets: memoryview) -> bytes:
    parts: list[bytes | memoryview] = [
        buckets,
        wire.varint_field(2, histogram.nan),
        wire.varint_field(3, histogram.pos_inf),
        wire.varint_field(4, histogram.neg_inf),
    ]
    if histogram.counts.size:
        parts += [
            wire.double_field(5, histogram.max),
            wire.double_field(6, histogram.min),
            wire.double_field(7, histogram.sum),
        ]
    return b"".join([*parts, wire.varint_field(8, histogram.elements)])


def _buckets(histograms: list[Histogram]) -> list[memoryview]:
    """For each histogram, a bucket for each count.

    As all buckets are of one length, those of all histograms are written like one array. So that
    they are, a count has six bytes of seven bits, enough for four million million.
    """
    if not histograms:
        return []
    counts = np.concatenate([histogram.counts for histogram in histograms])
    left = np.concatenate([histogram.edges[:-1] for histogram in histograms])
    right = np.concatenate([histogram.edges[1:] for histogram in histograms])
    found = np.empty(len(counts), _BUCKET)
    found["header"] = 1 << 3 | wire.LENGTH, _BUCKET.itemsize - 2
    found["left_key"] = 1 << 3 | wire.FIXED64
    found["left"] = left
    found["width_key"] = 2 << 3 | wire.FIXED64
    found["width"] = right - left
    found["count_key"] = 3 << 3 | wire.VARINT
    for i in range(6):
        # Of each number the low eight bits are stored; the first says that another byte follows.
        found["count"][:, i] = counts >> 7 * i | (0x80 if i < 5 else 0)
    data = found.view(np.uint8).data
    sizes = (len(histogram.counts) * _BUCKET.itemsize for histogram in histograms)
    return [data[start:stop] for start, stop in pairwise(accumulate(sizes, initial=0))]


def _tensorboard_tensor(array: NDArray[np.generic]) -> bytes:
    dims = b"".join(wire.bytes_field(2, wire.varint_field(1, n)) for n in array.shape)
    little = array.astype(array.dtype.newbyteorder("<"))
    return b"".join(
        (
            wire.varint_field(1, TENSORFLOW[array.dtype.name]),
            wire.bytes_field(2, dims),
            wire.bytes_field(4, little.tobytes()),
        )
    )


def _mindspore_tensor(array: NDArray[np.generic]) -> bytes:
    dims = b"".join(wire.varint_field(1, n) for n in array.shape)
    # Whatever the type, MindSpore stores the elements as float32; too large ones become infinite.
    with np.errstate(over="ignore"):
        elements = array.astype("<f4").tobytes()
    return dims + wire.varint_field(2, MINDSPORE[array.dtype.name]) + wire.bytes_field(3, elements)


def _landscape(landscape: Landscape) -> bytes:
    parts = [wire.bytes_field(1, _points(landscape.x, landscape.y, landscape.z))]
    if landscape.intervals:
        intervals = b"".join(wire.varint_field(1, n) for n in landscape.intervals)
        way = _points(landscape.path_x, landscape.path_y, landscape.path_z)
        parts.append(wire.bytes_field(2, intervals + wire.bytes_field(2, way)))
    metadata = (
        wire.text_field(1, landscape.decomposition)
        + wire.text_field(2, landscape.unit)
        + wire.varint_field(3, landscape.step_per_epoch)
    )
    parts.append(wire.bytes_field(3, metadata))
    parts.append(wire.bytes_field(4, _points(*(np.array([c]) for c in landscape.end))))
    return b"".join(parts)


def _points(*coordinates: NDArray[np.float64]) -> bytes:
    return b"".join(
        wire.bytes_field(number, _mindspore_tensor(c.astype(np.float32)))
        for number, c in enumerate(coordinates, start=1)
    )
