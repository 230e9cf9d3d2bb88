"""CRC-32C, the checksum of event files, computed with numpy.

A CRC is linear: the CRC of a message is the exclusive or of the contributions of its bytes, each of
which depends on the byte and its distance from the end. So 64 bytes at a time are looked up in a
table with a row for each position, for all groups in one numpy operation. The resulting CRCs, four
bytes per group, are a message of positioned bytes again: 16 groups at a time are looked up in
another table, and so on until one is left. A megabyte takes five rounds.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minispore.utils.arrays import UInt8Array

_U32 = NDArray[np.uint32]

# Castagnoli's polynomial, with reversed bits.
_POLYNOMIAL: Final = 0x82F63B78
# Below this number of bytes, a loop over the bytes is faster.
_SHORT: Final = 128
_GROUP: Final = 64
_FULL: Final = 0xFFFFFFFF


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC-32C of `data`.

    Examples:
        >>> hex(crc32c(b"123456789"))
        '0xe3069283'

    Source: RFC 3720, appendix B.4.
    """
    if len(data) < _SHORT:
        table = _short_table()
        crc = _FULL
        for byte in data:
            crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
        return crc ^ _FULL
    message = _padded(np.frombuffer(data, np.uint8))
    # The initial value, all ones, is equivalent to inverting the first four bytes.
    start = len(message) - len(data)
    message[start : start + 4] ^= 0xFF
    level = 0
    while len(crcs := _group_crcs(message, level)) > 1:
        message = _padded(crcs.astype("<u4").view(np.uint8))
        level += 1
    return int(crcs[0]) ^ _FULL


def masked_crc32c(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC-32C as event files store it: rotated and offset.

    The mask is needed since the data may contain CRCs itself.

    Examples:
        >>> hex(masked_crc32c(b"123456789"))
        '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & _FULL


def _padded(message: UInt8Array) -> UInt8Array:
    """Return a copy with leading zeros, which do not change the CRC, up to complete groups."""
    padded = np.zeros(-(-len(message) // _GROUP) * _GROUP, np.uint8)
    padded[len(padded) - len(message) :] = message
    return padded


def _group_crcs(message: UInt8Array, level: int) -> _U32:
    """Return the CRC of each group of 64 bytes."""
    indices = message.reshape(-1, _GROUP) + _OFFSETS
    crcs: _U32 = np.bitwise_xor.reduce(_table(level).take(indices, mode="wrap"), axis=1)
    return crcs


_OFFSETS: Final = 256 * np.arange(_GROUP, dtype=np.intp)


@cache
def _byte_table() -> _U32:
    """Return the contribution of each byte in the last position."""
    crcs = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crcs = np.where(crcs & 1, crcs >> 1 ^ np.uint32(_POLYNOMIAL), crcs >> 1)
    return crcs


@cache
def _short_table() -> tuple[int, ...]:
    return tuple(_byte_table().tolist())


@cache
def _table(level: int) -> _U32:
    """Return the contribution of each byte to the CRC of its group, 256 numbers per position.

    At level 0 the bytes are those of the message; above, four bytes are the CRC of a lower group.
    """
    byte = np.arange(256, dtype=np.uint32)
    last = [byte << np.uint32(8 * i) for i in range(4)] if level else [_byte_table()]
    rows: list[_U32] = []
    for _ in range(_GROUP // len(last)):
        rows += reversed(last)
        last = [_one_position_later(crcs, level) for crcs in last]
    return np.concatenate(rows[::-1])


def _one_position_later(crcs: _U32, level: int) -> _U32:
    """Return CRCs after zeros: one byte of them at level 0, above a group of the level below."""
    if level == 0:
        later: _U32 = _byte_table()[crcs & np.uint32(0xFF)] ^ crcs >> np.uint32(8)
        return later
    if level == 1:
        for _ in range(_GROUP):
            crcs = _one_position_later(crcs, 0)
        return crcs
    # The first of the 16 positions of the table is 15 groups from the end; one more makes 16.
    table = _table(level - 1).reshape(_GROUP, 256)
    parts = [table[i][crcs >> np.uint32(8 * i) & 0xFF] for i in range(4)]
    return _one_position_later(parts[0] ^ parts[1] ^ parts[2] ^ parts[3], level - 1)
