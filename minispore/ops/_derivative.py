"""What all forms of a gradient share: the call's checks, and the gradients to start from."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from minispore._array import namespace
from minispore._checks import as_items
from minispore._functional.differentiate import Derivative, differentiate
from minispore._functional.variable import Variable, wrap
from minispore.common.tensor import Tensor

Weights: TypeAlias = Sequence[Tensor]


def check_callable(fn: object, owner: str) -> None:
    """Raise TypeError unless `fn` can be called."""
    if not callable(fn):
        raise TypeError(
            f"For '{owner}', the argument 'fn' must be callable, but got {type(fn).__name__}."
        )


def in_sequence(weights: Tensor | Weights | None) -> Weights:
    """One weight, several or none, as a sequence."""
    if weights is None:
        return ()
    return (weights,) if isinstance(weights, Tensor) else weights


def derivative_of(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: dict[str, object],
    positions: tuple[int, ...],
    weights: Tensor | Weights | None,
    *,
    has_aux: bool = False,
    sens: object = None,
) -> Derivative:
    """The outputs of `fn` and its gradients, where `positions` and `weights` name tensors.

    Args:
        fn: The function.
        args: Its arguments by position.
        kwargs: Its arguments by name.
        positions: Which of `args` to differentiate by.
        weights: Which tensors beside to differentiate by.
        has_aux: Whether only the first output is differentiated.
        sens: The gradient of the outputs to start from; ones if None.

    Raises:
        RuntimeError: A position names no argument, or one that is no tensor.
        ValueError: `sens` is not of the outputs' shape, or has_aux is wrong about the outputs.
    """
    for position in positions:
        if position >= len(args):
            raise RuntimeError(
                f"There is no argument {position} to differentiate by: "
                f"the function was called with {len(args)}."
            )
        if not isinstance(args[position], Tensor):
            raise RuntimeError(
                f"Argument {position} must be a Tensor to be differentiated by, "
                f"but got {args[position]!r}."
            )

    def seeds(outputs: object) -> list[tuple[Variable, Variable]]:
        if has_aux:
            outputs = _first(outputs)
        tensors = _tensors(outputs)
        if sens is None:
            return [(y, _ones(y)) for y in tensors]
        given = _tensors(sens)
        if [y.shape for y in tensors] != [g.shape for g in given]:
            raise ValueError(
                "The gradient to start from must have the shape of the output: "
                f"{[y.shape for y in tensors]}, but got {[g.shape for g in given]}."
            )
        return list(zip(tensors, given, strict=True))

    return differentiate(
        fn,
        args,
        kwargs,
        positions=positions,
        weights=in_sequence(weights),
        seeds=seeds,
    )


def _first(outputs: object) -> object:
    items = as_items(outputs)
    if not items:
        raise ValueError(
            "With has_aux=True the function must return several outputs, the first of which is "
            f"differentiated, but it returned {outputs!r}."
        )
    return items[0]


def _tensors(outputs: object) -> list[Variable]:
    if isinstance(outputs, Variable):
        return [outputs]
    return [y for item in as_items(outputs) or () for y in _tensors(item)]


def _ones(y: Variable) -> Variable:
    return wrap(namespace(y._data).ones_like(y._data), y)
