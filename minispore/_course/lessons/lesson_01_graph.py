"""Lesson 1: the numbers of the nodes are the order of the walk."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from types import ModuleType
from typing import cast

from hypothesis import strategies as st

from minispore._array import Array
from minispore._autograd.graph import Node
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect


@dataclass(frozen=True)
class Case:
    """A graph of whole numbers, in which a node is a sum of earlier ones, each times a slope.

    Attributes:
        graph: For each node its operands: the place of an earlier node, and the slope, None for
            an operand through which no gradient flows.
        seeds: The places to start from, each with a gradient.
        wanted: The places whose gradients are asked for.
        since: Below this place nodes are constants, unless they are wanted.
    """

    graph: tuple[tuple[tuple[int, int | None], ...], ...]
    seeds: tuple[tuple[int, int], ...]
    wanted: frozenset[int] = frozenset({0})
    since: int = 0

    def __str__(self) -> str:
        nodes = [f"n{i} = {_sum(operands)}" for i, operands in enumerate(self.graph) if operands]
        inputs = [f"n{i}" for i, operands in enumerate(self.graph) if not operands]
        seeds = [f"{gradient} at n{i}" for i, gradient in self.seeds]
        wanted = [f"n{i}" for i in sorted(self.wanted)]
        text = f"the inputs {', '.join(inputs)}" if len(inputs) > 1 else f"the input {inputs[0]}"
        text = "; ".join([text, *nodes])
        since = f" since n{self.since}" if self.since else ""
        return (
            f"{text}, from the gradients {', '.join(seeds)} to {', '.join(wanted) or 'nothing'}"
            f"{since}"
        )

    def walked(self, work: ModuleType) -> dict[str, object]:
        """What a walk finds, by the nodes' names; each node may be asked for pullbacks once."""
        nodes = list[Node]()
        for operands in self.graph:
            # Half of the operands without a gradient have no node either.
            parents = [None if s is None and i % 2 else nodes[i] for i, s in operands]
            nodes.append(Node(parents, [None if s is None else _times(s) for _, s in operands]))
        numbers = [node.number for node in nodes]
        asked = set[int]()

        def pullbacks_of(node: Node) -> object:
            if node.number in asked:
                place = numbers.index(node.number)
                raise Wrong(f"your walk asked n{place} for its pullbacks twice; once is enough")
            asked.add(node.number)
            return node.pullbacks

        found = work.walk(
            [(nodes[i], gradient) for i, gradient in self.seeds],
            {numbers[i] for i in self.wanted},
            numbers[self.since],
            pullbacks_of,
            int.__add__,
        )
        if not isinstance(found, dict):
            raise Wrong(f"your walk returned {found!r}, but a dict was expected")
        gradients = cast("dict[int, object]", found)
        places = {number: f"n{place}" for place, number in enumerate(numbers)}
        return {places.get(n, f"the number {n}"): gradients[n] for n in sorted(gradients)}

    def by_paths(self) -> dict[str, object]:
        """The same, naively: each path by itself, to the first node on it that is wanted."""
        sums: dict[int, int] = {}

        def follow(place: int, gradient: int) -> None:
            if place in self.wanted:
                sums[place] = sums.get(place, 0) + gradient
                return
            for operand, slope in self.graph[place]:
                if slope is not None and (operand >= self.since or operand in self.wanted):
                    follow(operand, slope * gradient)

        for place, gradient in self.seeds:
            follow(place, gradient)
        return {f"n{place}": sums[place] for place in sorted(sums)}


def _sum(operands: tuple[tuple[int, int | None], ...]) -> str:
    return " + ".join(f"constant(n{i})" if s is None else f"{s}·n{i}" for i, s in operands)


def _times(slope: int) -> Callable[[Array], Array]:
    """A pullback on whole numbers: a node knows nothing of what it carries."""

    def times(gradient: int) -> int:
        return slope * gradient

    return cast("Callable[[Array], Array]", times)


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    constants: bool = False,
    outputs: int = 1,
    wanted: bool = False,
    since: bool = False,
) -> Case:
    """Graphs of up to six nodes, whose first is an input."""
    slopes = st.sampled_from([1, 2, -3, None] if constants else [1, 2, -3])
    graph = list[tuple[tuple[int, int | None], ...]]([()])
    for i in range(1, draw(st.integers(2, 6))):
        operands = st.lists(st.tuples(st.integers(0, i - 1), slopes), min_size=1, max_size=3)
        graph.append(tuple(draw(operands)))
    places = st.integers(0, len(graph) - 1)
    seeds = [(len(graph) - 1, 1)]
    if outputs > 1:
        pairs = st.tuples(places, st.sampled_from([1, 2]))
        seeds = draw(st.lists(pairs, min_size=1, max_size=outputs))
    return Case(
        tuple(graph),
        tuple(seeds),
        frozenset({0}) | draw(st.frozensets(places, max_size=2)) if wanted else frozenset({0}),
        draw(st.integers(1, len(graph) - 1)) if since else 0,
    )


def _agrees(work: ModuleType, case: Case) -> None:
    expect("your walk", case.walked(work), case.by_paths())


@dataclass(frozen=True)
class Big:
    """A graph that is long or wide, or has more paths than anybody can follow.

    Attributes:
        length: How many operations there are one after the other.
        twice: Whether each uses its operand twice.
        width: How many such chains begin at the same input, and are added up in the end.
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
        """The input and the output."""
        first = Node()
        chains = list[Node]()
        for _ in range(self.width):
            node = first
            for _ in range(self.length):
                node = Node([node] * (1 + self.twice), [_times(1)] * (1 + self.twice))
            chains.append(node)
        return first, Node(chains, [_times(1)] * self.width)


def _is_linear(work: ModuleType, big: Big) -> None:
    first, last = big.ends()
    found = work.walk([(last, 1)], {first.number}, 0, attrgetter("pullbacks"), int.__add__)
    expect("your walk", found[first.number], big.width * (1 + big.twice) ** big.length)


LESSON = Lesson(
    title="A graph is a numbering",
    idea="Operands are older than results, so walking from the newest node down meets every node "
    "after all that use it.",
    minutes=30,
    explains=(
        "minispore._autograd.graph.Node",
        "minispore._autograd.graph.walk",
        "minispore.Tensor",
        "minispore.drawing.draw_graph",
    ),
    exercise=Build(
        module="minispore._autograd.graph",
        tasks={
            "walk": "Visit the nodes from the highest number down. Keep, for each node that is "
            "still to be visited, the sum of the gradients that have come to it so far."
        },
        laws=(
            law(
                "A gradient is the sum, over all paths back, of the products of the slopes.",
                cases(),
                _agrees,
                show=str,
            ),
            law(
                "An operand that is None, or whose pullback is None, gets no gradient.",
                cases(constants=True),
                _agrees,
                show=str,
            ),
            law(
                "There may be several outputs, also the same one twice.",
                cases(outputs=3),
                _agrees,
                show=str,
            ),
            law(
                "The walk ends at the nodes that are wanted, and returns the gradients of those.",
                cases(wanted=True),
                _agrees,
                show=str,
            ),
            law(
                "A node numbered below `since` is a constant, unless it is wanted.",
                cases(wanted=True, since=True),
                _agrees,
                show=str,
                examples=200,
            ),
            law(
                "The time is in proportion to the number of nodes, however many paths there are.",
                st.sampled_from([Big(40, twice=True), Big(20_000), Big(width=40_000)]),
                _is_linear,
                show=str,
                examples=12,  # of which three are different
            ),
        ),
        bugs=(
            Bug(
                "a value that is used twice keeps only the last of its gradients",
                "walk", "add(pending[number][1], share)", "share",
            ),
            Bug(
                "an output that is given twice counts once",
                "walk", "add(pending[number][1], gradient)", "gradient",
            ),
            Bug(
                "the nodes are visited in the order in which they were found",
                "walk", "-heappop(heap)", "-heap.pop(0)",
            ),
            Bug(
                "the walk goes on behind the nodes that are wanted",
                "walk",
                "found[number] = gradient\n            continue", "found[number] = gradient",
            ),
            Bug(
                "what came before the differentiation is walked as well",
                "walk", "number < since and number not in wanted", "False",
            ),
            Bug(
                "what is wanted is not found if it came before the differentiation",
                "walk", "number < since and number not in wanted", "number < since",
            ),
            Bug(
                "an operand without a gradient is followed",
                "walk", "parent is None or pullback is None", "parent is None",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Begin with a dictionary from numbers to (node, gradient), filled from `seeds`. An
        output may come twice: then add.

        While the dictionary is not empty, take out the entry with the highest number.
        Whoever could still send a gradient to that node has a higher number, and is done.

        If its number is wanted, put its gradient into the result, and go on with the next.
        Else give to each parent pullback(gradient), added to what the parent already has.

        max(pending) is right, and takes time with the square of the number of nodes: a heap
        of the negative numbers (heapq) finds the highest at once. Push a number only when
        it is new.
        """
    ),
)  # fmt: skip
