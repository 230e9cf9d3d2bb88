"""Errors for former names of attributes and arguments, which name the present ones."""

from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

__all__ = [
    "check_overrides",
    "reject_renamed_arguments",
    "reject_renamed_attributes",
    "renamed_message",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def renamed_message(old: str, new: str) -> str:
    """Return the message of an error about a former name.

    Args:
        old: The former name, with the names of its class or module.
        new: The present name, or the expression that replaces it.

    Returns:
        A sentence.

    Examples:
        >>> renamed_message("Callback.companions", "Callback.configure_callbacks")
        "'Callback.companions' was renamed: use 'Callback.configure_callbacks'."
    """
    return f"'{old}' was renamed: use '{new}'."


class _FormerName:
    """An attribute that raises an error when it is read, from an object or from the class."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise AttributeError(self.message)


def reject_renamed_attributes(**renamed: str) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that makes reading a former attribute an error.

    Args:
        **renamed: The former names, each with its present name.

    Returns:
        A decorator that returns the class itself.

    Raises:
        AttributeError: When a former name is read from the class or an object of it.

    Examples:
        >>> @reject_renamed_attributes(law="invariant")
        ... class Violation:
        ...     invariant = "errors"
        >>> Violation().law
        Traceback (most recent call last):
        AttributeError: 'Violation.law' was renamed: use 'Violation.invariant'.
    """

    def decorate(cls: type[T]) -> type[T]:
        for old, new in renamed.items():
            message = renamed_message(f"{cls.__name__}.{old}", f"{cls.__name__}.{new}")
            setattr(cls, old, _FormerName(message))
        return cls

    return decorate


def check_overrides(cls: type) -> None:
    """Check that a class does not define an attribute by a former name of one of its base classes.

    Args:
        cls: The new class; `__init_subclass__` of its base class calls this.

    Raises:
        AttributeError: The class defines a former name.

    Examples:
        >>> @reject_renamed_attributes(companions="configure_callbacks")
        ... class Callback:
        ...     def __init_subclass__(cls) -> None:
        ...         check_overrides(cls)
        >>> class Example(Callback):
        ...     companions = ()
        Traceback (most recent call last):
        AttributeError: 'Callback.companions' was renamed: use 'Callback.configure_callbacks'.
    """
    for base in cls.__mro__[1:]:
        for name in vars(cls).keys() & vars(base).keys():
            if isinstance(former := vars(base)[name], _FormerName):
                raise AttributeError(former.message)


def reject_renamed_arguments(**renamed: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that makes passing an argument by a former name an error.

    Args:
        **renamed: The former names, each with its present name.

    Returns:
        A decorator of functions.

    Raises:
        AttributeError: When the function is called with a former name.

    Examples:
        >>> @reject_renamed_arguments(for_good="finished")
        ... def request_stop(*, finished: bool = False) -> None: ...
        >>> request_stop(for_good=True)
        Traceback (most recent call last):
        AttributeError: 'request_stop(for_good)' was renamed: use 'request_stop(finished)'.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in renamed.keys() & kwargs.keys():
                name = function.__qualname__
                raise AttributeError(renamed_message(f"{name}({old})", f"{name}({renamed[old]})"))
            return function(*args, **kwargs)

        return checked

    return decorate
