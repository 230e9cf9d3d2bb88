"""The law of readers: of any bytes a value that is whole, or the error that is documented.

The error is of exactly that type and names the file; nothing has been changed then; memory and time
stay within what the file's size warrants.
"""

import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

SECONDS = 5.0  # of the processor, as machines are shared
# What a reader may take for each byte of the file: a Python object, such as an empty list of three
# characters of JSON, is larger than its text.
MEMORY_PER_BYTE = 128


def unchanged(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, repr=False)
class Reader:
    """One reader of files, and what it takes to try it.

    Attributes:
        name: Names it in reports, and its corpus.
        file: The file's name.
        seeds: Contents of valid files.
        read: Reads the file; AssertionError if the value is not whole, or if it refuses the file
            and something has been changed.
        refuses: The types of error that are documented; none, if it has to take everything.
        text: Whether the files are text.
        wrap: Makes a file of what is mutated: adds a check sum, which hardly any change would fit,
            or an outer format.
        examples: What was read wrongly once, by its name; wrapped as everything else.
        share: How many mutants it gets, compared with others.
        memory: The bytes that it may take for any file.
    """

    name: str
    file: str
    seeds: tuple[bytes, ...]
    read: Callable[[Path], object]
    refuses: tuple[type[Exception], ...] = (ValueError,)
    text: bool = False
    wrap: Callable[[bytes], bytes] = unchanged
    examples: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    share: float = 1.0
    memory: int = 2 * 2**20

    def __str__(self) -> str:
        return self.name


class LawError(Exception):
    """A reader has broken the law."""


def judge(reader: Reader, inner: bytes, folder: Path) -> str:
    """Have the reader read it; what came of it: "read", or the type of its error.

    Raises:
        LawError: It has broken the law.
    """
    data = reader.wrap(inner)
    path = folder / reader.file
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy's, that a number does not fit, is a defect
        warnings.simplefilter("ignore", UserWarning)
        tracemalloc.start()
        started = process_time()
        try:
            reader.read(path)
            outcome = "read"
        except reader.refuses as error:
            outcome = _refusal(reader, error, path)
        except (Exception, SystemExit) as error:
            raise LawError(f"{reader}: it raises {error!r:.300}") from error
        finally:
            taken = process_time() - started
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    if peak > reader.memory + MEMORY_PER_BYTE * len(data):
        raise LawError(f"{reader}: it takes {peak} bytes for a file of {len(data)}")
    if taken > SECONDS:
        raise LawError(f"{reader}: it takes {taken:.1f} s for a file of {len(data)} bytes")
    return outcome


def _refusal(reader: Reader, error: Exception, path: Path) -> str:
    # UnicodeDecodeError and JSONDecodeError are ValueErrors, too.
    if type(error) not in reader.refuses:
        raise LawError(f"{reader}: it raises the raw {error!r:.300}") from error
    message = "\n".join((str(error), *getattr(error, "__notes__", ())))
    if str(path) not in message:
        raise LawError(f"{reader}: the error does not name the file: {message:.300}") from error
    try:
        message.encode()
    except UnicodeEncodeError:
        raise LawError(f"{reader}: the message cannot be printed: {message!a:.300}") from error
    if len(message) > 10_000:
        raise LawError(f"{reader}: the message has {len(message)} characters") from error
    return type(error).__name__
