"""CRC-32C: known values, and comparison with the bitwise definition."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.summary.crc32c import crc32c, masked_crc32c


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
def test_crc_of_known_messages(data: bytes, crc: int) -> None:
    assert crc32c(data) == crc


# At the sizes of one to three rounds of groups, and at random ones.
LENGTHS = st.sampled_from([127, 128, 129, 1023, 1024, 1025, 16_384, 16_385]) | st.integers(0, 9999)


@given(LENGTHS, st.integers(0, 255))
@example(70_001, 7)
@example(1000, 0)
def test_crc_of_any_length_matches_bitwise_definition(length: int, factor: int) -> None:
    data = bytes((i * i + factor * i) & 0xFF for i in range(length))
    crc = by_definition(data)
    assert crc32c(data) == crc
    turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked_crc32c(memoryview(data)) == (turned + 0xA282EAD8) % 2**32
