"""CRC-32C, the check sum of event files, fast without a compiled library.

A CRC is linear: that of a message is the exclusive or of what its bytes contribute, each depending
on the byte and on how far from the end it stands. So neighbours are combined in pairs, then pairs
of pairs, all of one level in one numpy operation: the left one of two is moved on by the length
of the right one, by a table for each of its four bytes, and added. A megabyte takes twenty levels.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_U32 = NDArray[np.uint32]

# The polynomial of Castagnoli, its bits in the reverse order.
_POLYNOMIAL: Final = 0x82F63B78
# Below this many bytes, one after the other is faster.
_SHORT: Final = 512
_FULL: Final = 0xFFFFFFFF


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """The CRC-32C of `data`.

    Source: RFC 3720, appendix B.4.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    if len(data) < _SHORT:
        table = _short_table()
        crc = _FULL
        for byte in data:
            crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
        return crc ^ _FULL
    # Zeros in front change nothing, so the length is made a power of two.
    padded = np.zeros(1 << (len(data) - 1).bit_length(), np.uint8)
    padded[-len(data) :] = np.frombuffer(data, np.uint8)
    # Starting from all ones is the same as inverting the first four bytes.
    start = len(padded) - len(data)
    padded[start : start + 4] ^= 0xFF
    crcs = _byte_table()[padded]
    level = 0
    while len(crcs) > 1:
        crcs = _moved(crcs[::2], level) ^ crcs[1::2]
        level += 1
    return int(crcs[0]) ^ _FULL


def masked(data: bytes | bytearray | memoryview) -> int:
    """The CRC-32C as event files store it: turned and shifted, as it may be part of the data.

    >>> hex(masked(b"123456789"))
    '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _FULL


@cache
def _byte_table() -> _U32:
    """What each byte contributes where it stands last."""
    crcs = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crcs = np.where(crcs & 1, crcs >> 1 ^ np.uint32(_POLYNOMIAL), crcs >> 1)
    return crcs


@cache
def _short_table() -> tuple[int, ...]:
    return tuple(_byte_table().tolist())


@cache
def _tables(level: int) -> tuple[_U32, ...]:
    """For each of a CRC's four bytes, what becomes of it 2 to the power of `level` bytes later."""
    bytes_ = np.arange(256, dtype=np.uint32)
    alone = [bytes_ << np.uint32(8 * i) for i in range(4)]
    if level == 0:
        return tuple(_byte_table()[crcs & 0xFF] ^ crcs >> 8 for crcs in alone)
    return tuple(_moved(_moved(crcs, level - 1), level - 1) for crcs in alone)


def _moved(crcs: _U32, level: int) -> _U32:
    a, b, c, d = _tables(level)
    moved: _U32 = a[crcs & 0xFF] ^ b[crcs >> 8 & 0xFF] ^ c[crcs >> 16 & 0xFF] ^ d[crcs >> 24]
    return moved
