"""MindSpore's operations in the form of 1.x: an object is made first and then called."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Primitive:
    """The base of MindSpore's 1.x operations."""

    def __repr__(self) -> str:
        return f"Prim[{type(self).__name__}]"


class _FunctionPrimitive(Generic[P, R]):
    """A function as a primitive without attributes."""

    def __init__(self, name: str, function: Callable[P, R]) -> None:
        self._name = name
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Prim[{self._name}]"


def primitive(name: str, function: Callable[P, R]) -> Callable[[], Callable[P, R]]:
    """Return a function `name` that takes no arguments and returns `function` as a primitive.

    Its docstring is that of `function`, with the primitive called in the examples.

    Examples:
        >>> Square = primitive("Square", lambda x: x * x)
        >>> Square(), Square()(3)
        (Prim[Square], 9)
    """

    def make() -> Callable[P, R]:
        return _FunctionPrimitive(name, function)

    called = function.__name__
    described = cleandoc(function.__doc__ or "")
    described = described.replace(f"ops.{called}(", f"ops.{name}()(")
    described = described.replace(f"`mindspore.ops.{called}`", f"`mindspore.ops.{name}`")
    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Return the primitive `{name}`: `{name}()(...)` is `{called}(...)`.\n\n{described}"
    )
    return make
