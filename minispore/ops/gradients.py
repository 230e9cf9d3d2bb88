"""Gradients of functions: `grad`, `value_and_grad` and `GradOperation`."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    cast,
    overload,
)

from minispore.common.parameter import Parameter, ParameterTuple
from minispore.common.tensor import Tensor
from minispore.engine.array import Array, ensure_owned, namespace
from minispore.engine.dispatch import (
    apply1,
    cast_to,
    dtype_of,
    half_to_float32,
    rerecord_pullbacks,
    wrap,
)
from minispore.engine.dtypes import FLOAT, float16, float32
from minispore.engine.graph import (
    Node,
    backward_pass,
    in_record_block,
    is_recording,
    next_number,
    record,
    switch_recording,
)
from minispore.engine.rules import elementwise as rules
from minispore.ops import arithmetic
from minispore.ops.elementwise import stop_gradient
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
from minispore.utils.warn import warn_at_caller

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

_pullbacks = attrgetter("pullbacks")


class ValueAndGradients(NamedTuple, Generic[R]):
    """The outputs of a function, and its gradients by its inputs and by the weights."""

    outputs: R
    inputs: tuple[Tensor, ...]
    weights: tuple[Tensor, ...]


def _is_frozen(x: Tensor) -> bool:
    """Return whether `x` is a parameter without `requires_grad`, whose gradient is zero."""
    return isinstance(x, Parameter) and not x.requires_grad


def _as_leaf(x: Tensor) -> Tensor:
    """Return the same value as a leaf of the graph, unless it is a frozen parameter.

    Where the function also reaches `x` other than by its arguments, that is a constant.
    """
    if _is_frozen(x):
        return x
    if x._node is None:
        return wrap(x._data, x, Node())
    return apply1(rules.identity, x)


def _backward_create_graph(
    outputs: list[tuple[Tensor, Tensor]], inputs: set[int], first_number: int
) -> dict[int, Tensor]:
    seeds = [(y._node, g) for y, g in outputs if y._node is not None]

    def pullbacks(node: Node) -> Sequence[Callable[[Tensor], Tensor] | None]:
        return rerecord_pullbacks(node, seeds[0][1])

    return backward_pass(seeds, inputs, first_number, pullbacks, _add_recorded)


def _backward_arrays(
    outputs: list[tuple[Tensor, Tensor]], inputs: set[int], first_number: int
) -> dict[int, Tensor]:
    seeds: list[tuple[Node, Array]] = []
    # The pullbacks of a sum return the same array, that of a reshape a view; a write into one
    # gradient must not change another.
    taken: set[int] = set()
    for y, seed in outputs:
        if y._node is not None:
            seeds.append((y._node, seed._data))
            taken.add(id(seed._data))
    gradients = backward_pass(seeds, inputs, first_number, _pullbacks, _add)
    result: dict[int, Tensor] = {}
    for number, gradient in gradients.items():
        identity = id(gradient)
        result[number] = wrap(ensure_owned(gradient, copy=identity in taken), outputs[0][1])
        taken.add(identity)
    return result


def _add(x: Array, y: Array) -> Array:
    """Return the sum of two gradients; of float16 in float32, until it is passed to an input."""
    return (
        namespace(x).astype(x, float32.numpy_dtype) if x.dtype == float16.numpy_dtype else x
    ) + y


def _add_recorded(x: Tensor, y: Tensor) -> Tensor:
    """Return the sum of two recorded gradients, in the same way."""
    return arithmetic.add(half_to_float32(x), y)


def _constant(x: Array, value: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
    """Return `value` as the result of a rule that does not depend on its operand."""
    return value, (lambda _: namespace(x).zeros_like(x),)


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


def compute_gradients(
    fn: Callable[..., R],
    args: Sequence[object],
    kwargs: dict[str, object],
    positions: tuple[int, ...],
    weights: Weights,
    *,
    has_aux: bool = False,
    sens: object = None,
) -> ValueAndGradients[R]:
    """Return the outputs of `fn` and its gradients with respect to `positions` and `weights`.

    `fn` is called while operations are recorded; then the backward pass visits the graph.

    Args:
        fn: The function.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        positions: The indices of `args` to differentiate with respect to.
        weights: Further tensors to differentiate with respect to.
        has_aux: Whether only the first output is differentiated.
        sens: The gradient of the outputs, from which the backward pass starts; None for ones.

    Returns:
        The outputs, and for each position and weight a gradient of its shape and type.

    Raises:
        TypeError: The function returns neither a tensor nor a number.
        RuntimeError: A position names no argument, or one that is not a tensor.
        ValueError: `sens` has another shape than the outputs, or `has_aux` does not match them.
    """
    inputs: list[Tensor] = _inputs(args, positions)
    args = list(args)
    # Inside another differentiation the backward pass is part of what is being differentiated; a
    # worker thread of a function that is being differentiated receives recorded variables.
    nested = is_recording() and (in_record_block() or any(x._node for x in inputs))
    # Weights that are in no graph, such as plain tensors, become inputs of this one.
    bare = [x for x in weights if x._node is None and not _is_frozen(x)]

    def differentiate() -> tuple[R, tuple[Tensor, ...], list[int], dict[int, Tensor]]:
        try:
            first_number = next_number()
            leaves = [_as_leaf(x) for x in inputs]
            for i, x in zip(positions, leaves, strict=True):
                args[i] = x
            for x in bare:
                x._node = Node()
            variables = (*leaves, *weights)
            numbers = [x._node.number if x._node else 0 for x in variables]
            outputs = fn(*args, **kwargs)
        finally:
            for x in bare:
                x._node = None
        # Pullbacks may call a user's code: it is recorded if the backward pass is differentiated.
        switch_recording(on=nested)
        seeds = _output_gradients(outputs, sens, has_aux)
        backward = _backward_create_graph if nested else _backward_arrays
        return outputs, variables, numbers, backward(seeds, set(numbers), first_number)

    outputs, variables, numbers, by_number = record(differentiate)
    if not nested:
        # A loss that is kept, to be printed later, would keep its whole graph in memory.
        outputs = stop_gradient(outputs)
    if numbers and not by_number:
        warn_at_caller(
            "The gradients are all zero: the output of the function does not depend on the inputs, "
            "or only through operations without a gradient, such as comparisons, 'floor', 'round', "
            "'stop_gradient', 'asnumpy', 'item' and 'float', or they are parameters without "
            "'requires_grad'."
        )
    gradients = [
        _apply_gradient_hooks(x, by_number[number])
        if number in by_number
        else wrap(namespace(x._data).zeros_like(x._data), x)
        for number, x in zip(numbers, variables, strict=True)
    ]
    if nested:
        # The gradient of a linear function is a constant; its own gradient is zero without warning.
        gradients = [
            g if g._node else apply1(_constant, x, g._data)
            for x, g in zip(variables, gradients, strict=True)
        ]
    count = len(inputs)
    return ValueAndGradients(outputs, tuple(gradients[:count]), tuple(gradients[count:]))


def _apply_gradient_hooks(x: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient by an input as its hooks return it, which are the rule of its node.

    It has the type of the input: several gradients in float16 are added up in float32, and
    pullbacks may multiply integers by floats.
    """
    dtype = dtype_of(x)
    if dtype is float16:
        gradient = cast_to(gradient, dtype)
    node = x._node
    if node is not None and node.rule is not None and not node.parents:
        _, (hooks,) = cast("tuple[object, tuple[Callable[[Tensor], Tensor]]]", node.rule(x))
        gradient = hooks(gradient)
    return gradient if dtype.category == FLOAT else cast_to(gradient, dtype)


def _inputs(args: Sequence[object], positions: tuple[int, ...]) -> list[Tensor]:
    """Return the arguments at the positions; raise RuntimeError if one is not a tensor."""
    inputs: list[Tensor] = []
    for position in positions:
        if position >= len(args):
            raise RuntimeError(
                f"For '{caller()}', there is no argument {position} to differentiate by: "
                f"the function was called with {len(args)} by position."
            )
        x = args[position]
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"For '{caller()}', argument {position} of the function must be a Tensor to be "
                f"differentiated by, but got {describe_value(x)}."
            )
        inputs.append(x)
    return inputs


def _output_gradients(outputs: object, sens: object, has_aux: bool) -> list[tuple[Tensor, Tensor]]:
    """Return the outputs to differentiate, each with its gradient: ones, or those of `sens`."""
    if has_aux:
        items = as_items(outputs)
        if not items:
            raise ValueError(
                f"For '{caller()}' with has_aux=True, the function must return several outputs, of "
                f"which the first is differentiated, but it returned {describe_value(outputs)}."
            )
        outputs = items[0]
    tensors = [outputs] if isinstance(outputs, Tensor) else tree_leaves(outputs)
    # A number is a constant. Any other value has lost its graph.
    if not tensors and not isinstance(outputs, int | float):
        raise TypeError(
            f"For '{caller()}', the function must return a Tensor to be differentiated, "
            f"but it returned {describe_value(outputs)}."
        )
    if sens is None:
        return [(y, wrap(namespace(y._data).ones_like(y._data), y)) for y in tensors]
    gradients = tree_leaves(sens)
    if [y.shape for y in tensors] != [g.shape for g in gradients]:
        raise ValueError(
            f"For '{caller()}', the gradient to start from must have the shape of the output: "
            f"{[y.shape for y in tensors]}, but got {[g.shape for g in gradients]}."
        )
    return list(zip(tensors, gradients, strict=True))


def tree_leaves(outputs: object) -> list[Tensor]:
    """Return the tensors that a function returned, also out of nested lists and tuples."""
    if isinstance(outputs, Tensor):
        return [outputs]
    return [y for item in as_items(outputs) or () for y in tree_leaves(item)]


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
        ValueError: `grad_position` and `weights` are both None, or a position is negative.
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
        ValueError: `grad_position` and `weights` are both None, or a position is negative.
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
