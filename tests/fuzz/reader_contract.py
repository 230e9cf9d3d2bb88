"""The contract of readers: for any bytes they return a valid value or raise a documented error.

The error has exactly the documented type and names the file, and nothing has been changed; memory
and time are bounded by the size of the file.
"""

import tracemalloc
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

SECONDS = 5.0  # of processor time, since machines are shared
# The bytes of memory that a reader may use for each byte of the file: a Python object, such as an
# empty list, is larger than its JSON text.
MEMORY_PER_BYTE = 128


def unchanged(data: bytes) -> bytes:
    return data


@dataclass(frozen=True, repr=False)
class Reader:
    """A reader of files, and how to fuzz it.

    Attributes:
        name: The name in reports.
        file: The file's name.
        seeds: Contents of valid files.
        read: Reads the file; AssertionError if the value is invalid, or if something has been
            changed although the file is rejected.
        refuses: The documented types of error; empty if every file must be accepted.
        text: Whether the files are text.
        wrap: Returns the file for mutated content, with a valid checksum or in an outer format.
        examples: Inputs of earlier failures by name, before `wrap`.
        share: The number of mutants, relative to other readers.
        memory: The memory in bytes that it may use for a file of any size.
        modules: The modules of the package whose reading it covers.
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
    modules: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


class ContractError(Exception):
    """A reader has violated the contract."""


def check_contract(reader: Reader, inner: bytes, folder: Path) -> str:
    """Let a reader read a file with this content; return "read" or the type of its error.

    Raises:
        ContractError: The reader has violated the contract.
    """
    data = reader.wrap(inner)
    path = folder / reader.file
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as numpy's of an overflow
        warnings.simplefilter("ignore", UserWarning)
        tracemalloc.start()
        started = process_time()
        try:
            reader.read(path)
            outcome = "read"
        except reader.refuses as error:
            outcome = _refusal(reader, error, path)
        except (Exception, SystemExit) as error:
            raise ContractError(f"{reader}: it raises {error!r:.300}") from error
        finally:
            taken = process_time() - started
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    if peak > reader.memory + MEMORY_PER_BYTE * len(data):
        raise ContractError(f"{reader}: it uses {peak} bytes for a file of {len(data)}")
    if taken > SECONDS:
        raise ContractError(f"{reader}: it takes {taken:.1f} s for a file of {len(data)} bytes")
    return outcome


def _refusal(reader: Reader, error: Exception, path: Path) -> str:
    # UnicodeDecodeError and JSONDecodeError are ValueErrors, too.
    if type(error) not in reader.refuses:
        raise ContractError(f"{reader}: it raises the raw {error!r:.300}") from error
    message = "\n".join((str(error), *getattr(error, "__notes__", ())))
    if str(path) not in message:
        raise ContractError(
            f"{reader}: the error does not name the file: {message:.300}"
        ) from error
    try:
        message.encode()
    except UnicodeEncodeError:
        raise ContractError(f"{reader}: the message cannot be printed: {message!a:.300}") from error
    if len(message) > 10_000:
        raise ContractError(f"{reader}: the message has {len(message)} characters") from error
    return type(error).__name__
