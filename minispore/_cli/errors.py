"""What is the user's to mend: told in one line, without a traceback."""

from collections.abc import Generator
from contextlib import contextmanager


class UserError(Exception):
    """Arguments, data or an environment that the command cannot work with."""


@contextmanager
def told_to_the_user(*kinds: type[Exception]) -> Generator[None]:
    """Turn errors of these kinds into a `UserError` with the same message, on one line."""
    try:
        yield
    except kinds as error:
        raise UserError(" ".join(str(error).split())) from error
