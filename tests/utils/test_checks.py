"""Argument checks: accepted values, and errors for the others."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from importlib import import_module
from inspect import unwrap
from math import isnan, nan
from types import FunctionType, NoneType
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.ops import operations
from minispore.utils.checks import (
    as_items,
    caller,
    check_arguments,
    check_bool,
    check_int,
    check_number,
    check_type,
    describe_value,
    is_int_list,
)


class Size(IntEnum):
    SMALL = 1
    LARGE = 3


BOUNDS = st.none() | st.integers(-3, 3)
VALUES = st.integers(-5, 5) | st.sampled_from(Size)


def lies_in(value: object, low: int | None, high: int | None) -> bool:
    assert isinstance(value, int | float)
    return not isnan(value) and (low is None or value >= low) and (high is None or value <= high)


ANNOTATIONS: dict[str, tuple[tuple[type, ...], str]] = {
    "flag": ((bool,), "bool"),
    "count": ((int,), "int"),
    "rate": ((int, float), "int, float"),
    "name": ((str, NoneType), "str, None"),
    "pair": ((tuple, list), "tuple, list"),
}


@check_arguments
class Schedule:
    """A class whose constructor checks its arguments."""

    def __init__(
        self,
        flag: bool = True,
        count: int = 1,
        rate: float = 0.5,
        name: str | None = None,
        counts: Sequence[int] | None = (),
        pair: tuple[int, int] = (0, 0),
        anything: object = None,
        mode: Literal["min", "max"] = "min",
    ) -> None: ...


ANYTHING = (
    st.none()
    | st.booleans()
    | st.integers(0, 1)
    | st.floats(0, 1)
    | st.sampled_from(["", "max", "a\nb"])
    | st.lists(st.integers(0, 1), max_size=2)
)


def refusal(check: Callable[[], object]) -> str | None:
    """Return the type and the message of a check's error, None if it accepts the value."""
    try:
        check()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def is_a(value: object, types: tuple[type, ...]) -> bool:
    """Return whether a value is an instance of the types, where a bool is not an int."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


@given(st.sampled_from(sorted(ANNOTATIONS)), ANYTHING)
def test_check_arguments_accepts_the_annotated_types(name: str, value: object) -> None:
    types, expected = ANNOTATIONS[name]
    message = (
        f"TypeError: For 'Schedule', the type of '{name}' must be one of {expected}, "
        f"but got {describe_value(value)}."
    )
    actual = refusal(lambda: Schedule(**{name: value}))  # type: ignore[arg-type]
    assert actual == (None if is_a(value, types) else message)
    Schedule(anything=value)
    modes = "ValueError: For 'Schedule', the argument 'mode' must be one of 'min', 'max', but got "
    actual = refusal(lambda: Schedule(mode=value))  # type: ignore[arg-type]
    assert (actual is None) == (isinstance(value, str) and value in {"min", "max"})
    assert actual is None or actual.startswith(modes)


@given(st.lists(ANYTHING) | st.lists(ANYTHING).map(tuple) | ANYTHING)
@example([0, True])
@example((0, 1))
@example(("a",))
def test_check_arguments_checks_the_items_of_a_sequence(value: object) -> None:
    items = as_items(value)
    is_accepted = value is None or (items is not None and all(is_a(item, (int,)) for item in items))
    message = (
        "TypeError: For 'Schedule', the type of 'counts' must be one of Sequence[int], None, "
        f"but got {describe_value(value)}."
    )
    actual = refusal(lambda: Schedule(counts=value))  # type: ignore[arg-type]
    assert actual == (None if is_accepted else message)


@given(ANYTHING)
def test_check_bool_accepts_what_check_type_accepts(value: object) -> None:
    actual = refusal(lambda: check_bool(value, "x", "f"))
    assert actual == refusal(lambda: check_type(value, bool, "x", "f"))
    assert (actual is None) == isinstance(value, bool)


@given(ANYTHING, st.booleans())
def test_check_type_accepts_none_only_if_allowed(value: object, allow_none: bool) -> None:
    types = (str, NoneType) if allow_none else (str,)
    actual = refusal(lambda: check_type(value, types, "x", "f"))
    assert (actual is None) == (isinstance(value, str) or (allow_none and value is None))
    expected = "str, None" if allow_none else "str"
    assert actual is None or f"one of {expected}, but got" in actual
    assert refusal(lambda: check_type(value, object, "x", "f")) is None


@given(ANYTHING | VALUES, BOUNDS, BOUNDS)
@example(9, -1, 2)
@example(2, -1, 2)
@example(-1, -1, 2)
@example(9, None, 2)
@example(-9, -1, None)
@example(nan, None, None)
@example(True, None, None)
@example(Size.SMALL, None, 0)
@example(np.float64(1.5), 2, None)
def test_numbers_are_checked_and_errors_name_the_bounds(
    value: object, low: int | None, high: int | None
) -> None:
    """A subclass of int is accepted, but bool and NaN are not."""
    checks: list[tuple[Callable[..., object], tuple[type, ...], str]] = [
        (check_int, (int,), "int"),
        (check_number, (int, float), "int, float"),
    ]
    for check, types, listed in checks:

        def call(check: Callable[..., object] = check) -> object:
            return check(value, "x", "f", low=low, high=high)

        bounds = {
            (True, True): "a number",
            (True, False): f"at most {high}",
            (False, True): f"at least {low}",
            (False, False): f"in [{low}, {high}]",
        }[low is None, high is None]
        if not isinstance(value, types) or isinstance(value, bool):
            expected = f"TypeError: For 'f', the type of 'x' must be one of {listed}, but"
            assert (refusal(call) or "").startswith(expected)
        elif lies_in(value, low, high):
            assert call() == value
            assert check is check_int or type(call()) is float
        else:
            expected = f"ValueError: For 'f', the argument 'x' must be {bounds}, but got {value}."
            assert refusal(call) == expected


@given(ANYTHING)
def test_description_is_one_line_with_the_type(value: object) -> None:
    assert "\n" not in describe_value([value, "\n"])
    assert describe_value(value) == f"{value!r} of type {type(value).__name__}"
    assert describe_value(np.array([[1], [2]])) == "array([[1], [2]]) of type ndarray"


@given(st.lists(st.integers() | st.floats()), st.sampled_from([list, tuple, set]))
def test_int_lists_and_items(
    items: list[float], make: Callable[[list[float]], Collection[float]]
) -> None:
    value = make(items)
    all_int = all(isinstance(item, int) for item in items)
    assert is_int_list(value) == (isinstance(value, list) and all_int)
    assert as_items(value) == (None if isinstance(value, set) else tuple(items))


@dataclass
class Range:
    low: object

    def __post_init__(self) -> None:
        check_int(self.low, "low")


def scale(factor: object) -> list[float]:
    return [check_number(factor, "factor") for _ in range(1)]


@pytest.mark.parametrize(("call", "caller"), [(scale, "scale"), (Range, "Range")])
def test_check_names_the_calling_function(call: Callable[[object], object], caller: str) -> None:
    assert (refusal(lambda: call("2")) or "").startswith(f"TypeError: For '{caller}', the type of")


PACKAGES = (
    *("minispore", "amp", "communication", "dataset", "dataset.config"),
    *("drawing", "nn", "numpy", "ops", "tensorpack", "testing", "train"),
)


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_of_public_functions_name_them(package: str) -> None:
    """An error that is raised in a public function has the function's name."""
    module = import_module("minispore" if package == "minispore" else f"minispore.{package}")
    for name in getattr(module, "__all__", dir(module)):
        function = unwrap(getattr(module, name))
        # The functions of MindSpore 1.x call another one, and `zip` is one of several names.
        if isinstance(function, FunctionType) and name not in {*dir(operations), "zip"}:
            code = function.__code__
            body = named.__code__.replace(
                co_name=code.co_name, co_qualname=code.co_qualname, co_filename=code.co_filename
            )
            called = FunctionType(body, {**function.__globals__, "caller": caller})
            assert called() in {name, function.__name__}, name


def named() -> str:
    return caller()
