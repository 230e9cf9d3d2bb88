"""Where rules meet values: unwrap the operands, call the rule, wrap and record the result.

There is one spelling for each number of operands, so that a type checker can count the pullbacks.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, TypeVarTuple, cast

from minispore._array import Array, Shape, device_namespace, is_host, own, target_of, to_host
from minispore._autograd import Node, is_recording
from minispore._checks import described
from minispore._functional.variable import T, Variable, check_tensor, wrap

Ts = TypeVarTuple("Ts")
Pull: TypeAlias = Callable[[Array], Array] | None


def apply1(rule: Callable[[Array, *Ts], tuple[Array, tuple[Pull]]], x: T, *args: *Ts) -> T:
    """The value of a rule of one operand."""
    a = x._data
    value, pullbacks = rule(a, *args)
    if x._node is None or not is_recording():
        return wrap(value, x)
    return wrap(value, x, Node((x._node,), pullbacks, rule, (a,), args))


def apply2(
    rule: Callable[[Array, Array, *Ts], tuple[Array, tuple[Pull, Pull]]], x: T, y: T, *args: *Ts
) -> T:
    """The value of a rule of two operands.

    Raises:
        ValueError: Their shapes do not fit.
    """
    a, b = x._data, y._data
    m, n = x._node, y._node
    try:
        value, (p, q) = rule(a, b, *args)
    except ValueError:
        raise unfit(rule.__name__, a.shape, b.shape) from None
    except TypeError:
        met = together(rule.__name__, a, b)
        if met is None:
            raise
        a, b = met
        value, (p, q) = rule(a, b, *args)
    if (m is None and n is None) or not is_recording():
        return wrap(value, x)
    # The pullback of a constant is not kept, nor is what only it would keep.
    pullbacks = (p if m else None, q if n else None)
    return wrap(value, x, Node((m, n), pullbacks, rule, (a, b), args))


def apply3(
    rule: Callable[[Array, Array, Array, *Ts], tuple[Array, tuple[Pull, Pull, Pull]]],
    x: T,
    y: T,
    z: T,
    *args: *Ts,
) -> T:
    """The value of a rule of three operands.

    Raises:
        ValueError: Their shapes do not fit.
    """
    a, b, c = x._data, y._data, z._data
    m, n, o = x._node, y._node, z._node
    try:
        value, (p, q, r) = rule(a, b, c, *args)
    except ValueError:
        raise unfit(rule.__name__, a.shape, b.shape, c.shape) from None
    except TypeError:
        met = together(rule.__name__, a, b, c)
        if met is None:
            raise
        a, b, c = met
        value, (p, q, r) = rule(a, b, c, *args)
    if (m is None and n is None and o is None) or not is_recording():
        return wrap(value, x)
    pullbacks = (p if m else None, q if n else None, r if o else None)
    return wrap(value, x, Node((m, n, o), pullbacks, rule, (a, b, c), args))


def apply_n(
    rule: Callable[[Sequence[Array], *Ts], tuple[Array, Sequence[Pull]]],
    operands: Sequence[T],
    *args: *Ts,
) -> T:
    """The value of a rule that takes a sequence of operands."""

    def one_by_one(*arrays: Array) -> tuple[Array, Sequence[Pull]]:
        return rule(arrays, *args)

    # What draws graphs calls an operation by the name of its rule.
    one_by_one.__name__ = rule.__name__
    return _apply(one_by_one, operands)


def apply_rule(rule: Callable[..., tuple[Array, Sequence[Pull]]], *operands: T) -> T:
    """Apply a rule of your own: arrays in, the value and one pullback for each operand out.

    Write it in terms of operators and of `namespace(x)`, and it is differentiable to any order.

    >>> from minispore import Tensor, grad, ops
    >>> def cube(x):
    ...     return x * x * x, (lambda g: g * (3.0 * x * x),)
    >>> f = lambda x: ops.apply_rule(cube, x)
    >>> grad(f)(Tensor(2.0)), grad(grad(f))(Tensor(2.0))
    (Tensor(shape=[], dtype=Float32, value= 12), Tensor(shape=[], dtype=Float32, value= 12))

    Args:
        rule: Takes an array for each operand; gives an array and as many pullbacks, each from the
            gradient of the value to that of one operand, or None where no gradient flows.
        *operands: The tensors.

    Raises:
        TypeError: The rule cannot be called, or an operand is no tensor.
        ValueError: There is no operand, or the rule gives more or fewer pullbacks than operands.
    """
    if not callable(rule):
        raise TypeError(
            f"For 'apply_rule', the argument 'rule' must be callable, but got {described(rule)}."
        )
    if not operands:
        raise ValueError("For 'apply_rule', there must be at least one operand, but got none.")
    for i, x in enumerate(operands):
        check_tensor(x, "apply_rule", f"operands[{i}]")
    return _apply(rule, operands, users=True)


def _copied(pullback: Pull) -> Pull:
    """The pullback, its gradient in new memory: a user's rule may hand back what it also keeps."""
    return None if pullback is None else lambda g: own(pullback(g), copy=True)


def _apply(
    rule: Callable[..., tuple[Array, Sequence[Pull]]],
    operands: Sequence[T],
    *,
    users: bool = False,
) -> T:
    arrays = tuple(x._data for x in operands)
    value, pullbacks = rule(*arrays)
    if len(pullbacks) != len(operands):
        raise ValueError(
            f"For 'apply_rule', a rule of {len(operands)} operands must give as many pullbacks, "
            f"but {getattr(rule, '__name__', 'it')} gave {len(pullbacks)}."
        )
    parents = tuple(x._node for x in operands)
    if not any(parents) or not is_recording():
        return wrap(value, operands[0])
    if users:
        pullbacks = [_copied(pullback) for pullback in pullbacks]
    return wrap(value, operands[0], Node(parents, pullbacks, rule, arrays))


def constant(compute: Callable[[Array, Array], Array], x: T, y: T, owner: str) -> T:
    """What `compute` makes of two operands, and no gradient flows through.

    Raises:
        ValueError: Their shapes do not broadcast.
    """
    try:
        return wrap(compute(x._data, y._data), x)
    except ValueError:
        raise unfit(owner, x.shape, y.shape) from None
    except TypeError:
        met = together(owner, x._data, y._data)
        if met is None:
            raise
        # A function of the first one's library will not do then, but its namesake.
        same = getattr(device_namespace(met[0]), compute.__name__, compute)
        return wrap(same(*met), x)


def together(owner: str, *arrays: Array) -> list[Array] | None:
    """Operands of two devices on one: a number on the host goes to where the others are.

    The host keeps numbers of its own, such as a learning rate. None if all are on one device.

    Raises:
        TypeError: More than a number would have to be copied.
    """
    there = [x for x in arrays if not is_host(x)]
    if len(there) in {0, len(arrays)}:
        return None
    if any(is_host(x) and prod(x.shape) != 1 for x in arrays):
        places = ", ".join(f"{x.shape} on the {target_of(x)}" for x in arrays)
        raise TypeError(
            f"For '{owner}', the operands must be on one device, but are of shapes {places}: "
            "move one of them with 'to'."
        ) from None
    full = device_namespace(there[0]).full
    return [full(x.shape, to_host(x).item(), x.dtype) if is_host(x) else x for x in arrays]


def unfit(owner: str, *shapes: Shape) -> ValueError:
    """What to raise where an array library has refused the shapes of operands."""
    listed = ", ".join(str(shape) for shape in shapes[:-1])
    return ValueError(
        f"For '{owner}', the shapes {listed} and {shapes[-1]} do not broadcast: where "
        "lengths differ, one of them must be 1."
    )


def replay(node: Node, like: T) -> Sequence[Callable[[T], T] | None]:
    """The node's pullbacks on values that are themselves being recorded.

    The rule is applied again, this time to values instead of arrays: what its pullbacks compute
    then leaves nodes of its own, which is how a derivative is differentiated.
    """
    rule = node.rule
    if rule is None:
        return ()
    operands = [wrap(a, like, n) for a, n in zip(node.operands, node.parents, strict=True)]
    _, pullbacks = cast(
        "tuple[Variable, Sequence[Callable[[T], T] | None]]", rule(*operands, *node.args)
    )
    return pullbacks
