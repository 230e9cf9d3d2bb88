"""Read and write IDX, the format of MNIST's files, with a checked header.

Bytes 0-1 are zero, byte 2 is the element type (8: unsigned byte, the only one here), byte 3 the
number of dimensions; then one big-endian uint32 for each dimension, then the elements in C order.
Source: https://yann.lecun.com/exdb/mnist/
"""

import io
import math
import os
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import numpy as np

from minispore.utils.arrays import UInt8Array
from minispore.utils.atomic import atomic_write, open_regular_file

MNIST_NAMES: Final = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
"""The names of MNIST's files of images and labels, by usage."""

_UBYTE = 8
_MAX_DIMS = 64  # numpy's own limit
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE = 2**20
_DEFLATE_MAX_RATIO = 1032  # no deflate stream unpacks to more, so a header can't claim more


def read_idx(path: str | os.PathLike[str]) -> UInt8Array:
    """Read an IDX file of unsigned bytes, plain or gzipped, as its first bytes show.

    The length in the header is compared with that of the file before memory is allocated.

    Args:
        path: The file.

    Returns:
        An array of uint8 with the header's shape.

    Raises:
        OSError: If the file cannot be opened or read.
        RuntimeError: If it is not an IDX file of unsigned bytes, is too short or too long, or its
            gzip data is damaged.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "labels-idx1-ubyte.gz")
        ...     write_idx(file, np.array([3, 1, 4], np.uint8))
        ...     read_idx(file).tolist()
        [3, 1, 4]
    """
    with _open(path) as (stream, max_bytes):
        shape = _read_header(stream, path)
        count = math.prod(shape)
        # numpy rejects an empty array if the product of its other dimensions overflows.
        if count > max_bytes or math.prod(n or 1 for n in shape) >= 2**62:
            raise _bad(path, f"its header promises {count} elements, more than it can hold")
        data = _read_up_to(stream, count)
        if len(data) < count:
            raise _bad(path, f"its header promises {count} elements, but only {len(data)} follow")
        if stream.read(1):
            raise _bad(path, f"bytes follow the {count} elements that its header promises")
    return np.ndarray(shape, np.uint8, data)


def read_idx_shape(path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Return the shape in the header of an IDX file, without reading its elements.

    Raises:
        OSError: If the file cannot be opened or read.
        RuntimeError: If its header is invalid.
    """
    with _open(path) as (stream, _):
        return _read_header(stream, path)


def write_idx(path: str | os.PathLike[str], array: UInt8Array) -> None:
    """Write an array of uint8 as an IDX file; gzipped where the name ends in ``.gz``.

    Equal arrays give equal bytes: the gzip header has no time stamp.

    Args:
        path: The file, which is replaced atomically if it exists.
        array: An array of 1 to 64 dimensions.

    Raises:
        TypeError: If the array is not of dtype uint8.
        ValueError: If it has no dimensions, or one of 2³² or more elements.
        OSError: If the file cannot be written.

    Examples:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "train-images-idx3-ubyte")
        ...     write_idx(file, np.zeros((2, 28, 28), np.uint8))
        ...     file.stat().st_size
        1584
    """
    content = idx_bytes(array)
    with atomic_write(path) as file:
        if os.fspath(path).endswith(".gz"):
            import gzip

            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(content)
        else:
            file.writelines(content)


def idx_bytes(array: UInt8Array) -> tuple[bytes, memoryview]:
    """Return the header and the elements of an IDX file; raise the errors of `write_idx`."""
    if array.dtype != np.uint8:
        raise TypeError(f"For 'write_idx', 'array' must be of dtype uint8, but got {array.dtype}.")
    if not array.ndim or max(array.shape) >= 2**32:
        raise ValueError(
            "For 'write_idx', 'array' must have at least one dimension, each shorter than 2**32, "
            f"but got shape {array.shape}."
        )
    header = bytes((0, 0, _UBYTE, array.ndim)) + np.array(array.shape, ">u4").tobytes()
    return header, np.ascontiguousarray(array).data


@contextmanager
def _open(path: str | os.PathLike[str]) -> Generator[tuple[io.BufferedIOBase, int]]:
    """Open a plain or gzipped file, with an upper bound of the number of its unpacked bytes."""
    with open(path, "rb", opener=open_regular_file) as file:
        size = os.fstat(file.fileno()).st_size
        gzipped = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        if not gzipped:
            yield file, size
            return
        import gzip

        try:
            with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
                yield unpacked, size * _DEFLATE_MAX_RATIO
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise _bad(path, f"its gzip data is damaged ({error})") from error


def _read_header(stream: io.BufferedIOBase, path: str | os.PathLike[str]) -> tuple[int, ...]:
    magic = stream.read(4)
    rank = magic[3] if len(magic) == 4 and magic.startswith(bytes((0, 0, _UBYTE))) else 0
    if not 1 <= rank <= _MAX_DIMS:
        raise _bad(
            path, f"it starts with {magic.hex(' ') or 'nothing'}, not with 00 00 08 and the rank"
        )
    dims = stream.read(4 * rank)
    if len(dims) < 4 * rank:
        raise _bad(path, f"it ends inside its header of {rank} dimensions")
    return tuple(int.from_bytes(dims[i : i + 4], "big") for i in range(0, 4 * rank, 4))


def _read_up_to(stream: io.BufferedIOBase, count: int) -> bytearray:
    """Read `count` bytes, or fewer at the end of the file.

    A plain file is read into its final memory. For a gzipped one, whose length is not certain,
    memory grows with the bytes read.
    """
    if isinstance(stream, io.BufferedReader):
        data = bytearray(count)
        del data[stream.readinto(data) :]
        return data
    data = bytearray()
    while len(data) < count and (piece := stream.read(min(_PIECE, count - len(data)))):
        data += piece
    return data


def _bad(path: str | os.PathLike[str], why: str) -> RuntimeError:
    return RuntimeError(f"'{os.fspath(path)}' is not a valid IDX file of unsigned bytes: {why}.")
