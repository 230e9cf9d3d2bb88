"""Gradients of functions: `grad`, `value_and_grad` and `GradOperation`."""

from collections.abc import Callable, Sequence
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    cast,
    overload,
)

from minispore.ops._differentiation import compute_gradients as compute_gradients  # noqa: PLC0414
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    all_are,
    as_items,
    as_tuple,
    caller,
    check_arguments,
    check_bool,
    describe_value,
    type_error,
)

__all__ = ["get_grad", "grad", "value_and_grad", "GradOperation"]

P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")
Weights: TypeAlias = Sequence[Tensor]
Positions: TypeAlias = tuple[int, ...]
One: TypeAlias = int | tuple[int]
Several: TypeAlias = tuple[int, int, *tuple[int, ...]]
Tensors: TypeAlias = tuple[Tensor, ...]
Gradients: TypeAlias = Any
"""A tensor or nested tuples: which, the values of the arguments decide, and not their types."""


def check_callable(fn: object) -> None:
    """Raise TypeError unless `fn` can be called."""
    if not callable(fn):
        raise type_error(fn, "fn", "be callable")


def as_weight_sequence(weights: object) -> Weights:
    """Return a weight, several weights or None as a sequence.

    Raises:
        TypeError: They are neither a tensor nor a list or tuple of tensors.
    """
    if weights is None:
        return ()
    if isinstance(weights, ParameterTuple):
        return weights
    items = (weights,) if isinstance(weights, Tensor) else as_items(weights)
    if items is None or not all_are(items, Tensor):
        hint = " Call it to get the parameters." if callable(weights) else ""
        raise TypeError(
            f"For '{caller()}', the argument 'weights' must be a Parameter, or a list or tuple of "
            f"them, but got {describe_value(weights)}.{hint}"
        )
    return items


def split_sens(
    args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], object]:
    """Return the arguments without the output gradient, and the output gradient.

    It is the keyword argument `sens`, or else the last argument.

    Raises:
        TypeError: There is no argument left for the output gradient.
    """
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise TypeError(
            f"For '{caller()}' with sens_param=True, the gradient of the output to start from must "
            "be given, as the last argument or as 'sens'."
        )
    return args[:-1], args[-1]


# The calls that programs make have exact types; the last overload has the other combinations. It
# takes the same `fn`, by `P`, since mypy otherwise finds the overloads ambiguous for a lambda.
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: One = 0, weights: None = None, has_aux: bool = False
) -> Callable[P, tuple[R, Tensor]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: Several, weights: None = None, has_aux: bool = False
) -> Callable[P, tuple[R, Tensors]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: None, weights: Weights, has_aux: bool = False
) -> Callable[P, tuple[R, Tensors]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: One, weights: Weights, has_aux: bool = False
) -> Callable[P, tuple[R, tuple[Tensor, Tensors]]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R],
    grad_position: One = 0,
    weights: None = None,
    has_aux: bool = False,
    *,
    return_ids: Literal[True],
) -> Callable[P, tuple[R, tuple[int, Tensor]]]: ...
@overload
def value_and_grad(
    fn: Callable[P, R],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., tuple[R, Gradients]]: ...
def value_and_grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., tuple[object, object]]:
    """Return a function that returns the outputs of `fn` and its gradients.

    The elements of an output that is not a scalar are summed, and so are several outputs. Nested
    calls compute higher-order derivatives.

    Args:
        fn: A function of tensors, or a Cell.
        grad_position: The arguments to differentiate with respect to: an index, several, or None.
        weights: The parameters to differentiate with respect to.
        has_aux: Whether only the first output is differentiated; the others are returned as they
            are.
        return_ids: Whether each gradient is returned as a pair with its position or parameter's
            name.
        sens_param: Whether the gradient of the output, from which the backward pass starts, is
            passed as the last argument or as `sens`.

    Returns:
        A function of `fn`'s arguments that returns `(outputs, gradients)`. The gradients are one
        tensor for one position, a tuple for several, a tuple for `weights`, or both as a pair. Each
        has the shape and data type of the tensor with respect to which it is the gradient.

    Raises:
        TypeError: By the returned function, if `fn` returns neither a tensor nor a number.
        ValueError: `grad_position` and `weights` are both None, or a position is negative or named
            twice.
        RuntimeError: By the returned function, if there is no such argument or it is not a tensor.

    Examples:
        >>> from minispore import Tensor, value_and_grad
        >>> product = value_and_grad(lambda x, y: x * y, grad_position=(0, 1))
        >>> value, (dx, dy) = product(Tensor(3.0), Tensor(2.0))
        >>> value.item(), dx.item(), dy.item()
        (6.0, 2.0, 3.0)

    Source: MindSpore's `mindspore.value_and_grad`.
    """
    both = _make_grad_function(fn, grad_position, weights, has_aux, return_ids, sens_param)

    def value_and_gradients(*args: object, **kwargs: object) -> tuple[object, object]:
        return both(*args, **kwargs)

    return value_and_gradients


@overload
def grad(
    fn: Callable[P, object], grad_position: One = 0, weights: None = None
) -> Callable[P, Tensor]: ...
@overload
def grad(
    fn: Callable[P, object], grad_position: Several, weights: None = None
) -> Callable[P, Tensors]: ...
@overload
def grad(
    fn: Callable[P, object], grad_position: None, weights: Weights
) -> Callable[P, Tensors]: ...
@overload
def grad(
    fn: Callable[P, tuple[object, *Ts]],
    grad_position: One = 0,
    weights: None = None,
    *,
    has_aux: Literal[True],
) -> Callable[P, tuple[Tensor, tuple[*Ts]]]: ...
@overload
def grad(
    fn: Callable[P, object],
    grad_position: One = 0,
    weights: None = None,
    *,
    return_ids: Literal[True],
) -> Callable[P, tuple[int, Tensor]]: ...
@overload
def grad(
    fn: Callable[P, object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Gradients]: ...
def grad(
    fn: Callable[..., object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., object]:
    """Return a function that returns the gradients of `fn`.

    The elements of an output that is not a scalar are summed, and so are several outputs. Nested
    calls compute higher-order derivatives.

    Args:
        fn: A function of tensors, or a Cell.
        grad_position: The arguments to differentiate with respect to: an index, several, or None.
        weights: The parameters to differentiate with respect to.
        has_aux: Whether only the first output is differentiated; the others are returned after the
            gradients.
        return_ids: Whether each gradient is returned as a pair with its position or parameter's
            name.
        sens_param: Whether the gradient of the output, from which the backward pass starts, is
            passed as the last argument or as `sens`.

    Returns:
        A function of `fn`'s arguments that returns the gradients, as in `value_and_grad`.

    Raises:
        TypeError: By the returned function, if `fn` returns neither a tensor nor a number.
        ValueError: `grad_position` and `weights` are both None, or a position is negative or named
            twice.
        RuntimeError: By the returned function, if there is no such argument or it is not a tensor.

    Examples:
        >>> from minispore import Tensor, grad
        >>> cube = lambda x: x**3
        >>> grad(cube)(Tensor(2.0)).item(), grad(grad(cube))(Tensor(2.0)).item()
        (12.0, 12.0)

    Source: MindSpore's `mindspore.grad`.
    """
    both = _make_grad_function(fn, grad_position, weights, has_aux, return_ids, sens_param)

    def gradients(*args: object, **kwargs: object) -> object:
        outputs, result = both(*args, **kwargs)
        return (result, as_tuple(outputs)[1:]) if has_aux else result

    return gradients


def get_grad(gradients: object, identifier: int | Tensor) -> Tensor:
    """Return one gradient of those that `grad(..., return_ids=True)` returned.

    Args:
        gradients: The gradients with their positions or parameters' names.
        identifier: A position, or a Parameter.

    Returns:
        The gradient, a tensor.

    Raises:
        RuntimeError: There is no such gradient.

    Examples:
        >>> from minispore import Tensor, get_grad, grad
        >>> gradients = grad(lambda x, y: x * y, (0, 1), return_ids=True)(Tensor(3.0), Tensor(2.0))
        >>> get_grad(gradients, 1).item()
        3.0

    Source: MindSpore's `mindspore.get_grad`.
    """
    key = identifier.name if isinstance(identifier, Parameter) else identifier
    pending = [gradients]
    while pending:
        item = pending.pop()
        items = as_items(item) or ()
        if len(items) == 2 and isinstance(items[0], int | str) and items[0] == key:
            return cast("Tensor", items[1])
        pending.extend(items)
    raise RuntimeError(f"For 'get_grad', there is no gradient for {key!r}.")


def _make_grad_function(
    fn: Callable[..., object],
    grad_position: int | Positions | None,
    weights: Parameter | Weights | None,
    has_aux: bool,
    return_ids: bool,
    sens_param: bool,
) -> Callable[..., tuple[object, object]]:
    """Return a function that returns the outputs of `fn` and the requested gradients."""
    positions = _positions(grad_position, weights)
    check_callable(fn)
    check_bool(has_aux, "has_aux")
    check_bool(return_ids, "return_ids")
    check_bool(sens_param, "sens_param")
    chosen = as_weight_sequence(weights)

    def both(*args: object, **kwargs: object) -> tuple[object, object]:
        args, sens = split_sens(args, kwargs) if sens_param else (args, None)
        derivative = compute_gradients(
            fn, args, kwargs, positions, chosen, has_aux=has_aux, sens=sens
        )
        by_position: Sequence[object] = derivative.inputs
        by_weight: Sequence[object] = derivative.weights
        if return_ids:
            names = [getattr(weight, "name", None) for weight in chosen]
            by_position = tuple(zip(positions, by_position, strict=True))
            by_weight = tuple(zip(names, by_weight, strict=True))
        return derivative.outputs, _pack_gradients(by_position, by_weight, grad_position, weights)

    return both


def _positions(grad_position: object, weights: object) -> tuple[int, ...]:
    if grad_position is None:
        if weights is None:
            raise ValueError(
                f"For '{caller()}', 'grad_position' and 'weights' must not be None at the same "
                "time."
            )
        return ()
    if type(grad_position) is int and grad_position >= 0:
        return (grad_position,)
    items = as_items(grad_position)
    items = (grad_position,) if items is None else items
    positions = tuple(i for i in items if isinstance(i, int) and not isinstance(i, bool))
    if len(positions) < len(items):
        raise type_error(grad_position, "grad_position", "be an int or a tuple of ints")
    if any(i < 0 for i in positions):
        raise type_error(grad_position, "grad_position", "not be negative", ValueError)
    if len(set(positions)) < len(positions):
        raise type_error(grad_position, "grad_position", "name each position once", ValueError)
    return positions


def _pack_gradients(
    by_position: Sequence[object],
    by_weight: Sequence[object],
    grad_position: int | Positions | None,
    weights: Parameter | Weights | None,
) -> object:
    """Return gradients in the structure that MindSpore returns."""
    # A tuple of one position gives a single gradient, a sequence of one weight a tuple.
    first = by_position[0] if len(by_position) == 1 else by_position
    if weights is None:
        return first
    second = by_weight[0] if isinstance(weights, Tensor) else by_weight
    return second if grad_position is None else (first, second)


@check_arguments
class GradOperation:
    """A transformation of functions into gradient functions, in the form of MindSpore 1.x.

    Args:
        get_all: Whether to differentiate with respect to all arguments, not only the first.
        get_by_list: Whether to differentiate with respect to weights.
        sens_param: Whether the gradient of the output, from which the backward pass starts, is
            passed as the last argument or as `sens`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> gradients = ops.GradOperation(get_all=True)(lambda x, y: x * y)
        >>> [g.item() for g in gradients(Tensor(3.0), Tensor(2.0))]
        [2.0, 3.0]

    Source: MindSpore's `mindspore.ops.GradOperation`.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(
        self, fn: Callable[..., object], weights: Tensor | Weights | None = None
    ) -> Callable[..., Gradients]:
        """Return a function that returns the gradients of `fn`.

        Args:
            fn: A function of tensors, or a Cell.
            weights: The parameters, if `get_by_list`; None for the trainable ones of a Cell.

        Returns:
            A function of `fn`'s arguments that returns the gradients.

        Raises:
            ValueError: `get_by_list` is True, `weights` is None, and `fn` is not a Cell.
        """
        check_callable(fn)

        def gradients(*args: object, **kwargs: object) -> object:
            chosen = self._weights(fn, weights)
            args, sens = split_sens(args, kwargs) if self.sens_param else (args, None)
            if self.get_all:
                positions = tuple(i for i, x in enumerate(args) if isinstance(x, Tensor))
            else:
                positions = () if self.get_by_list else (0,)
            _, inputs, by_weight = compute_gradients(fn, args, kwargs, positions, chosen, sens=sens)
            if not self.get_by_list:
                return inputs if self.get_all else inputs[0]
            second = by_weight[0] if isinstance(weights, Tensor) else by_weight
            return (inputs, second) if self.get_all else second

        return gradients

    def _weights(self, fn: Callable[..., object], weights: Tensor | Weights | None) -> Weights:
        if not self.get_by_list:
            return ()
        if weights is not None:
            return as_weight_sequence(weights)
        trainable: Callable[[], Weights] | None = getattr(fn, "trainable_params", None)
        if trainable is None:
            raise ValueError(
                "For 'GradOperation', 'weights' must be given with get_by_list=True, "
                "unless the function is a Cell."
            )
        return trainable()
