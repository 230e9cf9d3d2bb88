"""Gradients of functions, under MindSpore's names."""

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeAlias, TypeVar, cast, overload

from minispore._checks import as_items, check_bool, described
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.ops._derivative import (
    Weights,
    check_callable,
    derivative_of,
    in_sequence,
    start_of,
)

P = ParamSpec("P")
R = TypeVar("R")
Positions: TypeAlias = tuple[int, ...]


@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: int = 0, weights: None = None, has_aux: bool = False
) -> Callable[P, tuple[R, Tensor]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: Positions, weights: None = None, has_aux: bool = False
) -> Callable[P, tuple[R, tuple[Tensor, ...]]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: None, weights: Parameter, has_aux: bool = False
) -> Callable[P, tuple[R, Tensor]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: None, weights: Weights, has_aux: bool = False
) -> Callable[P, tuple[R, tuple[Tensor, ...]]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: int | Positions, weights: Weights, has_aux: bool = False
) -> Callable[P, tuple[R, tuple[object, tuple[Tensor, ...]]]]: ...
@overload
def value_and_grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    *,
    return_ids: bool,
    sens_param: bool = False,
) -> Callable[..., tuple[object, object]]: ...
@overload
def value_and_grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    *,
    sens_param: bool,
) -> Callable[..., tuple[object, object]]: ...
def value_and_grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., tuple[object, object]]:
    """A function that gives what `fn` gives, and its gradients.

    >>> from minispore import Tensor, value_and_grad
    >>> value_and_grad(lambda x, y: x * y, grad_position=(0, 1))(Tensor(3.0), Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 6), (Tensor(shape=[], dtype=Float32, value= 2), \
Tensor(shape=[], dtype=Float32, value= 3)))

    Where an output is no single number, its elements are summed, and so are several outputs.
    Applied within itself it gives higher derivatives.

    Source: MindSpore's `mindspore.value_and_grad`.

    Args:
        fn: A function of tensors, or a Cell.
        grad_position: By which arguments to differentiate: an index, several, or None.
        weights: By which parameters to differentiate.
        has_aux: Whether only the first output is differentiated and the others are passed on.
        return_ids: Whether each gradient comes as a pair with its position or parameter's name.
        sens_param: Whether the gradient of the output to start from is given with the arguments:
            after them, or as `sens`.

    Returns:
        A function of `fn`'s arguments. Its gradients are one tensor for one position, a tuple for
        several, a tuple for `weights`, or both: (by position, by weights). Each has the shape and
        the type of what it is the gradient by.

    Raises:
        TypeError: `fn` cannot be called, a position is no int, or `weights` are no tensors. When
            called: `fn` returns neither a tensor nor a number.
        ValueError: Nothing is named to differentiate by, or a position is negative.
        RuntimeError: When called: there is no such argument, or it is no tensor.
    """
    return _differentiated(
        "value_and_grad", fn, grad_position, weights, has_aux, return_ids, sens_param
    )


@overload
def grad(
    fn: Callable[P, object], grad_position: int = 0, weights: None = None
) -> Callable[P, Tensor]: ...
@overload
def grad(
    fn: Callable[P, object], grad_position: Positions, weights: None = None
) -> Callable[P, tuple[Tensor, ...]]: ...
@overload
def grad(
    fn: Callable[P, object], grad_position: None, weights: Parameter
) -> Callable[P, Tensor]: ...
@overload
def grad(
    fn: Callable[P, object], grad_position: None, weights: Weights
) -> Callable[P, tuple[Tensor, ...]]: ...
@overload
def grad(
    fn: Callable[P, object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[P, object]: ...
@overload
def grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    *,
    sens_param: bool,
) -> Callable[..., object]: ...
def grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., object]:
    """A function that gives the gradients of `fn`.

    >>> from minispore import Tensor, grad
    >>> cube = lambda x: x**3
    >>> grad(cube)(Tensor(2.0)), grad(grad(cube))(Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 12), Tensor(shape=[], dtype=Float32, value= 12))

    Source: MindSpore's `mindspore.grad`.

    Args:
        fn: A function of tensors, or a Cell.
        grad_position: By which arguments to differentiate: an index, several, or None.
        weights: By which parameters to differentiate.
        has_aux: Whether only the first output is differentiated; the others are then given after
            the gradients.
        return_ids: Whether each gradient comes as a pair with its position or parameter's name.
        sens_param: Whether the gradient of the output to start from is given with the arguments:
            after them, or as `sens`.

    Returns:
        A function of `fn`'s arguments: the gradients as in `value_and_grad`.

    Raises:
        TypeError: `fn` cannot be called, a position is no int, or `weights` are no tensors. When
            called: `fn` returns neither a tensor nor a number.
        ValueError: Nothing is named to differentiate by, or a position is negative.
        RuntimeError: When called: there is no such argument, or it is no tensor.
    """
    both = _differentiated("grad", fn, grad_position, weights, has_aux, return_ids, sens_param)

    def gradients(*args: object, **kwargs: object) -> object:
        outputs, found = both(*args, **kwargs)
        return (found, cast("tuple[object, ...]", outputs)[1:]) if has_aux else found

    return gradients


def get_grad(gradients: object, identifier: int | Tensor) -> Tensor:
    """One gradient out of what `grad(..., return_ids=True)` gave.

    >>> from minispore import Tensor, get_grad, grad
    >>> gradients = grad(lambda x, y: x * y, (0, 1), return_ids=True)(Tensor(3.0), Tensor(2.0))
    >>> get_grad(gradients, 1)
    Tensor(shape=[], dtype=Float32, value= 3)

    Args:
        gradients: What it gave.
        identifier: A position, or a Parameter.

    Raises:
        RuntimeError: There is no such gradient.
    """
    wanted = identifier.name if isinstance(identifier, Parameter) else identifier
    pending = [gradients]
    while pending:
        item = pending.pop()
        items = as_items(item) or ()
        if len(items) == 2 and isinstance(items[0], int | str) and items[0] == wanted:
            return cast("Tensor", items[1])
        pending.extend(items)
    raise RuntimeError(f"For 'get_grad', there is no gradient for {wanted!r}.")


def _differentiated(
    owner: str,
    fn: Callable[..., object],
    grad_position: int | Positions | None,
    weights: Parameter | Weights | None,
    has_aux: bool,
    return_ids: bool,
    sens_param: bool,
) -> Callable[..., tuple[object, object]]:
    """What gives the outputs of `fn` and the gradients as they are wanted."""
    positions = _positions(grad_position, weights, owner)
    check_callable(fn, owner)
    check_bool(has_aux, "has_aux", owner)
    check_bool(return_ids, "return_ids", owner)
    check_bool(sens_param, "sens_param", owner)
    chosen = in_sequence(weights, owner)

    def both(*args: object, **kwargs: object) -> tuple[object, object]:
        sens = None
        if sens_param:
            args, sens = start_of(args, kwargs, owner)
        derivative = derivative_of(
            fn, args, kwargs, positions, chosen, owner, has_aux=has_aux, sens=sens
        )
        by_position: Sequence[object] = derivative.inputs
        by_weight: Sequence[object] = derivative.weights
        if return_ids:
            names = [getattr(weight, "name", None) for weight in chosen]
            by_position = tuple(zip(positions, by_position, strict=True))
            by_weight = tuple(zip(names, by_weight, strict=True))
        return derivative.outputs, _arranged(by_position, by_weight, grad_position, weights)

    return both


def _positions(grad_position: object, weights: object, owner: str) -> tuple[int, ...]:
    if grad_position is None:
        if weights is None:
            raise ValueError(
                f"For '{owner}', 'grad_position' and 'weights' must not be None at the same time."
            )
        return ()
    items = as_items(grad_position)
    result: list[int] = []
    for position in (grad_position,) if items is None else items:
        if not isinstance(position, int) or isinstance(position, bool):
            raise TypeError(
                f"For '{owner}', the argument 'grad_position' must be an int or a tuple of ints, "
                f"but got {described(grad_position)}."
            )
        if position < 0:
            raise ValueError(
                f"For '{owner}', the argument 'grad_position' must not be negative, "
                f"but got {described(grad_position)}."
            )
        result.append(position)
    return tuple(result)


def _arranged(
    by_position: Sequence[object],
    by_weight: Sequence[object],
    grad_position: int | Positions | None,
    weights: Parameter | Weights | None,
) -> object:
    """Gradients in the form that MindSpore gives them."""
    # A tuple of one position gives a single gradient, a sequence of one weight a tuple.
    first = by_position[0] if len(by_position) == 1 else by_position
    if weights is None:
        return first
    second = by_weight[0] if isinstance(weights, Tensor) else by_weight
    return second if grad_position is None else (first, second)
