"""TFRecord, the framing of event files: records with a length and two checksums.

A record is the length of its data as a little-endian uint64, the masked CRC-32C of these eight
bytes, the data, and the masked CRC-32C of the data.
"""

import struct
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final

from minispore.train.checkpoint.protobuf import WireError
from minispore.train.summary.crc32c import masked_crc32c

_HEADER: Final = 12
_FOOTER: Final = 4
_PIECE: Final = 2**20


def encode_record(data: bytes) -> bytes:
    """Return data as a record.

    Examples:
        >>> encode_record(b"hello").hex()
        '0500000000000000eab2043e68656c6c6f...'
    """
    length = struct.pack("<Q", len(data))
    return b"".join(
        (
            length,
            struct.pack("<I", masked_crc32c(length)),
            data,
            struct.pack("<I", masked_crc32c(data)),
        )
    )


def read_records(stream: BufferedIOBase) -> Iterator[bytes]:
    """Yield the data of each record.

    Raises:
        WireError: A checksum does not match, or the stream ends inside a record. The records before
            that are yielded first.
    """
    start = 0
    while header := stream.read(_HEADER):
        if len(header) < _HEADER:
            raise WireError(f"it ends inside the record that begins at byte {start}")
        length, crc = struct.unpack("<QI", header)
        if crc != masked_crc32c(header[:8]):
            raise WireError(f"the length of the record at byte {start} has been damaged")
        yield _data(stream, length, start)
        start += _HEADER + length + _FOOTER


def _data(stream: BufferedIOBase, length: int, start: int) -> bytes:
    # In pieces, since a damaged or malicious length must not allocate memory.
    pieces: list[bytes] = []
    remaining = length
    while remaining and (piece := stream.read(min(_PIECE, remaining))):
        pieces.append(piece)
        remaining -= len(piece)
    data = b"".join(pieces)
    footer = stream.read(_FOOTER)
    if remaining or len(footer) < _FOOTER:
        raise WireError(f"it ends inside the record that begins at byte {start}")
    if struct.unpack("<I", footer) != (masked_crc32c(data),):
        raise WireError(f"the record at byte {start} has been damaged")
    return data
