"""The framing of event files: records, each with its length and two check sums.

A record is the length of its data as a little-endian uint64, the masked CRC-32C of these eight
bytes, the data, and the masked CRC-32C of the data.
"""

import struct
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final

from minispore.train._files.protobuf import WireError
from minispore.train.summary._crc32c import masked

_HEADER: Final = 12
_FOOTER: Final = 4
_PIECE: Final = 2**20


def framed(data: bytes) -> bytes:
    """One record.

    >>> framed(b"hello").hex()
    '0500000000000000eab2043e68656c6c6f...'
    """
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", masked(length)), data, struct.pack("<I", masked(data)))
    )


def records(stream: BufferedIOBase) -> Iterator[bytes]:
    """The data of each record.

    Raises:
        WireError: A check sum does not fit, or the file ends inside a record. What stands before
            has been yielded then.
    """
    start = 0
    while header := stream.read(_HEADER):
        if len(header) < _HEADER:
            raise WireError(f"it ends inside the record that begins at byte {start}")
        length, crc = struct.unpack("<QI", header)
        if crc != masked(header[:8]):
            raise WireError(f"the length of the record at byte {start} has been damaged")
        yield _data(stream, length, start)
        start += _HEADER + length + _FOOTER


def _data(stream: BufferedIOBase, length: int, start: int) -> bytes:
    # Memory is taken as the bytes come, not as they are promised.
    pieces: list[bytes] = []
    left = length
    while left and (piece := stream.read(min(_PIECE, left))):
        pieces.append(piece)
        left -= len(piece)
    data = b"".join(pieces)
    footer = stream.read(_FOOTER)
    if left or len(footer) < _FOOTER:
        raise WireError(f"it ends inside the record that begins at byte {start}")
    if struct.unpack("<I", footer) != (masked(data),):
        raise WireError(f"the record at byte {start} has been damaged")
    return data
