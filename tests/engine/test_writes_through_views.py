"""A write through a view has the same effect in a function and in its differentiation."""

import copy
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, grad, nn, ops, value_and_grad
from minispore.engine.array import A
from minispore.engine.dispatch import aliases
from minispore.engine.graph import record
from minispore.engine.rules import Unary
from minispore.utils.checks import as_items
from tests.helpers.valid_arguments import OPERATIONS


def transposed(x: A) -> Unary[A]:
    """Return the transposed matrices: a rule of a user, whose result is a view."""
    return x.mT, (lambda g: g.mT,)


View = Callable[[Tensor], Tensor]
VIEWS: dict[str, View] = {
    "[0]": lambda t: t[0],
    "[-1:]": lambda t: t[-1:],
    "[:, 1]": lambda t: t[:, 1],
    "[::-1]": lambda t: t[::-1],
    "[None]": lambda t: t[None],
    "[..., ::2]": lambda t: t[..., ::2],
    "[[0, 1]]": lambda t: t[[0, 1]],
    "T": lambda t: t.T,
    "reshape": lambda t: t.reshape(-1),
    "reshape(3, -1)": lambda t: t.reshape(3, -1),
    "view": lambda t: t.view(-1, 2),
    "flatten": lambda t: t.flatten(),
    "swapaxes": lambda t: t.swapaxes(0, -1),
    "movedim": lambda t: t.movedim(0, -1),
    "expand_dims": lambda t: t.expand_dims(-1),
    "squeeze": lambda t: t.squeeze(),
    "broadcast_to": lambda t: t.broadcast_to(2, *t.shape),
    "split": lambda t: ops.split(t, 1)[-1],
    "chunk": lambda t: ops.chunk(t, 2)[0],
    "unbind": lambda t: t.unbind(0)[-1],
    "diagonal": ops.diagonal,
    "flip": lambda t: t.flip((0,)),
    "contiguous": lambda t: t.contiguous(),
    "astype": lambda t: t.astype(ms.float64, copy=False),
    "iter": lambda t: list(islice(t, 2))[-1],
    "a rule": lambda t: ops.apply_rule(transposed, t),
    "assign": lambda t: ops.assign_add(t, ops.zeros_like(t)),
    "add": lambda t: t + 1,
}
# A constant: differences of the function do not show that.
CONSTANTS: dict[str, View] = {
    "stop_gradient": ops.stop_gradient,
    "data": lambda t: t.data if isinstance(t, Parameter) else t,
}


def _at(index: object) -> Callable[[Tensor, Tensor], object]:
    return lambda t, value: t.__setitem__(index, value)


WRITES: dict[str, Callable[[Tensor, Tensor], object]] = {
    "[0] =": _at(0),
    "[...] =": _at(...),
    "[1:] =": _at(slice(1, None)),
    "[[0, 0]] =": _at([0, 0]),
    "[-1, ...] =": _at((-1, ...)),
    "[t > 0.3] =": lambda t, value: t.__setitem__(t > 0.3, value),
    "[1:] = [:-1]": lambda t, _: t.__setitem__(slice(1, None), t[:-1]),
    "add_": lambda t, value: t.add_(value),
    "mul_": lambda t, _: t.mul_(2),
    "copy_": lambda t, value: t.copy_(value),
    "fill_": lambda t, _: t.fill_(3),
    "zero_": lambda t, _: t.zero_(),
    "assign": lambda t, value: ops.assign(t, value.broadcast_to(t.shape)),
    "assign_sub": lambda t, value: ops.assign_sub(t, value.broadcast_to(t.shape)),
}
# What they write is computed from the tensor.
READING = ("[1:] = [:-1]", "add_", "mul_", "assign_sub")
ERRORS = (IndexError, TypeError, ValueError)


class Step(NamedTuple):
    """What is done to a tensor of those that there are; numbers are taken modulo their count."""

    do: str
    name: str
    target: int
    source: int


class Run:
    """A program with an input, a buffer and a parameter, and what all tensors hold meanwhile."""

    def __init__(self, steps: list[Step], x: list[float], *, recorded: bool) -> None:
        self.steps, self.recorded = steps, recorded
        self.x = Tensor(np.array(x).reshape(3, 2))
        self.buffer = Tensor(np.arange(6.0).reshape(2, 3))
        self.parameter = Parameter(Tensor(np.arange(4.0).reshape(2, 2)))
        self.row = self.buffer[1]  # a view that was made before
        self.trace: list[object] = []
        self.pool: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        """Return a sum of squares of the tensors, which are linear in `x`."""
        total = (x * x).sum()
        product = x * 2
        self.pool = [x, self.buffer, self.row, product, self.parameter]
        families = [0, 1, 1, 2, 3]
        for step in self.steps:
            place = step.target % len(self.pool)
            target, source = self.pool[place], self.pool[step.source % len(self.pool)]
            if isinstance(source, Parameter) or (self.recorded and families[place] == 3):
                # Assignments to a parameter are not recorded.
                source = Tensor([float(step.source)], ms.float64)
            elif step.source % 3:
                source = (x.sum() if step.source % 3 == 1 else x[0, 1] * 3).reshape(1)
            try:
                if step.do == "view":
                    self.pool.append((VIEWS | CONSTANTS)[step.name](target))
                    families.append(families[place])
                elif step.do == "write":
                    is_on = step.source < 9 or step.name in READING
                    # Where recording is off, as in a cell with a `bprop`, constants are written.
                    value = source if is_on else Tensor([float(place)], ms.float64)
                    write = partial(WRITES[step.name], target, value)
                    write() if is_on else record(write, on=False)
                else:
                    total = total + (target * target * (place + 1)).sum()
            except ERRORS as error:
                self.trace.append(type(error))
            self.trace.append([t.tolist() for t in self.pool])
        return sum((t.sum() * (i + 1) for i, t in enumerate(self.pool)), total)

    def write_to_all(self) -> list[object]:
        """Return what the tensors hold after writes to one after the other."""
        held: list[object] = []
        for i, t in enumerate(self.pool):
            try:
                t.fill_(i)
            except ERRORS as error:
                held.append(type(error))
            held.append([t.tolist() for t in (*self.pool, self.x)])
        return held


def steps_of(names: list[str]) -> st.SearchStrategy[list[Step]]:
    places = st.integers(0, 11)
    view = st.builds(Step, st.just("view"), st.sampled_from(names), places, places)
    write = st.builds(Step, st.just("write"), st.sampled_from(list(WRITES)), places, places)
    read = st.builds(Step, st.just("read"), st.just(""), places, places)
    return st.lists(st.one_of(view, write, read), max_size=8)


INPUT = [1.0, 2.0, -3.0, 4.0, 0.5, 2.0]


def check_that_both_hold_the_same(steps: list[Step]) -> None:
    outside, inside = (Run(steps, INPUT, recorded=False) for _ in range(2))
    value = outside(outside.x)
    found, _ = value_and_grad(inside)(inside.x)
    assert inside.trace == outside.trace
    assert found.item() == value.item()
    assert inside.x.tolist() == outside.x.tolist()
    assert inside.write_to_all() == outside.write_to_all()


def check_gradient(steps: list[Step]) -> None:
    run = Run(steps, INPUT, recorded=True)
    gradient = grad(run)(run.x)

    def at(place: int, change: float) -> float:
        shifted = [value + change * (i == place) for i, value in enumerate(INPUT)]
        run = Run(steps, shifted, recorded=True)
        return float(run(run.x))

    # The function is a polynomial of second degree, whose central differences are exact.
    expected = [(at(i, 2.0**-12) - at(i, -(2.0**-12))) * 2**11 for i in range(len(INPUT))]
    np.testing.assert_allclose(gradient.asnumpy().ravel(), expected, 1e-7, 1e-7)


@pytest.mark.parametrize(
    ("view", "kind"),
    [
        pytest.param(view, kind, marks=[pytest.mark.full] * (kind != i % 5))
        for i, view in enumerate([*VIEWS, *CONSTANTS])
        for kind in range(5)
    ],
)
def test_each_write_to_and_through_each_view(view: str, kind: int) -> None:
    """The argument, a buffer, a view of it from before, a product and a parameter are viewed."""
    for write in WRITES:
        for written in (kind, 5):
            steps = [Step("read", "", kind, 0), Step("view", view, kind, 0)]
            steps += [Step("read", "", 5, 0), Step("write", write, written, 1)]
            check_that_both_hold_the_same(steps)
            if view in VIEWS and write == "[0] =":
                check_gradient(steps)


@given(steps_of([*VIEWS, *CONSTANTS]))
@example([Step("view", "[0]", 3, 0), Step("write", "[0] =", 5, 3)])
def test_tensors_hold_the_same_with_and_without_a_gradient(steps: list[Step]) -> None:
    """Also after it: what shared memory still does."""
    check_that_both_hold_the_same(steps)


@given(steps_of(list(VIEWS)))
@example([Step("view", "[0]", 3, 0), Step("write", "[0] =", 5, 1)])
@example([Step("view", "T", 1, 0), Step("write", "[0] =", 5, 1), Step("write", "fill_", 2, 0)])
def test_gradients_are_those_of_differences(steps: list[Step]) -> None:
    check_gradient(steps)


def tensors_in(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [x for item in as_items(value) or () for x in tensors_in(item)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_of_each_operation_share_memory_as_without_a_gradient(name: str) -> None:
    def written() -> list[object]:
        ms.set_seed(1)
        arguments = {key: copy.deepcopy(value) for key, value in OPERATIONS[name].items()}
        result = getattr(ops, name)(**arguments)
        held: list[object] = []
        for i, tensor in enumerate([*tensors_in(list(arguments.values())), *tensors_in(result)]):
            with suppress(ValueError):
                tensor.fill_(i % 2)
            held.append([x.tolist() for x in tensors_in([*arguments.values(), result])])
        return held

    assert repr(record(written)) == repr(written())


class Remembering(nn.Cell):
    """A cell that keeps its output, and writes to its input."""

    def construct(self, x: Tensor) -> Tensor:
        x[0] = 9.0
        self.last = x * 2
        return self.last


class RememberingBackward(Remembering):
    """The same with its own derivative."""

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> Tensor:
        return dout * 2


def hooked(cell: nn.Cell) -> Remembering:
    remembering = RememberingBackward() if isinstance(cell, RememberingBackward) else Remembering()
    remembering.register_backward_hook(lambda *_: None)
    return remembering


def of_cell(cell: Remembering) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        y = x * 1
        out = cell(y)
        out[0] = 7.0
        return cell.last.sum() + y.sum()

    return function


def optimized(x: Tensor) -> Tensor:
    weight = Parameter(Tensor([1.0, 2.0]))
    first = weight[0:1]
    nn.SGD([weight], learning_rate=1.0)((Tensor([3.0, 1.0]),))
    return x.sum() * first


def normalized(x: Tensor) -> Tensor:
    norm = nn.BatchNorm1d(2).set_train()
    mean = norm.moving_mean[0:1]
    norm(x)
    return x.sum() * mean


def other_memory(x: Tensor) -> Tensor:
    weight = Parameter(Tensor([1.0, 2.0]))
    first = weight[0:1]
    weight.set_data(Tensor([5.0, 6.0]))
    weight[0] = 7.0
    first[0] = 8.0
    return x.sum() * (first + weight.sum() * 10)


def other_type(x: Tensor) -> Tensor:
    buffer = Tensor([1.0, 2.0])
    bits = buffer.view(ms.int32)
    buffer[0] = 3.0
    before = float(bits[0])
    bits[1] = 0
    return x.sum() * (buffer.sum() + before)


def of_inner_gradient(x: Tensor) -> Tensor:
    y = x * 1
    row = y[0]

    def inner(t: Tensor) -> Tensor:
        t[0] = 5.0
        return (t * t).sum()

    value, gradient = value_and_grad(inner)(row)
    return (y * y).sum() + value + gradient.sum()


FUNCTIONS = {
    "a cell with a hook": of_cell(hooked(Remembering())),
    "a cell with a hook and a bprop": of_cell(hooked(RememberingBackward())),
    "a cell with a bprop": of_cell(RememberingBackward()),
    "an optimizer": optimized,
    "running statistics": normalized,
    "set_data": other_memory,
    "view of another type": other_type,
    "an inner gradient": of_inner_gradient,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_functions_are_the_same_with_a_gradient(name: str) -> None:
    function = FUNCTIONS[name]
    inputs = [Tensor([[1.0, 2.0], [3.0, 4.0]]) for _ in range(3)]
    value = function(inputs[0]).item()
    assert value_and_grad(function)(inputs[1])[0].item() == value
    # In the gradient of a gradient the function is recorded, too.
    assert grad(lambda x: value_and_grad(function)(x)[0])(inputs[2]).shape == (2, 2)
    assert inputs[0].tolist() == inputs[1].tolist() == inputs[2].tolist()


def test_views_do_not_keep_each_other_in_memory() -> None:
    x = Tensor(np.ones((2, 2)))
    for _ in range(100):
        ops.stop_gradient(x[0].T.reshape(-1))
    assert aliases(x) == []
    assert len(x._aliases[0]) == 1
    views = [x[0], x.T]
    assert len(aliases(views[0])) == 2
    del x
    assert len(aliases(views[0])) == 1


def test_operand_of_a_rule_is_named_twice() -> None:
    def first_row(x: A, _: A) -> tuple[A, tuple[None, None]]:
        return x[0], (None, None)

    x = Tensor(np.zeros((2, 2)))
    row = ops.apply_rule(first_row, x, x)
    row[0] = 3
    assert x.tolist() == [[3, 0], [0, 0]]
