"""CRC-32C, the check sum of event files, fast without a compiled library.

A CRC is linear: that of a message is the exclusive or of what its bytes contribute, each depending
on the byte and on how far from the end it stands. So 64 bytes at a time are looked up in a table
with a row for each place, all groups in one numpy operation. What remains, a CRC of four bytes for
each group, is again a message of bytes in places: 16 groups are looked up at a time, with another
table, and so on until one is left. A megabyte takes five rounds.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_U32 = NDArray[np.uint32]
_U8 = NDArray[np.uint8]

# The polynomial of Castagnoli, its bits in the reverse order.
_POLYNOMIAL: Final = 0x82F63B78
# Below this many bytes, one after the other is faster.
_SHORT: Final = 128
_GROUP: Final = 64
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
    found = _padded(np.frombuffer(data, np.uint8))
    # Starting from all ones is the same as inverting the first four bytes.
    start = len(found) - len(data)
    found[start : start + 4] ^= 0xFF
    level = 0
    while True:
        crcs = _groups(found, level)
        if len(crcs) == 1:
            return int(crcs[0]) ^ _FULL
        found = _padded(crcs.astype("<u4").view(np.uint8))
        level += 1


def masked(data: bytes | bytearray | memoryview) -> int:
    """The CRC-32C as event files store it: turned and shifted, as it may be part of the data.

    >>> hex(masked(b"123456789"))
    '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _FULL


def _padded(found: _U8) -> _U8:
    """A copy with zeros in front, which change nothing, up to whole groups."""
    padded = np.zeros(-(-len(found) // _GROUP) * _GROUP, np.uint8)
    padded[len(padded) - len(found) :] = found
    return padded


def _groups(found: _U8, level: int) -> _U32:
    """The CRC of each group of 64 bytes."""
    places = found.reshape(-1, _GROUP) + _OFFSETS
    crcs: _U32 = np.bitwise_xor.reduce(_table(level).take(places, mode="wrap"), axis=1)
    return crcs


_OFFSETS: Final = 256 * np.arange(_GROUP, dtype=np.intp)


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
def _table(level: int) -> _U32:
    """What each byte of a group contributes to the group's CRC, 256 numbers for each place.

    In level 0 the bytes are those of the message; above, four are the CRC of a group below.
    """
    rows: list[_U32] = []
    if level == 0:
        crcs = _byte_table()
        for _ in range(_GROUP):
            rows.append(crcs)
            crcs = _one_byte_later(crcs)
    else:
        alone = np.arange(256, dtype=np.uint32)
        last = [alone << np.uint32(8 * i) for i in range(4)]
        for _ in range(_GROUP // 4):
            rows += reversed(last)
            last = [_moved(crcs, level - 1) for crcs in last]
    return np.concatenate(rows[::-1])


def _one_byte_later(crcs: _U32) -> _U32:
    later: _U32 = _byte_table()[crcs & np.uint32(0xFF)] ^ crcs >> np.uint32(8)
    return later


def _moved(crcs: _U32, level: int) -> _U32:
    """What becomes of CRCs when one more whole group of that level follows."""
    if level == 0:
        moved = crcs
        for _ in range(_GROUP):
            moved = _one_byte_later(moved)
        return moved
    # The table's first of 16 places has the CRC moved by the 15 behind it; one more makes 16.
    table = _table(level).reshape(_GROUP, 256)
    parts = [table[i][crcs >> np.uint32(8 * i) & 0xFF] for i in range(4)]
    return _moved(parts[0] ^ parts[1] ^ parts[2] ^ parts[3], level - 1)
