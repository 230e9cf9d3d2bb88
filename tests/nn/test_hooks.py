"""Hooks of forward and backward passes, and custom `bprop` methods."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import NamedTuple, cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import minispore as ms
from minispore import Parameter, Tensor, grad, nn, ops
from minispore.engine.dtypes import DType
from minispore.nn._hooks import HookHandle
from minispore.utils.checks import as_items

X = Tensor([1.0, 2.0])
Y = Tensor([5.0, 7.0])


class Product(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.factor = Parameter(Tensor(3.0))

    def construct(self, x: Tensor, y: Tensor, scale: float = 1.0) -> Tensor:
        return x * y * self.factor * scale


class TwoOutputs(nn.Cell):
    def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x * y, x + y


def total(cell: nn.Cell) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, y: cell(x, y).sum()


def values(tensors: tuple[Tensor, ...]) -> list[object]:
    return [t.tolist() for t in tensors]


def test_call_without_hooks_only_runs_construct() -> None:
    cell = Product()
    assert cell._calls_construct_directly
    handle = cell.register_forward_hook(lambda *_: None)
    assert not cell._calls_construct_directly
    handle.remove()
    assert cell(X, Y).tolist() == [15, 42]


def test_forward_hooks_receive_the_cell_its_inputs_and_the_output() -> None:
    cell = Product()
    events: list[object] = []
    cell.register_forward_pre_hook(lambda *got: events.append((got[0] is cell, values(got[1]))))
    cell.register_forward_hook(lambda *got: events.append((got[0] is cell, values(got[1]), got[2])))
    output = cell(X, Y)
    assert events == [(True, [[1, 2], [5, 7]]), (True, [[1, 2], [5, 7]], output)]


factors = st.lists(st.sampled_from([-1.0, 2.0, 3.0]), max_size=2)


@given(pre=factors, post=factors, backward_pre=factors, backward=factors)
def test_hooks_replace_inputs_outputs_and_gradients(
    pre: list[float], post: list[float], backward_pre: list[float], backward: list[float]
) -> None:
    """The operations of forward hooks are differentiated too."""
    cell = Product()
    for f in pre:
        cell.register_forward_pre_hook(lambda _, inputs, f=f: (inputs[0] * f, inputs[1]))
    for f in post:
        cell.register_forward_hook(lambda _, inputs, output, f=f: output * f)
    for f in backward_pre:
        cell.register_backward_pre_hook(lambda _, grad_out, f=f: grad_out[0] * f)
    for f in backward:
        cell.register_backward_hook(lambda _, grad_in, grad_out, f=f: (grad_in[0] * f, grad_in[1]))
    forward = 3 * prod(pre) * prod(post)
    assert cell(X, Y).tolist() == (X * Y * forward).tolist()
    expected = Y * forward * prod(backward_pre) * prod(backward), X * forward * prod(backward_pre)
    assert values(grad(total(cell), (0, 1))(X, Y)) == values(expected)


def test_forward_pre_hook_may_return_a_single_input() -> None:
    relu = nn.ReLU()
    relu.register_forward_pre_hook(lambda _, inputs: inputs[0] * 3)
    assert relu(X).tolist() == [3, 6]


def test_hooks_with_kwargs() -> None:
    cell = Product()
    events: list[object] = []
    cell.register_forward_pre_hook(
        lambda _, args, kwargs: (args, {**kwargs, "scale": 2.0}), with_kwargs=True
    )
    cell.register_forward_hook(
        lambda _, args, kwargs, output: events.append(kwargs["scale"]), with_kwargs=True
    )
    cell.register_forward_pre_hook(
        lambda hooked, args, kwargs: events.append((hooked, len(args))), with_kwargs=True
    )
    assert cell(X, y=Y).tolist() == [30, 84]
    assert events == [(cell, 1), 2.0]


@pytest.mark.parametrize("answer", [3, (), (X, {}), ((X, Y), [1.0]), ((X,), {}, {})], ids=str)
def test_pre_hook_with_kwargs_must_return_both(answer: object) -> None:
    cell = Product()
    cell.register_forward_pre_hook(lambda *_: answer, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new keyword arguments, but got"):
        cell(X, Y)


class HookMachine(RuleBasedStateMachine):
    """A cell with hooks and its model: the numbers of the hooks of each kind, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = Product()
        self.log: list[tuple[str, int]] = []
        self.model: dict[str, list[object]] = {"pre": [], "post": []}
        self.handles: list[tuple[HookHandle, str, object]] = []
        # Functions that may be registered several times.
        self.hooks = {(kind, i): self.hook((kind, i)) for kind in self.model for i in range(2)}

    def hook(self, key: tuple[str, int]) -> Callable[..., None]:
        def note(*_: object) -> None:
            self.log.append(key)

        return note

    @rule(kind=st.sampled_from(["pre", "post"]), i=st.integers(0, 1), prepend=st.booleans())
    def register(self, kind: str, i: int, prepend: bool) -> None:
        register = {
            "pre": self.cell.register_forward_pre_hook,
            "post": self.cell.register_forward_hook,
        }[kind]
        handle = register(self.hooks[kind, i], prepend=prepend)
        entry = [(kind, i)]  # a new object for each registration
        self.handles.append((handle, kind, entry))
        self.model[kind].insert(0 if prepend else len(self.model[kind]), entry)

    @precondition(lambda self: bool(self.handles))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A handle removes its own hook, and nothing the second time."""
        handle, kind, entry = data.draw(st.sampled_from(self.handles))
        handle.remove()
        self.model[kind] = [other for other in self.model[kind] if other is not entry]

    @invariant()
    def call_runs_the_hooks_in_order(self) -> None:
        self.log.clear()
        assert self.cell(X, Y).tolist() == [15, 42]
        assert [[key] for key in self.log] == self.model["pre"] + self.model["post"]


HookMachine.TestCase.settings = settings(stateful_step_count=15)
TestHooksRunInOrder = HookMachine.TestCase


@pytest.mark.parametrize("answer", [X, [X, 3], (X,), "text", 3.5, False], ids=str)
def test_forward_hook_replaces_the_output_unless_it_returns_none(answer: object) -> None:
    cell = Product()
    cell.register_forward_hook(lambda *_: answer)
    cell.register_forward_hook(lambda *_: None)
    assert cell(X, Y) is answer


def test_always_call_hooks_run_after_errors() -> None:
    class Failing(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            raise ValueError("boom")

    cell = Failing()
    events: list[object] = []
    cell.register_forward_hook(lambda *_: events.append("never"))
    cell.register_forward_hook(lambda _, inputs, output: events.append(output), always_call=True)
    with pytest.raises(ValueError, match="boom"):
        cell(X)
    assert events == [None]


# The calls that MindSpore makes for the same cells and values.
def test_backward_hooks_receive_the_cell_and_all_gradients() -> None:
    cell = Product()
    events: list[tuple[object, list[object], list[object]]] = []
    cell.register_backward_hook(
        lambda hooked, grad_in, grad_out: events.append((hooked, values(grad_in), values(grad_out)))
    )
    cell.register_backward_pre_hook(
        lambda hooked, grad_out: events.append((hooked, values(grad_out), []))
    )
    assert cell(X, Y).tolist() == [15, 42]
    assert events == []
    expected: list[object] = [(cell, [[1, 1]], []), (cell, [[15, 21], [3, 6]], [[1, 1]])]
    assert grad(total(cell))(X, Y).tolist() == [15, 21]
    assert events == expected
    events.clear()
    grads = grad(total(cell), None, cell.trainable_params())(X, Y)
    assert [g.tolist() for g in grads] == [19]
    assert events == expected


def test_backward_hooks_receive_zeros_for_missing_gradients() -> None:
    cell = TwoOutputs()
    events: list[object] = []
    cell.register_backward_hook(
        lambda _, grad_in, grad_out: events.extend([values(grad_in), values(grad_out)])
    )
    assert grad(lambda x: cell(x, Y)[0].sum())(X).tolist() == [5, 7]
    # Where MindSpore passes None, minispore passes a zero gradient.
    assert events == [[[5, 7], [1, 2]], [[1, 1], [0, 0]]]


def test_backward_hooks_of_higher_derivatives() -> None:
    cell = Product()
    cell.register_backward_hook(lambda _, grad_in, grad_out: (grad_in[0] * 2, grad_in[1]))

    def first(x: Tensor) -> Tensor:
        return grad(lambda x: cell(x, x).sum())(x)

    # d/dx of 3x² is 3x + 3x; the hook doubles one of the two.
    assert first(X).tolist() == [9, 18]
    assert grad(lambda x: first(x).sum())(X).tolist() == [9 + 3, 9 + 3]


def test_backward_hook_return_values() -> None:
    for answer in (3, (Tensor(1.0),), [X, Y, X]):
        cell = Product()
        cell.register_backward_hook(lambda *_, a=answer: a)
        with pytest.raises(TypeError, match="which is 2"):
            grad(total(cell))(X, Y)
    cell = Product()
    cell.register_backward_hook(lambda *_: (Tensor(1.0), Tensor(1.0)))
    with pytest.raises(ValueError, match="gradient of input 0"):
        grad(total(cell))(X, Y)


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "backward_pre", "backward"])
def test_hooks_must_be_callable(kind: str) -> None:
    with pytest.raises(TypeError, match="callable"):
        getattr(Product(), f"register_{kind}_hook")(3)


class OwnDerivative(nn.Cell):
    """A product with a `bprop` that is not its derivative."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = Parameter(Tensor(3.0))
        self.events: list[object] = []

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y * self.factor

    def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, Tensor]:
        self.events += [t.tolist() for t in (x, y, out, dout)]
        return dout * 100, dout * 200


def test_bprop_replaces_the_derivative() -> None:
    cell = OwnDerivative()
    assert cell(X, Y).tolist() == [15, 42]
    gradients = grad(total(cell), (0, 1))(X, Y)
    assert values(gradients) == [[100, 100], [200, 200]]
    assert cell.events == [[1, 2], [5, 7], [15, 42], [1, 1]]
    # Parameters inside get no gradient, as in MindSpore, and a warning says so.
    with pytest.warns(UserWarning, match="'factor' is 0 in the cell of class OwnDerivative"):
        assert grad(total(cell), None, cell.trainable_params())(X, Y)[0].item() == 0


def test_bprop_with_several_outputs_and_orders() -> None:
    class Cubes(nn.Cell):
        def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x**3, -(x**3)

        def bprop(
            self, x: Tensor, out: tuple[Tensor, Tensor], dout: tuple[Tensor, Tensor]
        ) -> Tensor:
            return 3 * x * x * (dout[0] - dout[1])

    cell = Cubes()

    def first(x: Tensor) -> Tensor:
        return grad(lambda x: (cell(x)[0] - cell(x)[1]).sum())(x)

    assert first(X).tolist() == [6, 24]
    assert grad(lambda x: first(x).sum())(X).tolist() == [12, 24]
    assert grad(lambda x: cell(x)[1].sum())(X).tolist() == [-3, -12]


@pytest.mark.parametrize("value", [None, "a text", 3, [1.0, "two"], ()], ids=str)
def test_non_tensor_outputs_are_unchanged(value: object) -> None:
    class Opaque(nn.Cell):
        def construct(self, x: Tensor) -> object:
            return value

        def bprop(self, x: Tensor, out: object, dout: object) -> Tensor:
            return x

    cell, events = Opaque(), list[object]()

    def total(x: Tensor) -> Tensor:
        events.append(cell(x))
        return x.sum()

    assert grad(total)(X).tolist() == [1, 1]
    cell.register_backward_hook(lambda *_: None)
    assert grad(total)(X).tolist() == [1, 1]
    assert events == [value, value]


@pytest.mark.parametrize("dtype", [ms.float16, ms.float64, ms.int32])
def test_bprop_gives_gradients_of_the_type_of_the_inputs(dtype: DType) -> None:
    class Double(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2.0

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
            return (dout.astype(dtype),)

    cell, x = Double(), Tensor([1.0, 2.0])
    functions: list[Callable[[Tensor], Tensor]] = [cell, lambda x: cell(x * 1.0)]
    for function in functions:
        gradient = grad(function)(x)
        assert (gradient.dtype, gradient.tolist()) == (ms.float32, [1.0, 1.0])


def test_bprop_must_return_a_gradient_per_input() -> None:
    class TooFew(OwnDerivative):
        def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> Tensor:  # type: ignore[override]
            return dout

    class NoTensors(OwnDerivative):
        def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> tuple[float, float]:  # type: ignore[override]
            return 1.0, 2.0

    with pytest.raises(RuntimeError, match="each of the 2 inputs"):
        grad(total(TooFew()))(X, Y)
    with pytest.raises(TypeError, match="must return Tensors"):
        grad(total(NoTensors()))(X, Y)


def test_hooks_run_in_training() -> None:
    """The hook of the first layer is called although its input needs no gradient."""
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))
    norms: list[float] = []

    def note(_cell: nn.Cell, _grad_in: object, grad_out: tuple[Tensor, ...]) -> None:
        norms.append(float(np.abs(grad_out[0].asnumpy()).sum()))

    net[0].register_backward_hook(note)
    plain = grad(lambda x: net(x).sum(), None, net.trainable_params())(ms.ops.ones((4, 2)))
    assert len(norms) == 1
    net[0]._hooks = None
    again = grad(lambda x: net(x).sum(), None, net.trainable_params())(ops.ones((4, 2)))
    assert values(plain) == values(again)


class MixedOutput(nn.Cell):
    """A cell that returns its doubled input in a structure with other objects."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def construct(self, x: Tensor) -> object:
        return {
            "text": "text",
            "nothing": (),
            "list": [x * 2.0, "text"],
            "tuple": (None, x * 2.0),
        }[self.kind]


@pytest.mark.parametrize(
    ("kind", "tensors"), [("text", 0), ("nothing", 0), ("list", 1), ("tuple", 1)]
)
def test_mixed_outputs_keep_their_structure(kind: str, tensors: int) -> None:
    cell = MixedOutput(kind)
    gradients: list[tuple[Tensor, ...]] = []
    cell.register_backward_pre_hook(lambda cell, grads: gradients.append(grads))
    outputs: list[object] = []

    def summed(x: Tensor) -> Tensor:
        output = cell(x)
        outputs.append(output)
        parts: Sequence[object] = as_items(output) or ()
        return sum((part for part in parts if isinstance(part, Tensor)), x * 1.0)

    gradient = grad(summed)(Tensor(3.0))
    assert gradient == 1 + 2 * tensors
    assert len(gradients) == tensors
    [output] = outputs
    plain = MixedOutput(kind)(Tensor(3.0))
    assert type(output) is type(plain)
    assert str(output) == str(plain)


class Pair(NamedTuple):
    first: object
    second: object


def structures(leaf: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Return nested tuples, lists and dictionaries with numbers of tensors and other values."""
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.builds(Pair, inner, inner),
        ),
        max_leaves=5,
    )


def mapped(structure: object, function: Callable[[int], object]) -> object:
    """Return a structure with the results of a function in place of its numbers."""
    if isinstance(structure, Pair):
        return Pair(*(mapped(item, function) for item in structure))
    if isinstance(structure, dict):
        items = cast("dict[str, object]", structure).items()
        return {key: mapped(item, function) for key, item in items}
    if (listed := as_items(structure)) is not None:
        results = [mapped(item, function) for item in listed]
        return tuple(results) if isinstance(structure, tuple) else results
    return function(structure) if isinstance(structure, int) else structure


def numbers_in(structure: object) -> list[int]:
    found: list[int] = []
    mapped(structure, found.append)
    return found


def leaves_of(structure: object) -> list[Tensor]:
    """Return the tensors in a structure, whose shapes are checked by the sum of their products."""
    if isinstance(structure, Tensor):
        return [structure]
    if isinstance(structure, dict):
        structure = list(cast("dict[str, object]", structure).values())
    return [x for item in as_items(structure) or () for x in leaves_of(item)]


class Nested(nn.Cell):
    """A cell that returns multiples of the sum of its input in a structure."""

    def __init__(self, structure: object) -> None:
        super().__init__()
        self.structure = structure
        self.received: list[object] = []

    def construct(self, inputs: object) -> object:
        self.received.append(inputs)
        total = sum(leaves_of(inputs), Tensor(0.0))
        return mapped(self.structure, lambda number: total * float(number))


class NestedBackward(Nested):
    """The same with a derivative that is twice as large."""

    def bprop(self, inputs: object, output: object, gradient: object) -> object:
        numbers = numbers_in(self.structure)
        total = sum((g * n * 2.0 for g, n in zip(leaves_of(gradient), numbers, strict=True)), X * 0)
        return (mapped(self.shape, lambda _: total.sum()),)

    shape: object = None


nested = structures(st.one_of(st.integers(1, 4), st.sampled_from([None, "text"])))


@given(inputs=nested, outputs=nested, factors=st.tuples(factors, factors))
@example(inputs=1, outputs={"a": 1}, factors=([], []))
@example(inputs=(1, [2]), outputs=(1, (2, 3)), factors=([2.0], [3.0]))
@example(inputs={"a": 1}, outputs=Pair(1, None), factors=([2.0], [3.0]))
@example(inputs=None, outputs=[1], factors=([2.0], [3.0]))
def test_hooks_receive_the_gradients_of_nested_inputs_and_outputs(
    inputs: object, outputs: object, factors: tuple[list[float], list[float]]
) -> None:
    """Each is called once, in its order, unless nothing that was returned has a gradient."""
    before, after = factors
    cell, events = Nested(outputs), list[tuple[str, list[object], list[object]]]()
    sources, results = numbers_in(inputs), numbers_in(outputs)

    def note_before(_: nn.Cell, gradients: tuple[Tensor, ...], factor: float) -> object:
        events.append(("before", values(gradients), []))
        return tuple(g * factor for g in gradients)

    def note_after(
        _: nn.Cell, gradients: tuple[Tensor, ...], given: tuple[Tensor, ...], factor: float
    ) -> object:
        events.append(("after", values(gradients), values(given)))
        return [g * factor for g in gradients]

    for factor in [1.0, *before]:
        cell.register_backward_pre_hook(partial(note_before, factor=factor))
    for factor in [1.0, *after]:
        cell.register_backward_hook(partial(note_after, factor=factor))

    def function(x: Tensor) -> Tensor:
        given = mapped(inputs, lambda number: x * float(number))
        output = cell(given)
        assert repr(mapped(outputs, lambda _: 0)) == repr(_without_tensors(output))
        assert repr(_without_tensors(cell.received[-1])) == repr(_without_tensors(given))
        # The second output has twice the gradient of the first.
        return sum((y * float(i + 1) for i, y in enumerate(leaves_of(output))), x * 0.0)

    gradient = grad(function)(Tensor(1.0)).item()
    of_outputs: list[object] = [float(i + 1) for i in range(len(results))]
    of_input = sum((i + 1.0) * n for i, n in enumerate(results)) * prod(before)
    assert gradient == of_input * prod(after) * sum(sources)
    if not results:
        assert events == []
        return
    names = ["before"] * (1 + len(before)) + ["after"] * (1 + len(after))
    assert [name for name, *_ in events] == names
    assert events[0] == ("before", of_outputs, [])
    scaled: list[object] = [(i + 1.0) * prod(before) for i in range(len(results))]
    assert events[1 + len(before)] == ("after", [of_input] * len(sources), scaled)


def _without_tensors(structure: object) -> object:
    if isinstance(structure, Tensor):
        return 0
    if isinstance(structure, Pair):
        return Pair(*map(_without_tensors, structure))
    if isinstance(structure, dict):
        items = cast("dict[str, object]", structure).items()
        return {key: _without_tensors(item) for key, item in items}
    if (listed := as_items(structure)) is not None:
        results = [_without_tensors(item) for item in listed]
        return tuple(results) if isinstance(structure, tuple) else results
    return structure


@given(inputs=nested, outputs=nested)
@example(inputs=(1, [2]), outputs={"a": 1, "b": (2, 3)})
def test_bprop_of_nested_inputs_and_outputs(inputs: object, outputs: object) -> None:
    cell = NestedBackward(outputs)
    cell.shape = inputs

    def function(x: Tensor) -> Tensor:
        output = cell(mapped(inputs, lambda number: x * float(number)))
        return sum(leaves_of(output), x * 0.0)

    # The sum of X * 0 has two elements.
    expected = 4 * sum(numbers_in(outputs)) * sum(numbers_in(inputs))
    assert grad(function)(Tensor(1.0)).item() == expected


WRONG_GRADIENTS: dict[str, Callable[[Tensor], object]] = {
    "transposed": lambda g: g.T,
    "flat": lambda g: g.reshape(-1),
    "a part": lambda g: g[0],
    "broadcast": lambda g: g.broadcast_to((2, *g.shape)),
    "float16": lambda g: g.astype(ms.float16),
    "int": lambda g: g.astype(ms.int32),
    "an array": lambda g: g.asnumpy(),
    "a number": lambda g: 1.0,
    "a tuple": lambda g: (g, g),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tensor", "input", "weight", "backward", "backward_pre", "bprop"])
@pytest.mark.parametrize("wrong", WRONG_GRADIENTS)
def test_gradient_of_another_shape_or_type_is_refused(wrong: str, kind: str, order: int) -> None:
    """The types of what `bprop` returns are converted, as in MindSpore."""
    weight = Parameter(Tensor(np.ones((2, 3), np.float32)))

    def hook(*gradients: object) -> object:
        gradient = gradients[-1]
        given = as_items(gradient)
        chosen = given[0] if given else gradient
        assert isinstance(chosen, Tensor)
        return WRONG_GRADIENTS[wrong](chosen)

    tensor_hook = cast("Callable[[Tensor], Tensor | None]", hook)

    class Doubled(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2

    class DoubledBackward(Doubled):
        def bprop(self, x: Tensor, output: Tensor, gradient: Tensor) -> object:
            return hook(gradient)

    cell = DoubledBackward() if kind == "bprop" else Doubled()
    if kind.startswith("backward"):
        getattr(cell, f"register_{kind}_hook")(hook)
    elif kind == "weight":
        weight.register_hook(tensor_hook)

    def function(x: Tensor) -> Tensor:
        if kind == "input":
            x.register_hook(tensor_hook)
        y = cell(x) * weight
        if kind == "tensor":
            y.register_hook(tensor_hook)
        return (y * y).sum()

    def derivative(x: Tensor) -> Tensor:
        by_input, (by_weight,) = grad(function, 0, [weight])(x)
        total: Tensor = by_input.sum() + by_weight.sum()
        return total

    def differentiate() -> None:
        (derivative if order == 1 else grad(derivative))(Tensor(np.ones((2, 3), np.float32)))

    if kind == "bprop" and wrong in ("float16", "int"):
        differentiate()
        return
    with pytest.raises((TypeError, ValueError, RuntimeError), match="hook|bprop") as caught:
        differentiate()
    assert isinstance(caught.value, ValueError) or wrong in ("an array", "a number", "a tuple")


def test_hook_may_keep_and_return_what_it_likes() -> None:
    """Nothing that is done to the gradients later changes it, nor the other way round."""
    net = nn.Dense(2, 1)
    kept: list[tuple[Tensor, object]] = []
    own = Tensor([[5.0, 7.0]])

    def keep(gradient: Tensor) -> Tensor:
        kept.append((gradient, gradient.tolist()))
        return own

    net.weight.register_hook(keep)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, weight_decay=0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    for _ in range(3):
        step(Tensor([[1.0, 2.0]]), Tensor([[3.0]]))
    assert all(gradient.tolist() == values for gradient, values in kept)
    assert own.tolist() == [[5.0, 7.0]]


def test_output_in_which_tensors_are_not_found_is_refused() -> None:
    class Holder:
        def __init__(self, value: Tensor) -> None:
            self.value = value

    class Holding(nn.Cell):
        def construct(self, x: Tensor) -> Holder:
            return Holder(x * 2)

    cell = Holding()
    assert cell(X).value.tolist() == [2, 4]
    cell.register_backward_hook(lambda *_: None)
    with pytest.raises(TypeError, match="tuples, lists and dictionaries, but it returned"):
        grad(lambda x: cell(x).value.sum())(X)


def test_keyword_argument_of_a_cell_with_bprop_warns() -> None:
    class Keyword(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            return x * y

        def bprop(self, x: Tensor, out: Tensor, dout: Tensor, y: Tensor) -> Tensor:
            return dout * y

    cell = Keyword()
    assert grad(lambda x: cell(x, y=Y).sum())(X).tolist() == [5, 7]
    with pytest.warns(UserWarning, match="argument 'y' is 0 in the cell of class Keyword"):
        grad(lambda y: cell(X, y=y).sum())(Y)
