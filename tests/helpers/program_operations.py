"""Operations for random programs: each for tensors, and in a naive version for Numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from minispore import Tensor, ops
from tests.helpers.naive_autodiff import Number, Numbers, array, largest

Shape: TypeAlias = tuple[int, ...]
Args: TypeAlias = st.SearchStrategy[tuple[object, ...]]


@dataclass(frozen=True)
class Operation:
    """An operation in two implementations.

    Attributes:
        ours: The operation of tensors.
        naive: The same operation of arrays of Numbers.
        operands: The number of operands.
        fits: Returns whether it accepts operands of these shapes.
        args: Returns a strategy for its other arguments, from the first operand's shape.
    """

    ours: Callable[..., object]
    naive: Callable[..., object]
    operands: int = 1
    fits: Callable[..., bool] = lambda *_: True
    args: Callable[[Shape], Args] = lambda _: st.just(())


def elementwise(function: Callable[[Number], Number]) -> Callable[..., object]:
    """Return a function of a Number as a function of arrays."""
    return np.frompyfunc(function, 1, 1)


def both(function: Callable[[Number, Number], Number]) -> Callable[..., object]:
    """Return a function of two Numbers as a function of arrays that broadcast."""
    return np.frompyfunc(function, 2, 1)


def broadcast(x: Shape, y: Shape) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(x), reversed(y), strict=False))


def alike(x: Shape, y: Shape) -> bool:
    return x == y


def chained(x: Shape, y: Shape) -> bool:
    return len(x) in (1, 2) and len(y) in (1, 2) and x[-1] == y[0]


def has_axes(x: Shape) -> bool:
    return len(x) > 0


def an_axis(x: Shape, more: int = 0) -> Args:
    return st.tuples(st.integers(-len(x) - more, len(x) + more - 1))


def axes_and_keep(x: Shape) -> Args:
    one = st.integers(-len(x), len(x) - 1) if x else st.none()
    return st.tuples(st.none() | one, st.booleans())


def other_shape(x: Shape) -> Args:
    return st.sampled_from([x[::-1], (-1,), (1, *x), (*x, 1)]).map(lambda shape: (shape,))


def orders(x: Shape) -> Args:
    return st.permutations(range(len(x))).map(lambda axes: (tuple(axes),))


def rows(x: Shape) -> Args:
    """Return a strategy for row numbers, which may repeat."""
    return st.lists(st.integers(-x[0], x[0] - 1), min_size=1, max_size=3).map(lambda i: (i,))


def over_axes(of: Callable[[Sequence[Number]], Number]) -> Callable[..., object]:
    """Return a function of several Numbers as a reduction of arrays."""

    def reduced(x: Numbers, axis: int | None, keepdims: bool) -> object:
        where = range(x.ndim) if axis is None else [axis % x.ndim]
        first = np.moveaxis(x, list(where), list(range(len(where))))
        remaining = first.shape[len(where) :]
        results = [of(list(column)) for column in first.reshape(-1, int(np.prod(remaining))).T]
        with_ones = [1 if i in where else n for i, n in enumerate(x.shape)]
        return array(results, tuple(with_ones) if keepdims else remaining)

    return reduced


def total(x: Sequence[Number]) -> Number:
    return sum(x[1:], x[0])


def exponentials(x: Sequence[Number]) -> list[Number]:
    return [x_i.exp() for x_i in x]


def softmax(x: Numbers, axis: int) -> object:
    powers: Numbers = np.exp(x)
    return powers / np.sum(powers, axis=axis, keepdims=True)


def clipped(x: Number) -> Number:
    flat = x.stop_gradient() * 0.0
    return flat + 0.7 if (x + -0.7).sign() > 0 else flat + -0.6 if (x + 0.6).sign() < 0 else x


def taken(x: Tensor, index: Sequence[int]) -> Tensor:
    return x[Tensor(np.array(index))]


def assigned(x: Tensor, y: Tensor) -> Tensor:
    changed = x * 1.0
    changed[0] = y[-1]
    return changed


def assigned_naively(x: Numbers, y: Numbers) -> Numbers:
    changed = x.copy()
    changed[0] = y[-1]
    return changed


OPERATIONS: dict[str, Operation] = {
    "add": Operation(ops.add, np.add, 2, broadcast),
    "sub": Operation(ops.sub, np.subtract, 2, broadcast),
    "mul": Operation(ops.mul, np.multiply, 2, broadcast),
    "div_by_above_1": Operation(
        lambda x, y: x / (ops.square(y) + 1.0),
        both(lambda x, y: x / (y * y + 1.0)),
        2,
        broadcast,
    ),
    "pow_of_above_1": Operation(
        lambda x, y: ops.pow(ops.square(x) + 1.0, y),
        both(lambda x, y: (y * (x * x + 1.0).log()).exp()),
        2,
        broadcast,
    ),
    "maximum": Operation(ops.maximum, both(lambda x, y: largest([x, y])), 2, broadcast),
    "minimum": Operation(ops.minimum, both(lambda x, y: -largest([-x, -y])), 2, broadcast),
    "where_above": Operation(
        lambda x, y: ops.where(x > y, x, y * y),
        both(lambda x, y: x if (x - y).sign() > 0 else y * y),
        2,
        broadcast,
    ),
    "neg": Operation(ops.neg, np.negative),
    "square": Operation(ops.square, elementwise(lambda x: x * x)),
    "exp": Operation(ops.exp, elementwise(lambda x: x.exp())),
    "log_of_above_1": Operation(
        lambda x: ops.log(x * x + 1.0), elementwise(lambda x: (x * x + 1.0).log())
    ),
    "sqrt_of_above_1": Operation(
        lambda x: ops.sqrt(x * x + 1.0), elementwise(lambda x: (x * x + 1.0).sqrt())
    ),
    "tanh": Operation(ops.tanh, elementwise(lambda x: x.tanh())),
    "sigmoid": Operation(ops.sigmoid, elementwise(lambda x: (x * 0.5).tanh() * 0.5 + 0.5)),
    "softplus": Operation(ops.softplus, elementwise(lambda x: (x.exp() + 1.0).log())),
    "abs": Operation(ops.abs, elementwise(lambda x: x * x.sign())),
    "relu": Operation(ops.relu, elementwise(lambda x: x if x.sign() > 0 else x * 0.0)),
    "clip": Operation(lambda x: ops.clip(x, -0.6, 0.7), elementwise(clipped)),
    "stop_gradient": Operation(ops.stop_gradient, elementwise(lambda x: x.stop_gradient())),
    "matmul": Operation(ops.matmul, np.matmul, 2, chained),
    "sum": Operation(ops.sum, over_axes(total), args=axes_and_keep),
    "mean": Operation(ops.mean, over_axes(lambda x: total(x) * (1 / len(x))), args=axes_and_keep),
    "amax": Operation(ops.amax, over_axes(largest), args=axes_and_keep),
    "amin": Operation(
        ops.amin, over_axes(lambda x: -largest([-number for number in x])), args=axes_and_keep
    ),
    "logsumexp": Operation(
        ops.logsumexp, over_axes(lambda x: total(exponentials(x)).log()), args=axes_and_keep
    ),
    "softmax": Operation(ops.softmax, softmax, 1, has_axes, an_axis),
    "reshape": Operation(ops.reshape, np.reshape, args=other_shape),
    "permute": Operation(ops.permute, np.transpose, args=orders),
    "expand_dims": Operation(ops.expand_dims, np.expand_dims, args=lambda x: an_axis(x, 1)),
    "concat": Operation(
        lambda x, y, axis: ops.concat([x, y], axis),
        lambda x, y, axis: np.concatenate([x, y], axis),
        2,
        lambda x, y: has_axes(x) and alike(x, y),
        an_axis,
    ),
    "stack": Operation(
        lambda x, y, axis: ops.stack([x, y], axis),
        lambda x, y, axis: np.stack([x, y], axis),
        2,
        alike,
        lambda x: an_axis(x, 1),
    ),
    "rows": Operation(taken, lambda x, index: x[index], 1, has_axes, rows),
    "assign_a_row": Operation(
        assigned, assigned_naively, 2, lambda x, y: has_axes(x) and alike(x, y)
    ),
}
