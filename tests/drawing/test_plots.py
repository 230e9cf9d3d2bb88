"""Curves, images and the digit pad: each value, pixel and weight is where it belongs."""

import base64
import json
import math
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.drawing import Span, digit_pad, draw_broadcast, draw_curves, draw_images, draw_spans
from minispore.utils.arrays import Float64Array, UInt8Array
from tests.helpers.svg_reader import check_texts, read

SVG = "{http://www.w3.org/2000/svg}"
values = st.floats(-1e6, 1e6, width=32) | st.sampled_from([math.nan, math.inf, 0.0])
names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=5)


def texts_of(root: ET.Element) -> list[tuple[float, float, str]]:
    """Return the place of each text, and the text."""
    return [
        (float(text.attrib["x"]), float(text.attrib["y"]), text.text or "")
        for text in root.iter(f"{SVG}text")
    ]


def curves_of(root: ET.Element) -> dict[str, list[list[tuple[float, float]]]]:
    """Return the points of each curve by its name, in pieces without a gap."""
    found = dict[str, list[list[tuple[float, float]]]]()
    for path in root.iter(f"{SVG}path"):
        if (name := path.find(f"{SVG}title")) is not None:
            pieces = path.attrib["d"].replace("h0", "").split("M")[1:]
            found[name.text or ""] = [
                [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", piece)]
                for piece in pieces
            ]
    return found


@given(
    st.dictionaries(names, st.lists(values, min_size=1, max_size=8), min_size=1, max_size=3),
    st.sampled_from(["", "x", "y", "xy"]),
    st.booleans(),
)
@example({"a": [1.0, 2.0, math.nan, 4.0], "b": [5.0, 0.0, 1.0, 2.0]}, "y", True)
@example({"a": [1.0, 10.0, 100.0]}, "xy", False)
@example({"a": [7.0]}, "", False)
def test_each_point_is_drawn_to_scale_between_the_marks(
    curves: dict[str, list[float]], log: str, spread: bool
) -> None:
    """Differences on the paper are in proportion to those of the values, or of their logarithms."""
    length = min(map(len, curves.values()))
    curves = {name: line[:length] for name, line in curves.items()}
    x = [float((i + 1) ** 2) for i in range(length)] if spread else None

    def visible(value: float) -> bool:
        return math.isfinite(value) and (value > 0 or "y" not in log)

    assume(any(visible(value) for line in curves.values() for value in line))
    root = ET.fromstring(draw_curves(curves, x, log=log))
    drawn = curves_of(root)
    assert drawn.keys() == curves.keys()
    expected_points, actual_points = list[tuple[float, float]](), list[tuple[float, float]]()
    for name, line in curves.items():
        points = list(zip(x or range(1, length + 1), line, strict=True))
        expected_points += [(float(h), v) for h, v in points if visible(v)]
        gaps = "".join("." if visible(value) else " " for value in line).split()
        assert [len(piece) for piece in drawn[name]] == [len(gap) for gap in gaps]
        actual_points += [point for piece in drawn[name] for point in piece]
    marks = [(h, v, text) for h, v, text in texts_of(root) if re.fullmatch(r"-?[\d.e+-]+", text)]
    for axis, letter in enumerate("xy"):
        scaled = [math.log10(p[axis]) if letter in log else p[axis] for p in expected_points]
        places = [point[axis] for point in actual_points]
        low, high = min(scaled), max(scaled)
        if high - low > 1e-6 * max(1.0, abs(high)):
            slope = (max(places) - min(places)) / (high - low)
            first = places[scaled.index(low)]
            sign = 1 if letter == "x" else -1
            for value, place in zip(scaled, places, strict=True):
                assert place == pytest.approx(first + sign * slope * (value - low), abs=0.2)
            # The marks of y are on the left, 4 below their lines; those of x are at the bottom.
            edge = min(marks)[0] if letter == "y" else max(v for _, v, _ in marks)
            for mark_h, mark_v, text in marks:
                mark = mark_h, mark_v
                if mark[1 - axis] == edge:
                    value = math.log10(float(text)) if letter in log else float(text)
                    place = mark[axis] - (4 if letter == "y" else 0)
                    rounded = slope * 0.005 * max(1.0, abs(value))
                    expected = first + sign * slope * (value - low)
                    assert place == pytest.approx(expected, abs=0.2 + rounded)
    assert len(marks) >= 4
    width = float(root.attrib["viewBox"].split()[2])
    assert all(-8 <= place[0] <= width for place in actual_points)


@given(
    st.dictionaries(
        names,
        st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5),
        min_size=1,
        max_size=3,
    )
)
def test_curves_with_positions_of_their_own_are_drawn_as_one(
    curves: dict[str, list[tuple[float, float]]],
) -> None:
    """The points are those of one curve through all of them."""
    apart = draw_curves(
        {name: np.array([v for _, v in line]) for name, line in curves.items()},
        {name: [h for h, _ in line] for name, line in curves.items()},
    )
    joined = [point for line in curves.values() for point in line]
    together = draw_curves({"": [v for _, v in joined]}, [h for h, _ in joined])
    drawn = curves_of(ET.fromstring(apart))
    assert list(drawn) == list(curves)
    assert [len(pieces[0]) for pieces in drawn.values()] == [len(line) for line in curves.values()]
    points = [x for pieces in drawn.values() for x, _ in pieces[0]]
    assert points == [x for x, _ in curves_of(ET.fromstring(together))[""][0]]


@given(
    hnp.arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))),
    st.booleans(),
)
def test_pixels_are_drawn_as_dark_as_they_are(images: UInt8Array, has_captions: bool) -> None:
    captions = [f"image {i}" for i in range(len(images))] if has_captions else []
    marked = {0} if has_captions else set[int]()
    root = ET.fromstring(draw_images(images, captions, marked))
    groups = list(root.iter(f"{SVG}g"))
    assert len(groups) == len(images)
    origins = [tuple(map(float, re.findall(r"[\d.]+", g.attrib["transform"])))[:2] for g in groups]
    assert len(set(origins)) == len(images)
    assert sorted(origins, key=lambda origin: (origin[1], origin[0])) == origins
    for group, image in zip(groups, images, strict=True):
        ink = np.zeros(image.shape)
        for path in group:
            for run in re.findall(r"M(\d+) (\d+)\.5h(\d+)", path.attrib["d"]):
                x, y, length = map(int, run)
                assert not ink[y, x : x + length].any()
                ink[y, x : x + length] = float(path.attrib["stroke-opacity"])
        assert np.all(np.abs(ink - image / 255.0) <= 1 / 6 + 0.01)
    written = [text for text in root.iter(f"{SVG}text") if text.text]
    assert [text.text for text in written] == captions
    coloured = ["style" in text.attrib for text in written]
    assert coloured == [i in marked for i in range(len(captions))]


@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_own_elements_and_copies_of_each_operand_are_drawn(
    shapes: hnp.BroadcastableShapes,
) -> None:
    """Each element of the result has a box for each operand; those of the operand are coloured."""
    operands = [np.arange(np.prod(shape)).reshape(shape) for shape in shapes.input_shapes]
    boxes = list(ET.fromstring(draw_broadcast(*operands)))[3:]
    size = int(np.prod(shapes.result_shape))
    for operand in operands:
        taken, boxes = boxes[: 2 * size + 2], boxes[2 * size + 2 :]
        rects, texts = taken[: 2 * size : 2], taken[1 : 2 * size : 2]
        places = [(rect.attrib["x"], rect.attrib["y"]) for rect in rects]
        assert len(set(places)) == size
        written = [int(text.text or "") for text in texts]
        assert written == np.broadcast_to(operand, shapes.result_shape).flatten().tolist()
        originals = [n for n, rect in zip(written, rects, strict=True) if "style" in rect.attrib]
        assert originals == operand.flatten().tolist()
        assert taken[-2].text == str(operand.shape)
        axes = map(int, re.findall(r"\d+", taken[-1].text or ""))
        summed = np.ones(shapes.result_shape).sum(axis=tuple(axes), keepdims=True)
        assert summed.size == operand.size
    assert not boxes


spans = st.builds(
    lambda start, length, text, colour: Span(start, start + length, text, colour),
    st.floats(-1e3, 1e3), st.floats(0.1, 1e3), names | st.just(""), st.integers(0, 3),
)  # fmt: skip
lanes = st.dictionaries(names, st.lists(spans, max_size=4), min_size=1, max_size=3)


@given(lanes.filter(lambda drawn: any(drawn.values())), st.booleans())
@example({"a": [Span(2, 4, "from 2")], "b": [Span(3, 4), Span(8, 10)]}, True)
def test_spans_are_in_their_lanes_at_their_places(
    lanes: dict[str, list[Span]], has_axis: bool
) -> None:
    text = draw_spans(lanes, x_label="byte" if has_axis else "")
    picture = read(text)
    check_texts(picture)
    drawn = iter(picture.drawn_boxes)
    tops, places = list[float](), dict[float, float]()
    for name, inside in lanes.items():
        boxes = [next(drawn) for _ in inside]
        tops += {box.rect.top for box in boxes}
        for span, box in zip(inside, boxes, strict=True):
            assert box.title.startswith(f"{name}: ")
            assert [label.text for label in box.texts] in ([], [span.text])
            assert picture.size.contains(box.rect)
            places |= {span.start: box.rect.left, span.end: box.rect.right}
    assert next(drawn, None) is None
    assert tops == sorted(set(tops))
    ends = sorted(places)
    scale = (places[ends[-1]] - places[ends[0]]) / (ends[-1] - ends[0])
    for value, place in places.items():
        assert place == pytest.approx(places[ends[0]] + scale * (value - ends[0]), abs=0.1)
    marks = [(h, word) for h, _, word in texts_of(ET.fromstring(text))]
    zero = next((h for h, word in marks if word == "0"), None)
    if has_axis and all(
        "0" not in {name, *(span.text for span in inside)} for name, inside in lanes.items()
    ):
        assert zero is not None or ends[0] < 0
        # The places are rounded to 0.01, that of the mark to 0.1.
        rounding = 0.1 + 0.02 * (1 + abs(ends[0]) / (ends[-1] - ends[0]))
        if zero is not None:
            assert zero == pytest.approx(places[ends[0]] - scale * ends[0], abs=rounding)


layers = st.lists(st.integers(1, 3), max_size=2).flatmap(
    lambda sizes: st.tuples(
        *(
            hnp.arrays(np.float64, shape, elements=st.floats(-9, 9, allow_subnormal=False))
            for n, m in pairwise([784, *sizes, 10])
            for shape in ((n, m), (m,))
        )
    )
)


@given(layers)
def test_pad_has_the_weights_rounded_to_eight_bits(weights: tuple[Float64Array, ...]) -> None:
    (text,) = re.findall(r"const layers = (.*);", digit_pad(weights))
    for weight, held in zip(weights, json.loads(text), strict=True):
        data = np.frombuffer(base64.b64decode(held["data"]), np.int8).reshape(held["shape"])
        assert np.all(np.abs(data * held["scale"] - weight) <= np.abs(weight).max() / 250)


@given(hnp.arrays(np.uint8, (28, 28)))
def test_pad_has_the_image(image: UInt8Array) -> None:
    page = digit_pad([np.zeros((784, 10)), np.zeros(10)], image)
    (data,) = re.findall(r'const image = "(.*)";', page)
    assert base64.b64decode(data) == image.tobytes()
    assert "const image = null;" in digit_pad([np.zeros((784, 10)), np.zeros(10)])


def test_page_is_shown_in_a_frame_and_saved(tmp_path: Path) -> None:
    page = digit_pad([np.zeros((784, 10)), np.zeros(10)])
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert unescape(page._repr_html_().partition('srcdoc="')[2].partition('"')[0]) == page
