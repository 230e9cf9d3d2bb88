"""Argument checks, whose errors name the function, the argument, the expected and the actual value.

An error finds the name of the public function that was called. `function` is passed only where that
function has returned, as when rows are read later.
"""

import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import signature
from math import inf
from reprlib import repr as short
from types import FrameType, NoneType, UnionType
from typing import Final, Literal, TypeGuard, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from minispore.utils.unsupported import check_keywords

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

# The most characters of a value that an error shows in full.
_LONGEST: Final = 200
INT32_MAX: Final = (1 << 31) - 1
# Types that are accepted in place of the annotated one.
_ACCEPTED: Final[dict[object, tuple[type, ...]]] = {float: (int, float), tuple: (tuple, list)}
_WITH_CHECKED_ITEMS: Final = (Sequence, list)


def describe_value(value: object) -> str:
    """Return the value's shortened repr and its type, on one line: the "but got" part of an error.

    Of a table or column of another library, the repr has no short form: its shape says more.

    Args:
        value: The value.

    Returns:
        A text of one line.

    Examples:
        >>> describe_value([1, "a"])
        "[1, 'a'] of type list"
    """
    if hasattr(value, "to_numpy") and (shape := getattr(value, "shape", None)):
        return f"a {type(value).__name__} of shape {shape}"
    return f"{' '.join(short(value).split())} of type {type(value).__name__}"


def type_error(
    value: object,
    name: str,
    must: str,
    kind: type[Exception] = TypeError,
    *,
    function: str | None = None,
) -> Exception:
    """Return the error for an argument of a wrong type; its text contains the type.

    Args:
        value: The argument.
        name: The name of the argument.
        must: What it must be or have.
        kind: The class of the error.
        function: Its name in the error; by default that of the public function.

    Returns:
        The error.

    Examples:
        >>> def scale(factors: list[float]) -> None:
        ...     raise type_error(factors, "factors", "be a list")
        >>> scale(3)
        Traceback (most recent call last):
        TypeError: For 'scale', the argument 'factors' must be a list, but got 3 of type int.
    """
    return _argument_error(kind, name, must, describe_value(value), function)


def value_error(value: object, name: str, must: str, *, function: str | None = None) -> ValueError:
    """Return the error for an argument of a wrong value.

    Args:
        value: The argument, or what is wrong in it.
        name: The name of the argument.
        must: What it must be or have.
        function: Its name in the error; by default that of the public function.

    Returns:
        The error.

    Examples:
        >>> def scale(factors: list[float]) -> None:
        ...     raise value_error(factors, "factors", "have 2 items")
        >>> scale([3])
        Traceback (most recent call last):
        ValueError: For 'scale', the argument 'factors' must have 2 items, but got [3].
    """
    # A repr quotes strings; for numbers it also names the class of a `np.float64` or an enum.
    given = str(value) if isinstance(value, int | float) else repr(value)
    given = given if len(given) <= _LONGEST else short(value)
    return _argument_error(ValueError, name, must, given, function)


def _argument_error(kind: type[E], name: str, must: str, given: str, function: str | None) -> E:
    function = function or caller()
    return kind(f"For '{function}', the argument '{name}' must {must}, but got {given}.")


def caller() -> str:
    """Return the name of the function or class that the program called, for an error.

    That is the nearest function above which is public: one in the `__all__` of its module, or one
    that the package of a private module exports. A constructor, an operator and `construct` have
    the name of the object's class.

    Returns:
        The name, as in "For 'softmax', the argument 'axis' must be an int."

    Examples:
        >>> def scale() -> str:
        ...     return caller()
        >>> scale()
        'scale'
    """
    frame = sys._getframe(1)
    while not (name := _public_name(frame)) and frame.f_back is not None:
        frame = frame.f_back
    return name or ""


def _public_name(frame: FrameType) -> str:
    """Return the name of the frame's function, or that of its class; "" if it is not public."""
    module, code = str(frame.f_globals.get("__name__")), frame.f_code
    in_library = module.startswith("minispore.") and code.co_filename[0] != "<"  # no doctest
    package = vars(sys.modules[".".join(module.split(".")[:2])]) if in_library else {}
    if "_NAMED_IN_ERRORS" in package:
        return code.co_name if code.co_name in package["_NAMED_IN_ERRORS"] else ""
    if code.co_name[0] == "<":
        return ""
    # A function that a public function has returned has its name.
    qualname = code.co_qualname.partition(".<locals>")[0] if in_library else code.co_qualname
    scope, _, name = qualname.rpartition(".")
    if scope:
        return _method_name(scope, name, frame.f_locals.get("self"))
    names: Collection[str] | None = frame.f_globals.get("__all__")
    if names is None and ("_IS_FACADE" in package or "._" in module):
        home = package["__name__"] if "_IS_FACADE" in package else module.rpartition(".")[0]
        names = dir(sys.modules[home])
    is_public = names is None or name in names or not in_library
    return name if is_public and name[0] != "_" else ""


def _method_name(scope: str, name: str, itself: object) -> str:
    """Return the name of a method or of its class, as `_name_in_errors` says; "" for neither."""
    kind = scope.rpartition(".")[2] if itself is None else type(itself).__name__
    form = str(getattr(type(itself), "_name_in_errors", "{method}"))
    if form and (name.startswith("__") or name == "construct"):
        form = "{kind}"
    is_private = kind[0] == "_" or (name[0] == "_" and form != "{kind}")
    return "" if is_private else form.format(kind=kind, method=name)


def check_arguments(cls: type[T]) -> type[T]:
    """Make the constructor of a class check each argument against its annotation.

    A bool is no number, `float` also accepts an int, and `tuple` a list. The items of a `Sequence`
    or `list` are checked, too; of other generic types only the class is checked. The value of a
    `Literal` is one of its items. Another annotation that is no type accepts everything.

    Args:
        cls: The class.

    Returns:
        The class.

    Raises:
        TypeError: By the constructor, if an argument has another type than its annotation.
        ValueError: By the constructor, if it is not one of the items of its `Literal`.

    Examples:
        >>> @check_arguments
        ... class Scale:
        ...     def __init__(self, factor: float, names: Sequence[str] | None = None) -> None: ...
        >>> scale = Scale(2, ["loss"])
        >>> Scale("2")
        Traceback (most recent call last):
        TypeError: For 'Scale', the type of 'factor' must be one of int, float, but got '2' of ...
        >>> Scale(2.5, ["loss", 3])
        Traceback (most recent call last):
        TypeError: For 'Scale', the type of 'names' must be one of Sequence[str], None, but got ...
    """
    init: Callable[..., None] = cls.__init__
    names = tuple(signature(init).parameters)[1:]
    # Resolved at the first call: an annotation may name a class that is defined later.
    hints = cache(lambda: get_type_hints(init))

    @wraps(init)
    def check_and_init(self: T, *args: object, **kwargs: object) -> None:
        check_keywords(init, names, kwargs)
        for name, value in {**dict(zip(names, args, strict=False)), **kwargs}.items():
            hint: object = hints().get(name, object)
            if get_origin(hint) is Literal:
                check_one_of(value, get_args(hint), name, type(self).__name__)
            elif not _has_type(value, hint):
                raise _type_error(value, _type_names(hint), name, type(self).__name__)
        init(self, *args, **kwargs)  # which raises Python's own error for missing arguments

    cls.__init__ = check_and_init  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    return cls


def _has_type(value: object, hint: object) -> bool:
    """Return whether a value has the type of an annotation."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Union or origin is UnionType:
        return any(_has_type(value, option) for option in inner)
    kinds = _kinds(hint)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds[0] is int):
        return False
    if isinstance(origin, type) and isinstance(value, str | bytes):  # no sequence of str
        return False
    items = value if origin in _WITH_CHECKED_ITEMS and is_iterable(value) else ()
    return all(_has_type(item, inner[0]) for item in items)


def _kinds(hint: object) -> tuple[type, ...]:
    kind: object = get_origin(hint) or hint
    return _ACCEPTED.get(kind, (kind if isinstance(kind, type) else object,))


def _type_names(hint: object) -> list[str]:
    """Return the names of the types that an annotation accepts, as far as they are checked."""
    origin = get_origin(hint)
    if origin is Union or origin is UnionType:
        return [name for option in get_args(hint) for name in _type_names(option)]
    if origin in _WITH_CHECKED_ITEMS:
        return [re.sub(r"[\w.]+\.", "", str(hint))]  # without the names of modules
    return [_type_name(kind) for kind in _kinds(hint)]


def _type_name(kind: type) -> str:
    return "None" if kind is NoneType else kind.__name__


def _class_of(kind: type[T]) -> type[T]:
    """Return `list` for `list[int]`, which is no class, and a class unchanged."""
    return getattr(kind, "__origin__", kind)


def check_type(
    value: object, types: type[T] | tuple[type[T], ...], name: str, function: str | None = None
) -> T:
    """Check that `value` is an instance of one of `types`; a bool is not accepted as an int.

    Args:
        value: The argument.
        types: A class or several. Of `list[int]`, only the class is checked.
        name: The name of the argument.
        function: Its name in the error; by default that of the public function.

    Returns:
        The value.

    Raises:
        TypeError: The value has another type.

    Examples:
        >>> def repeat(count: int) -> None:
        ...     check_type(count, int, "count")
        >>> repeat("3")
        Traceback (most recent call last):
        TypeError: For 'repeat', the type of 'count' must be one of int, but got '3' of type str.
    """
    kinds: tuple[type[T], ...] = types if isinstance(types, tuple) else (types,)
    accepted: list[type[T]] = [_class_of(kind) for kind in kinds]
    if not isinstance(value, bool) or {bool, object} & {*accepted}:
        for kind in accepted:
            if isinstance(value, kind):
                return value
    raise _type_error(value, map(_type_name, accepted), name, function or caller())


def check_bool(value: object, name: str, function: str | None = None) -> None:
    """Check that `value` is a bool: as `check_type`, but fast enough for every operation.

    Args:
        value: The argument.
        name: The name of the argument.
        function: Its name in the error; by default that of the public function.

    Raises:
        TypeError: The value is not a bool.

    Examples:
        >>> def repeat(forever: bool) -> None:
        ...     check_bool(forever, "forever")
        >>> repeat(1)
        Traceback (most recent call last):
        TypeError: For 'repeat', the type of 'forever' must be one of bool, but got 1 of type int.
    """
    if value is not True and value is not False:
        check_type(value, bool, name, function)


def check_function(value: object, name: str, *, optional: bool = False) -> None:
    """Check that `value` can be called.

    Args:
        value: The argument.
        name: The name of the argument.
        optional: Whether None is accepted, too.

    Raises:
        TypeError: It cannot be called.

    Examples:
        >>> def repeat(action: Callable[[], None]) -> None:
        ...     check_function(action, "action")
        >>> repeat(3)
        Traceback (most recent call last):
        TypeError: For 'repeat', the argument 'action' must be a function, but got 3 of type int.
    """
    if not (callable(value) or (optional and value is None)):
        raise type_error(value, name, "be a function or None" if optional else "be a function")


def check_int(
    value: object,
    name: str,
    function: str | None = None,
    *,
    low: int | None = None,
    high: int | None = None,
) -> int:
    """Check that `value` is an int in [low, high], and return it.

    Args:
        value: The argument.
        name: The name of the argument.
        function: Its name in the error; by default that of the public function.
        low: The smallest value that is accepted, if there is one.
        high: The largest value that is accepted, if there is one.

    Returns:
        The value.

    Raises:
        TypeError: The value is not an int, or is a bool.
        ValueError: The value is out of range.

    Examples:
        >>> def repeat(count: int) -> None:
        ...     check_int(count, "count", low=0)
        >>> repeat(-1)
        Traceback (most recent call last):
        ValueError: For 'repeat', the argument 'count' must be at least 0, but got -1.
    """
    if type(value) is not int:
        value = check_type(value, int, name, function)
    if (low is not None and value < low) or (high is not None and value > high):
        raise _range_error(value, name, function, low, high)
    return value


def check_number(
    value: object,
    name: str,
    function: str | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> float:
    """Check that `value` is a number in [low, high] and not NaN, and return it as a float.

    A number that must be at least `low` must be finite, too.

    Args:
        value: The argument.
        name: The name of the argument.
        function: Its name in the error; by default that of the public function.
        low: The smallest value that is accepted, if there is one.
        high: The largest value that is accepted, if there is one.

    Returns:
        The value as a float.

    Raises:
        TypeError: The value is neither an int nor a float, or is a bool.
        ValueError: The value is out of range, infinite although `low` is given, or NaN.

    Examples:
        >>> def scale(factor: float) -> float:
        ...     return check_number(factor, "factor", low=0)
        >>> scale(2)
        2.0
        >>> scale(-0.5)
        Traceback (most recent call last):
        ValueError: For 'scale', the argument 'factor' must be at least 0, but got -0.5.
    """
    value = check_type(value, (int, float), name, function)
    too_low = low is not None and not low <= value < inf
    if too_low or (high is not None and value > high) or value != value:  # noqa: PLR0124
        raise _range_error(value, name, function, low, high)
    return float(value)


def check_positive(value: object, name: str) -> float:
    """Check that `value` is a number above 0, and return it as a float.

    Args:
        value: The argument.
        name: The name of the argument.

    Returns:
        The value as a float.

    Raises:
        TypeError: The value is neither an int nor a float, or is a bool.
        ValueError: The value is not above 0, or NaN.

    Examples:
        >>> def scale(factor: float) -> float:
        ...     return check_positive(factor, "factor")
        >>> scale(0.5)
        0.5
        >>> scale(0)
        Traceback (most recent call last):
        ValueError: For 'scale', the argument 'factor' must be above 0, but got 0.
    """
    number = check_number(value, name)
    if number <= 0:
        raise value_error(value, name, "be above 0")
    return number


def check_one_of(
    value: object, choices: Collection[object], name: str, function: str | None = None
) -> None:
    """Check that `value` is one of `choices`.

    Args:
        value: The argument.
        choices: The values that are accepted.
        name: The name of the argument.
        function: Its name in the error; by default that of the public function.

    Raises:
        ValueError: The value is not one of them.

    Examples:
        >>> def save(mode: str) -> None:
        ...     check_one_of(mode, ("best", "last"), "mode")
        >>> save("first")
        Traceback (most recent call last):
        ValueError: For 'save', the argument 'mode' must be one of 'best', 'last', but got 'first'.
    """
    if not isinstance(value, Hashable) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise _argument_error(ValueError, name, f"be one of {listed}", short(value), function)


def as_items(value: object) -> tuple[object, ...] | None:
    """Return the items of a list or tuple as a tuple, and None for any other value.

    Args:
        value: Any value.

    Returns:
        The items; None if `value` is neither a list nor a tuple.

    Examples:
        >>> as_items([1, 2]), as_items("ab")
        ((1, 2), None)
    """
    return tuple(value) if is_sequence(value) else None


def as_tuple(value: object) -> tuple[object, ...]:
    """Return a tuple unchanged, and any other value as a tuple of it.

    Args:
        value: Any value.

    Returns:
        A tuple.

    Examples:
        >>> as_tuple((1, 2)), as_tuple([1, 2])
        ((1, 2), ([1, 2],))
    """
    return value if is_tuple(value) else (value,)


def map_items(function: Callable[[object], object], value: object) -> object:
    """Return a list, tuple or dict with the results of a function in place of its items.

    A function that calls `map_items` with itself goes through nested lists, tuples and dicts.

    Args:
        function: The function.
        value: Any value.

    Returns:
        A list, tuple, or dict of a mapping; any other value unchanged.

    Examples:
        >>> map_items(str, [1, 2]), map_items(str, {"a": 1}), map_items(str, 3)
        (['1', '2'], {'a': '1'}, 3)
    """
    if is_sequence(value):
        items = [function(item) for item in value]
        # A named tuple keeps its class.
        make = getattr(type(value), "_make", tuple)
        return make(items) if isinstance(value, tuple) else items
    return {key: function(item) for key, item in value.items()} if is_mapping(value) else value


# After isinstance alone, type checkers do not know the types of the items.


def is_sequence(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether `value` is a list or a tuple.

    Args:
        value: Any value.

    Returns:
        True for lists, tuples and their subclasses.

    Examples:
        >>> is_sequence([1]), is_sequence((1, 2)), is_sequence("ab")
        (True, True, False)
    """
    return isinstance(value, list | tuple)


def all_are(items: Sequence[object], kind: type[T]) -> TypeGuard[Sequence[T]]:
    """Return whether all items are of a type.

    Args:
        items: The items.
        kind: The type.

    Returns:
        True if all are, or if there are none.

    Examples:
        >>> all_are(["a", "b"], str), all_are(["a", 1], str)
        (True, False)
    """
    return all(isinstance(item, kind) for item in items)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether `value` is a list.

    Args:
        value: Any value.

    Returns:
        True for lists and their subclasses.
    """
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[object, ...]]:
    """Return whether `value` is a tuple.

    Args:
        value: Any value.

    Returns:
        True for tuples and their subclasses.
    """
    return isinstance(value, tuple)


def is_dict(value: object) -> TypeGuard[dict[object, object]]:
    """Return whether `value` is a dict.

    Args:
        value: Any value.

    Returns:
        True for dicts and their subclasses.
    """
    return isinstance(value, dict)


def is_iterable(value: object) -> TypeGuard[Iterable[object]]:
    """Return whether `value` is an iterable.

    Args:
        value: Any value.

    Returns:
        True for everything with a method `__iter__`.
    """
    return isinstance(value, Iterable)


def is_mapping(value: object) -> TypeGuard[Mapping[object, object]]:
    """Return whether `value` is a mapping.

    Args:
        value: Any value.

    Returns:
        True for dicts and other mappings.
    """
    return isinstance(value, Mapping)


def is_int_list(value: object) -> TypeGuard[list[int]]:
    """Return whether `value` is a list of int.

    Args:
        value: Any value.

    Returns:
        True for a list whose items are all int, and not bool; an empty one, too.

    Examples:
        >>> is_int_list([1, 2]), is_int_list([0.5]), is_int_list((1, 2))
        (True, False, False)
    """
    return is_list(value) and all(
        isinstance(item, int) and not isinstance(item, bool) for item in value
    )


def _type_error(value: object, expected: Iterable[str], name: str, function: str) -> TypeError:
    return TypeError(
        f"For '{function}', the type of '{name}' must be one of {', '.join(expected)}, "
        f"but got {describe_value(value)}."
    )


def _range_error(
    value: float, name: str, function: str | None, low: float | None, high: float | None
) -> ValueError:
    if low is None:
        expected = "a number" if high is None else f"at most {high}"
    else:
        expected = f"at least {low}" if high is None else f"in [{low}, {high}]"
        expected += " and finite" if value == inf else ""
    return value_error(value, name, f"be {expected}", function=function)


def check_unmasked(values: object, subject: str) -> None:
    """Raise ValueError if `values` is an array of numpy with masked elements.

    Args:
        values: Any object.
        subject: The beginning of the message: the function and the argument.

    Raises:
        ValueError: Elements are masked, which a conversion to another array ignores.

    Examples:
        >>> check_unmasked(np.ma.array([1, 2], mask=[False, True]), "For 'f', the argument 'x'")
        Traceback (most recent call last):
        ValueError: For 'f', the argument 'x' must have no masked elements, but got ...
    """
    array = values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise ValueError(
            f"{subject} must have no masked elements, but got {describe_value(array)}: replace "
            "them with its method 'filled'."
        )


def tuple_or_none(value: object) -> tuple[object, ...] | None:
    """Return the items of a tuple; None for any other value, also for a list.

    Args:
        value: The value.

    Returns:
        The tuple, or None.

    Examples:
        >>> tuple_or_none((1, 2)), tuple_or_none([1, 2])
        ((1, 2), None)
    """
    return value if is_tuple(value) else None


def as_pair(
    value: object,
    name: str,
    *,
    low: int = 1,
    lists: bool = False,
    wrong_length: type[Exception] = ValueError,
) -> tuple[int, int]:
    """Return a tuple of two ints; an int stands for two equal ones.

    Args:
        value: The argument.
        name: The argument's name.
        low: The lower bound of both.
        lists: Whether a list is accepted as well.
        wrong_length: The error for another number of ints.

    Returns:
        The two ints.

    Raises:
        TypeError: It is neither an int nor a tuple of ints.
        ValueError: One is below `low`.

    Examples:
        >>> as_pair(3, "kernel_size"), as_pair((1, 2), "kernel_size")
        ((3, 3), (1, 2))
    """
    items = as_items(value) if lists else tuple_or_none(value)
    if items is None and isinstance(value, int) and not isinstance(value, bool):
        items = (value, value)
    if items is None or len(items) != 2:
        error = TypeError if items is None else wrong_length
        raise type_error(value, name, "be an int or a tuple of two ints", error)
    first, second = (check_int(item, name, low=low, high=INT32_MAX) for item in items)
    return first, second
