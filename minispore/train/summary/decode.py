"""Reading event files: those of MindSpore, of TensorBoard, and files with the fields of both."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Final, TypeVar

import numpy as np

from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary.encode import MINDSPORE, SESSION_START, TENSORFLOW
from minispore.train.summary.event import Content, Event, Histogram, Image, Landscape, Value
from minispore.train.summary.tfrecord import read_records
from minispore.utils.arrays import AnyArray, Float64Array
from minispore.utils.atomic import open_regular_file

_T = TypeVar("_T")

_DTypes = dict[int, "np.dtype[np.generic]"]
_TENSORFLOW_TYPES: Final[_DTypes] = {code: np.dtype(name) for name, code in TENSORFLOW.items()}
_MINDSPORE_TYPES: Final[_DTypes] = {code: np.dtype(name) for name, code in MINDSPORE.items()}
_MAX_DIMS: Final = 64


def read_events(path: str | os.PathLike[str]) -> Iterator[Event]:
    """Read an event file.

    Args:
        path: An event file of minispore, MindSpore or TensorBoard. Kinds of values that minispore
            does not write are skipped.

    Returns:
        An iterator over the events, which reads them one by one.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is damaged or ends inside a record, as it does while it is being
            written. The events before that are yielded first.

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
    with open(path, "rb", opener=open_regular_file) as file:
        try:
            for data in read_records(file):
                yield decode(data)
        except wire.WireError as error:
            raise ValueError(
                f"For 'read_events', the file '{os.fspath(path)}' is no event file that can be "
                f"read: {wire.shortened(str(error))}."
            ) from None


class _Message:
    """The fields of a protobuf message by number; of a repeated field, the last one counts."""

    def __init__(self, stream: BytesIO, start: int = 0, stop: int = 0) -> None:
        self._stream = stream
        self._fields: dict[int, list[wire.Field]] = {}
        for field in wire.fields(stream, start, stop):
            self._fields.setdefault(field.number, []).append(field)

    def all(self, number: int) -> Sequence[wire.Field]:
        """Return all fields of a number."""
        return self._fields.get(number, ())

    def last(self, number: int, read: Callable[[wire.Field], _T], default: _T) -> _T:
        """Return the value of the last field of a number, or a default."""
        return read(self._fields[number][-1]) if number in self._fields else default

    def wire_type(self, number: int) -> int | None:
        return self.last(number, lambda field: field.wire, None)

    def text(self, number: int) -> str | None:
        return self.last(number, partial(wire.text, self._stream), None)

    def content(self, number: int) -> bytes | None:
        return self.last(number, partial(wire.content, self._stream), None)

    def integer(self, number: int) -> int:
        return self.last(number, wire.signed, 0)

    def double(self, number: int, default: float = 0.0) -> float:
        return self.last(number, wire.float64, default)

    def count(self, number: int) -> int:
        """Return an integer; raise WireError if it is negative."""
        count = self.integer(number)
        if count < 0:
            field = self._fields[number][-1]
            raise wire.WireError(f"field {field.number} at byte {field.start} counts {count}")
        return count

    def messages(self, number: int) -> "list[_Message]":
        return [self._inner(field) for field in self.all(number)]

    def message(self, number: int) -> "_Message":
        """Return the last message of a number, or an empty one."""
        return self.last(number, self._inner, _Message(self._stream))

    def integers(self, number: int) -> list[int]:
        """Return a repeated integer field, packed or not."""
        values: list[int] = []
        for field in self.all(number):
            if field.wire == wire.LENGTH:
                values += wire.varints(self._stream, field.start, field.stop)
            else:
                values.append(wire.signed(field))
        return values

    def floats(self, number: int, read: Callable[[wire.Field], float], dtype: str) -> bytes:
        """Return the elements of a repeated float field, packed or not, as an array's bytes."""
        return b"".join(
            wire.content(self._stream, field)
            if field.wire == wire.LENGTH
            else np.array(read(field), dtype).tobytes()
            for field in self.all(number)
        )

    def _inner(self, field: wire.Field) -> "_Message":
        if field.wire != wire.LENGTH:
            raise wire.WireError(f"field {field.number} at byte {field.start} is no message")
        return _Message(self._stream, field.start, field.stop)


def decode(data: bytes) -> Event:
    """Return the event in a record; raise WireError if the bytes are invalid."""
    message = _Message(BytesIO(data), 0, len(data))
    values: list[Value] = []
    for summary in message.messages(5):
        for part in summary.messages(1):
            content = _content(part)
            if content is not None:
                values.append(Value(part.text(1) or "", content))
    return Event(
        message.double(1),
        message.integer(2),
        message.text(3),
        message.content(4),
        tuple(values),
        message.message(7).integer(1) == SESSION_START,
    )


def _content(value: _Message) -> Content | None:
    for number in (2, 3):
        # In TensorBoard's dialect, field 3 is an old kind of histogram.
        if value.wire_type(number) == wire.FIXED32:
            return value.last(number, wire.float32, 0.0)
    # In TensorBoard's dialect, field 9 is metadata of the value, which precedes it in this order.
    for number, read in _READERS.items():
        if value.all(number):
            return read(value.message(number))
    return None


def _image(message: _Message) -> Image:
    return Image(message.count(1), message.count(2), message.count(3), message.content(4) or b"")


def _tensorboard_histogram(message: _Message) -> Histogram:
    low, high, total, squares = (message.double(number) for number in (1, 2, 4, 5))
    limits, counts = _doubles(message, 6), _doubles(message, 7)
    if len(limits) != len(counts):
        raise wire.WireError(f"a histogram has {len(limits)} borders and {len(counts)} buckets")
    if not len(limits):
        low = high = float("nan")
    # The left edge of the first bucket is not stored: it is the smallest element, or unknown if all
    # elements are equal and in the last bucket.
    edges = np.array([min(low, limits[0]), *limits]) if len(limits) else limits
    if not (counts >= 0).all() or counts.sum() >= 2.0**63:
        raise wire.WireError("a histogram has invalid counts")
    integers = counts.astype(np.int64)
    return Histogram(edges, integers, int(integers.sum()), 0, 0, 0, low, high, total, squares)


def _mindspore_histogram(message: _Message) -> Histogram:
    edges: list[float] = []
    counts: list[int] = []
    for bucket in message.messages(1):
        left = bucket.double(1)
        edges[-1:] = [left, left + bucket.double(2)]
        counts.append(bucket.count(3))
    nan = float("nan")
    high, low, total = message.double(5, nan), message.double(6, nan), message.double(7)
    nans, pos_inf, neg_inf = (message.count(number) for number in (2, 3, 4))
    finite = sum(counts)
    if finite >= 2**63:
        raise wire.WireError("a histogram has invalid counts")
    # MindSpore does not store the sum of the squares.
    buckets = np.array(edges), np.array(counts, np.int64)
    return Histogram(*buckets, finite, nans, pos_inf, neg_inf, low, high, total, nan)


def _tensor(message: _Message) -> AnyArray:
    # Field 2 is the dtype in MindSpore's dialect, and the shape, a message, in TensorBoard's.
    if message.wire_type(2) == wire.VARINT:
        dtype = _lookup_dtype(message.integer(2), _MINDSPORE_TYPES, "MindSpore")
        data = message.floats(3, wire.float32, "<f4")
        array = _array(data, np.dtype("<f4"), message.integers(1))
        with np.errstate(all="ignore"):  # the dtype may not represent the stored float32
            return array.astype(dtype)
    dtype = _lookup_dtype(message.integer(1), _TENSORFLOW_TYPES, "TensorFlow")
    dims = [dim.integer(1) for shape in message.messages(2) for dim in shape.messages(2)]
    return _array(message.content(4) or b"", dtype.newbyteorder("<"), dims)


def _lookup_dtype(code: int, dtypes: _DTypes, library: str) -> "np.dtype[np.generic]":
    if code not in dtypes:
        raise wire.WireError(f"a tensor has the unsupported {library} type {code}")
    return dtypes[code]


def _array(data: bytes, dtype: "np.dtype[np.generic]", dims: list[int]) -> AnyArray:
    if len(dims) > _MAX_DIMS:
        raise wire.WireError(f"a tensor has more than {_MAX_DIMS} dimensions")
    if dtype.itemsize * math.prod(dims) != len(data) or any(n < 0 for n in dims):
        raise wire.WireError(f"a tensor of shape {tuple(dims)} has {len(data)} bytes")
    array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    try:
        return array.reshape(dims)
    except ValueError:  # no elements, but a length that numpy cannot represent
        raise wire.WireError(f"a tensor has the unsupported shape {tuple(dims)}") from None


def _landscape(message: _Message) -> Landscape:
    x, y, z = _points(message.message(1))
    intervals: tuple[int, ...] = ()
    path: tuple[Float64Array, ...] = (np.zeros(0),) * 3
    for inner in message.messages(2):
        intervals = tuple(map(wire.signed, inner.all(1)))
        path = _points(inner.message(2)) if inner.all(2) else path
    if x.ndim != 1 or y.ndim != 1 or z.shape != y.shape + x.shape:
        raise wire.WireError(f"a landscape of {x.shape} by {y.shape} has {z.shape} values")
    shapes = {coordinates.shape for coordinates in path}
    if shapes != {(len(intervals),)} and shapes != {(0,)}:
        raise wire.WireError("a landscape's path has not as many points as intervals")
    metadata = message.message(3)
    end = [float(c.reshape(-1)[0]) if c.size else math.nan for c in _points(message.message(4))]
    return Landscape(
        x, y, z, path[0], path[1], path[2], intervals, (end[0], end[1], end[2]),
        metadata.text(1) or "", metadata.text(2) or "", metadata.integer(3),
    )  # fmt: skip


def _points(message: _Message) -> tuple[Float64Array, Float64Array, Float64Array]:
    x, y, z = (
        _tensor(message.message(number)).astype(np.float64) if message.all(number) else np.zeros(0)
        for number in (1, 2, 3)
    )
    return x, y, z


def _doubles(message: _Message, number: int) -> Float64Array:
    data = message.floats(number, wire.float64, "<f8")
    if len(data) % 8:
        raise wire.WireError(f"a packed float64 field has {len(data)} bytes")
    return np.frombuffer(data, "<f8").astype(np.float64)


_READERS: Final[dict[int, Callable[[_Message], Content]]] = {
    4: _image,
    5: _tensorboard_histogram,
    8: _tensor,
    9: _mindspore_histogram,
    10: _landscape,
}
