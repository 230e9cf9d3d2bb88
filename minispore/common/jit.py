"""MindSpore's compiler by name: functions that are given to it run as Python runs them."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(function: Callable[P, R], **options: object) -> Callable[P, R]: ...
@overload
def jit(function: None = None, **options: object) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def jit(
    function: Callable[P, R] | None = None, **options: object
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Return `function` itself: there is no compiler, and the results are those of its statements.

    >>> from minispore import Tensor, jit
    >>> @jit
    ... def double(x):
    ...     return x + x
    >>> double(Tensor(2.0))
    Tensor(shape=[], dtype=Float32, value= 4)

    Args:
        function: The function; without it, a decorator is returned.
        **options: What MindSpore's compiler is told (`mode`, `input_signature`, …); without effect.
    """
    if function is None:
        return lambda given: given
    return function
