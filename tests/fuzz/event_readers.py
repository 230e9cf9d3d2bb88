"""The reader of event files: the framing, and the events in it."""

from io import BytesIO
from pathlib import Path

import numpy as np

from minispore.train.checkpoint.protobuf import bytes_field, double_field, varint, varint_field
from minispore.train.summary import Event, Histogram, Image, Landscape, Value, read_events
from minispore.train.summary.encode import for_mindspore, for_tensorboard
from minispore.train.summary.event import Content
from minispore.train.summary.histogram import histogram
from minispore.train.summary.image import make_grid
from minispore.train.summary.tfrecord import encode_record, read_records
from tests.fuzz.reader_contract import Reader
from tests.helpers.event_bytes import encoded

FIXTURE = Path(__file__).parents[1] / "train" / "summary" / "fixtures" / "mindspore.events"
_LINE = np.array([0.0, 0.5])
_PLANE = Landscape(
    _LINE, _LINE, np.ones((2, 2)), _LINE, _LINE, _LINE, (1, 2), (0.0, 0.0, 1.0), "PCA", "epoch", 7
)
EVENT = Event(
    1.5,
    3,
    values=(
        Value("loss", 0.5),
        Value("weight", histogram(np.array([1, 2, 2, np.nan, np.inf], np.float32))),
        Value("image", make_grid(np.arange(48, dtype=np.uint8).reshape(1, 3, 4, 4))),
        Value("tensor", np.arange(6, dtype=np.int64).reshape(2, 3)),
        Value("plane", _PLANE),
    ),
)
MESSAGES = (
    encoded(for_mindspore, EVENT),
    encoded(for_tensorboard, EVENT),
    encoded(for_mindspore, Event(0.0, version="MindSpore.Event:1", graph=b"graph")),
)
MINDSPORE = FIXTURE.read_bytes()
FILES = (
    b"".join(map(encode_record, MESSAGES)),
    b"".join(map(encode_record, [*read_records(BytesIO(MINDSPORE))][:4])),
)


def read(path: Path) -> None:
    for event in read_events(path):
        assert isinstance(event.wall_time, float)
        assert -(2**63) <= event.step < 2**63
        for tag, content in event.values:
            assert tag.encode() or not tag
            _check(content)


def _check(content: Content) -> None:
    if isinstance(content, Histogram):
        assert content.counts.dtype == np.int64
        assert (content.counts >= 0).all()
        assert min(content.nan, content.pos_inf, content.neg_inf) >= 0
        assert len(content.edges) == (len(content.counts) + 1 if len(content.counts) else 0)
        assert content.elements >= 0
    elif isinstance(content, Image):
        assert min(content.height, content.width, content.colorspace) >= 0
    elif isinstance(content, Landscape):
        # A landscape of a result has no path.
        points = (content.path_x, content.path_y, content.path_z)
        assert {coordinates.shape for coordinates in points} <= {(len(content.intervals),), (0,)}
        assert content.z.shape == content.y.shape + content.x.shape
        assert content.x.ndim == content.y.ndim == 1
    elif isinstance(content, np.ndarray):
        assert content.dtype.isnative
        assert content.ndim <= 64


def of_plane(plane: Landscape) -> Event:
    return Event(0.0, values=(Value("plane", plane),))


def event(content: bytes) -> bytes:
    """Return an event with one value."""
    return bytes_field(5, bytes_field(1, content))


def tensorboard_tensor(dims: list[int], content: bytes = b"") -> bytes:
    sizes = b"".join(bytes_field(2, varint_field(1, dim)) for dim in dims)
    return event(
        bytes_field(8, varint_field(1, 4) + bytes_field(2, sizes) + bytes_field(4, content))
    )


def mindspore_tensor(dims: list[int]) -> bytes:
    packed = b"".join(map(varint, dims))
    return event(bytes_field(8, bytes_field(1, packed) + varint_field(2, 6)))


def buckets(*counts: float) -> bytes:
    limits = b"".join(double_field(6, float(n)) for n in range(len(counts)))
    return event(bytes_field(5, limits + b"".join(double_field(7, n) for n in counts)))


BIG, MANY = 2**63 - 1, 5_000
MESSAGE_EXAMPLES = {
    "a tensor of many dims": tensorboard_tensor([BIG] * MANY),
    "a tensor of many dims, MindSpore's": mindspore_tensor([BIG] * MANY),
    "a tensor of 2³¹": tensorboard_tensor([2**31], b"\0"),
    "empty, but long": tensorboard_tensor([0, BIG]),
    "counts that are none": buckets(float("nan"), 1.0),
    "infinite counts": buckets(1.0, float("inf")),
    "negative counts": buckets(-1.0),
    "counts beyond int64": buckets(2.0**62, 2.0**62, 2.0**62),
    "a count below zero, MindSpore's": event(
        bytes_field(9, bytes_field(1, varint_field(3, -1) + double_field(1, 0.0)))
    ),
    "NaNs below zero": event(bytes_field(9, varint_field(2, -1))),
    "a picture below zero": event(bytes_field(4, varint_field(1, -1))),
    "a landscape of nothing": event(bytes_field(10, b"")),
    "a landscape with other heights": encoded(
        for_mindspore, of_plane(_PLANE._replace(z=np.ones((1, 4))))
    ),
    "a landscape with a longer path": encoded(
        for_mindspore, of_plane(_PLANE._replace(path_x=np.ones(3)))
    ),
    "many values": bytes_field(5, bytes_field(1, b"\x15\0\0\0\0") * MANY),
    "many keys": b"\x2a\0" * MANY,
    "deep": b"\x2a\x0a" * MANY,
}


def alone(message: bytes) -> bytes:
    """Return a file of a first event and this one."""
    return encode_record(MESSAGES[2]) + encode_record(message)


def promising(length: int) -> bytes:
    """Return the beginning of a record of this length."""
    from minispore.train.summary.crc32c import masked_crc32c

    head = length.to_bytes(8, "little")
    return head + masked_crc32c(head).to_bytes(4, "little") + b"x"


EVENT_READERS = (
    Reader(
        "events",
        "x.events",
        FILES,
        read,
        examples={
            f"a record of {n}": alone(b"") + promising(n) for n in (2**30, 2**31, 2**62, 2**64 - 1)
        },
        modules=("train/summary/decode.py",),
    ),
    Reader(
        "event",
        "x.events",
        MESSAGES,
        read,
        wrap=alone,
        examples=MESSAGE_EXAMPLES,
        modules=("train/summary/decode.py",),
    ),
)
