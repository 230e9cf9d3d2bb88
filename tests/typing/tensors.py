"""What type checkers say about tensors and parameters. Nothing here is run.

Each `type: ignore[…]` is a mistake that both type checkers must find: where one doesn't, it calls
the comment unused.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, get_grad, grad, nn, ops, value_and_grad
from minispore.common.dtype import DType


def operators_give_tensors(t: Tensor, p: Parameter) -> None:
    assert_type(t + 1, Tensor)
    assert_type(1.5 - t, Tensor)
    assert_type(t / t, Tensor)
    assert_type(2**t, Tensor)
    assert_type(-t, Tensor)
    assert_type(t * [1.0, 2.0], Tensor)
    assert_type(t * np.float32(2), Tensor)
    assert_type(t @ t.T, Tensor)
    assert_type(t < 0, Tensor)
    assert_type(t == 0, Tensor)
    assert_type(t & True, Tensor)
    assert_type(t[0, ..., None], Tensor)
    assert_type(t[t > 0], Tensor)
    assert_type([row for row in t], list[Tensor])  # noqa: C416
    # What comes of a parameter is a tensor.
    assert_type(p * 2, Tensor)
    assert_type(2 + p, Tensor)
    assert_type(p[0], Tensor)
    assert_type(p.T, Tensor)
    assert_type(p.value(), Tensor)
    assert_type(p.data, Tensor)


def other_operands_are_refused(t: Tensor) -> None:
    t @ 3  # type: ignore[operator]
    3 @ t  # type: ignore[operator]
    t + "a"  # type: ignore[operator]
    t * None  # type: ignore[operator]
    _ = t < object()  # type: ignore[operator]
    t << 1  # type: ignore[operator]
    t[0] = "a"  # type: ignore[assignment]


def methods_know_their_arguments(t: Tensor) -> None:
    assert_type(t.reshape(2, 3), Tensor)
    assert_type(t.reshape((2, 3)), Tensor)
    assert_type(t.sum(axis=(0, 1), keepdims=True), Tensor)
    assert_type(t.split(2), tuple[Tensor, ...])
    assert_type(t.max(), Tensor)
    assert_type(t.max(axis=1), Tensor)
    assert_type(t.min(1), tuple[Tensor, Tensor])
    assert_type(t.min(axis=1), Tensor)
    assert_type(t.min((0, 1), keepdims=True), Tensor)
    assert_type(t.min(return_indices=True), tuple[Tensor, Tensor])
    assert_type(t.add_(1), Tensor)
    t.min("a")  # type: ignore[arg-type]
    t.reshape("a")  # type: ignore[arg-type]
    t.sum(axis="a")  # type: ignore[arg-type]
    t.sum(axes=1)  # type: ignore[call-arg]
    t.copy_(3)  # type: ignore[arg-type]
    t.foo()  # type: ignore[attr-defined]


def values_have_types(t: Tensor) -> None:
    assert_type(t.shape, tuple[int, ...])
    assert_type(t.dtype, DType)
    assert_type(t.size, int)
    assert_type(t.asnumpy(), NDArray[Any])
    # One can compute with it.
    assert_type(t.asnumpy().max() + 1, Any)
    assert_type(t.asnumpy() + 1, NDArray[Any])  # ty: ignore[type-assertion-failure]
    assert_type(t.asnumpy()[1:], NDArray[Any])
    assert_type(t.asnumpy()[0] > 1, Any)
    assert_type(t.item(), bool | int | float)
    assert_type(t.tolist(), object)
    assert_type(float(t), float)  # ty: ignore[type-assertion-failure]
    assert_type(len(t), int)
    # A tensor has no truth of its own but for one element; comparing is no bool.
    flag: bool = t > 0  # type: ignore[assignment]
    t.shape = (1,)  # type: ignore[misc]
    t.dtype = ms.int32  # type: ignore[misc]
    del flag


def tensors_are_made_of_values() -> None:
    assert_type(Tensor([1, 2], ms.float32), Tensor)
    assert_type(Tensor.from_numpy(np.zeros(2)), Tensor)
    Tensor([1], "float32")  # type: ignore[arg-type]
    Tensor([1], np.float32)  # type: ignore[arg-type]
    Tensor.from_numpy([1])  # type: ignore[arg-type]


def parameters_have_names(p: Parameter) -> None:
    assert_type(p.name, str)
    assert_type(p.requires_grad, bool)
    assert_type(p.set_data(Tensor(1.0)), Parameter)
    assert_type(p.clone("zeros"), Parameter)
    assert_type(ParameterTuple([p])[0], Parameter)
    assert_type(ParameterTuple([p]).clone("m"), ParameterTuple)
    p.name = "weight"
    p.name = 3  # type: ignore[assignment]
    p.requires_grad = "yes"  # type: ignore[assignment]
    p.set_data([1.0])  # type: ignore[arg-type]
    ParameterTuple([Tensor(1)])  # type: ignore[list-item]


def gradients_of_tensors_are_tensors(t: Tensor) -> None:
    def square(x: Tensor) -> Tensor:
        return x * x

    assert_type(grad(square)(t), Tensor)
    assert_type(grad(grad(square))(t), Tensor)
    assert_type(value_and_grad(square)(t), tuple[Tensor, Tensor])
    assert_type(ops.exp(t), Tensor)
    grad(3)  # type: ignore[call-overload]


def gradients_have_the_structure_of_positions_and_weights(t: Tensor, w: Parameter) -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return x * y * w

    assert_type(grad(f, (0,))(t, t), Tensor)
    assert_type(grad(f, (0, 1))(t, t), tuple[Tensor, ...])
    assert_type(grad(f, None, [w])(t, t), tuple[Tensor, ...])
    assert_type(value_and_grad(f, (0, 1))(t, t), tuple[Tensor, tuple[Tensor, ...]])
    assert_type(value_and_grad(f, None, [w])(t, t), tuple[Tensor, tuple[Tensor, ...]])
    assert_type(
        value_and_grad(f, 0, ParameterTuple([w]))(t, t),
        tuple[Tensor, tuple[Tensor, tuple[Tensor, ...]]],
    )
    # Of other combinations the type is unknown.
    assert_type(grad(f, None, w)(t, t), Any)
    by_inputs, by_weights = grad(f, (0, 1), [w])(t, t)
    assert_type(by_inputs, Any)
    assert_type(value_and_grad(f, (0, 1), w)(t, t), tuple[Tensor, Any])
    del by_weights
    # The arguments remain those of the function.
    grad(f, None, [w])(t)  # type: ignore[call-arg]
    grad(f, "x")  # type: ignore[call-overload]


def gradients_have_further_outputs_and_names(t: Tensor, w: Parameter) -> None:
    def f(x: Tensor) -> tuple[Tensor, int, str]:
        return x * w, 3, "three"

    assert_type(grad(f, has_aux=True)(t), tuple[Tensor, tuple[int, str]])
    assert_type(value_and_grad(f, has_aux=True)(t), tuple[tuple[Tensor, int, str], Tensor])
    assert_type(
        value_and_grad(f, None, [w], has_aux=True)(t),
        tuple[tuple[Tensor, int, str], tuple[Tensor, ...]],
    )
    assert_type(grad(f, return_ids=True)(t), tuple[int, Tensor])
    assert_type(get_grad(grad(f, 0, [w], return_ids=True)(t), w), Tensor)
    assert_type(grad(f, sens_param=True)(t, t), Any)


def grad_operations_have_any_result(
    t: Tensor, w: Parameter, net: nn.Cell, operation: ops.GradOperation
) -> None:
    assert_type(operation(net)(t), Any)
    assert_type(operation(net, w)(t), Any)
    operation("net")  # type: ignore[arg-type]
    ops.GradOperation(get_all="yes")  # type: ignore[arg-type]
