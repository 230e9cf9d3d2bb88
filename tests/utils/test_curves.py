"""Small plots: well-formed, with a point for each finite number, inside of the picture."""

import math
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from minispore.utils.curves import plot_curves

curves = st.dictionaries(
    st.text("<&ab", max_size=3), st.lists(st.floats(width=32), max_size=9), max_size=3
)
SVG = "{http://www.w3.org/2000/svg}"


@given(curves)
def test_each_finite_number_is_a_point_inside(numbers: dict[str, list[float]]) -> None:
    root = ET.fromstring(plot_curves(numbers))
    lines = [line.get("points", "").split() for line in root.iter(f"{SVG}polyline")]
    for line, values in zip(lines, numbers.values(), strict=True):
        finite = [value for value in values if math.isfinite(value)]
        heights = [float(point.split(",")[1]) for point in line]
        assert len(heights) == len(finite)
        assert all(0 <= y <= 70 for y in heights)
        order = [(value, -y) for value, y in zip(finite, heights, strict=True)]
        assert [y for _, y in sorted(order)] == sorted(y for _, y in order)
