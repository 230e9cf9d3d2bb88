"""CRC-32C: the numbers of its standard, and those of the definition, bit by bit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train.summary._crc32c import crc32c, masked


def by_definition(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# RFC 3720, appendix B.4, and the usual check.
@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_known_numbers(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


@given(st.binary(max_size=1100))
def test_it_is_what_the_definition_says(data: bytes) -> None:
    assert crc32c(data) == by_definition(data)


@pytest.mark.parametrize("length", [127, 128, 129, 1023, 1024, 1025, 16_384, 16_385, 70_001])
def test_at_the_borders_of_the_rounds(length: int) -> None:
    data = bytes((i * i + 7 * i) & 0xFF for i in range(length))
    assert crc32c(data) == by_definition(data)


def test_the_mask_turns_and_adds() -> None:
    crc = crc32c(b"event")
    turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked(b"event") == (turned + 0xA282EAD8) % 2**32
