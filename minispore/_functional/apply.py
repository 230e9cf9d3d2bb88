"""Where rules meet values: unwrap the operands, call the rule, wrap and record the result.

There is one spelling for each number of operands, so that a type checker can count the pullbacks.
"""

from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec, TypeAlias, cast

from minispore._array import Array
from minispore._autograd import Node, recording
from minispore._functional.variable import T, Variable, wrap

P = ParamSpec("P")
Pull: TypeAlias = Callable[[Array], Array] | None

# How a node was made: the rule, its operands, and its further arguments.
Origin: TypeAlias = tuple[
    Callable[..., object], tuple[Array, ...], tuple[object, ...], dict[str, object]
]


def apply1(
    rule: Callable[Concatenate[Array, P], tuple[Array, tuple[Pull]]],
    x: T,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The value of a rule of one operand."""
    a = x._data
    value, pullbacks = rule(a, *args, **kwargs)
    if x._node is None or not recording.get():
        return wrap(value, x)
    return wrap(value, x, Node((x._node,), pullbacks, (rule, (a,), args, kwargs)))


def apply2(
    rule: Callable[Concatenate[Array, Array, P], tuple[Array, tuple[Pull, Pull]]],
    x: T,
    y: T,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The value of a rule of two operands."""
    a, b = x._data, y._data
    value, pullbacks = rule(a, b, *args, **kwargs)
    if (x._node is None and y._node is None) or not recording.get():
        return wrap(value, x)
    return wrap(value, x, Node((x._node, y._node), pullbacks, (rule, (a, b), args, kwargs)))


def apply3(
    rule: Callable[Concatenate[Array, Array, Array, P], tuple[Array, tuple[Pull, Pull, Pull]]],
    x: T,
    y: T,
    z: T,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The value of a rule of three operands."""
    a, b, c = x._data, y._data, z._data
    value, pullbacks = rule(a, b, c, *args, **kwargs)
    parents = (x._node, y._node, z._node)
    if parents == (None, None, None) or not recording.get():
        return wrap(value, x)
    return wrap(value, x, Node(parents, pullbacks, (rule, (a, b, c), args, kwargs)))


def apply_n(
    rule: Callable[Concatenate[Sequence[Array], P], tuple[Array, Sequence[Pull]]],
    operands: Sequence[T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """The value of a rule of any number of operands."""
    arrays = tuple(x._data for x in operands)
    value, pullbacks = rule(arrays, *args, **kwargs)
    parents = tuple(x._node for x in operands)
    if not any(parents) or not recording.get():
        return wrap(value, operands[0])

    def separately(*arrays: Array) -> object:
        return rule(arrays, *args, **kwargs)

    origin: Origin = (separately, arrays, (), {})
    return wrap(value, operands[0], Node(parents, pullbacks, origin))


def replay(node: Node, like: T) -> Sequence[Callable[[T], T] | None]:
    """The node's pullbacks on values that are themselves being recorded.

    The rule is applied again, this time to values instead of arrays: what its pullbacks compute
    then leaves nodes of its own, which is how a derivative is differentiated.
    """
    rule, arrays, args, kwargs = cast("Origin", node.origin)
    operands = [wrap(a, like, parent) for a, parent in zip(arrays, node.parents, strict=True)]
    _, pullbacks = cast(
        "tuple[Variable, Sequence[Callable[[T], T] | None]]", rule(*operands, *args, **kwargs)
    )
    return pullbacks
