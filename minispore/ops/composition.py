"""Functions of functions: maps over nested lists, overloads by type, and batches."""

from collections.abc import Callable, Sequence
from functools import partial as functools_partial
from typing import Any, Final, TypeVar

from minispore.ops._primitive import Primitive, primitive
from minispore.ops.manipulation import stack, unbind
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    as_items,
    check_bool,
    check_type,
    describe_value,
    type_error,
    value_error,
)

__all__ = [
    "Depend", "HyperMap", "Identity", "Map", "MultitypeFuncGraph", "Partial", "constexpr", "depend",
    "identity", "partial", "vmap",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "Tensor": (Tensor,),
    "Number": (int, float),
    "Bool": (bool,),
    "Int": (int,),
    "Float": (float,),
    "String": (str,),
    "Tuple": (tuple,),
    "List": (list,),
    "None": (type(None),),
}


def depend(value: V, expr: object) -> V:
    """Return `value`; `expr` has been computed before, as every argument.

    In MindSpore's compiled graphs this sets the order of operations with side effects.

    Args:
        value: Anything.
        expr: Anything.

    Returns:
        `value` itself.

    Examples:
        >>> from minispore import ops
        >>> ops.depend(1, print("first"))
        first
        1

    Source: MindSpore's `mindspore.ops.depend`.
    """
    return value


Depend: Final = primitive("Depend", depend)


def partial(func: Callable[..., V], *args: object) -> Callable[..., V]:
    """Return `func` with its first arguments given.

    Args:
        func: A function.
        *args: The arguments.

    Returns:
        A function of the arguments after them.

    Raises:
        TypeError: `func` is not callable.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.partial(ops.sub, Tensor(5))(Tensor(3)).item()
        2

    Source: MindSpore's `mindspore.ops.partial`.
    """
    if not callable(func):
        raise type_error(func, "func", "be callable")
    return functools_partial(func, *args)


Partial: Final = primitive("Partial", partial)


def identity(x: V) -> V:
    """Return `x`.

    Args:
        x: Anything.

    Returns:
        `x` itself.

    Examples:
        >>> from minispore import ops
        >>> ops.identity("x")
        'x'

    Source: MindSpore's `mindspore.ops.identity`.
    """
    return x


Identity: Final = primitive("Identity", identity)


def constexpr(
    fn: F | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> F | Callable[[F], F]:
    """Return a function unchanged; used as a decorator.

    MindSpore computes such a function of constants when it compiles a graph.

    Args:
        fn: The function; None for a decorator.
        get_instance: Has no effect.
        name: Has no effect.
        reuse_result: Has no effect.
        check: Has no effect.

    Returns:
        The function, or a decorator that returns it.

    Examples:
        >>> from minispore import ops
        >>> @ops.constexpr
        ... def middle(length):
        ...     return length // 2
        >>> middle(5)
        2

    Source: MindSpore's `mindspore.ops.constexpr`.
    """
    return identity if fn is None else fn


class MultitypeFuncGraph(Primitive):
    """A function that calls one of several functions, chosen by the types of the arguments.

    Args:
        name: A name.
        read_value: Accepted for compatibility with MindSpore, without effect.

    Examples:
        >>> from minispore import Tensor, ops
        >>> scale = ops.MultitypeFuncGraph("scale")
        >>> @scale.register("Number", "Tensor")
        ... def scale_tensor(factor, x):
        ...     return x * factor
        >>> scale(2, Tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]

    Source: MindSpore's `mindspore.ops.MultitypeFuncGraph`.
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name: str = check_type(name, str, "name")
        check_bool(read_value, "read_value")
        self._entries: list[tuple[tuple[str, ...], Callable[..., Any]]] = []

    def register(self, *type_names: str) -> Callable[[F], F]:
        """Return a decorator that registers a function for arguments of some types.

        Args:
            *type_names: For each argument "Tensor", "Number", "Bool", "Int", "Float", "String",
                "Tuple", "List" or "None".

        Raises:
            ValueError: A name is another one.
        """
        for name in type_names:
            if not isinstance(name, str) or name not in _TYPES:
                raise type_error(name, "type_names", f"be of {list(_TYPES)}", ValueError)

        def register(function: F) -> F:
            self._entries.append((type_names, function))
            return function

        return register

    def __call__(self, *args: object) -> Any:  # noqa: ANN401 (what the user's function returns)
        """Call the first function that is registered for the arguments' types.

        Raises:
            ValueError: There is none.
        """
        for names, function in self._entries:
            if len(names) == len(args) and all(
                isinstance(x, _TYPES[name]) for x, name in zip(args, names, strict=True)
            ):
                return function(*args)
        kinds = ", ".join(type(x).__name__ for x in args)
        known = ", ".join(f"({', '.join(names)})" for names, _ in self._entries)
        raise ValueError(
            f"For '{self.name}', no function is registered for arguments of types ({kinds}), "
            f"only for {known}."
        )


class HyperMap(Primitive):
    """A function that applies another to the items of lists and tuples, at every depth.

    Args:
        ops: The function; None if it is the first argument of each call.
        reverse: Accepted for compatibility with MindSpore; it has no effect on the results.

    Examples:
        >>> from minispore import Tensor, ops
        >>> doubled = ops.HyperMap()(lambda x: x * 2, (Tensor(1), [Tensor(2), Tensor(3)]))
        >>> doubled[0].item(), [x.item() for x in doubled[1]]
        (2, [4, 6])

    Source: MindSpore's `mindspore.ops.HyperMap`.
    """

    _deep = True

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise type_error(ops, "ops", "be callable", function=type(self).__name__)
        check_bool(reverse, "reverse")
        self.ops = ops

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401 (as deep as the arguments)
        """Return the results in tuples, nested as the arguments are.

        Raises:
            TypeError: There is no function.
            ValueError: There is nothing to apply it to, or the arguments are of unequal lengths.
        """
        function = self.ops
        if function is None and args:
            function, args = args[0], args[1:]
        if not callable(function):
            raise TypeError(
                f"For 'HyperMap', the first argument must be callable, "
                f"but got {describe_value(function)}."
            )
        if not args:
            raise ValueError("For 'HyperMap', there must be arguments of the function, got none.")
        return _map(function, args, deep=self._deep)


class Map(HyperMap):
    """A function that applies another to the items of lists and tuples, at the first depth.

    Args:
        ops: The function; None if it is the first argument of each call.
        reverse: Accepted for compatibility with MindSpore; it has no effect on the results.

    Examples:
        >>> from minispore import ops
        >>> ops.Map()(lambda x, y: x + y, ((1,), (2,)), ((3,), (4,)))
        ((1, 3), (2, 4))

    Source: MindSpore's `mindspore.ops.Map`.
    """

    _deep = False


def _map(function: Callable[..., Any], args: Sequence[object], *, deep: bool) -> Any:  # noqa: ANN401
    listed = [as_items(arg) for arg in args]
    if listed[0] is None:
        return function(*args)
    if len({None if items is None else len(items) for items in listed}) > 1:
        raise ValueError(
            "For 'HyperMap', the arguments must be of equal lengths, "
            f"but got {', '.join(describe_value(arg) for arg in args)}."
        )
    columns = [items for items in listed if items is not None]
    rows = zip(*columns, strict=True)
    return tuple(_map(function, row, deep=True) if deep else function(*row) for row in rows)


def vmap(
    fn: Callable[..., Any],
    in_axes: int | Sequence[int | None] = 0,
    out_axes: int | Sequence[int] = 0,
) -> Callable[..., Any]:
    """Return a function that applies `fn` to the slices of its arguments, and stacks the results.

    `fn` is called once for each slice, in a Python loop.

    Args:
        fn: A function of tensors that returns a tensor or a tuple of tensors.
        in_axes: The axis of the arguments that is sliced; a sequence for one of each, where None
            means that the argument is passed as it is.
        out_axes: The axis of the results along which they are stacked; a sequence for one of each.

    Returns:
        A function.

    Raises:
        TypeError: `fn` is not callable, or an axis is not an int.
        ValueError: By the function that is returned: no argument is sliced, the arguments have
            unequal numbers of slices, or there are not as many axes as arguments or results.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.vmap(ops.dense, in_axes=(0, None))(ops.ones((5, 2, 3)), ops.ones((4, 3))).shape
        (5, 2, 4)

    Source: MindSpore's `mindspore.ops.vmap`.
    """
    if not callable(fn):
        raise type_error(fn, "fn", "be callable")
    check_type(in_axes, (int, tuple, list), "in_axes")
    check_type(out_axes, (int, tuple, list), "out_axes")

    def mapped(*args: Any) -> Any:  # noqa: ANN401 (what `fn` returns)
        axes = _broadcast_axes(in_axes, len(args), "in_axes")
        slices = [
            None if axis is None else unbind(x, axis) for x, axis in zip(args, axes, strict=True)
        ]
        counts = {len(parts) for parts in slices if parts is not None}
        if len(counts) != 1 or counts == {0}:
            raise ValueError(
                "For 'vmap', the sliced arguments must have an equal number of slices, one or "
                f"more, but have {sorted(counts)}."
            )
        results = [
            fn(*(x if parts is None else parts[i] for x, parts in zip(args, slices, strict=True)))
            for i in range(counts.pop())
        ]
        if not isinstance(results[0], tuple):
            (place,) = _broadcast_axes(out_axes, 1, "out_axes")
            return stack(results, place)
        columns = list(zip(*results, strict=True))
        places = _broadcast_axes(out_axes, len(columns), "out_axes")
        return tuple(stack(column, place) for column, place in zip(columns, places, strict=True))

    return mapped


def _broadcast_axes(axes: int | Sequence[V], count: int, name: str) -> Sequence[Any]:
    """Return as many axes as there are arguments or results."""
    if isinstance(axes, int):
        return (axes,) * count
    if len(axes) != count:
        raise value_error(axes, name, f"have {count} items")
    return axes
