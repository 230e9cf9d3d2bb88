"""Where the boxes of a graph go: in layers, so that every edge leads down.

An edge that passes layers goes through a place of its own in each of them; boxes and places of a
layer are ordered so that few edges cross, and then moved towards what they are joined to. This is
the method of Sugiyama, Tagawa and Toda (1981), each step in its simplest form.
"""

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

# Between two boxes of a layer, between two layers, and for an edge on its way through a layer.
BESIDE = 20.0
BELOW = 40.0
PASSAGE = 8.0
_SWEEPS = 12
# How much it matters where an operand is that is computed from nothing, beside what is computed:
# so little that a chain of operations goes straight down, whatever joins it from the sides.
_ASIDE = 0.02
# How far an operand belongs to the right of the one before, in places of a layer.
_NEXT = 0.001


class Layout(NamedTuple):
    """Places for boxes and edges.

    Attributes:
        boxes: For each box the middle of its upper edge.
        edges: For each edge the points that it passes, from the box above to the box below. It
            goes straight down from an even point to the next, and slants from there.
        size: The width and height of the whole.
    """

    boxes: list[Point]
    edges: list[list[Point]]
    size: Point


def layout(sizes: Sequence[Point], edges: Sequence[tuple[int, int]]) -> Layout:
    """Places for boxes of these widths and heights, and for edges between them.

    Args:
        sizes: The width and height of each box.
        edges: From which box to which later one; two may be alike.
    """
    layers = _layers(len(sizes), edges)
    graph = _Grid([width for width, _ in sizes], layers)
    chains = [graph.chain(edge) for edge in edges]
    rows = graph.ordered()
    x = graph.placed(rows)
    heights = [max((sizes[i][1] for i in row if i < len(sizes)), default=0.0) for row in rows]
    tops = [sum(heights[:k]) + k * BELOW for k in range(len(rows))]
    left = min((x[i] - graph.widths[i] / 2 for i in range(len(x))), default=0.0)
    right = max((x[i] + graph.widths[i] / 2 for i in range(len(x))), default=0.0)
    x = [at - left for at in x]
    boxes = [(x[i], tops[layers[i]]) for i in range(len(sizes))]
    ports = _ports(chains, x, sizes)
    ways = list[list[Point]]()
    for (start, _), chain, port in zip(edges, chains, ports, strict=True):
        first = layers[start]
        way = [(x[start], tops[first] + sizes[start][1]), (x[start], tops[first] + heights[first])]
        for row, place in enumerate(chain[1:-1], first + 1):
            way += [(x[place], tops[row]), (x[place], tops[row] + heights[row])]
        way.append((port, tops[first + len(chain) - 1]))
        ways.append(way)
    return Layout(boxes, ways, (right - left, sum(heights) + BELOW * (len(rows) - 1)))


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each box: below the lowest that leads to it, and no further up than helps.

    A box moves down to what it leads to if the edges that this makes longer are fewer than those
    that it makes shorter. What leads to this box alone moves with it.
    """
    above = [{start for start, end in edges if end == i} for i in range(count)]
    below = [{end for start, end in edges if start == i} for i in range(count)]
    layers = [0] * count
    alone = [False] * count
    for i in range(count):
        layers[i] = max((layers[j] + 1 for j in above[i]), default=0)
        alone[i] = len(below[i]) == 1 and all(alone[j] for j in above[i])
    for i in reversed(range(count)):
        if below[i] and sum(not alone[j] for j in above[i]) < len(below[i]):
            layers[i] = min(layers[j] for j in below[i]) - 1
    return layers


class _Grid:
    """Boxes, and behind them in number the places where edges pass, layer by layer."""

    def __init__(self, widths: list[float], layers: list[int]) -> None:
        self.widths = widths
        self.rows: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
        self._layers = layers
        for i, layer in enumerate(layers):
            self.rows[layer].append(i)
        self._above: list[list[int]] = [[] for _ in widths]
        self._below: list[list[int]] = [[] for _ in widths]
        self._passages: dict[tuple[int, int], int] = {}
        # Operands of one box stand in their order, where nothing else is gained: first x, then y.
        self._order: dict[tuple[int, int], float] = {}

    def chain(self, edge: tuple[int, int]) -> list[int]:
        """A box, the places on the way, and the other box; edges from one box go together."""
        start, end = edge
        chain = [start]
        for row in range(self._layers[start] + 1, self._layers[end]):
            if (start, row) not in self._passages:
                self._passages[start, row] = len(self.widths)
                self.rows[row].append(len(self.widths))
                self.widths.append(PASSAGE)
                self._above.append([])
                self._below.append([])
            chain.append(self._passages[start, row])
        chain.append(end)
        self._order[chain[-2], end] = _NEXT * len(self._above[end])
        for upper, lower in pairwise(chain):
            self._below[upper].append(lower)
            self._above[lower].append(upper)
        return chain

    def ordered(self) -> list[list[int]]:
        """Each layer from left to right, so that few edges cross."""
        rows = [list(row) for row in self.rows]
        best, fewest = rows, self._crossings(rows)
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            joined = self._above if down else self._below
            rows = [list(row) for row in rows]
            for row in rows if down else reversed(rows):
                at = {i: float(place) for each in rows for place, i in enumerate(each)}
                means = {i: self._middle(i, joined[i], at) for i in row}
                row.sort(key=means.__getitem__)
            crossings = self._crossings(rows)
            if crossings <= fewest:
                best, fewest = rows, crossings
        return best

    def placed(self, rows: list[list[int]]) -> list[float]:
        """Where the middle of each box or place is, near to what it is joined to."""
        x = [0.0] * len(self.widths)
        weights = [1.0 if above else _ASIDE for above in self._above]
        for sweep in range(_SWEEPS + 1):
            down = sweep % 2 == 0
            joined = self._above if down else self._below
            for row in rows if down else reversed(rows):
                wanted = [_mean([(x[j], weights[j]) for j in joined[i]], x[i]) for i in row]
                widths, heavy = [self.widths[i] for i in row], [weights[i] for i in row]
                for i, at in zip(row, _apart(wanted, widths, heavy), strict=True):
                    x[i] = at
        return x

    def _middle(self, i: int, joined: Sequence[int], at: Mapping[int, float]) -> float:
        return _mean([(at[j] + self._order.get((i, j), 0.0), 1.0) for j in joined], at[i])

    def _crossings(self, rows: list[list[int]]) -> int:
        count = 0
        for upper, lower in pairwise(rows):
            at = {i: place for place, i in enumerate(lower)}
            ends = list[int]()
            for i in upper:
                mine = sorted(at[j] for j in self._below[i])
                count += sum(len(ends) - bisect(ends, place) for place in mine)
                ends = sorted(ends + mine)
        return count


def _mean(weighted: Sequence[tuple[float, float]], otherwise: float) -> float:
    total = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / total if weighted else otherwise


def _apart(
    wanted: Sequence[float], widths: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """The places nearest to the wanted ones, by weighted least squares, at which nothing overlaps.

    With what stands to the left of each taken off, the places must not decrease: neighbours that
    would are brought together to their mean, until none are left.
    """
    offsets, offset = list[float](), 0.0
    for i, width in enumerate(widths):
        offset += (widths[i - 1] + width) / 2 + BESIDE if i else 0.0
        offsets.append(offset)
    # Of neighbours at one place: the place, their weight, and how many they are.
    level = list[tuple[float, float, int]]()
    for place, off, weight in zip(wanted, offsets, weights, strict=True):
        mean, total, count = place - off, weight, 1
        while level and level[-1][0] > mean:
            other, more, size = level.pop()
            mean = (mean * total + other * more) / (total + more)
            total, count = total + more, count + size
        level.append((mean, total, count))
    means = [mean for mean, _, count in level for _ in range(count)]
    return [mean + off for mean, off in zip(means, offsets, strict=True)]


def _ports(chains: Sequence[list[int]], x: Sequence[float], sizes: Sequence[Point]) -> list[float]:
    """Where on the upper edge of its box each edge ends: side by side, in the order they come."""
    ports = [0.0] * len(chains)
    ends = dict[int, list[int]]()
    for number, chain in enumerate(chains):
        ends.setdefault(chain[-1], []).append(number)
    for box, numbers in ends.items():
        gap = sizes[box][0] / (len(numbers) + 1)
        for k, number in enumerate(sorted(numbers, key=lambda n: x[chains[n][-2]]), 1):
            ports[number] = x[box] - sizes[box][0] / 2 + k * gap
    return ports
