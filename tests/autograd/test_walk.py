"""The walk back by itself, on graphs of whole numbers: the sum over all paths, and linear."""

from collections import Counter
from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from minispore._array import Array
from minispore._autograd import Node, walk

Pull = Callable[[int], int]
# For each node its operands, as places in the list before it, each with a slope.
Graph = list[list[tuple[int, int | None]]]
slopes = st.sampled_from([1, 2, -3, 5, None])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph: Graph = [[]]
    for i in range(1, draw(st.integers(1, 6))):
        operand = st.tuples(st.integers(0, i - 1), slopes)
        graph.append(draw(st.lists(operand, min_size=1, max_size=3)))
    return graph


def times(slope: int) -> Pull:
    return lambda gradient: slope * gradient


class Walked:
    """A graph of nodes, and its gradients from some seeds."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.pulls: dict[int, list[Pull | None]] = {}
        for operands in graph:
            # A pullback that is none stands for a constant operand, half of the time as no node.
            parents = [None if s is None and i % 2 else self.nodes[i] for i, s in operands]
            node = Node(parents)
            self.nodes.append(node)
            self.pulls[node.number] = [None if s is None else times(s) for _, s in operands]

    def back(self, seeds: Sequence[tuple[int, int]], wanted: set[int], since: int = 0) -> list[int]:
        numbers = [node.number for node in self.nodes]
        found = walk(
            [(self.nodes[i], gradient) for i, gradient in seeds],
            {numbers[i] for i in wanted},
            numbers[since],
            lambda node: self.pulls[node.number],
            int.__add__,
        )
        assert found.keys() <= {numbers[i] for i in wanted}
        return [found.get(number, 0) for number in numbers]


def by_paths(graph: Graph, seeds: Sequence[tuple[int, int]], wanted: set[int]) -> list[int]:
    """The naive way: along each path by itself, as far as the first node that is wanted."""
    sums: Counter[int] = Counter()

    def follow(place: int, gradient: int) -> None:
        if place in wanted:
            sums[place] += gradient
            return
        for operand, slope in graph[place]:
            if slope is not None:
                follow(operand, slope * gradient)

    for place, gradient in seeds:
        follow(place, gradient)
    return [sums[i] for i in range(len(graph))]


def some_seeds(graph: Graph) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Some gradients, one of them at the last node."""
    last = len(graph) - 1
    more = st.lists(st.tuples(st.integers(0, last), st.integers(-3, 3)), max_size=3)
    return more.map(lambda seeds: [(last, 1), *seeds])


@settings(max_examples=200)
@given(graphs(), st.data())
def test_a_gradient_is_the_sum_over_all_paths(graph: Graph, data: st.DataObject) -> None:
    """Also where several seeds are of one node."""
    seeds = data.draw(some_seeds(graph))
    wanted = data.draw(st.sets(st.integers(0, len(graph) - 1)))
    assert Walked(graph).back(seeds, wanted) == by_paths(graph, seeds, wanted)


@settings(max_examples=200)
@given(graphs(), st.data())
def test_what_is_older_is_a_constant_unless_it_is_wanted(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(some_seeds(graph))
    wanted = {0, *data.draw(st.sets(st.integers(0, len(graph) - 1), max_size=2))}
    since = data.draw(st.integers(0, len(graph) - 1))
    cut = [
        [(i, s if i >= since or i in wanted else None) for i, s in operands] for operands in graph
    ]
    assert Walked(graph).back(seeds, wanted, since) == by_paths(cut, seeds, wanted)


def test_a_node_remembers_what_it_was_made_with_and_numbers_rise() -> None:
    def rule(x: Array) -> Array:
        return x

    older, newer = Node(), Node((None,), (None,), rule, (), (1,))
    assert older.number < newer.number
    assert (older.parents, older.pullbacks, older.operands, older.args) == ((), (), (), ())
    assert older.rule is None
    assert newer.rule is rule
    assert (newer.parents, newer.pullbacks, newer.operands, newer.args) == (
        (None,),
        (None,),
        (),
        (1,),
    )
