"""Layered graph layout: assign boxes to layers so that each edge leads down.

An edge that crosses layers gets a dummy node in each of them. The nodes of a layer are ordered to
minimize crossings of edges, and then moved towards their neighbours. This is the method of
Sugiyama, Tagawa and Toda (1981), with a simple form of each step.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

# The distance of boxes in a layer, the distance of layers, and the width of a dummy node.
BOX_GAP = 20.0
LAYER_GAP = 40.0
DUMMY_WIDTH = 8.0
_SWEEPS = 12
# The weight of a leaf in the position of its user, relative to a computed operand: so small that a
# chain of operations is straight, whatever leaves it has.
_LEAF_WEIGHT = 0.02
# The offset of an operand to the right of the previous one, in positions of a layer.
_OPERAND_OFFSET = 0.001


class Layout(NamedTuple):
    """The positions of boxes and edges.

    Attributes:
        boxes: For each box the middle of its upper side.
        edges: For each edge its points, from the upper to the lower box. It is vertical from an
            even point to the next, and slanted from there.
        size: The width and height of the drawing.
    """

    boxes: list[Point]
    edges: list[list[Point]]
    size: Point


def layout(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return the positions of boxes and edges.

    Args:
        sizes: The width and height of each box.
        edges: The indices of a box and of a later box; edges may be equal.
    """
    layers = _layers(len(sizes), edges)
    graph = _Layering([width for width, _ in sizes], layers)
    chains = [graph.edge_with_dummy_nodes(edge) for edge in edges]
    rows = graph.minimize_crossings()
    x = graph.assign_coordinates(rows)
    heights = [max((sizes[i][1] for i in row if i < len(sizes)), default=0.0) for row in rows]
    tops = [sum(heights[:k]) + k * LAYER_GAP for k in range(len(rows))]
    left = min((x[i] - graph.widths[i] / 2 for i in range(len(x))), default=0.0)
    right = max((x[i] + graph.widths[i] / 2 for i in range(len(x))), default=0.0)
    x = [at - left for at in x]
    boxes = [(x[i], tops[layers[i]]) for i in range(len(sizes))]
    ports = _ports(chains, x, sizes)
    paths = list[list[Point]]()
    for (start, _), chain, port in zip(edges, chains, ports, strict=True):
        first = layers[start]
        path = [(x[start], tops[first] + sizes[start][1]), (x[start], tops[first] + heights[first])]
        for row, dummy in enumerate(chain[1:-1], first + 1):
            path += [(x[dummy], tops[row]), (x[dummy], tops[row] + heights[row])]
        path.append((port, tops[first + len(chain) - 1]))
        paths.append(path)
    return Layout(boxes, paths, (right - left, sum(heights) + LAYER_GAP * (len(rows) - 1)))


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: below its predecessors, but as low as this shortens edges.

    A box moves down towards its successors if this shortens more edges than it lengthens.
    Predecessors that have no other successor move with it.
    """
    above = [{start for start, end in edges if end == i} for i in range(count)]
    below = [{end for start, end in edges if start == i} for i in range(count)]
    layers, single_use = list[int](), list[bool]()
    for i in range(count):
        layers.append(max((layers[j] + 1 for j in above[i]), default=0))
        single_use.append(len(below[i]) == 1 and all(single_use[j] for j in above[i]))
    for i in reversed(range(count)):
        if below[i] and sum(not single_use[j] for j in above[i]) < len(below[i]):
            layers[i] = min(layers[j] for j in below[i]) - 1
    return layers


class _Layering:
    """The boxes of each layer, followed by dummy nodes, which have higher indices."""

    def __init__(self, widths: list[float], layers: list[int]) -> None:
        self.widths = widths
        self.rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
        self._layers = layers
        for i, layer in enumerate(layers):
            self.rows[layer].append(i)
        self._above: list[list[int]] = [[] for _ in widths]
        self._below: list[list[int]] = [[] for _ in widths]
        self._dummies: dict[tuple[int, int], int] = {}
        # Operands of one box are in their order if this causes no crossings: first x, then y.
        self._order: dict[tuple[int, int], float] = {}

    def edge_with_dummy_nodes(self, edge: tuple[int, int]) -> list[int]:
        """Return the two boxes with the dummy nodes between them, which edges of one box share."""
        start, end = edge
        chain = [start]
        for row in range(self._layers[start] + 1, self._layers[end]):
            if (start, row) not in self._dummies:
                self._dummies[start, row] = len(self.widths)
                self.rows[row].append(len(self.widths))
                self.widths.append(DUMMY_WIDTH)
                self._above.append([])
                self._below.append([])
            chain.append(self._dummies[start, row])
        chain.append(end)
        self._order[chain[-2], end] = _OPERAND_OFFSET * len(self._above[end])
        for upper, lower in pairwise(chain):
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        return chain

    def minimize_crossings(self) -> list[list[int]]:
        """Return the nodes of each layer from left to right, in an order with few crossings."""
        rows = [list(row) for row in self.rows]
        best, fewest = rows, self._crossings(rows)
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            rows = [list(row) for row in rows]
            for row in rows if down else reversed(rows):
                at = {i: float(position) for layer in rows for position, i in enumerate(layer)}
                means = {i: self._middle(i, neighbours[i], at) for i in row}
                row.sort(key=means.__getitem__)
            crossings = self._crossings(rows)
            if crossings <= fewest:
                best, fewest = rows, crossings
        return best

    def assign_coordinates(self, rows: list[list[int]]) -> list[float]:
        """Return the horizontal middle of each node, close to its neighbours."""
        x = [0.0] * len(self.widths)
        weights = [1.0 if above else _LEAF_WEIGHT for above in self._above]
        for sweep in range(_SWEEPS + 1):
            down = sweep % 2 == 0
            neighbours = self._above if down else self._below
            for row in rows if down else reversed(rows):
                targets = [_mean([(x[j], weights[j]) for j in neighbours[i]], x[i]) for i in row]
                widths, row_weights = [self.widths[i] for i in row], [weights[i] for i in row]
                for i, at in zip(row, _separate(targets, widths, row_weights), strict=True):
                    x[i] = at
        return x

    def _middle(self, i: int, neighbours: Sequence[int], at: Mapping[int, float]) -> float:
        return _mean([(at[j] + self._order.get((i, j), 0.0), 1.0) for j in neighbours], at[i])

    def _crossings(self, rows: list[list[int]]) -> int:
        count = 0
        for upper, lower in pairwise(rows):
            at = {i: position for position, i in enumerate(lower)}
            ends = list[int]()
            for i in upper:
                mine = sorted(at[j] for j in self._below[i])
                count += sum(len(ends) - bisect(ends, end) for end in mine)
                ends = sorted(ends + mine)
        return count


def _mean(weighted: Sequence[tuple[float, float]], otherwise: float) -> float:
    total = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / total if weighted else otherwise


def _separate(
    targets: Sequence[float], widths: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """Return the positions without overlap that are closest to the targets (weighted squares).

    After the widths to the left are subtracted, positions must not decrease: this is isotonic
    regression, by the pool-adjacent-violators algorithm.
    """
    offsets, offset = list[float](), 0.0
    for i, width in enumerate(widths):
        offset += (widths[i - 1] + width) / 2 + BOX_GAP if i else 0.0
        offsets.append(offset)
    # Pools of neighbours: position, total weight, and number.
    pools = list[tuple[float, float, int]]()
    for target, off, weight in zip(targets, offsets, weights, strict=True):
        mean, total, count = target - off, weight, 1
        while pools and pools[-1][0] > mean:
            other, more, size = pools.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + size
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + off for mean, off in zip(means, offsets, strict=True)]


def _ports(chains: Sequence[list[int]], x: Sequence[float], sizes: Sequence[Point]) -> list[float]:
    """Return the horizontal end of each edge, evenly spaced on the upper side of its box."""
    ports = [0.0] * len(chains)
    ends = dict[int, list[int]]()
    for number, chain in enumerate(chains):
        ends.setdefault(chain[-1], []).append(number)
    for box, numbers in ends.items():
        gap = sizes[box][0] / (len(numbers) + 1)
        for k, number in enumerate(sorted(numbers, key=lambda n: x[chains[n][-2]]), 1):
            ports[number] = x[box] - sizes[box][0] / 2 + k * gap
    return ports
