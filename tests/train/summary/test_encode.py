"""Encoded events are read by minispore and TensorBoard, and MindSpore's by minispore."""

from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore.engine.array import is_ndarray
from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary import Event, Histogram, Image, Landscape, Value, read_events
from minispore.train.summary.decode import decode
from minispore.train.summary.encode import TENSORFLOW, for_mindspore, for_tensorboard
from minispore.train.summary.histogram import histogram
from minispore.train.summary.image import make_grid
from minispore.utils.checks import is_tuple
from tests.helpers.event_bytes import Dialect, encoded

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
    make_grid
)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    """Draw histograms with counts up to the largest valid total."""
    result = histogram(draw(hnp.arrays(np.float32, st.integers(0, 30))))
    counts = draw(hnp.arrays(np.int64, result.counts.shape, elements=st.integers(1, 2**42 - 1)))
    nan, pos_inf, neg_inf = draw(st.tuples(*[st.integers(0, 2**42)] * 3))
    return result._replace(
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
        restart=st.just(False),
    ) | st.integers(0, 2**63 - 1).map(lambda step: Event(0.0, step, restart=True))


def same(result: object, expected: object) -> None:
    """Compare events with arrays; NaN equals itself."""
    assert type(result) is type(expected)
    if is_tuple(expected) and is_tuple(result):
        for a, b in zip(result, expected, strict=True):
            same(a, b)
    elif is_ndarray(expected) and is_ndarray(result):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(result, expected)
    else:
        assert result == expected or (result != result and expected != expected)  # noqa: PLR0124


def in_tensorboard(content: object) -> object:
    """Return the value as TensorBoard's dialect stores it."""
    if not isinstance(content, Histogram):
        return content
    if not content.finite:
        return content._replace(nan=0, pos_inf=0, neg_inf=0)
    edges = np.array([min(content.min, content.edges[1]), *content.edges[1:]])
    return content._replace(edges=edges, nan=0, pos_inf=0, neg_inf=0)


def in_mindspore(content: object) -> object:
    """Return the value as MindSpore's dialect stores it: float32 tensors, edges as widths."""
    if is_ndarray(content):
        with np.errstate(all="ignore"):
            return content.astype(np.float32).astype(content.dtype)
    return content


@given(events(CONTENTS))
def test_tensorboard_event_round_trips(event: Event) -> None:
    values = tuple(Value(v.tag, in_tensorboard(v.content)) for v in event.values)  # type: ignore[arg-type]
    same(decode(encoded(for_tensorboard, event)), event._replace(values=values))


@given(events(SINGLES | ARRAYS | IMAGES))
def test_mindspore_event_round_trips(event: Event) -> None:
    values = tuple(Value(v.tag, in_mindspore(v.content)) for v in event.values)  # type: ignore[arg-type]
    expected = event._replace(values=values, restart=False)
    same(decode(encoded(for_mindspore, event)), expected)


@given(HISTOGRAMS)
def test_mindspore_histogram_round_trips(expected: Histogram) -> None:
    event = Event(0.0, values=(Value("h", expected),))
    [(_, result)] = decode(encoded(for_mindspore, event)).values
    assert isinstance(result, Histogram)
    same(result._replace(edges=expected.edges, sum_squares=expected.sum_squares), expected)
    reach = np.abs(expected.edges).max(initial=0.0)
    np.testing.assert_allclose(result.edges, expected.edges, atol=1e-9 * reach)


def in_value(*fields: bytes) -> bytes:
    """Return an event with one value, which has these fields."""
    return wire.bytes_field(5, wire.bytes_field(1, b"".join(fields)))


@given(HISTOGRAMS)
def test_mindspore_histogram_stores_the_number_of_elements(expected: Histogram) -> None:
    stream = BytesIO(encoded(for_mindspore, Event(0.0, values=(Value("h", expected),))))
    start, stop = 0, len(stream.getvalue())
    for number in (5, 1, 9, 8):  # from the event to the total in its histogram
        [field] = [found for found in wire.fields(stream, start, stop) if found.number == number]
        start, stop = field.start, field.stop
    assert wire.signed(field) == expected.elements


# The numbers of the fields of the format, each with those of its message.
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
def test_events_are_encoded_independently(several: list[Event], dialect: Dialect) -> None:
    assert list(dialect(several)) == [encoded(dialect, event) for event in several]


@given(events(CONTENTS))
def test_encoded_fields_belong_to_the_format(event: Event) -> None:
    event = event._replace(version="one")
    for encode, values in ((for_tensorboard, "tensorboard"), (for_mindspore, "mindspore")):
        schema: Schema = {1: None, 2: None, 3: None, 4: None, 5: {1: VALUES[values]}}
        if values == "tensorboard":
            schema[7] = {1: None}
        fields_are_known(encoded(encode, event), schema)


@st.composite
def landscapes(draw: st.DrawFn) -> Landscape:
    def numbers(*shape: int) -> NDArray[np.float64]:
        return draw(hnp.arrays(np.float64, shape, elements=st.floats(-1e3, 1e3)))

    n, m = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    number = st.floats(-1e3, 1e3)
    return Landscape(
        x=numbers(n),
        y=numbers(n),
        z=numbers(n, n),
        path_x=numbers(m),
        path_y=numbers(m),
        path_z=numbers(m),
        intervals=tuple(draw(st.lists(st.integers(0, 2**63 - 1), min_size=m, max_size=m))),
        end=draw(st.tuples(number, number, number)),
        decomposition=draw(TAGS),
        unit=draw(TAGS),
        step_per_epoch=draw(st.integers(0, 2**63 - 1)),
    )


def rounded(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the numbers as float32 represents them."""
    return array.astype(np.float32).astype(np.float64)


@given(landscapes())
def test_landscape_round_trips_as_float32(landscape: Landscape) -> None:
    event = Event(0.0, values=(Value("l", landscape),))
    data = encoded(for_mindspore, event)
    a, b, c = rounded(np.array(landscape.end)).tolist()
    stored = landscape._replace(
        x=rounded(landscape.x),
        y=rounded(landscape.y),
        z=rounded(landscape.z),
        path_x=rounded(landscape.path_x),
        path_y=rounded(landscape.path_y),
        path_z=rounded(landscape.path_z),
        end=(a, b, c),
    )
    same(decode(data), event._replace(values=(Value("l", stored),)))
    fields_are_known(data, {1: None, 2: None, 5: {1: VALUES["mindspore"]}})
    assert encoded(for_tensorboard, event) == encoded(for_tensorboard, Event(0.0))


@pytest.mark.parametrize("dtype", sorted(TENSORFLOW))
def test_each_dtype_round_trips(dtype: str) -> None:
    event = Event(0.0, values=(Value("t", np.array([[0, 1, 1]], dtype)),))
    for encode in (for_mindspore, for_tensorboard):
        same(decode(encoded(encode, event)), event)


def test_mindspore_file_can_be_read() -> None:
    first, second, third = read_events(FIXTURE)
    assert first.version == "MindSpore.Event:1"
    for step, event in ((0, second), (1, third)):
        assert event.step == step
        result = {value.tag: value.content for value in event.values}
        assert result["loss"] == 0.5 + step
        same(result["t/ints"], np.array([[1, -2, 3]], np.int32))
        same(result["t/floats"], np.array([1.5, np.nan, np.inf]))
        same(result["t/empty"], np.zeros((0, 3), np.float32))
        expected = histogram(np.array([0, 1, 2, 3, np.nan, np.inf], np.float32))
        same(result["h"], expected._replace(sum_squares=np.nan))
        assert isinstance(image := result["i"], Image)
        assert (image.height, image.width) == (2, 6)


@pytest.mark.full
@given(events(CONTENTS))
def test_tensorboard_reads_written_events(event: Event) -> None:
    pb = pytest.importorskip("tensorboard.compat.proto.event_pb2")
    tensor_util = pytest.importorskip("tensorboard.util.tensor_util")
    result = pb.Event.FromString(encoded(for_tensorboard, event))
    assert (result.wall_time, result.step) == (event.wall_time, event.step)
    assert result.graph_def == (event.graph or b"") or event.values
    assert (result.session_log.status == pb.SessionLog.START) == event.restart
    assert len(result.summary.value) == len(event.values)
    for message, value in zip(result.summary.value, event.values, strict=True):
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
            if content.size:  # TensorBoard requires elements
                same(tensor_util.make_ndarray(message.tensor), content)
        else:
            same(message.simple_value, content)


@given(st.integers(11, 500))
def test_unknown_kinds_of_values_are_skipped(number: int) -> None:
    unknown = in_value(wire.text_field(number, "something new"))
    known = in_value(wire.float_field(2, 0.5))
    assert decode(unknown + known).values == (Value("", 0.5),)
