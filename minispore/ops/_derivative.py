"""What all forms of a gradient share: the call's checks, and the gradients to start from."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from minispore._array import namespace
from minispore._checks import as_items, described
from minispore._functional.differentiate import Derivative, differentiate
from minispore._functional.variable import Variable, wrap
from minispore.common.parameter import ParameterTuple
from minispore.common.tensor import Tensor

Weights: TypeAlias = Sequence[Tensor]


def check_callable(fn: object, owner: str) -> None:
    """Raise TypeError unless `fn` can be called."""
    if not callable(fn):
        raise TypeError(
            f"For '{owner}', the argument 'fn' must be callable, but got {described(fn)}."
        )


def in_sequence(weights: object, owner: str) -> Weights:
    """One weight, several or none, as a sequence.

    Raises:
        TypeError: They are no tensor, nor a list or tuple of tensors.
    """
    if weights is None:
        return ()
    if isinstance(weights, ParameterTuple):
        return weights
    items = (weights,) if isinstance(weights, Tensor) else as_items(weights)
    if items is None or not all(isinstance(item, Tensor) for item in items):
        hint = " Call it to get the parameters." if callable(weights) else ""
        raise TypeError(
            f"For '{owner}', the argument 'weights' must be a Parameter, or a list or tuple of "
            f"them, but got {described(weights)}.{hint}"
        )
    return cast("Weights", items)


def start_of(
    args: tuple[object, ...], kwargs: dict[str, object], owner: str
) -> tuple[tuple[object, ...], object]:
    """The arguments without the gradient to start from, and that: `sens`, or else the last.

    Raises:
        TypeError: There is none.
    """
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise TypeError(
            f"For '{owner}' with sens_param=True, the gradient of the output to start from must "
            "be given, as the last argument or as 'sens'."
        )
    return args[:-1], args[-1]


def derivative_of(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: dict[str, object],
    positions: tuple[int, ...],
    weights: Weights,
    owner: str,
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
        owner: Whom an error is about.
        has_aux: Whether only the first output is differentiated.
        sens: The gradient of the outputs to start from; ones if None.

    Raises:
        TypeError: The function returns neither a tensor nor a number.
        RuntimeError: A position names no argument, or one that is no tensor.
        ValueError: `sens` is not of the outputs' shape, or has_aux is wrong about the outputs.
    """
    for position in positions:
        if position >= len(args):
            raise RuntimeError(
                f"For '{owner}', there is no argument {position} to differentiate by: "
                f"the function was called with {len(args)} by position."
            )
        if not isinstance(args[position], Tensor):
            raise RuntimeError(
                f"For '{owner}', argument {position} of the function must be a Tensor to be "
                f"differentiated by, but got {described(args[position])}."
            )

    def seeds(outputs: object) -> list[tuple[Variable, Variable]]:
        if has_aux:
            outputs = _first(outputs, owner)
        tensors = tensors_in(outputs)
        # A number is a constant, of slope 0. What else is no tensor has lost its graph.
        if not tensors and not isinstance(outputs, int | float):
            raise TypeError(
                f"For '{owner}', the function must return a Tensor to be differentiated, "
                f"but it returned {described(outputs)}."
            )
        if sens is None:
            return [(y, _ones(y)) for y in tensors]
        given = tensors_in(sens)
        if [y.shape for y in tensors] != [g.shape for g in given]:
            raise ValueError(
                f"For '{owner}', the gradient to start from must have the shape of the output: "
                f"{[y.shape for y in tensors]}, but got {[g.shape for g in given]}."
            )
        return list(zip(tensors, given, strict=True))

    return differentiate(
        fn,
        args,
        kwargs,
        positions=positions,
        weights=weights,
        seeds=seeds,
    )


def _first(outputs: object, owner: str) -> object:
    items = as_items(outputs)
    if not items:
        raise ValueError(
            f"For '{owner}' with has_aux=True, the function must return several outputs, of which "
            f"the first is differentiated, but it returned {described(outputs)}."
        )
    return items[0]


def tensors_in(outputs: object) -> list[Variable]:
    """What a function returned as its tensors: one, or those in a list or tuple, however deep."""
    if isinstance(outputs, Variable):
        return [outputs]
    return [y for item in as_items(outputs) or () for y in tensors_in(item)]


def _ones(y: Variable) -> Variable:
    return wrap(namespace(y._data).ones_like(y._data), y)
