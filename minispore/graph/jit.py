"""The decorator of functions whose steps are captured once and replayed."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, overload

from minispore.common.context import steps_of
from minispore.utils.checks import check_int, check_one_of, check_type, type_error

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(
    function: Callable[P, R],
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: object,
) -> Callable[P, R]: ...
@overload
def jit(
    function: None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: object,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def jit(
    function: Callable[P, R] | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: object,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a function that is captured once for each kind of arguments, and then replayed.

    Its results are those of `function`, bit for bit. A call that cannot be replayed runs
    `function`, and `graph_info` says why.

    Args:
        function: The function. Without it, a decorator is returned.
        capture_mode: "ast", "bytecode" or "trace"; all mean the same.
        jit_level: "O0" or "O1"; both mean the same.
        dynamic: 0 or 1, without effect.
        fullgraph: Whether a call that can be neither captured nor replayed raises an error, after
            it was made.
        backend: Without effect.
        **options: Options of earlier versions of MindSpore, without effect.

    Returns:
        The function, or a decorator.

    Raises:
        TypeError: `function` is not callable, or an option is of the wrong type.
        ValueError: An option has none of its values.
        RuntimeError: By the returned function, with `fullgraph`.

    Examples:
        >>> import minispore as ms
        >>> @ms.jit
        ... def double(x):
        ...     return x + x
        >>> [double(ms.Tensor(float(i))).item() for i in range(5)]
        [0.0, 2.0, 4.0, 6.0, 8.0]
        >>> ms.graph_info(double).replayed
        2

    Source: MindSpore's `mindspore.jit`.
    """
    check_one_of(capture_mode, ("ast", "bytecode", "trace"), "capture_mode")
    check_one_of(jit_level, ("O0", "O1"), "jit_level")
    check_int(dynamic, "dynamic", low=0, high=1)
    check_type(fullgraph, bool, "fullgraph")
    if function is None:
        return lambda decorated: _jit(decorated, fullgraph=fullgraph)
    return _jit(function, fullgraph=fullgraph)


def _jit(function: Callable[P, R], *, fullgraph: bool) -> Callable[P, R]:
    if not callable(function):
        raise type_error(function, "function", "be callable")

    name = getattr(function, "__name__", "")

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        # Each instance of a class has its own plans, which are freed with it.
        is_method = (
            args and getattr(type(args[0]), name, None) is run and hasattr(args[0], "__dict__")
        )
        steps = steps_of(args[0], f"_captured_steps of {name}") if is_method else steps_of(run)
        result = steps.run(function, args, kwargs)
        _, reason = steps.last
        if fullgraph and reason:
            raise RuntimeError(
                f"For 'jit' with fullgraph=True, the call is not captured: {reason}."
            )
        return result

    vars(run)["_captured_steps"] = None
    return run


# The name in MindSpore 1.x.
ms_function = jit
