"""An operation whose derivative the user writes as a `bprop`: gradients of tensors to tensors."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from minispore._array import Array, namespace
from minispore._autograd import Node, recording
from minispore._functional.operands import cast_to, dtype_of
from minispore._functional.variable import T, wrap

G = TypeVar("G")
R = TypeVar("R")


def with_bprop(output: T, inputs: Sequence[T], bprop: Callable[[T], Sequence[T | None]]) -> T:
    """`output` as a function of `inputs` whose gradients `bprop` computes from its own.

    Args:
        output: The value, computed in any way.
        inputs: What it was computed from.
        bprop: From the gradient of the output to one for each input, None for zero.

    Returns:
        `output` with a new place in the graph.
    """
    parents = tuple(x._node for x in inputs)
    if not any(parents) or not recording.get():
        return wrap(output._data, output)
    # The walk asks input by input, but one call answers for all of them.
    shares = _remembering(bprop)

    def wrap_gradient(gradient: Array) -> T:
        return wrap(gradient, output)

    wrapped = _remembering(wrap_gradient)

    def pullback(i: int) -> Callable[[T], T]:
        return lambda gradient: _share(shares(gradient), i, inputs[i])

    def on_arrays(i: int) -> Callable[[Array], Array]:
        on_values = pullback(i)
        return lambda gradient: on_values(wrapped(gradient))._data

    def on_recorded(*_: object) -> tuple[T, list[Callable[[T], T]]]:
        return output, [pullback(i) for i in range(len(inputs))]

    pullbacks = [on_arrays(i) for i in range(len(inputs))]
    arrays = tuple(x._data for x in inputs)
    return wrap(output._data, output, Node(parents, pullbacks, on_recorded, arrays))


def _share(shares: Sequence[T | None], i: int, x: T) -> T:
    """The gradient for input `x`, number `i`, in its shape and type."""
    share = shares[i] if i < len(shares) else None
    if share is None:
        return wrap(namespace(x._data).zeros_like(x._data), x)
    if share.shape != x.shape:
        raise ValueError(
            f"For a 'bprop', the gradient of input {i} must be of its shape {x.shape}, "
            f"but got {share.shape}."
        )
    return cast_to(share, dtype_of(x))


def _remembering(function: Callable[[G], R]) -> Callable[[G], R]:
    """`function`, which asked again with the same object gives the same answer."""
    latest: list[tuple[G, R]] = []

    def remembered(argument: G) -> R:
        if not latest or latest[0][0] is not argument:
            latest[:] = [(argument, function(argument))]
        return latest[0][1]

    return remembered
