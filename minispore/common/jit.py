"""MindSpore's compiler decorator, without effect: functions run as ordinary Python."""

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
    """Return `function` unchanged: there is no compiler.

    Args:
        function: The function. Without it, a decorator is returned.
        **options: Options of MindSpore's compiler (`mode`, `input_signature`, …), without effect.

    Returns:
        `function`, or a decorator that returns its argument.

    Examples:
        >>> from minispore import Tensor, jit
        >>> @jit
        ... def double(x):
        ...     return x + x
        >>> double(Tensor(2.0)).item()
        4.0

    Source: MindSpore's `mindspore.jit`.
    """
    if function is None:
        return lambda decorated: decorated
    return function
