"""The layered layout: boxes do not overlap, each edge leads down, and few edges cross."""

from itertools import combinations, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.drawing._layered_layout import (
    BOX_GAP,
    LAYER_GAP,
    Point,
    _Layering,
    _layers,
    _separate,
    layout,
)
from tests.helpers.svg_reader import Rect

Edges = list[tuple[int, int]]
Graph = tuple[list[Point], Edges]
SQUARE = (40.0, 20.0)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Generate boxes of any size, and edges from earlier to later ones, possibly repeated."""
    sides = st.integers(10, 90).map(float)
    sizes = draw(st.lists(st.tuples(sides, sides), min_size=1, max_size=10))
    edges = Edges()
    for end in range(1, len(sizes)):
        starts = draw(st.lists(st.integers(0, end - 1), max_size=3))
        edges += [(start, end) for start in starts]
    return sizes, edges


@given(graphs())
def test_boxes_do_not_overlap_and_edges_lead_down(graph: Graph) -> None:
    sizes, edges = graph
    result = layout(sizes, edges)
    rects = [
        Rect(x - width / 2, x + width / 2, y, y + height)
        for (x, y), (width, height) in zip(result.boxes, sizes, strict=True)
    ]
    boxes_lie_apart_and_fill_the_drawing(rects, result.size)
    for (start, end), points in zip(edges, result.edges, strict=True):
        leads_down(points, result.boxes[start][0], rects[start], rects[end])
        keeps_clear(points, rects)
    for box, rect in enumerate(rects):
        # The ends are spread evenly, in the order in which the edges arrive.
        arriving = sorted(
            (points[-1][0], points[-2][0])
            for (_, end), points in zip(edges, result.edges, strict=True)
            if end == box
        )
        gap = (rect.right - rect.left) / (len(arriving) + 1)
        expected = [rect.left + k * gap for k in range(1, len(arriving) + 1)]
        assert [x for x, _ in arriving] == pytest.approx(expected)
        assert [before for _, before in arriving] == sorted(before for _, before in arriving)
    assert layout(sizes, edges) == result


def boxes_lie_apart_and_fill_the_drawing(rects: list[Rect], size: Point) -> None:
    for rect in rects:
        assert -1e-6 <= rect.left <= rect.right <= size[0] + 1e-6
        assert rect.top >= 0
    assert max(rect.bottom for rect in rects) == pytest.approx(size[1])
    for one, other in combinations(rects, 2):
        gap = max(one.left, other.left) - min(one.right, other.right) >= BOX_GAP - 1e-6
        below = max(one.top, other.top) - min(one.bottom, other.bottom) >= LAYER_GAP - 1e-6
        assert gap or below


def leads_down(points: list[Point], middle: float, start: Rect, end: Rect) -> None:
    """Check that an edge leads from the lower side of a box to the upper side of another."""
    assert points[0] == (middle, start.bottom)
    assert points[-1][1] == end.top
    assert end.left < points[-1][0] < end.right
    assert all(above[1] <= below[1] for above, below in pairwise(points))


def keeps_clear(points: list[Point], rects: list[Rect]) -> None:
    """Check that vertical parts cross no box, and slanted parts lie between two layers."""
    for (x, top), (other, bottom) in zip(points[::2], points[1::2], strict=False):
        assert x == other
        for rect in rects:
            if max(top, rect.top) < min(bottom, rect.bottom):
                gap = max(rect.left - x, x - rect.right)
                assert gap >= BOX_GAP - 1e-6
    for (_, top), (_, bottom) in zip(points[1::2], points[2::2], strict=True):
        assert top < bottom
        assert all(rect.bottom <= top or bottom <= rect.top for rect in rects)


@given(graphs())
@example(([SQUARE] * 5, [(0, 1), (0, 2), (2, 3), (3, 4), (1, 4)]))
def test_a_box_stays_above_its_users_and_close_to_them(graph: Graph) -> None:
    sizes, edges = graph
    layers = _layers(len(sizes), edges)
    assert all(layers[start] < layers[end] for start, end in edges)
    for i in range(len(sizes)):
        above = {start for start, end in edges if end == i}
        below = {end for start, end in edges if start == i}
        if below and not above:
            assert layers[i] == min(layers[end] for end in below) - 1
        # Moving a box that others use too would lengthen as many edges as it shortens.
        elif (
            above and len(below) == 1 and all(sum(s == j for s, _ in set(edges)) > 1 for j in above)
        ):
            assert layers[i] == max(layers[start] for start in above) + 1


@given(graphs())
def test_one_line_leads_from_a_box_to_all_its_users(graph: Graph) -> None:
    """Edges of one box share their points until they part."""
    sizes, edges = graph
    result = layout(sizes, edges)
    for (start, points), (other, points_of_other) in combinations(
        zip((start for start, _ in edges), result.edges, strict=True), 2
    ):
        if start == other:
            shared = min(len(points), len(points_of_other)) - 1
            assert points[:shared] == points_of_other[:shared]


def crossings(rows: list[list[int]], chains: list[list[int]]) -> int:
    """Return how many pairs of different parts of edges between two layers cross."""
    place = {node: x for row in rows for x, node in enumerate(row)}
    layer = {node: y for y, row in enumerate(rows) for node in row}
    parts = {part: 1 for chain in chains for part in pairwise(chain)}
    return sum(
        (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in combinations(parts, 2)
        if layer[a] == layer[c]
    )


def crossings_of(count: int, edges: Edges) -> tuple[int, int]:
    """Return the numbers of crossings in the initial order of the boxes and in the final one."""
    layering = _Layering([SQUARE[0]] * count, _layers(count, edges))
    chains = [layering.edge_with_dummy_nodes(edge) for edge in edges]
    initial = [list(row) for row in layering.rows]
    rows = layering.minimize_crossings()
    assert [sorted(row) for row in rows] == [sorted(row) for row in initial]
    return crossings(initial, chains), crossings(rows, chains)


@given(graphs())
def test_the_order_has_no_more_crossings_than_the_boxes_in_their_order(graph: Graph) -> None:
    sizes, edges = graph
    before, after = crossings_of(len(sizes), list(dict.fromkeys(edges)))
    assert after <= before


@given(st.data(), st.integers(2, 10), st.booleans())
def test_trees_have_no_crossings(data: st.DataObject, count: int, upwards: bool) -> None:
    """Graphs whose boxes have at most one user each, or at most one operand each."""
    edges = Edges()
    for box in range(1, count):
        other = data.draw(st.none() | st.integers(0, box - 1))
        if other is not None:
            edges.append((count - 1 - box, count - 1 - other) if upwards else (other, box))
    edges.sort(key=lambda edge: edge[1])
    assert crossings_of(count, edges)[1] == 0


@pytest.mark.parametrize(
    "edges", [[(0, 1), (2, 3), (2, 4), (1, 4)], [(0, 1), (2, 3), (1, 3), (2, 4)]]
)
def test_later_sweeps_do_not_lose_the_best_order(edges: Edges) -> None:
    assert crossings_of(5, edges)[1] == 0


@given(st.lists(st.tuples(*[st.integers(1, 40).map(float)] * 3), min_size=1, max_size=7))
def test_positions_without_overlap_are_the_closest_to_their_targets(
    boxes: list[tuple[float, float, float]],
) -> None:
    """By the conditions of Karush, Kuhn and Tucker for the sum of weighted squares."""
    targets, widths, weights = (list(column) for column in zip(*boxes, strict=True))
    at = _separate(targets, widths, weights)
    slack = [
        b - a - (width_a + width_b) / 2 - BOX_GAP
        for (a, width_a), (b, width_b) in pairwise(zip(at, widths, strict=True))
    ]
    assert all(gap >= -1e-9 for gap in slack)
    pull, pulls = 0.0, list[float]()
    for x, target, weight in zip(at, targets, weights, strict=True):
        pull += weight * (target - x)
        pulls.append(pull)
    assert pulls[-1] == pytest.approx(0.0, abs=1e-6)
    for multiplier, distance in zip(pulls, slack, strict=False):
        assert multiplier >= -1e-6
        assert multiplier * distance == pytest.approx(0.0, abs=1e-6)


@given(st.permutations(range(4)))
def test_operands_are_placed_in_order(order: list[int]) -> None:
    result = layout([SQUARE] * 5, [(i, 4) for i in order])
    places = [result.boxes[i][0] for i in order]
    assert places == sorted(places)
    assert [points[-1] for points in result.edges] == sorted(points[-1] for points in result.edges)


def test_values_of_parameters_are_placed_near_their_use() -> None:
    # 0, 1, 2 and 3 are a chain, and so are 4, 5 and 6; 7 is computed from both.
    result = layout([SQUARE] * 8, [(0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (3, 7), (6, 7)])
    rows = [y for _, y in result.boxes]
    assert rows[4:7] == rows[1:4]


@given(st.integers(2, 6), st.lists(st.booleans(), min_size=5, max_size=5))
def test_chain_of_operations_is_straight(length: int, leaf_first: list[bool]) -> None:
    """Whatever leaves its operations have."""
    edges = Edges()
    for i in range(1, length):
        pair = [(2 * i - 2, 2 * i), (2 * i - 1, 2 * i)]
        edges += pair[::-1] if leaf_first[i - 1] else pair
    result = layout([SQUARE] * (2 * length - 1), edges)
    xs = [result.boxes[i][0] for i in range(2, 2 * length - 1, 2)]
    assert max(xs) - min(xs) < 5
