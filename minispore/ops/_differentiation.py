"""The gradients of a function: record a call, and propagate gradients backward through it."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import (
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    cast,
)

from minispore.engine.array import Array, ensure_owned, in_layout_of, namespace
from minispore.engine.dispatch import (
    apply1,
    cast_to,
    dtype_of,
    half_to_float32,
    rerecord_pullbacks,
    share,
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
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    as_items,
    caller,
    describe_value,
)
from minispore.utils.warn import warn_at_caller

P = ParamSpec("P")
R = TypeVar("R")


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
        leaf = wrap(x._data, x, Node())
        share(leaf, x)
        return leaf
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
            seeds.append((y._node, in_layout_of(seed._data, y._data)))
            taken.add(id(seeds[-1][1]))
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


def compute_gradients(
    fn: Callable[..., R],
    args: Sequence[object],
    kwargs: dict[str, object],
    positions: tuple[int, ...],
    weights: Sequence[Tensor],
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
    inputs = {i: _input(args, i) for i in positions}
    # Inside another differentiation the backward pass is part of what is being differentiated; a
    # worker thread of a function that is being differentiated receives recorded variables.
    nested = is_recording() and (in_record_block() or any(x._node for x in inputs.values()))
    backward = _backward_create_graph if nested else _backward_arrays

    def differentiate() -> tuple[R, list[tuple[Tensor, int]], dict[int, Tensor]]:
        first_number = next_number()
        outputs, variables = _call(fn, args, kwargs, inputs, weights)
        # Pullbacks may call a user's code: it is recorded if the backward pass is differentiated.
        switch_recording(on=nested)
        seeds = _output_gradients(outputs, sens, has_aux)
        return outputs, variables, backward(seeds, {n for _, n in variables}, first_number)

    outputs, variables, by_number = record(differentiate)
    if variables and not by_number:
        warn_at_caller(
            "The gradients are all zero: the output of the function does not depend on the inputs, "
            "or only through operations without a gradient, such as comparisons, 'floor', 'round', "
            "'stop_gradient', 'asnumpy', 'item' and 'float', or they are parameters without "
            "'requires_grad'."
        )
    count = len(inputs)
    gradients = tuple([_gradient(x, by_number.get(n), nested) for x, n in variables])
    # A loss that is kept, to be printed later, would keep its whole graph in memory.
    outputs = outputs if nested else stop_gradient(outputs)
    return ValueAndGradients(outputs, gradients[:count], gradients[count:])


def _call(
    fn: Callable[..., R],
    args: Sequence[object],
    kwargs: dict[str, object],
    inputs: dict[int, Tensor],
    weights: Sequence[Tensor],
) -> tuple[R, list[tuple[Tensor, int]]]:
    """Return the outputs of a function, and its inputs and weights with their nodes' numbers."""
    # Weights that are in no graph, such as plain tensors, become inputs of this one.
    bare = [x for x in weights if x._node is None and not _is_frozen(x)]
    constants = [*bare, *(x for x in inputs.values() if x._node is None)]
    try:
        leaves = {i: _as_leaf(x) for i, x in inputs.items()}
        for x in bare:
            x._node = Node()
        variables = [(x, x._node.number if x._node else 0) for x in (*leaves.values(), *weights)]
        return fn(*[leaves.get(i, x) for i, x in enumerate(args)], **kwargs), variables
    finally:
        for x in constants:
            x._node = None


def _gradient(x: Tensor, gradient: Tensor | None, nested: bool) -> Tensor:
    """Return the gradient by an input in its shape and type; zeros if the pass has not found it."""
    if gradient is None:
        gradient = wrap(namespace(x._data).zeros_like(x._data), x)
    else:
        gradient = _apply_gradient_hooks(x, gradient)
    if nested and gradient._node is None:
        # The gradient of a linear function is a constant; its own gradient is zero without warning.
        return apply1(_constant, x, gradient._data)
    return gradient


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


def _input(args: Sequence[object], position: int) -> Tensor:
    """Return the argument at a position; raise RuntimeError if it is not a tensor."""
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
    return x


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
