"""Lesson 1: backpropagation visits the nodes of the graph in descending order of their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from types import ModuleType
from typing import TypeAlias, cast

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore.engine.array import Array
from minispore.engine.graph import Node

# The operands of a node: the index of an earlier node, and the derivative, None for an operand
# through which no gradient flows.
Operands: TypeAlias = tuple[tuple[int, int | None], ...]

_SUBJECT = "your backward_pass"


@dataclass(frozen=True)
class Case:
    """A graph of integers in which each node is a linear combination of earlier nodes.

    Attributes:
        graph: The operands of each node.
        seeds: The indices of the outputs, each with its seed gradient.
        inputs: The indices of the nodes whose gradients are requested.
        first: Nodes with a lower index are constants, unless they are among `inputs`.
    """

    graph: tuple[Operands, ...]
    seeds: tuple[tuple[int, int], ...]
    inputs: frozenset[int] = frozenset({0})
    first: int = 0

    def __str__(self) -> str:
        nodes = [f"n{i} = {_sum(operands)}" for i, operands in enumerate(self.graph) if operands]
        leaves = [f"n{i}" for i, operands in enumerate(self.graph) if not operands]
        seeds = [f"{gradient} at n{i}" for i, gradient in self.seeds]
        inputs = [f"n{i}" for i in sorted(self.inputs)]
        text = f"the inputs {', '.join(leaves)}" if len(leaves) > 1 else f"the input {leaves[0]}"
        text = "; ".join([text, *nodes])
        first = f" with first_number at n{self.first}" if self.first else ""
        return f"{text}, from the gradients {', '.join(seeds)} to {', '.join(inputs)}{first}"

    def actual(self, work: ModuleType) -> dict[str, object]:
        """Return the gradients that the learner's function computes, by node names.

        Raises:
            WrongResult: It asks for a node's pullbacks twice, or does not return a dict.
        """
        nodes = list[Node]()
        for operands in self.graph:
            # Half of the operands without a gradient have no node either.
            parents = [None if d is None and i % 2 else nodes[i] for i, d in operands]
            nodes.append(Node(parents, [None if d is None else _times(d) for _, d in operands]))
        numbers = [node.number for node in nodes]
        visited = set[int]()

        def get_pullbacks(node: Node) -> object:
            if node.number in visited:
                raise WrongResult(
                    f"{_SUBJECT} asked n{numbers.index(node.number)} for its pullbacks twice, "
                    "but each node must be visited once"
                )
            visited.add(node.number)
            return node.pullbacks

        result = work.backward_pass(
            [(nodes[i], gradient) for i, gradient in self.seeds],
            {numbers[i] for i in self.inputs},
            numbers[self.first],
            get_pullbacks,
            int.__add__,
        )
        if not isinstance(result, dict):
            raise WrongResult(f"{_SUBJECT} returned {result!r}, but a dict was expected")
        gradients = cast("dict[int, object]", result)
        names = {number: f"n{index}" for index, number in enumerate(numbers)}
        return {names.get(n, f"the number {n}"): gradients[n] for n in sorted(gradients)}

    def expected(self) -> dict[str, object]:
        """Return the same, computed naively: path by path, up to the first requested node."""
        sums: dict[int, int] = {}

        def follow(index: int, gradient: int) -> None:
            if index in self.inputs:
                sums[index] = sums.get(index, 0) + gradient
                return
            for operand, derivative in self.graph[index]:
                if derivative is not None and (operand >= self.first or operand in self.inputs):
                    follow(operand, derivative * gradient)

        for index, gradient in self.seeds:
            follow(index, gradient)
        return {f"n{index}": sums[index] for index in sorted(sums)}


def _sum(operands: Operands) -> str:
    return " + ".join(f"constant(n{i})" if d is None else f"{d}·n{i}" for i, d in operands)


def _times(derivative: int) -> Callable[[Array], Array]:
    """Return a pullback on integers: the graph does not depend on the type of the gradients."""

    def times(gradient: int) -> int:
        return derivative * gradient

    return cast("Callable[[Array], Array]", times)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    constants: bool = False,
    outputs: int = 1,
    inputs: bool = False,
    first: bool = False,
) -> Case:
    """Generate graphs of up to six nodes, whose first node is an input."""
    derivatives = st.sampled_from([1, 2, -3, None] if constants else [1, 2, -3])
    graph = list[Operands]([()])
    for i in range(1, draw(st.integers(2, 6))):
        operands = st.lists(st.tuples(st.integers(0, i - 1), derivatives), min_size=1, max_size=3)
        graph.append(tuple(draw(operands)))
    indices = st.integers(0, len(graph) - 1)
    seeds = [(len(graph) - 1, 1)]
    if outputs > 1:
        pairs = st.tuples(indices, st.sampled_from([1, 2]))
        seeds = draw(st.lists(pairs, min_size=1, max_size=outputs))
    return Case(
        tuple(graph),
        tuple(seeds),
        frozenset({0}) | draw(st.frozensets(indices, max_size=2)) if inputs else frozenset({0}),
        draw(st.integers(1, len(graph) - 1)) if first else 0,
    )


def _is_correct(work: ModuleType, case: Case) -> None:
    expect(_SUBJECT, case.actual(work), case.expected())


@dataclass(frozen=True)
class Big:
    """A graph that is deep or wide, or has exponentially many paths.

    Attributes:
        length: The number of operations in a chain.
        twice: Whether each operation uses its operand twice.
        width: The number of chains, which start at the same input and are summed at the end.
    """

    length: int = 1
    twice: bool = False
    width: int = 1

    def __str__(self) -> str:
        chain = f"a chain of {self.length} operations"
        if self.width > 1:
            return f"a sum of {self.width} operations on one input"
        return f"{chain} that each use their operand twice" if self.twice else chain

    def ends(self) -> tuple[Node, Node]:
        """Return the input and the output."""
        first = Node()
        chains = list[Node]()
        for _ in range(self.width):
            node = first
            for _ in range(self.length):
                node = Node([node] * (1 + self.twice), [_times(1)] * (1 + self.twice))
            chains.append(node)
        return first, Node(chains, [_times(1)] * self.width)


def _takes_linear_time(work: ModuleType, big: Big) -> None:
    first, last = big.ends()
    gradients = work.backward_pass(
        [(last, 1)], {first.number}, 0, attrgetter("pullbacks"), int.__add__
    )
    expect(_SUBJECT, gradients[first.number], big.width * (1 + big.twice) ** big.length)


LESSON = Lesson(
    title="Backpropagation on a computational graph",
    exercise=CodeExercise(
        module="minispore.engine.graph",
        tasks={
            "backward_pass": "Visit the nodes in descending order of their numbers. Store, for "
            "each node that is still to be visited, the sum of its gradients so far."
        },
        properties=(
            Property(
                "A gradient is the sum, over all paths, of the products of the derivatives.",
                cases(), _is_correct, examples=40,
            ),
            Property(
                "An operand that is None, or whose pullback is None, gets no gradient.",
                cases(constants=True), _is_correct, examples=40,
            ),
            Property(
                "There may be several outputs, also the same one twice.",
                cases(outputs=3), _is_correct, examples=40,
            ),
            Property(
                "The backward pass ends at the nodes in `inputs` and returns their gradients.",
                cases(inputs=True), _is_correct, examples=40,
            ),
            Property(
                "A node whose number is below `first_number` is a constant, unless it is in "
                "`inputs`.",
                cases(inputs=True, first=True), _is_correct, examples=100,
            ),
            Property(
                "The time is proportional to the number of nodes, not to the number of paths.",
                st.sampled_from([Big(40, twice=True), Big(10_000), Big(width=50_000)]),
                _takes_linear_time, examples=12,  # of which three are different
            ),
        ),
        bugs=bugs(
            "backward_pass",
            ("a value that is used twice keeps only the last of its gradients",
             "if number in pending:\n                ",
             "if number in pending:\n                add = lambda _, last: last; "),
            ("an output that is given twice counts once",
             "add(pending[number][1], gradient)", "gradient"),
            ("the nodes are visited in the order in which they are reached",
             "-heappop(heap)", "-heap.pop(0)"),
            ("the backward pass continues beyond the requested nodes",
             "= gradient\n            continue", "= gradient"),
            ("nodes from before the differentiation are visited as well",
             "number < first_number and number not in inputs", "False"),
            ("a requested node from before the differentiation is not reached",
             "number < first_number and number not in inputs", "number < first_number"),
            ("an operand without a gradient is followed",
             "parent is None or pullback is None", "parent is None"),
            ("the time grows with the square of the number of nodes",
             "-heappop(heap)", "-min(heap); heap.remove(-number)"),
        ),
    ),
    hints="""
        Start with a dictionary from numbers to (node, gradient), filled from `seeds`. If an
        output occurs twice, add its gradients.

        While the dictionary is not empty, remove the entry with the highest number. Each node
        that could still contribute to its gradient has a higher number, and was visited before.

        If its number is in `inputs`, put its gradient into the result and continue with the next
        node. Otherwise add pullback(gradient) to the gradient of each parent.

        max(pending) is correct, but the time grows with the square of the number of nodes: a heap
        of the negated numbers (heapq) finds the highest number faster. Push a number only when it
        is new.
        """,
)  # fmt: skip
