"""Hooks of forward and backward passes, and custom `bprop` methods."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
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
