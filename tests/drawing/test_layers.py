"""Where boxes and edges go: nothing lies upon anything else, and every edge leads down."""

from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.drawing._layers import BESIDE, Point, layout

Graph = tuple[list[Point], list[tuple[int, int]]]


class Rect(NamedTuple):
    """The sides of a box."""

    left: float
    right: float
    top: float
    bottom: float


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Boxes of any size, and edges from earlier to later ones, some of them twice."""
    sides = st.integers(10, 90).map(float)
    sizes = draw(st.lists(st.tuples(sides, sides), min_size=1, max_size=10))
    edges = list[tuple[int, int]]()
    for end in range(1, len(sizes)):
        starts = draw(st.lists(st.integers(0, end - 1), max_size=3))
        edges += [(start, end) for start in starts]
    return sizes, edges


@given(graphs())
def test_nothing_lies_upon_anything_else_and_every_edge_leads_down(graph: Graph) -> None:
    sizes, edges = graph
    found = layout(sizes, edges)
    rects = [
        Rect(x - width / 2, x + width / 2, y, y + height)
        for (x, y), (width, height) in zip(found.boxes, sizes, strict=True)
    ]
    boxes_lie_apart_and_within(rects, found.size)
    for (start, end), way in zip(edges, found.edges, strict=True):
        leads_down(way, found.boxes[start][0], rects[start], rects[end])
        keeps_clear(way, rects)
    # Two edges do not end at one point.
    ends = [way[-1] for way in found.edges]
    assert len(set(ends)) == len(ends)
    assert layout(sizes, edges) == found


def boxes_lie_apart_and_within(rects: list[Rect], size: Point) -> None:
    for rect in rects:
        assert -1e-6 <= rect.left <= rect.right <= size[0] + 1e-6
        assert 0 <= rect.top <= rect.bottom <= size[1]
    for one, other in combinations(rects, 2):
        beside = max(one.left, other.left) - min(one.right, other.right) >= BESIDE - 1e-6
        below = max(one.top, other.top) > min(one.bottom, other.bottom)
        assert beside or below


def leads_down(way: list[Point], middle: float, start: Rect, end: Rect) -> None:
    """From the middle of the one's lower edge to the other's upper edge, and never up."""
    assert way[0] == (middle, start.bottom)
    assert way[-1][1] == end.top
    assert end.left < way[-1][0] < end.right
    assert all(above[1] <= below[1] for above, below in pairwise(way))


def keeps_clear(way: list[Point], rects: list[Rect]) -> None:
    """Straight parts do not go through a box, slanted ones lie between two layers."""
    for (x, top), (_, bottom) in zip(way[::2], way[1::2], strict=False):
        for rect in rects:
            if max(top, rect.top) < min(bottom, rect.bottom):
                beside = max(rect.left - x, x - rect.right)
                assert beside >= BESIDE - 1e-6
    for (_, top), (_, bottom) in zip(way[1::2], way[2::2], strict=True):
        assert top < bottom
        assert all(rect.bottom <= top or bottom <= rect.top for rect in rects)


def test_what_can_be_drawn_without_a_crossing_is() -> None:
    sizes = [(40.0, 20.0)] * 6
    found = layout(sizes, [(0, 5), (1, 4), (2, 3)])
    places = [x for x, _ in found.boxes]
    above, below = places[:3], places[3:]
    assert sorted(above, reverse=True) == above or sorted(above) == above
    assert [above.index(x) for x in sorted(above)] == [2 - below.index(x) for x in sorted(below)]


@pytest.mark.parametrize("first", [0, 1])
def test_operands_stand_in_their_order(first: int) -> None:
    found = layout([(40.0, 20.0)] * 3, [(first, 2), (1 - first, 2)])
    assert found.boxes[first][0] < found.boxes[1 - first][0]
    assert found.edges[0][-1] < found.edges[1][-1]


def test_what_is_computed_from_a_parameter_alone_stands_where_it_is_used() -> None:
    # 0, 1, 2 and 3 are a chain, and so are 4, 5 and 6; 7 is computed from both.
    found = layout([(40.0, 20.0)] * 8, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (3, 7), (6, 7)])
    rows = [y for _, y in found.boxes]
    assert rows[4:7] == rows[1:4]


def test_a_chain_goes_straight_down_whatever_joins_it() -> None:
    sizes = [(40.0, 20.0)] * 7
    found = layout(sizes, [(0, 3), (3, 4), (1, 4), (4, 5), (2, 5), (5, 6)])
    xs = [found.boxes[i][0] for i in (3, 4, 5, 6)]
    assert max(xs) - min(xs) < 5
