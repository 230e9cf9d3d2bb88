"""Errors that the user can fix, which are printed in one line without a traceback."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


class UserError(Exception):
    """An error in arguments, data or the environment."""


@contextmanager
def as_user_error(
    *kinds: type[Exception], translated: Callable[[str], str] = str
) -> Generator[None]:
    """Convert errors of these classes to a `UserError` with the translated message on one line."""
    try:
        yield
    except kinds as error:
        raise UserError(translated(" ".join(str(error).split()))) from error
