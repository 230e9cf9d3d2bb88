"""Small plots: a point for each finite number, inside of boxes that lie below each other."""

import math
import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore.utils.curves import plot_curves

curves = st.dictionaries(
    st.text("<&ab", max_size=3), st.lists(st.floats(width=32), max_size=9), max_size=3
)
SVG = "{http://www.w3.org/2000/svg}"
MARGIN = 4  # above the largest number and below the smallest


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "nan"))


@given(curves)
def test_each_finite_number_is_a_point_at_its_place(numbers: dict[str, list[float]]) -> None:
    root = ET.fromstring(plot_curves(numbers))
    for plot, (name, values) in zip(root.iter(f"{SVG}g"), numbers.items(), strict=True):
        (box,), (line,) = plot.iter(f"{SVG}rect"), plot.iter(f"{SVG}polyline")
        points = [tuple(map(float, p.split(","))) for p in line.get("points", "").split()]
        assert points == [(number(c, "cx"), number(c, "cy")) for c in plot.iter(f"{SVG}circle")]
        finite = {i: value for i, value in enumerate(values) if math.isfinite(value)}
        low, high = min(finite.values(), default=0.0), max(finite.values(), default=0.0)
        height, width = number(box, "height"), number(box, "width")
        expected = [
            (
                number(box, "x") + width * i / max(len(values) - 1, 1),
                MARGIN + (height - 2 * MARGIN) * ((high - value) / (high - low))
                if high > low
                else height / 2,
            )
            for i, value in finite.items()
        ]
        np.testing.assert_allclose(points, expected, atol=0.051)
        texts = ["no number", ""]
        if finite:
            texts = [f"last {finite[max(finite)]:.4g}", f"{low:.4g} to {high:.4g}"]
        assert [text.text or "" for text in plot.iter(f"{SVG}text")] == [name, *texts]


@given(curves)
def test_boxes_lie_below_each_other_inside_of_the_picture(numbers: dict[str, list[float]]) -> None:
    root = ET.fromstring(plot_curves(numbers))
    left, top, width, height = map(float, root.get("viewBox", "").split())
    assert (number(root, "width"), number(root, "height")) == (width, height)
    sides = [(top, top)]
    for plot in root.iter(f"{SVG}g"):
        (box,) = plot.iter(f"{SVG}rect")
        shift = float(re.findall(r"[\d.]+", plot.get("transform", ""))[1])
        sides.append((shift, shift + number(box, "height")))
        assert left < number(box, "x")
        assert number(box, "x") + number(box, "width") < left + width
    sides.append((top + height, top + height))
    assert all(before[1] < after[0] for before, after in pairwise(sides))
