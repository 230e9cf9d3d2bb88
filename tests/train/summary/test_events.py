"""Event files: what is written is read, by us, by TensorBoard, and as MindSpore wrote it."""

import math
from io import BytesIO
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.train._files import protobuf as wire
from minispore.train.summary import Event, Histogram, Image, Landscape, Value, read_events
from minispore.train.summary._decode import decode
from minispore.train.summary._encode import MINDSPORE, TENSORFLOW, for_mindspore, for_tensorboard
from minispore.train.summary._histogram import histogram
from minispore.train.summary._image import picture
from minispore.train.summary._records import framed, records
from tests.train.summary.encoding import Dialect, encoded

Array: TypeAlias = NDArray[np.generic]
Items: TypeAlias = tuple[object, ...]

FIXTURE = Path(__file__).parent / "fixtures" / "mindspore.events"

TAGS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)
SINGLES = st.floats(width=32)
ARRAYS = hnp.arrays(
    st.sampled_from(sorted(TENSORFLOW)).map(np.dtype),
    hnp.array_shapes(min_dims=1, max_side=4) | st.just((0, 3)),
)
IMAGES = hnp.arrays(np.uint8, st.tuples(st.integers(1, 9), st.just(1), st.just(2), st.just(3))).map(
    picture
)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    """Histograms of as many elements as there is place for."""
    found = histogram(draw(hnp.arrays(np.float32, st.integers(0, 30))))
    counts = draw(hnp.arrays(np.int64, found.counts.shape, elements=st.integers(1, 2**42 - 1)))
    nan, pos_inf, neg_inf = draw(st.tuples(*[st.integers(0, 2**42)] * 3))
    return found._replace(
        counts=counts, finite=int(counts.sum()), nan=nan, pos_inf=pos_inf, neg_inf=neg_inf
    )


HISTOGRAMS = histograms()
CONTENTS = SINGLES | ARRAYS | HISTOGRAMS | IMAGES


def events(contents: st.SearchStrategy[object]) -> st.SearchStrategy[Event]:
    return st.builds(
        Event,
        wall_time=st.floats(0, 1e10),
        step=st.integers(-(2**63), 2**63 - 1),
        graph=st.none() | st.binary(),
        values=st.lists(st.builds(Value, TAGS, contents), max_size=3).map(tuple),
    )


def same(found: object, wanted: object) -> None:
    """Compare what holds arrays, NaN being equal to itself."""
    assert type(found) is type(wanted)
    if isinstance(wanted, tuple):
        pairs = zip(cast("Items", found), cast("Items", wanted), strict=True)
        for a, b in pairs:
            same(a, b)
    elif isinstance(wanted, np.ndarray):
        a, b = cast("Array", found), cast("Array", wanted)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)
    else:
        assert found == wanted or (found != found and wanted != wanted)  # noqa: PLR0124


def in_tensorboard(content: object) -> object:
    """What TensorBoard's dialect keeps of a value."""
    if not isinstance(content, Histogram):
        return content
    if not content.finite:
        return content._replace(nan=0, pos_inf=0, neg_inf=0)
    edges = np.array([min(content.min, content.edges[1]), *content.edges[1:]])
    return content._replace(edges=edges, nan=0, pos_inf=0, neg_inf=0)


def in_mindspore(content: object) -> object:
    """What MindSpore's dialect keeps: of tensors float32, of borders a left and a width."""
    if isinstance(content, np.ndarray):
        array = cast("Array", content)
        with np.errstate(all="ignore"):
            return array.astype(np.float32).astype(array.dtype)
    return content


@given(events(CONTENTS))
def test_an_event_comes_back_in_tensorboards_dialect(event: Event) -> None:
    kept = tuple(Value(v.tag, in_tensorboard(v.content)) for v in event.values)  # type: ignore[arg-type]
    same(decode(encoded(for_tensorboard, event)), event._replace(values=kept))


@given(events(SINGLES | ARRAYS | IMAGES))
def test_an_event_comes_back_in_mindspores_dialect(event: Event) -> None:
    kept = tuple(Value(v.tag, in_mindspore(v.content)) for v in event.values)  # type: ignore[arg-type]
    same(decode(encoded(for_mindspore, event)), event._replace(values=kept))


@given(HISTOGRAMS)
def test_a_histogram_comes_back_in_mindspores_dialect(wanted: Histogram) -> None:
    event = Event(0.0, values=(Value("h", wanted),))
    [(_, found)] = decode(encoded(for_mindspore, event)).values
    assert isinstance(found, Histogram)
    same(found._replace(edges=wanted.edges, sum_squares=wanted.sum_squares), wanted)
    reach = np.abs(wanted.edges).max(initial=0.0)
    np.testing.assert_allclose(found.edges, wanted.edges, atol=1e-9 * reach)


# The numbers of the fields that there are, each with those inside of it.
Schema: TypeAlias = dict[int, "Schema | None"]
IMAGE: Schema = dict.fromkeys((1, 2, 3, 4))
SHAPE: Schema = {2: {1: None}}
TENSOR: Schema = dict.fromkeys((1, 2, 3))
POINTS: Schema = dict.fromkeys((1, 2, 3), TENSOR)
VALUES: dict[str, Schema] = {
    "tensorboard": {
        1: None, 2: None, 4: IMAGE, 5: dict.fromkeys(range(1, 8)), 8: {1: None, 2: SHAPE, 4: None}
    },
    "mindspore": {
        1: None, 3: None, 4: IMAGE, 8: TENSOR,
        9: {1: dict.fromkeys((1, 2, 3)), **dict.fromkeys(range(2, 9))},
        10: {1: POINTS, 2: {1: None, 2: POINTS}, 3: dict.fromkeys((1, 2, 3)), 4: POINTS},
    },
}  # fmt: skip


def fields_are_known(data: bytes, schema: Schema) -> None:
    stream = BytesIO(data)
    for field in wire.fields(stream, 0, len(data)):
        assert field.number in schema
        inner = schema[field.number]
        if inner is not None:
            fields_are_known(wire.content(stream, field), inner)


@given(st.lists(events(CONTENTS), max_size=4), st.sampled_from([for_mindspore, for_tensorboard]))
def test_several_events_are_encoded_as_each_alone(several: list[Event], dialect: Dialect) -> None:
    assert list(dialect(several)) == [encoded(dialect, event) for event in several]


@given(events(CONTENTS))
def test_there_are_no_other_fields_than_the_formats_have(event: Event) -> None:
    event = event._replace(version="one")
    for encode, values in ((for_tensorboard, "tensorboard"), (for_mindspore, "mindspore")):
        schema: Schema = {1: None, 2: None, 3: None, 4: None, 5: {1: VALUES[values]}}
        fields_are_known(encoded(encode, event), schema)


def test_a_landscape_comes_back() -> None:
    x = np.array([0.0, 0.5])
    z = np.array([[1.0, 2.0], [3.0, 4.0]])
    path = (np.array([0.5, 0.0]), np.array([0.25, 0.0]), np.array([2.0, 1.0]))
    landscape = Landscape(x, x, z, *path, (1, 2), (0.0, 0.0, 1.0), "PCA", "epoch", 7)
    event = Event(0.0, values=(Value("l", landscape),))
    same(decode(encoded(for_mindspore, event)), event)
    fields_are_known(encoded(for_mindspore, event), {1: None, 2: None, 5: {1: VALUES["mindspore"]}})
    assert encoded(for_tensorboard, event) == encoded(for_tensorboard, Event(0.0))


@given(st.lists(st.binary(max_size=300), max_size=4))
def test_records_come_back(data: list[bytes]) -> None:
    assert list(records(BytesIO(b"".join(map(framed, data))))) == data


def test_the_file_of_mindspore_is_read() -> None:
    first, second, third = read_events(FIXTURE)
    assert first.version == "MindSpore.Event:1"
    for step, event in ((0, second), (1, third)):
        assert event.step == step
        found = {value.tag: value.content for value in event.values}
        assert found["loss"] == 0.5 + step
        same(found["t/ints"], np.array([[1, -2, 3]], np.int32))
        same(found["t/floats"], np.array([1.5, np.nan, np.inf]))
        same(found["t/empty"], np.zeros((0, 3), np.float32))
        wanted = histogram(np.array([0, 1, 2, 3, np.nan, np.inf], np.float32))
        same(found["h"], wanted._replace(sum_squares=np.nan))
        assert isinstance(image := found["i"], Image)
        assert (image.height, image.width) == (2, 6)


@given(events(CONTENTS))
def test_tensorboard_reads_what_is_written(event: Event) -> None:
    pb = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    tensor_util = pytest.importorskip("tensorboard.util.tensor_util")
    found = pb.Event.FromString(encoded(for_tensorboard, event))
    assert (found.wall_time, found.step) == (event.wall_time, event.step)
    assert found.graph_def == (event.graph or b"") or event.values
    assert len(found.summary.value) == len(event.values)
    for message, value in zip(found.summary.value, event.values, strict=True):
        assert message.tag == value.tag
        content = value.content
        if isinstance(content, Image):
            assert message.image.encoded_image_string == content.png
            assert message.image.colorspace == content.colorspace
        elif isinstance(content, Histogram):
            assert list(message.histo.bucket) == content.counts.tolist()
            assert list(message.histo.bucket_limit) == content.edges[1:].tolist()
            assert message.histo.num == content.finite
            least_and_most = (content.min, content.max) if content.finite else (0.0, 0.0)
            assert (message.histo.min, message.histo.max) == least_and_most
        elif isinstance(content, np.ndarray):
            if content.size:  # of an empty one it wants elements
                same(tensor_util.make_ndarray(message.tensor), content)
        else:
            same(message.simple_value, content)


def test_a_changed_byte_is_the_documented_error(tmp_path: Path) -> None:
    whole = FIXTURE.read_bytes()
    path = tmp_path / "changed"
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 0x5A
        path.write_bytes(data)
        with pytest.raises(ValueError, match="'read_events', the file '.*changed' is no event fil"):
            list(read_events(path))


@given(st.data())
def test_a_file_that_is_cut_gives_what_is_whole(data: st.DataObject) -> None:
    whole = FIXTURE.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    stream = BytesIO(whole[:cut])
    found: list[bytes] = []
    ends = {0}
    for record in records(BytesIO(whole)):
        ends.add(max(ends) + len(record) + 16)
    try:
        for record in records(stream):
            found.append(record)  # noqa: PERF402
    except ValueError as error:
        assert "it ends inside the record" in str(error)  # noqa: PT017
        assert cut not in ends
    else:
        assert cut in ends
    assert sum(len(framed(record)) for record in found) <= cut


@given(st.data())
def test_a_record_of_anything_is_an_event_or_the_documented_error(data: st.DataObject) -> None:
    """With check sums that fit: what a hostile or a foreign program may write."""
    event = data.draw(events(CONTENTS))
    encode = data.draw(st.sampled_from([for_mindspore, for_tensorboard]))
    raw = bytearray(encoded(encode, event))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        stop = data.draw(st.integers(start, min(len(raw), start + 4)))
        raw[start:stop] = data.draw(st.binary(max_size=6))
    try:
        found = decode(bytes(raw))
    except ValueError as error:
        assert type(error).__name__ == "WireError"  # noqa: PT017
    else:
        assert isinstance(found, Event)


def in_a_value(*fields: bytes) -> bytes:
    """An event with one value, which has these fields."""
    return wire.bytes_field(5, wire.bytes_field(1, b"".join([wire.text_field(1, "t"), *fields])))


def tensor(kind: int, *lengths: int) -> bytes:
    """TensorFlow's: a type and a shape, and no elements."""
    dims = b"".join(wire.bytes_field(2, wire.varint_field(1, length)) for length in lengths)
    return wire.bytes_field(8, wire.varint_field(1, kind) + wire.bytes_field(2, dims))


def mindspore_tensor(kind: int, *elements: bytes) -> bytes:
    shape = wire.bytes_field(1, wire.varint(len(elements)))
    return wire.bytes_field(8, b"".join([shape, wire.varint_field(2, kind), *elements]))


def borders(*numbers: float, counts: bytes) -> bytes:
    """TensorBoard's histogram."""
    limits = b"".join(wire.double_field(6, number) for number in numbers)
    return wire.bytes_field(5, limits + counts)


def points(*shapes: tuple[int, ...]) -> bytes:
    """The x, y and z of a landscape, in these shapes."""
    parts: list[bytes] = []
    for number, shape in enumerate(shapes, start=1):
        dims = b"".join(wire.bytes_field(2, wire.varint_field(1, length)) for length in shape)
        elements = wire.bytes_field(4, bytes(4 * math.prod(shape)))
        kind = wire.varint_field(1, TENSORFLOW["float32"])
        parts.append(wire.bytes_field(number, kind + wire.bytes_field(2, dims) + elements))
    return b"".join(parts)


def landscape(surface: bytes, way: bytes = b"") -> bytes:
    path = wire.bytes_field(2, wire.bytes_field(2, way)) if way else b""
    return in_a_value(wire.bytes_field(10, wire.bytes_field(1, surface) + path))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (landscape(points((2,), (3,), (6,))), r"a landscape of .* has \(6,\) heights"),
        (
            landscape(points((1,), (1,), (1, 1)), points((1,), (1,), (2,))),
            "as many points as interv",
        ),
        (in_a_value(wire.bytes_field(9, wire.varint_field(2, 2**64 - 1))), "counts -1"),
        (in_a_value(borders(1.0, 2.0, counts=wire.double_field(7, 1.0))), "2 borders and 1 bucket"),
        (in_a_value(borders(1.0, counts=wire.double_field(7, -1.0))), "counts that are none"),
        (in_a_value(borders(1.0, counts=wire.bytes_field(7, b"odd"))), "float64 has 3 bytes"),
        (
            in_a_value(
                wire.bytes_field(9, wire.bytes_field(1, wire.varint_field(3, 2**63 - 1)) * 2)
            ),
            "counts that are none",
        ),
        (in_a_value(tensor(99)), "of TensorFlow's type 99"),
        (in_a_value(tensor(1, 0, *[2**62] * 2)), "a tensor is of shape"),
        (in_a_value(tensor(1, *[1] * 65)), "more than 64 dimensions"),
        (in_a_value(tensor(1, 3)), "has 0 bytes"),
        (in_a_value(mindspore_tensor(99)), "of MindSpore's type 99"),
        (wire.varint_field(5, 3), "field 5 at byte . is no message"),
    ],
)
def test_what_no_program_writes_is_refused_by_what_is_wrong(data: bytes, told: str) -> None:
    with pytest.raises(wire.WireError, match=told):
        decode(data)


def test_elements_one_by_one_are_elements() -> None:
    """As a writer may put them down that does not pack them."""
    one_by_one = [wire.float_field(3, number) for number in (0.5, 1.5)]
    (value,) = decode(in_a_value(mindspore_tensor(MINDSPORE["float32"], *one_by_one))).values
    same(value.content, np.array([0.5, 1.5], np.float32))
    counts = wire.double_field(7, 3.0)
    (value,) = decode(in_a_value(borders(1.0, counts=counts))).values
    assert isinstance(value.content, Histogram)
    assert value.content.counts.tolist() == [3]


@given(st.integers(11, 500))
def test_values_of_a_kind_that_is_not_known_are_left_out(number: int) -> None:
    unknown = in_a_value(wire.text_field(number, "something new"))
    known = in_a_value(wire.float_field(2, 0.5))
    assert decode(unknown + known).values == (Value("t", 0.5),)
