"""Lesson 1: backpropagation visits the nodes of the graph in descending order of their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore.engine.graph import Node

# The operands of a node: the index of an earlier node, and the derivative.
Operands: TypeAlias = tuple[tuple[int, int], ...]
_Vector: TypeAlias = npt.NDArray[np.int64]
_Edge: TypeAlias = tuple[Node, Callable[[_Vector], _Vector]]

_SUBJECT = "your backward_pass"


@dataclass(frozen=True)
class Case:
    """A graph of integers in which each node is a linear combination of earlier nodes.

    Attributes:
        graph: The operands of each node; those of an input are empty.
        seeds: The indices of the outputs, each with its seed gradient.
    """

    graph: tuple[Operands, ...]
    seeds: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        nodes = [f"n{i} = {_sum(operands)}" for i, operands in enumerate(self.graph) if operands]
        inputs = [f"n{i}" for i, operands in enumerate(self.graph) if not operands]
        seeds = [f"{gradient} at n{i}" for i, gradient in self.seeds]
        listed = ", ".join(inputs)
        text = "; ".join([f"the input{'s' * (len(inputs) > 1)} {listed}", *nodes])
        return f"{text}, from the gradients {', '.join(seeds)} to {listed}"

    def actual(self, work: ModuleType) -> dict[str, object]:
        """Return the gradients that the learner's function computes, by node names.

        Raises:
            WrongResult: It asks for a node's edges twice, or does not return a dict.
        """
        nodes = [Node() for _ in self.graph]
        numbers = [node.number for node in nodes]
        visited = set[int]()

        def edges(node: Node) -> list[_Edge]:
            index = numbers.index(node.number)
            if index in visited:
                raise WrongResult(
                    f"{_SUBJECT} asked n{index} for its edges twice, but each node must be visited "
                    "once"
                )
            visited.add(index)
            return [(nodes[i], _pullback(derivative)) for i, derivative in self.graph[index]]

        seeds = [(nodes[i], _vector(gradient)) for i, gradient in self.seeds]
        result = work.backward_pass(seeds, edges)
        if not isinstance(result, dict):
            raise WrongResult(f"{_SUBJECT} returned {result!r}, but a dict was expected")
        gradients = cast("dict[int, object]", result)
        names = {number: f"n{index}" for index, number in enumerate(numbers)}
        return {names.get(n, f"the number {n}"): _number(gradients[n]) for n in sorted(gradients)}

    def expected(self) -> dict[str, object]:
        """Return the same, computed naively: path by path."""
        sums: dict[int, int] = {}

        def follow(index: int, gradient: int) -> None:
            if not self.graph[index]:
                sums[index] = sums.get(index, 0) + gradient
            for operand, derivative in self.graph[index]:
                follow(operand, derivative * gradient)

        for index, gradient in self.seeds:
            follow(index, gradient)
        return {f"n{index}": sums[index] for index in sorted(sums)}


def _sum(operands: Operands) -> str:
    return " + ".join(f"{derivative}·n{i}" for i, derivative in operands)


def _vector(number: int) -> _Vector:
    """Return an array for a gradient: it has no truth value, and must not be modified."""
    vector = np.array([number, -number])
    vector.flags.writeable = False
    return vector


def _number(gradient: object) -> object:
    """Return the number of which a gradient is the array; other values as they are."""
    if not isinstance(gradient, np.ndarray):
        return gradient
    elements: list[object] = gradient.tolist()
    number = elements[0] if elements else None
    return number if isinstance(number, int) and elements == [number, -number] else elements


def _pullback(derivative: int) -> Callable[[_Vector], _Vector]:
    def pullback(gradient: _Vector) -> _Vector:
        # As in some rules, the result may be the argument.
        result = gradient if derivative == 1 else derivative * gradient
        result.flags.writeable = False
        return result

    return pullback


@st.composite
def cases(draw: st.DrawFn, *, inputs: bool = False, outputs: int = 1) -> Case:
    """Generate graphs of up to six nodes, whose first node is an input."""
    derivatives = st.sampled_from([1, 2, -3])
    graph = list[Operands]([()])
    for i in range(1, draw(st.integers(2, 6))):
        operand = st.tuples(st.integers(0, i - 1), derivatives)
        graph.append(tuple(draw(st.lists(operand, min_size=not inputs, max_size=3))))
    seeds = [(len(graph) - 1, 1)]
    if outputs > 1:
        pairs = st.tuples(st.integers(0, len(graph) - 1), st.sampled_from([1, 2]))
        seeds = draw(st.lists(pairs, min_size=1, max_size=outputs))
    return Case(tuple(graph), tuple(seeds))


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

    def nodes(self) -> list[Node]:
        """Return the nodes, from the input to the output.

        While the list holds them, none is freed by the next one: WebAssembly's stack is too small
        for freeing a whole chain at once.
        """
        nodes, ends = [Node()], list[Node]()
        for _ in range(self.width):
            node = nodes[0]
            for _ in range(self.length):
                node = Node([node] * (1 + self.twice))
                nodes.append(node)
            ends.append(node)
        return [*nodes, Node(ends)]


def _takes_linear_time(work: ModuleType, big: Big) -> None:
    nodes = big.nodes()

    def one(gradient: int) -> int:
        return gradient

    def edges(node: Node) -> list[tuple[Node | None, Callable[[int], int]]]:
        return [(parent, one) for parent in node.parents]

    gradients = work.backward_pass([(nodes[-1], 1)], edges)
    expect(_SUBJECT, gradients[nodes[0].number], big.width * (1 + big.twice) ** big.length)


LESSON = Lesson(
    title="Backpropagation on a computational graph",
    exercise=CodeExercise(
        module="minispore._course.solutions.backward",
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
                "The result has the gradient of each input that is reached, by its number.",
                cases(inputs=True), _is_correct, examples=40,
            ),
            Property(
                "There may be several outputs, also the same one twice.",
                cases(inputs=True, outputs=3), _is_correct, examples=100,
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
             "pending[number][1] + contribution", "contribution"),
            ("an output that is given twice counts once",
             "pending[number][1] + gradient", "gradient"),
            ("the nodes are visited in the order in which they are reached",
             "-heappop(heap)", "-heap.pop(0)"),
            ("only the first input is in the result",
             "if not operands:", "if not operands and not result:"),
            ("the time grows with the square of the number of nodes",
             "-heappop(heap)", "-min(heap); heap.remove(-number)"),
        ),
    ),
    hints="""
        Start with a dictionary from numbers to (node, gradient), filled from `seeds`. If an
        output occurs twice, add its gradients.

        While the dictionary is not empty, remove the entry with the highest number. Each node
        that could still contribute to its gradient has a higher number, and was visited before.

        If edges(node) is empty, put the gradient into the result. Otherwise add
        pullback(gradient) to the gradient of each operand.

        max(pending) is correct, but the time grows with the square of the number of nodes: a heap
        of the negated numbers (heapq) finds the highest number faster. Push a number only when it
        is new.
        """,
)  # fmt: skip
