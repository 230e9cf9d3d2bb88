"""The drawing of a computational graph: each operation once, with the gradients of `grad`."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, grad, nn, ops, value_and_grad
from minispore.drawing import draw_cell, draw_graph
from minispore.drawing._gradients import Gradients
from minispore.drawing._value_labels import gradient_of, value_of
from minispore.engine.array import Array, to_host
from minispore.engine.dispatch import Variable
from minispore.engine.graph import Node
from minispore.nn._graph_recorder import operation, record_graph
from tests.helpers.random_programs import Program, programs
from tests.helpers.svg_reader import DrawnBox, Picture, Rect, check_texts, read

X = Tensor([1.0, -2.0])


# Powers of powers may be too large for any number.
no_overflow = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def inputs_of(program: Program) -> list[Tensor]:
    rng = np.random.default_rng(len(program.steps))
    return [Tensor(rng.normal(size=shape)) for shape in program.shapes]


def box_text(name: str, value: Tensor, gradient: Tensor) -> str:
    return f"{name}: value {value_of(value._data)}, {gradient_of(gradient._data)}"


def operations_of(node: Node | None) -> set[Node]:
    """Return the operations from which a value was computed, path by path."""
    if node is None or not node.parents:
        return set()
    return {node}.union(*(operations_of(parent) for parent in node.parents))


def check_layout(picture: Picture) -> None:
    """Check that boxes lie apart, texts in boxes, and edges between the boxes they belong to."""
    check_texts(picture)
    for i, box in enumerate(picture.drawn_boxes):
        assert picture.size.contains(box.rect, margin=4)
        assert not any(box.rect.overlaps(other.rect) for other in picture.drawn_boxes[:i])
    drawn: list[tuple[str, str]] = []
    for edge in picture.drawn_edges:
        (start,) = [box for box in picture.drawn_boxes if at_lower_side(edge.start, box.rect)]
        (end,) = [box for box in picture.drawn_boxes if at_upper_side(edge.end, box.rect)]
        assert edge.head == edge.end
        assert edge.dashed == ("no gradient" in edge.title)
        drawn.append((called(start), called(end)))
    assert sorted(drawn) == sorted(described_uses(picture))


def has_styles_of_kinds(picture: Picture) -> None:
    """Check the styles of a graph of inputs, constants and operations, of which one is the output.

    The output has a thick frame, and a constant a dashed one. The names of inputs and all gradients
    have colours.
    """
    for box in picture.drawn_boxes:
        constant, given = box.title.startswith("constant"), box.title.startswith("inputs[")
        assert ("stroke-dasharray" in box.attributes) == constant
        assert (float(box.attributes["rx"]) > 5) == (constant or given)
        for text in box.texts:
            style = text.attributes.get("style", "")
            assert ("#" in style) == ("grad" in text.text or text.text.startswith("inputs["))
            named = text.text == box.title.partition(":")[0]
            assert ("font-weight" in text.attributes) == (named and not constant)
    thick = [box for box in picture.drawn_boxes if float(box.attributes["stroke-width"]) > 2]
    assert len(thick) == 1
    assert not any(edge.start[1] >= thick[0].rect.bottom for edge in picture.drawn_edges)


def at_lower_side(point: tuple[float, float], rect: Rect) -> bool:
    middle = (rect.left + rect.right) / 2
    return abs(point[0] - middle) < 0.2 and abs(point[1] - rect.bottom) < 0.2


def at_upper_side(point: tuple[float, float], rect: Rect) -> bool:
    return rect.left < point[0] < rect.right and abs(point[1] - rect.top) < 0.2


def called(box: DrawnBox) -> str:
    """Return the name of a box in the description: its number, or the text of a constant."""
    number = [label.text for label in box.texts if label.rect.left < box.rect.left + 6]
    return f"number {number[0]}" if number else box.texts[0].text


def described_uses(picture: Picture) -> Iterator[tuple[str, str]]:
    """Yield the uses that the description of a picture lists, as pairs of names of boxes."""
    for sentence in picture.words.removesuffix(".").split(". "):
        user, _, operands = sentence.partition(", from ")
        for operand in operands.split(" and ") if operands else ():
            yield operand, user.partition(",")[0]


@no_overflow
@given(programs())
def test_each_operation_and_each_use_is_drawn(program: Program) -> None:
    inputs = inputs_of(program)
    recorded = record_graph(program.on_tensors, inputs, {})
    made = operations_of(cast("Variable", recorded.output)._node)
    if not recorded.operations:
        return
    picture = read(draw_graph(program.on_tensors, *inputs))
    check_layout(picture)
    has_styles_of_kinds(picture)
    names = Counter(box.partition(":")[0] for box in picture.boxes)
    del names["constant"]
    expected = Counter(operation(node) for node in made)
    assert names == expected + Counter(f"inputs[{i}]" for i in range(len(inputs)))
    uses = sum(len(node.parents) for node in made)
    assert len(picture.edges) - uses in range(sum(len(node.args) for node in made) + 1)


@no_overflow
@given(programs())
def test_drawn_gradients_equal_grad(program: Program) -> None:
    inputs = inputs_of(program)
    if not record_graph(program.on_tensors, inputs, {}).operations:
        return
    boxes = read(draw_graph(program.on_tensors, *inputs)).boxes
    gradients = grad(program.on_tensors, tuple(range(len(inputs))))(*inputs)
    by_input = [gradients] if isinstance(gradients, Tensor) else gradients
    for i, (x, gradient) in enumerate(zip(inputs, by_input, strict=True)):
        assert box_text(f"inputs[{i}]", x, gradient) in boxes


@no_overflow
@given(programs(max_steps=4))
def test_intermediate_gradients_equal_those_of_added_zeros(program: Program) -> None:
    def run(inputs: Sequence[Tensor], place: int, more: Tensor | float) -> list[Tensor]:
        values = list(inputs)
        for i, step in enumerate(program.steps):
            made = step.on_tensors([values[i] for i in step.operands])
            values.append(made + more if i == place else made)
        return values

    inputs = inputs_of(program)
    made: list[Tensor] = []

    def all_at_once(*inputs: Tensor) -> Tensor:
        made[:] = run(inputs, -1, 0.0)
        return made[-1]

    actual = Gradients(record_graph(all_at_once, inputs, {})).values
    values = made[len(inputs) :]
    for place, value in enumerate(values):
        node = value._node
        # A stopped value, and an input that an operation hands on, have no place of their own.
        if node is None or node.number not in actual or node in [x._node for x in made[:place]]:
            continue
        zeros = Tensor(np.zeros(value.shape))
        expected = grad(lambda d, at=place: run(inputs, at, d)[-1])(zeros)
        assert np.allclose(
            to_host(actual[node.number]),
            expected.asnumpy(),
            rtol=1e-9,
            atol=1e-12,
            equal_nan=True,
        )


class Doubled(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x * 1.0

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (2.0 * dout,)


def doubled_without_gradient(x: Array) -> tuple[Array, tuple[None]]:
    return x + x, (None,)


def derivative(x: Tensor) -> Tensor:
    return grad(lambda x: x * x * x)(x)


DOUBLED = Doubled()
# A function of tensors only, its inputs, some of its boxes and, if they are given, all its edges.
GRAPHS: list[tuple[Callable[..., object], list[Tensor], list[str], list[str]]] = [
    (
        lambda x: x * 3.0 + x,
        [Tensor(2.0)],
        ["x: value 2, grad 4", "multiply: value 6, grad 1"],
        ["1: grad 3 comes", "2: no gradient comes", "1: grad 1 comes", "2: grad 1 comes"],
    ),
    (
        lambda x: x * ops.stop_gradient(x),
        [Tensor(3.0)],
        ["x: value 3, grad 3", "multiply: value 9, grad 1"],
        ["1: grad 3 comes", "2: no gradient comes"],
    ),
    (
        lambda x: ops.apply_rule(doubled_without_gradient, x) * 3.0,
        [Tensor(2.5)],
        ["x: value 2.5, grad 0", "doubled_without_gradient: value 5, grad 3"],
        [],
    ),
    (lambda x, y: x * 2.0, [Tensor(1.0), Tensor([4.0, 5.0])], ["y: value [4, 5], grad [0, 0]"], []),
    (lambda x: [x * 2.0, (x, x * 3.0)], [Tensor(1.0)], ["x: value 1, grad 6"], []),
    (derivative, [Tensor(2.0)], ["x: value 2, grad 12"], []),
    (
        lambda x: DOUBLED(x) * 3.0,
        [X],
        ["x: value [1, -2], grad [6, 6]", "joint: value [1, -2], grad [3, 3]"],
        ["1: grad [6, 6] comes", "1: grad [3, 3] comes", "2: no gradient comes"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "inputs", "boxes", "edges"), GRAPHS)
def test_boxes_and_edges_show_values_and_gradients(
    fn: Callable[..., object], inputs: list[Tensor], boxes: list[str], edges: list[str]
) -> None:
    picture = read(draw_graph(fn, *inputs))
    assert set(boxes) <= set(picture.boxes)
    assert not any(box.startswith("parameter") for box in picture.boxes)
    if edges:
        assert picture.edges == [f"operand {edge} back" for edge in edges]


def test_operands_have_names_of_variables() -> None:
    net, scale, unnamed = nn.Dense(2, 1), Tensor(2.0), Parameter(Tensor(1.0))
    named = Parameter(Tensor(3.0), name="named")

    def fn(x: Tensor, *more: Tensor) -> Tensor:
        return net(x * scale) * unnamed * named + more[0] + 5.0

    boxes = read(draw_graph(fn, X.reshape(1, 2), Tensor(1.0), Tensor(7))).boxes
    names = [box.partition(":")[0] for box in boxes]
    assert {"x", "more[0]", "more[1]", "scale", "unnamed", "named"} < set(names)
    assert {"net.weight", "net.bias"} < set(names)
    assert "constant: value 5" in boxes
    assert "scale: value 2" in boxes
    assert "more[1]: value 7" in boxes


def test_index_tensor_is_an_operand() -> None:
    picture = read(draw_graph(lambda x, i: ops.gather(x, i, 0), X, Tensor([1, 1])))
    assert picture.words.endswith("from number 1 and i.")
    assert picture.edges[1] == "operand 2: no gradient comes back"


def test_description_lists_all_boxes() -> None:
    def f(x: Tensor) -> Tensor:
        return x * x + 1.0

    picture = read(draw_graph(f, Tensor(3.0)))
    assert picture.name == "What f computes: 4 boxes"
    assert picture.words == (
        "number 1, x: value 3, grad 6. "
        "number 2, multiply: value 9, grad 1, from number 1 and number 1. "
        "constant: value 1. "
        "number 3, add: value 10, grad 1, from number 2 and 1."
    )


class Chain(nn.Cell):
    """Cells that each double their input."""

    def __init__(self, cells: int, operations: int) -> None:
        super().__init__()
        self.parts = nn.CellList([Part(operations) for _ in range(cells)])

    def construct(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x


class Part(nn.Cell):
    """A number of operations with one parameter."""

    def __init__(self, operations: int) -> None:
        super().__init__()
        self.weight = Parameter(Tensor([1.0, 1.0]))
        self.operations = operations

    def construct(self, x: Tensor) -> Tensor:
        for _ in range(self.operations):
            x = x * self.weight
        return x


def test_a_small_graph_is_drawn_by_operations() -> None:
    # An input, and for each of 3 parts a parameter and 12 operations.
    boxes = read(draw_graph(Chain(3, 12), X)).boxes
    assert len(boxes) == 40
    assert sum(box.startswith("multiply") for box in boxes) == 36


def test_a_large_graph_is_drawn_by_cells() -> None:
    net = Chain(3, 13)
    picture = read(draw_graph(net, X))
    gradient = grad(net)(X)
    assert all(float(box.attributes["rx"]) < 5 for box in picture.drawn_boxes[1:])
    assert picture.boxes[0] == box_text("x", X, gradient)
    assert [box.partition(":")[0] for box in picture.boxes[1:]] == [
        f"parts.{i} Part, 2 parameters" for i in range(3)
    ]
    assert picture.edges == [f"{gradient_of(gradient._data)} comes back"] * 3

    def loss(x: Tensor) -> Tensor:
        return net(x).sum()

    boxes = read(draw_graph(loss, X)).boxes
    assert [box.partition(" ")[0] for box in boxes] == [
        "x:",
        *(f"net.parts.{i}" for i in range(3)),
        "sum:",
    ]
    assert read(draw_graph(net.construct, X)).boxes == picture.boxes


class Residual(Part):
    """A cell that returns the result of a part, and twice its input."""

    def construct(self, x: Tensor) -> Tensor:
        return super().construct(x) + x * 2.0


def test_edge_to_cell_sums_contributions_of_all_uses() -> None:
    part = Residual(40)
    picture = read(draw_graph(lambda x: part(x), X))
    assert picture.boxes[0] == "x: value [1, -2], grad [3, 3]"
    assert picture.edges == ["grad [3, 3] comes back"]


class Stops(Part):
    """A cell that uses a value within it without its gradient."""

    def construct(self, x: Tensor) -> Tensor:
        self.inner = [super().construct(x)]
        return self.inner[0] * ops.stop_gradient(self.inner[0])


def test_values_within_a_cell_without_gradients_belong_to_its_box() -> None:
    part = Stops(40)
    picture = read(draw_graph(lambda x: part(x) + ops.stop_gradient(part.inner[0]), X))
    assert [box.partition(":")[0] for box in picture.boxes] == [
        "x",
        "part Stops, 2 parameters",
        "add",
    ]
    assert picture.edges == [
        "grad [1, -2] comes back",
        "operand 1: grad [1, 1] comes back",
        "operand 2: no gradient comes back",
    ]


def test_cells_without_inner_cells_become_boxes_first() -> None:
    net = nn.SequentialCell([Part(13) for _ in range(3)])
    boxes = read(draw_graph(lambda x: net(x), X)).boxes
    assert [box.partition(" ")[0] for box in boxes] == ["x:", "net.0", "net.1", "net.2"]


def test_outer_cells_become_boxes_in_larger_graphs() -> None:
    def sequence(length: int) -> nn.SequentialCell:
        return nn.SequentialCell([Part(1) for _ in range(length)])

    net = nn.SequentialCell(nn.SequentialCell([sequence(12) for _ in range(4)]))
    boxes = read(draw_graph(net, X)).boxes
    assert [box.partition(":")[0] for box in boxes] == [
        "input_data",
        *(f"0.{i} SequentialCell, 24 parameters" for i in range(4)),
    ]


def test_parameter_of_two_cells_has_its_own_box() -> None:
    net = Chain(2, 25)
    net.parts[1].weight = net.parts[0].weight
    picture = read(draw_graph(net, X))
    assert [box.partition(":")[0] for box in picture.boxes] == [
        "x",
        "parts.0.weight",
        "parts.0 Part",
        "parts.1 Part",
    ]
    assert len(picture.edges) == 4


@pytest.mark.parametrize("fails", [False, True])
def test_drawing_leaves_network_unchanged(fails: bool) -> None:
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU())
    before = [dict(cell.__dict__) for _, cell in net.cells_and_names()]
    x = Tensor(np.ones((1, 3 if fails else 2), np.float32))
    if fails:
        with pytest.raises(ValueError, match="dense"):
            draw_graph(net, x)
    else:
        draw_graph(net, x)
    assert [dict(cell.__dict__) for _, cell in net.cells_and_names()] == before
    assert x._node is None


def test_drawing_within_grad_shows_inner_function_only() -> None:
    pictures: list[str] = []

    def fn(x: Tensor) -> Tensor:
        y = x * 3.0
        pictures.append(draw_graph(lambda z: z * y, y))
        return y * 2.0

    value, gradient = value_and_grad(fn)(Tensor(1.0))
    assert (value.item(), gradient.item()) == (6.0, 6.0)
    assert read(pictures[0]).boxes == ["z: value 3, grad 6", "multiply: value 9, grad 1"]


NAMES = st.text(st.characters(), min_size=1, max_size=8)


@given(NAMES, NAMES)
@example("f", "a_parameter_with_a_name_that_is_rather_long")
@example("f", "全角文字の名前")
@example("\n\r\t", "\n\r\t")
def test_any_name_can_be_drawn(name: str, parameter: str) -> None:
    def fn(x: Tensor) -> Tensor:
        return x * weight

    weight = Parameter(Tensor(1.0), name=parameter)
    fn.__name__ = name
    picture = read(draw_graph(fn, X))
    assert len(picture.boxes) == 3
    check_texts(picture)


@given(programs(), st.integers(0, 8))
@no_overflow
def test_gradient_of_an_unvisited_value_is_the_sum_of_its_contributions(
    program: Program, visited: int
) -> None:
    """Those of the visited values, which are the newest; a visited value has its gradient."""
    record = record_graph(program.on_tensors, inputs_of(program), {})
    assume(record.operations)
    complete, partial = Gradients(record), Gradients(record, visited)
    order = sorted(complete.values, reverse=True)
    assert partial.incomplete == set(order[visited:])
    for number in order[:visited]:
        # Contributions are added in another order.
        actual, desired = (
            np.asarray(gradients.values[number], np.float64) for gradients in (partial, complete)
        )
        np.testing.assert_allclose(actual, desired, rtol=1e-9, atol=1e-9)
    uses = {(node.number, i) for node in record.operations for i, _ in enumerate(node.parents)}
    for use in uses:
        given_back = partial.contribution([use]) is not None
        expected = complete.contribution([use]) is not None and use[0] not in partial.incomplete
        assert given_back == expected


def test_backward_pass_is_drawn_step_by_step() -> None:
    def gradients(visited: int) -> list[str]:
        picture = read(draw_graph(lambda x: (x * x) + x, Tensor(3.0), visited=visited))
        return [box.title.partition(", ")[2] for box in picture.drawn_boxes]

    assert gradients(0) == ["no grad yet", "no grad yet", "grad 1 so far"]
    assert gradients(1) == ["grad 1 so far", "grad 1 so far", "grad 1"]
    assert gradients(2) == ["grad 7 so far", "grad 1", "grad 1"]
    assert gradients(3) == ["grad 7", "grad 1", "grad 1"]


def long(x: Tensor, operations: int = 200) -> Tensor:
    for _ in range(operations):
        x = x * x
    return x


def test_graphs_and_cells_of_200_boxes_can_be_drawn() -> None:
    graph = draw_graph(lambda x: long(x, 199), Tensor(0.0))
    cell = draw_cell(nn.CellList([nn.ReLU() for _ in range(199)]))
    assert len(read(graph).boxes) == len(read(cell).boxes) == 200
