"""Differentiating a function of values: run it recorded, then walk back."""

from collections.abc import Callable, Sequence
from operator import add, attrgetter
from typing import NamedTuple, cast

from minispore._array import Array, namespace, own
from minispore._autograd import Node, in_record_block, is_recording, record, walk
from minispore._functional import arithmetic
from minispore._functional.apply import apply1, replay
from minispore._functional.variable import T, Variable, wrap
from minispore._rules import elementwise as rules
from minispore._warn import warn

_pullbacks = attrgetter("pullbacks")


class Derivative(NamedTuple):
    """What a function returned, and its gradients by its inputs and by the weights."""

    outputs: object
    inputs: tuple[Variable, ...]
    weights: tuple[Variable, ...]


def differentiate(
    fn: Callable[..., object],
    args: Sequence[object],
    kwargs: dict[str, object],
    *,
    positions: Sequence[int],
    weights: Sequence[Variable],
    seeds: Callable[[object], list[tuple[Variable, Variable]]],
) -> Derivative:
    """Call `fn` and differentiate it by some of its arguments and by `weights`.

    Args:
        fn: The function.
        args: Its arguments by position.
        kwargs: Its arguments by name.
        positions: Which of `args`, each of them a variable, to differentiate by.
        weights: Values that `fn` uses without being given them.
        seeds: From what `fn` returned to its outputs and the gradients that they start from.

    Returns:
        The outputs, and for each position and weight a gradient of its shape and type.
    """
    # Within another differentiation the walk is a part of what is being differentiated.
    given = list(args)
    if in_record_block():
        nested = is_recording()
    else:
        # A worker thread of a function that is being differentiated is given recorded values.
        nested = is_recording() and any(cast("Variable", args[i])._node for i in positions)
    # Weights that are in no graph, plain tensors say, are inputs of this one.
    bare = [x for x in weights if x._node is None]
    try:
        with record():
            since = Node().number
            inputs = [_fresh(cast("Variable", args[i])) for i in positions]
            for i, x in zip(positions, inputs, strict=True):
                given[i] = x
            for x in bare:
                x._node = Node()
            variables = (*inputs, *weights)
            wanted = [cast("Node", x._node).number for x in variables]
            outputs = fn(*given, **kwargs)
    finally:
        for x in bare:
            x._node = None
    ends = seeds(outputs)
    # Pullbacks may call a user's code, which is recorded where the walk is differentiated in turn.
    with record(on=nested):
        found = (_walk_recorded if nested else _walk_arrays)(ends, set(wanted), since)
    if not nested:
        outputs = detached(outputs)
    if wanted and not found:
        warn(
            "The gradients are all zero: the function's output does not depend on what it is "
            "differentiated by, or not through operations that have a gradient. Comparisons, "
            "'floor', 'round', 'stop_gradient', 'asnumpy', 'item' and 'float' have none."
        )
    gradients = tuple(
        found[number] if number in found else _zeros(x)
        for number, x in zip(wanted, variables, strict=True)
    )
    if nested:
        # The derivative of a linear function is constant. Its own is zero, which is right, and
        # known from the graph: it is no reason to warn.
        gradients = tuple(
            g if g._node else apply1(_constant, x, g._data)
            for x, g in zip(variables, gradients, strict=True)
        )
    return Derivative(outputs, gradients[: len(inputs)], gradients[len(inputs) :])


def detached(outputs: object) -> object:
    """`outputs` without their graph, through tuples, lists and dicts.

    A loss that is kept, to be printed later say, must not keep its whole graph alive.
    """
    if isinstance(outputs, Variable):
        return outputs if outputs._node is None else wrap(outputs._data, outputs)
    if isinstance(outputs, tuple | list):
        items = [detached(item) for item in cast("list[object]", outputs)]
        return tuple(items) if isinstance(outputs, tuple) else items
    if isinstance(outputs, dict):
        pairs = cast("dict[object, object]", outputs).items()
        return {key: detached(item) for key, item in pairs}
    return outputs


def _fresh(x: T) -> T:
    """The same value as a place of its own in the graph.

    Where the function also reaches `x` from outside of its arguments, that stays a constant.
    """
    if x._node is None:
        return wrap(x._data, x, Node())
    return apply1(rules.identity, x)


def _walk_recorded(
    ends: list[tuple[Variable, Variable]], wanted: set[int], since: int
) -> dict[int, Variable]:
    seeds = [(y._node, g) for y, g in ends if y._node is not None]
    return walk(seeds, wanted, since, lambda node: replay(node, seeds[0][1]), arithmetic.add)


def _walk_arrays(
    ends: list[tuple[Variable, Variable]], wanted: set[int], since: int
) -> dict[int, Variable]:
    seeds = [(y._node, g._data) for y, g in ends if y._node is not None]
    found = walk(seeds, wanted, since, _pullbacks, add)
    # A sum hands the same array back to both operands, a reshape hands back a view: whoever
    # writes into one gradient must not change another.
    taken = {id(g) for _, g in seeds}
    result: dict[int, Variable] = {}
    for number, gradient in found.items():
        result[number] = wrap(own(gradient, copy=id(gradient) in taken), ends[0][1])
        taken.add(id(gradient))
    return result


def _constant(x: Array, value: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
    """A rule: the value does not depend on the operand."""
    return value, (lambda _: namespace(x).zeros_like(x),)


def _zeros(x: T) -> T:
    return wrap(namespace(x._data).zeros_like(x._data), x)
