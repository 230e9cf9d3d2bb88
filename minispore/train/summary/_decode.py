"""Event files read back: MindSpore's, TensorBoard's, and those that hold the fields of both."""

import math
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from minispore._atomic import regular
from minispore.train._files import protobuf as wire
from minispore.train.summary._encode import MINDSPORE, TENSORFLOW
from minispore.train.summary._event import Content, Event, Histogram, Image, Landscape, Value
from minispore.train.summary._records import records

_T = TypeVar("_T")
_Fields = dict[int, list[wire.Field]]
_Floats = NDArray[np.float64]

_TENSORFLOW_TYPES: Final = {code: np.dtype(name) for name, code in TENSORFLOW.items()}
_MINDSPORE_TYPES: Final = {code: np.dtype(name) for name, code in MINDSPORE.items()}
_MAX_DIMS: Final = 64


def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Read an event file, event by event.

    Args:
        path: An event file of minispore, MindSpore or TensorBoard. Kinds of values that minispore
            does not write are left out.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is damaged, or ends inside a record, as it does while it is being written.
            What stands before that has been yielded then.

    Examples:
        >>> import minispore as ms, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with ms.SummaryRecord(folder) as record:
        ...         record.add_value("scalar", "loss", ms.Tensor(0.5))
        ...         _ = record.record(step=1)
        ...     [first, second] = read_events(record.log_dir)
        >>> first.version, second.step, second.values
        ('MindSpore.Event:1', 1, (Value(tag='loss', content=0.5),))
    """
    with open(path, "rb", opener=regular) as file:
        try:
            for data in records(file):
                yield decode(data)
        except wire.WireError as error:
            raise ValueError(
                f"For 'read_events', the file '{os.fspath(path)}' is no event file that can be "
                f"read: {wire.shortened(str(error))}."
            ) from None


def decode(data: bytes) -> Event:
    """One event; WireError if the bytes are none."""
    stream = BytesIO(data)
    fields = _fields(stream, 0, len(data))
    values: list[Value] = []
    for summary in fields.get(5, ()):
        for field in _inner(stream, summary).get(1, ()):
            value = _value(stream, field)
            if value is not None:
                values.append(value)
    return Event(
        _last(fields, 1, wire.float64, 0.0),
        _last(fields, 2, wire.signed, 0),
        _last(fields, 3, lambda f: wire.text(stream, f), None),
        _last(fields, 4, lambda f: wire.content(stream, f), None),
        tuple(values),
    )


def _value(stream: BytesIO, field: wire.Field) -> Value | None:
    fields = _inner(stream, field)
    tag = _last(fields, 1, lambda f: wire.text(stream, f), "")
    content = _content(stream, fields)
    return None if content is None else Value(tag, content)


def _content(stream: BytesIO, fields: _Fields) -> Content | None:
    for number in (2, 3):
        # In TensorBoard's dialect 3 is an old kind of histogram.
        if number in fields and fields[number][-1].wire == wire.FIXED32:
            return wire.float32(fields[number][-1])
    # And 9 describes the value, which therefore comes first.
    for number, read in _READERS.items():
        if number in fields:
            return read(stream, fields[number][-1])
    return None


def _image(stream: BytesIO, field: wire.Field) -> Image:
    fields = _inner(stream, field)
    height, width, colorspace = (_last(fields, number, _count, 0) for number in (1, 2, 3))
    png = _last(fields, 4, lambda f: wire.content(stream, f), b"")
    return Image(height, width, colorspace, png)


def _tensorboard_histogram(stream: BytesIO, field: wire.Field) -> Histogram:
    fields = _inner(stream, field)
    low, high, total, squares = (
        _last(fields, number, wire.float64, 0.0) for number in (1, 2, 4, 5)
    )
    limits, counts = _doubles(stream, fields, 6), _doubles(stream, fields, 7)
    if len(limits) != len(counts):
        raise wire.WireError(f"a histogram has {len(limits)} borders and {len(counts)} buckets")
    if not len(limits):
        low = high = float("nan")
    # The left border of the first bucket stands nowhere: it is the smallest element or, where all
    # are equal and in the last one, unknown.
    edges = np.array([min(low, limits[0]), *limits]) if len(limits) else limits
    if not (counts >= 0).all() or counts.sum() >= 2.0**63:
        raise wire.WireError("a histogram has counts that are none")
    whole = counts.astype(np.int64)
    return Histogram(edges, whole, int(whole.sum()), 0, 0, 0, low, high, total, squares)


def _mindspore_histogram(stream: BytesIO, field: wire.Field) -> Histogram:
    fields = _inner(stream, field)
    edges: list[float] = []
    counts: list[int] = []
    for bucket in fields.get(1, ()):
        inner = _inner(stream, bucket)
        left = _last(inner, 1, wire.float64, 0.0)
        edges[-1:] = [left, left + _last(inner, 2, wire.float64, 0.0)]
        counts.append(_last(inner, 3, _count, 0))
    nan = float("nan")
    high, low = _last(fields, 5, wire.float64, nan), _last(fields, 6, wire.float64, nan)
    nans, pos_inf, neg_inf = (_last(fields, number, _count, 0) for number in (2, 3, 4))
    finite = sum(counts)
    if finite >= 2**63:
        raise wire.WireError("a histogram has counts that are none")
    total = _last(fields, 7, wire.float64, 0.0)
    # MindSpore does not store the sum of the squares.
    buckets = np.array(edges), np.array(counts, np.int64)
    return Histogram(*buckets, finite, nans, pos_inf, neg_inf, low, high, total, nan)


def _tensor(stream: BytesIO, field: wire.Field) -> NDArray[np.generic]:
    fields = _inner(stream, field)
    # TensorBoard's shape is a message, where MindSpore's type is a number.
    if 2 in fields and fields[2][-1].wire == wire.VARINT:
        return _mindspore_tensor(stream, fields)
    code = _last(fields, 1, wire.signed, 0)
    if code not in _TENSORFLOW_TYPES:
        raise wire.WireError(f"a tensor is of TensorFlow's type {code}, which minispore has not")
    dims: list[int] = []
    for shape in fields.get(2, ()):
        for dim in _inner(stream, shape).get(2, ()):
            dims.append(_last(_inner(stream, dim), 1, wire.signed, 0))  # noqa: PERF401
    dtype = _TENSORFLOW_TYPES[code].newbyteorder("<")
    data = _last(fields, 4, lambda f: wire.content(stream, f), b"")
    return _shaped(data, dtype, dims)


def _mindspore_tensor(stream: BytesIO, fields: _Fields) -> NDArray[np.generic]:
    dims: list[int] = []
    for field in fields.get(1, ()):
        if field.wire == wire.LENGTH:
            dims += wire.varints(stream, field.start, field.stop)
        else:
            dims.append(wire.signed(field))
    code = wire.signed(fields[2][-1])
    if code not in _MINDSPORE_TYPES:
        raise wire.WireError(f"a tensor is of MindSpore's type {code}, which minispore has not")
    parts: list[bytes] = []
    for field in fields.get(3, ()):
        if field.wire == wire.LENGTH:
            parts.append(wire.content(stream, field))
        else:
            parts.append(np.float32(wire.float32(field)).astype("<f4").tobytes())
    array = _shaped(b"".join(parts), np.dtype("<f4"), dims)
    with np.errstate(all="ignore"):  # a type that cannot hold a float32 that stands there
        return array.astype(_MINDSPORE_TYPES[code])


def _shaped(data: bytes, dtype: "np.dtype[np.generic]", dims: list[int]) -> NDArray[np.generic]:
    if len(dims) > _MAX_DIMS:
        raise wire.WireError(f"a tensor has more than {_MAX_DIMS} dimensions")
    wanted = dtype.itemsize * math.prod(dims)
    if wanted != len(data) or any(n < 0 for n in dims):
        raise wire.WireError(f"a tensor of shape {tuple(dims)} has {len(data)} bytes")
    array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    try:
        return array.reshape(dims)
    except ValueError:  # no elements, but a length beyond what can be addressed
        raise wire.WireError(f"a tensor is of shape {tuple(dims)}") from None


def _landscape(stream: BytesIO, field: wire.Field) -> Landscape:
    fields = _inner(stream, field)
    none: _Floats = np.zeros(0)
    x, y, z = _last(fields, 1, lambda f: _points(stream, f), (none, none, none))
    intervals: tuple[int, ...] = ()
    way = none, none, none
    for path in fields.get(2, ()):
        inner = _inner(stream, path)
        intervals = tuple(wire.signed(f) for f in inner.get(1, ()))
        way = _last(inner, 2, lambda f: _points(stream, f), way)
    if x.ndim != 1 or y.ndim != 1 or z.shape != y.shape + x.shape:
        raise wire.WireError(f"a landscape of {x.shape} by {y.shape} has {z.shape} heights")
    shapes = {each.shape for each in way}
    if shapes != {(len(intervals),)} and shapes != {(0,)}:
        raise wire.WireError("a landscape's way has not as many points as intervals")
    none_given: _Fields = {}
    metadata = _last(fields, 3, lambda f: _inner(stream, f), none_given)
    ends = _last(fields, 4, lambda f: _points(stream, f), (none, none, none))
    end = tuple(float(c.reshape(-1)[0]) if c.size else float("nan") for c in ends)
    return Landscape(
        x, y, z, *way, intervals, (end[0], end[1], end[2]),
        _last(metadata, 1, lambda f: wire.text(stream, f), ""),
        _last(metadata, 2, lambda f: wire.text(stream, f), ""),
        _last(metadata, 3, wire.signed, 0),
    )  # fmt: skip


def _points(stream: BytesIO, field: wire.Field) -> tuple[_Floats, _Floats, _Floats]:
    fields = _inner(stream, field)
    x, y, z = (
        _last(fields, n, lambda f: _tensor(stream, f).astype(np.float64), np.zeros(0))
        for n in (1, 2, 3)
    )
    return x, y, z


_READERS: Final[dict[int, Callable[[BytesIO, wire.Field], Content]]] = {
    4: _image,
    5: _tensorboard_histogram,
    8: _tensor,
    9: _mindspore_histogram,
    10: _landscape,
}


def _doubles(stream: BytesIO, fields: _Fields, number: int) -> _Floats:
    """A repeated float64 field, packed or not."""
    parts: list[bytes] = []
    for field in fields.get(number, ()):
        if field.wire == wire.LENGTH:
            parts.append(wire.content(stream, field))
        else:
            parts.append(np.float64(wire.float64(field)).astype("<f8").tobytes())
    data = b"".join(parts)
    if len(data) % 8:
        raise wire.WireError(f"a row of float64 has {len(data)} bytes")
    return np.frombuffer(data, "<f8").astype(np.float64)


def _count(field: wire.Field) -> int:
    """The number of a VARINT field that counts something."""
    count = wire.signed(field)
    if count < 0:
        raise wire.WireError(f"field {field.number} at byte {field.start} counts {count}")
    return count


def _fields(stream: BytesIO, start: int, stop: int) -> _Fields:
    found: _Fields = {}
    for field in wire.fields(stream, start, stop):
        found.setdefault(field.number, []).append(field)
    return found


def _inner(stream: BytesIO, field: wire.Field) -> _Fields:
    """The fields of a message in a field."""
    if field.wire != wire.LENGTH:
        raise wire.WireError(f"field {field.number} at byte {field.start} is no message")
    return _fields(stream, field.start, field.stop)


def _last(fields: _Fields, number: int, read: Callable[[wire.Field], _T], missing: _T) -> _T:
    """Of a field that comes several times the last one counts."""
    return read(fields[number][-1]) if number in fields else missing
