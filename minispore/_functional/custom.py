"""Operations whose derivative the user writes: as a rule on arrays, or as a bprop on tensors."""

from collections.abc import Callable, Sequence
from typing import cast

from minispore._array import Array, namespace
from minispore._autograd import Node, recording
from minispore._functional.apply import Origin, Pull
from minispore._functional.variable import T, wrap


def apply_rule(rule: Callable[..., tuple[Array, Sequence[Pull]]], *operands: T) -> T:
    """Apply a rule of your own: arrays in, the value and one pullback for each operand out.

    Write it in terms of operators and of `namespace(x)`, and it is differentiable to any order.

    >>> from minispore import Tensor, grad, ops
    >>> def cube(x):
    ...     return x * x * x, (lambda g: g * (3.0 * x * x),)
    >>> f = lambda x: ops.apply_rule(cube, x)
    >>> grad(f)(Tensor(2.0)), grad(grad(f))(Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 12), Tensor(shape=[], dtype=Float32, value= 12))

    Raises:
        ValueError: The rule gives more or fewer pullbacks than it has operands.
    """
    arrays = tuple(x._data for x in operands)
    value, pullbacks = rule(*arrays)
    if len(pullbacks) != len(operands):
        raise ValueError(
            f"For 'apply_rule', a rule of {len(operands)} operands must give as many pullbacks, "
            f"but {getattr(rule, '__name__', 'it')} gave {len(pullbacks)}."
        )
    parents = tuple(x._node for x in operands)
    if not any(parents) or not recording.get():
        return wrap(value, operands[0])
    origin: Origin = (rule, arrays, (), {})
    return wrap(value, operands[0], Node(parents, pullbacks, origin))


def with_bprop(output: T, inputs: Sequence[T], bprop: Callable[[T], Sequence[T | None]]) -> T:
    """`output` as a function of `inputs` whose gradients `bprop` computes from its own.

    Args:
        output: The value, computed in any way.
        inputs: What it was computed from.
        bprop: From the gradient of the output to one for each input, None for zero.
    """
    parents = tuple(x._node for x in inputs)
    if not any(parents) or not recording.get():
        return wrap(output._data, output)
    # The walk asks operand by operand, but one call answers for all of them.
    latest: list[tuple[T, Sequence[T | None]]] = []

    def share(gradient: T, i: int) -> T:
        if not latest or latest[0][0] is not gradient:
            latest[:] = [(gradient, bprop(gradient))]
        shares = latest[0][1]
        mine = shares[i] if i < len(shares) else None
        x = inputs[i]
        if mine is None:
            return wrap(namespace(x._data).zeros_like(x._data), x)
        if mine.shape != x.shape:
            raise ValueError(
                f"For a 'bprop', the gradient of input {i} must be of its shape {x.shape}, "
                f"but got {mine.shape}."
            )
        return mine

    wrapped: list[tuple[Array, T]] = []

    def on_arrays(gradient: Array, i: int) -> Array:
        if not wrapped or wrapped[0][0] is not gradient:
            wrapped[:] = [(gradient, wrap(gradient, output))]
        return share(wrapped[0][1], i)._data

    def on_values(*_: object) -> object:
        return output, [lambda g, i=i: share(g, i) for i in range(len(inputs))]

    origin: Origin = (on_values, tuple(x._data for x in inputs), (), {})
    pullbacks = [cast("Pull", lambda g, i=i: on_arrays(g, i)) for i in range(len(inputs))]
    return wrap(output._data, output, Node(parents, pullbacks, origin))
