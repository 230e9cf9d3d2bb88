"""The output of a command: its errors are of their own class, and all text can be encoded."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from io import TextIOBase
from typing import TextIO


class OutputError(Exception):
    """Standard output cannot be written; its cause is the OSError."""


class _Output(TextIOBase):
    """A text stream that escapes what the encoding of another stream lacks, and writes to it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream  # None in a program without standard output

    def write(self, text: str) -> int:
        if self._stream is not None:
            encoding = self._stream.encoding or "utf-8"
            with _as_output_error():
                self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            with _as_output_error():
                self._stream.flush()

    def release(self) -> None:
        """Let the end of this object flush nothing: the other stream may be closed by then."""
        self._stream = None

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()


@contextmanager
def _as_output_error() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(error.strerror) from error


@contextmanager
def checked_output() -> Generator[None]:
    """Write and flush what the block prints.

    Raises:
        OutputError: The output cannot be written. What is left of it is dropped, so that Python
            does not write it when the process ends.
    """
    before = sys.stdout
    try:
        with redirect_stdout(_Output(before)) as out:
            try:
                yield
            finally:
                try:
                    out.flush()
                finally:
                    out.release()
    except OutputError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), before.fileno())
        raise


def print_error(text: str) -> None:
    """Print a line on standard error, if it can be written."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(text, file=sys.stderr)
