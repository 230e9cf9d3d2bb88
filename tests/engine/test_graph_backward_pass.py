"""The backward pass on graphs of integers: it sums over all paths, and is linear."""

from collections import Counter
from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from minispore.engine.graph import Node, backward_pass

Pull = Callable[[int], int]
# For each node its operands, as places in the list before it, each with a factor.
Graph = list[list[tuple[int, int | None]]]
factors = st.sampled_from([1, 2, -3, 5, None])


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph: Graph = [[]]
    for i in range(1, draw(st.integers(1, 6))):
        operand = st.tuples(st.integers(0, i - 1), factors)
        graph.append(draw(st.lists(operand, min_size=1, max_size=3)))
    return graph


def times(factor: int) -> Pull:
    return lambda gradient: factor * gradient


class RecordedGraph:
    """A graph of nodes, and its gradients for some seeds."""

    def __init__(self, graph: Graph) -> None:
        self.nodes: list[Node] = []
        self.pulls: dict[int, list[Pull | None]] = {}
        for operands in graph:
            # A pullback that is none stands for a constant operand, half of the time as no node.
            parents = [None if s is None and i % 2 else self.nodes[i] for i, s in operands]
            node = Node(parents)
            self.nodes.append(node)
            self.pulls[node.number] = [None if s is None else times(s) for _, s in operands]

    def back(
        self, seeds: Sequence[tuple[int, int]], requested: set[int], first_number: int = 0
    ) -> list[int]:
        numbers = [node.number for node in self.nodes]
        gradients = backward_pass(
            [(self.nodes[i], gradient) for i, gradient in seeds],
            {numbers[i] for i in requested},
            numbers[first_number],
            lambda node: self.pulls[node.number],
            int.__add__,
        )
        assert gradients.keys() <= {numbers[i] for i in requested}
        return [gradients.get(number, 0) for number in numbers]


def by_paths(graph: Graph, seeds: Sequence[tuple[int, int]], requested: set[int]) -> list[int]:
    """The naive computation: along each path, up to the first requested node."""
    sums: Counter[int] = Counter()

    def follow(index: int, gradient: int) -> None:
        if index in requested:
            sums[index] += gradient
            return
        for operand, factor in graph[index]:
            if factor is not None:
                follow(operand, factor * gradient)

    for index, gradient in seeds:
        follow(index, gradient)
    return [sums[i] for i in range(len(graph))]


def some_seeds(graph: Graph) -> st.SearchStrategy[list[tuple[int, int]]]:
    """Some gradients, one of them at the last node."""
    last = len(graph) - 1
    more = st.lists(st.tuples(st.integers(0, last), st.integers(-3, 3)), max_size=3)
    return more.map(lambda seeds: [(last, 1), *seeds])


@settings(max_examples=8 * settings().max_examples)
@given(graphs(), st.data())
def test_gradient_is_the_sum_over_all_paths(graph: Graph, data: st.DataObject) -> None:
    """This includes several seeds of one node."""
    seeds = data.draw(some_seeds(graph))
    requested = data.draw(st.sets(st.integers(0, len(graph) - 1)))
    assert RecordedGraph(graph).back(seeds, requested) == by_paths(graph, seeds, requested)


@settings(max_examples=8 * settings().max_examples)
@given(graphs(), st.data())
def test_older_nodes_are_constants_unless_requested(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(some_seeds(graph))
    requested = {0, *data.draw(st.sets(st.integers(0, len(graph) - 1), max_size=2))}
    first_number = data.draw(st.integers(0, len(graph) - 1))
    cut = [
        [(i, s if i >= first_number or i in requested else None) for i, s in operands]
        for operands in graph
    ]
    assert RecordedGraph(graph).back(seeds, requested, first_number) == by_paths(
        cut, seeds, requested
    )
