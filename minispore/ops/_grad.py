"""Gradients of functions, under MindSpore's names."""

from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeAlias, TypeVar, cast, overload

from minispore._array import namespace
from minispore._functional.differentiate import Derivative, differentiate
from minispore._functional.variable import Variable, wrap
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")
Weights: TypeAlias = Sequence[Tensor]
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
def value_and_grad(
    fn: Callable[P, object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
) -> Callable[P, tuple[object, object]]:
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

    Returns:
        A function of `fn`'s arguments. Its gradients are one tensor for one position, a tuple for
        several, a tuple for `weights`, or both: (by position, by weights). Each has the shape and
        the type of what it is the gradient by.

    Raises:
        TypeError: `fn` cannot be called, or a position is no int.
        ValueError: Nothing is named to differentiate by, or a position is negative.
        RuntimeError: When called: there is no such argument, or it is no tensor.
    """
    positions = _positions(grad_position, weights, "value_and_grad")
    _check_callable(fn, "value_and_grad")

    def with_gradients(*args: P.args, **kwargs: P.kwargs) -> tuple[object, object]:
        derivative = _derivative(fn, args, kwargs, positions, weights, has_aux=has_aux)
        return derivative.outputs, _arranged(derivative, grad_position, weights)

    return with_gradients


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
def grad(
    fn: Callable[P, object],
    grad_position: int | Positions | None = 0,
    weights: Parameter | Weights | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
) -> Callable[P, object]:
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

    Returns:
        A function of `fn`'s arguments: the gradients as in `value_and_grad`.

    Raises:
        TypeError: `fn` cannot be called, or a position is no int.
        ValueError: Nothing is named to differentiate by, or a position is negative.
        RuntimeError: When called: there is no such argument, or it is no tensor.
    """
    positions = _positions(grad_position, weights, "grad")
    _check_callable(fn, "grad")

    def gradients(*args: P.args, **kwargs: P.kwargs) -> object:
        derivative = _derivative(fn, args, kwargs, positions, weights, has_aux=has_aux)
        if return_ids:
            derivative = _identified(derivative, positions, weights)
        arranged = _arranged(derivative, grad_position, weights)
        if has_aux:
            return arranged, cast("tuple[object, ...]", derivative.outputs)[1:]
        return arranged

    return gradients


def get_grad(gradients: object, identifier: int | Tensor) -> Tensor:
    """One gradient out of what `grad(..., return_ids=True)` gave.

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
        if isinstance(item, tuple):
            items = cast("tuple[object, ...]", item)
            if len(items) == 2 and isinstance(items[0], int | str) and items[0] == wanted:
                return cast("Tensor", items[1])
            pending.extend(items)
    raise RuntimeError(f"For 'get_grad', there is no gradient for {wanted!r}.")


class GradOperation:
    """Gradients in MindSpore's older form: first what is wanted, then of which function.

    >>> from minispore import Tensor, ops
    >>> ops.GradOperation(get_all=True)(lambda x, y: x * y)(Tensor(3.0), Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 2), Tensor(shape=[], dtype=Float32, value= 3))

    Source: MindSpore's `mindspore.ops.GradOperation`.

    Args:
        get_all: Whether to differentiate by all arguments, not only the first.
        get_by_list: Whether to differentiate by weights.
        sens_param: Whether the last argument is the gradient of the output to start from.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        self.get_all = get_all
        self.get_by_list = get_by_list
        self.sens_param = sens_param

    def __call__(
        self, fn: Callable[..., object], weights: Weights | None = None
    ) -> Callable[..., object]:
        """The function of gradients of `fn`; without `weights` a Cell's trainable parameters.

        Raises:
            TypeError: `fn` cannot be called.
            ValueError: Weights are wanted, but `fn` is no Cell and none are given.
        """
        _check_callable(fn, "GradOperation")

        def gradients(*args: object) -> object:
            chosen = self._weights(fn, weights)
            given, sens = (args[:-1], args[-1]) if self.sens_param else (args, None)
            if self.get_all:
                positions = tuple(i for i, x in enumerate(given) if isinstance(x, Tensor))
            else:
                positions = () if self.get_by_list else (0,)
            derivative = _derivative(fn, given, {}, positions, chosen, sens=sens)
            inputs = derivative.inputs if self.get_all else derivative.inputs[:1]
            if self.get_by_list:
                return (inputs, derivative.weights) if self.get_all else derivative.weights
            return inputs if self.get_all else inputs[0]

        return gradients

    def _weights(self, fn: Callable[..., object], weights: Weights | None) -> Weights:
        if not self.get_by_list:
            return ()
        if weights is not None:
            return weights
        trainable = getattr(fn, "trainable_params", None)
        if trainable is None:
            raise ValueError(
                "For 'GradOperation', 'weights' must be given with get_by_list=True, "
                "unless the function is a Cell."
            )
        return cast("Weights", trainable())


def _check_callable(fn: object, owner: str) -> None:
    if not callable(fn):
        raise TypeError(
            f"For '{owner}', the argument 'fn' must be callable, but got {type(fn).__name__}."
        )


def _positions(grad_position: object, weights: object, owner: str) -> tuple[int, ...]:
    if grad_position is None:
        if weights is None:
            raise ValueError(
                f"For '{owner}', 'grad_position' and 'weights' must not be None at the same time."
            )
        return ()
    named: tuple[object, ...] = (
        cast("tuple[object, ...]", grad_position)
        if isinstance(grad_position, tuple)
        else (grad_position,)
    )
    result: list[int] = []
    for position in named:
        if not isinstance(position, int) or isinstance(position, bool):
            raise TypeError(
                f"For '{owner}', the argument 'grad_position' must be an int or a tuple of ints, "
                f"but got {grad_position!r}."
            )
        if position < 0:
            raise ValueError(
                f"For '{owner}', the argument 'grad_position' must not be negative, "
                f"but got {grad_position!r}."
            )
        result.append(position)
    return tuple(result)


def _derivative(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: dict[str, object],
    positions: tuple[int, ...],
    weights: Parameter | Weights | None,
    *,
    has_aux: bool = False,
    sens: object = None,
) -> Derivative:
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
        weights=_sequence(weights),
        seeds=seeds,
    )


def _first(outputs: object) -> object:
    if not isinstance(outputs, tuple | list) or not outputs:
        raise ValueError(
            "With has_aux=True the function must return several outputs, the first of which is "
            f"differentiated, but it returned {outputs!r}."
        )
    return cast("Sequence[object]", outputs)[0]


def _tensors(outputs: object) -> list[Variable]:
    if isinstance(outputs, Variable):
        return [outputs]
    if isinstance(outputs, tuple | list):
        return [y for item in cast("Sequence[object]", outputs) for y in _tensors(item)]
    return []


def _ones(y: Variable) -> Variable:
    return wrap(namespace(y._data).ones_like(y._data), y)


def _sequence(weights: Parameter | Weights | None) -> Weights:
    if weights is None:
        return ()
    return (weights,) if isinstance(weights, Tensor) else weights


def _arranged(
    derivative: Derivative,
    grad_position: int | Positions | None,
    weights: Parameter | Weights | None,
) -> object:
    inputs = derivative.inputs
    # As in MindSpore, a tuple of one position gives a tensor.
    by_position: object = inputs[0] if len(inputs) == 1 else inputs
    if weights is None:
        return by_position
    by_weight: object = derivative.weights
    if isinstance(weights, Tensor):
        by_weight = derivative.weights[0]
    return by_weight if grad_position is None else (by_position, by_weight)


def _identified(
    derivative: Derivative, positions: tuple[int, ...], weights: Parameter | Weights | None
) -> Derivative:
    names = [getattr(w, "name", None) for w in _sequence(weights)]
    pairs = (
        tuple(zip(positions, derivative.inputs, strict=True)),
        tuple(zip(names, derivative.weights, strict=True)),
    )
    return Derivative(derivative.outputs, *cast("tuple[tuple[Variable, ...], ...]", pairs))
