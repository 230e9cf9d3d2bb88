"""Hooks into a cell's call and its derivative, and a cell's own bprop."""

from collections.abc import Callable

import numpy as np
import pytest

import minispore as ms
from minispore import Parameter, Tensor, grad, nn, ops

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


def test_a_cell_without_hooks_goes_straight_to_construct() -> None:
    cell = Product()
    assert cell._plain
    handle = cell.register_forward_hook(lambda *_: None)
    assert not cell._plain
    handle.remove()
    assert cell(X, Y).tolist() == [15, 42]


def test_forward_hooks_see_and_replace() -> None:
    cell = Product()
    seen: list[object] = []

    def pre(cell_: nn.Cell, inputs: tuple[Tensor, ...]) -> None:
        seen.append((cell_ is cell, values(inputs)))

    def post(cell_: nn.Cell, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen.append((cell_ is cell, values(inputs), output.tolist()))

    cell.register_forward_pre_hook(pre)
    cell.register_forward_hook(post)
    cell(X, Y)
    assert seen == [(True, [[1, 2], [5, 7]]), (True, [[1, 2], [5, 7]], [15, 42])]
    doubled = cell.register_forward_pre_hook(lambda _, inputs: (inputs[0] * 2, inputs[1]))
    negated = cell.register_forward_hook(lambda _, inputs, output: -output)
    assert cell(X, Y).tolist() == [-30, -84]
    # What a hook does is a part of what is differentiated.
    assert grad(total(cell))(X, Y).tolist() == [-30, -42]
    doubled.remove()
    doubled.remove()
    assert cell(X, Y).tolist() == [-15, -42]
    negated.remove()
    assert cell(X, Y).tolist() == [15, 42]


def test_one_value_stands_for_a_tuple_of_one() -> None:
    relu = nn.ReLU()
    relu.register_forward_pre_hook(lambda _, inputs: inputs[0] * 3)
    assert relu(X).tolist() == [3, 6]


def test_hooks_with_kwargs() -> None:
    cell = Product()
    seen: list[object] = []
    cell.register_forward_pre_hook(
        lambda _, args, kwargs: (args, {**kwargs, "scale": 2.0}), with_kwargs=True
    )
    cell.register_forward_hook(
        lambda _, args, kwargs, output: seen.append(kwargs["scale"]), with_kwargs=True
    )
    cell.register_forward_pre_hook(lambda _, args, kwargs: seen.append(len(args)), with_kwargs=True)
    assert cell(X, y=Y).tolist() == [30, 84]
    assert seen == [1, 2.0]


@pytest.mark.parametrize("answer", [3, (), (X, {}), ((X, Y), [1.0]), ((X,), {}, {})], ids=str)
def test_new_arguments_are_a_tuple_and_a_dict(answer: object) -> None:
    cell = Product()
    cell.register_forward_pre_hook(lambda *_: answer, with_kwargs=True)
    with pytest.raises(RuntimeError, match="new keyword arguments, but got"):
        cell(X, Y)


def test_order_and_prepend() -> None:
    cell = Product()
    log: list[str] = []
    for name, prepend in (("1", False), ("2", True), ("3", False)):
        cell.register_forward_pre_hook(lambda *_, n=name: log.append(f"pre{n}"), prepend=prepend)
        cell.register_forward_hook(lambda *_, n=name: log.append(f"post{n}"), prepend=prepend)
    cell(X, Y)
    assert log == ["pre2", "pre1", "pre3", "post2", "post1", "post3"]


def test_always_call_runs_when_construct_fails() -> None:
    class Failing(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            raise ValueError("boom")

    cell = Failing()
    seen: list[object] = []
    cell.register_forward_hook(lambda *_: seen.append("never"))
    cell.register_forward_hook(lambda _, inputs, output: seen.append(output), always_call=True)
    with pytest.raises(ValueError, match="boom"):
        cell(X)
    assert seen == [None]


# As MindSpore calls them, for the same cells and values.
def test_backward_hooks_see_all_gradients_at_once() -> None:
    cell = Product()
    seen: list[tuple[str, list[object], list[object]]] = []
    cell.register_backward_hook(
        lambda _, grad_in, grad_out: seen.append(("hook", values(grad_in), values(grad_out)))
    )
    cell.register_backward_pre_hook(lambda _, grad_out: seen.append(("pre", values(grad_out), [])))
    assert cell(X, Y).tolist() == [15, 42]
    assert seen == []
    expected: list[object] = [("pre", [[1, 1]], []), ("hook", [[15, 21], [3, 6]], [[1, 1]])]
    assert grad(total(cell))(X, Y).tolist() == [15, 21]
    assert seen == expected
    seen.clear()
    grads = grad(total(cell), None, cell.trainable_params())(X, Y)
    assert [g.tolist() for g in grads] == [19]
    assert seen == expected


def test_backward_hooks_with_two_outputs() -> None:
    cell = TwoOutputs()
    seen: list[object] = []
    cell.register_backward_hook(
        lambda _, grad_in, grad_out: seen.extend([values(grad_in), values(grad_out)])
    )
    assert grad(lambda x: cell(x, Y)[0].sum())(X).tolist() == [5, 7]
    # Where MindSpore says None, the gradient that did not arrive is zero.
    assert seen == [[[5, 7], [1, 2]], [[1, 1], [0, 0]]]


def test_backward_hooks_replace() -> None:
    cell = Product()
    cell.register_backward_hook(lambda _, grad_in, grad_out: (grad_in[0] * 2, grad_in[1] * 3))
    cell.register_backward_hook(lambda _, grad_in, grad_out: (grad_in[0] + 1, grad_in[1]))
    gradients = grad(total(cell), (0, 1))(X, Y)
    assert values(gradients) == [[31, 43], [9, 18]]
    relu = nn.ReLU()
    relu.register_backward_pre_hook(lambda _, grad_out: grad_out[0] * 3)
    assert grad(lambda x: relu(x).sum())(X).tolist() == [3, 3]


def test_backward_hooks_work_at_every_level() -> None:
    cell = Product()
    cell.register_backward_hook(lambda _, grad_in, grad_out: (grad_in[0] * 2, grad_in[1]))

    def first(x: Tensor) -> Tensor:
        return grad(lambda x: cell(x, x).sum())(x)

    # d/dx of 3x² is 3x + 3x; the hook doubles one of the two.
    assert first(X).tolist() == [9, 18]
    assert grad(lambda x: first(x).sum())(X).tolist() == [9 + 3, 9 + 3]


def test_what_a_backward_hook_may_return() -> None:
    for answer in (3, (Tensor(1.0),), [X, Y, X]):
        cell = Product()
        cell.register_backward_hook(lambda *_, a=answer: a)
        with pytest.raises(TypeError, match="which is 2"):
            grad(total(cell))(X, Y)
    cell = Product()
    cell.register_backward_hook(lambda *_: (Tensor(1.0), Tensor(1.0)))
    with pytest.raises(ValueError, match="gradient of input 0"):
        grad(total(cell))(X, Y)


def test_hooks_must_be_callable() -> None:
    cell = Product()
    for register in (
        cell.register_forward_pre_hook,
        cell.register_forward_hook,
        cell.register_backward_pre_hook,
        cell.register_backward_hook,
    ):
        with pytest.raises(TypeError, match="callable"):
            register(3)  # type: ignore[arg-type]


class OwnDerivative(nn.Cell):
    """The product, with a derivative that is not its own."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = Parameter(Tensor(3.0))
        self.seen: list[object] = []

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y * self.factor

    def bprop(self, x: Tensor, y: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor, Tensor]:
        self.seen += [t.tolist() for t in (x, y, out, dout)]
        return dout * 100, dout * 200


def test_bprop_replaces_the_derivative() -> None:
    cell = OwnDerivative()
    assert cell(X, Y).tolist() == [15, 42]
    gradients = grad(total(cell), (0, 1))(X, Y)
    assert values(gradients) == [[100, 100], [200, 200]]
    assert cell.seen == [[1, 2], [5, 7], [15, 42], [1, 1]]
    # Parameters inside get none, as in MindSpore.
    with pytest.warns(UserWarning, match="gradients are all zero"):
        assert grad(total(cell), None, cell.trainable_params())(X, Y)[0].item() == 0


def test_bprop_of_several_outputs_and_higher_orders() -> None:
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


@pytest.mark.parametrize("given", [None, "a text", 3, [1.0, "two"], ()], ids=str)
def test_what_is_no_tensor_comes_out_as_it_is(given: object) -> None:
    class Opaque(nn.Cell):
        def construct(self, x: Tensor) -> object:
            return given

        def bprop(self, x: Tensor, out: object, dout: object) -> Tensor:
            return x

    cell, seen = Opaque(), list[object]()

    def total(x: Tensor) -> Tensor:
        seen.append(cell(x))
        return x.sum()

    assert grad(total)(X).tolist() == [1, 1]
    cell.register_backward_hook(lambda *_: None)
    assert grad(total)(X).tolist() == [1, 1]
    assert seen == [given, given]


def test_bprop_must_answer_for_every_input() -> None:
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


def test_hooks_and_training_together() -> None:
    """A hook on the first layer, whose input wants no gradient, is called all the same."""
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
