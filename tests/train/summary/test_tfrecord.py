"""TFRecord framing: records of any length, and damaged ones."""

import re
import struct
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.checkpoint import protobuf as wire
from minispore.train.summary import read_events
from minispore.train.summary.tfrecord import encode_record, read_records

PIECE = 2**20


@given(st.sampled_from([0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 3]) | st.integers(0, 999))
@example(PIECE)
@example(2 * PIECE + 3)
def test_record_of_any_length_round_trips(length: int) -> None:
    records = [b"before", (bytes(range(256)) * (length // 256 + 1))[:length], b"after"]
    assert list(read_records(BytesIO(b"".join(map(encode_record, records))))) == records


@given(
    before=st.lists(st.binary(max_size=20), max_size=2),
    record=st.binary(min_size=1, max_size=40),
    position=st.integers(0, 55),
    change=st.sampled_from([None, 1, 0x80, 0x5A]),
)
def test_damaged_record_error_gives_position(
    before: list[bytes], record: bytes, position: int, change: int | None
) -> None:
    """A record is cut off, or one of its bytes changed."""
    complete = b"".join(map(encode_record, before))
    data = bytearray(encode_record(record))
    position %= len(data)
    if change is None:
        data = data[: max(1, position)]
        text = "it ends inside the record that begins at byte {}"
    else:
        data[position] ^= change
        text = "the record at byte {} has been damaged"
        if position < 12:
            text = "the length of the record at byte {} has been damaged"
    result: list[bytes] = []
    with pytest.raises(wire.WireError, match=f"^{text.format(len(complete))}$"):
        for content in read_records(BytesIO(complete + data)):
            result.append(content)  # noqa: PERF402
    assert result == before


def test_damaged_file_error_names_the_file(tmp_path: Path) -> None:
    """A length beyond the end, with a valid checksum, allocates no memory."""
    path = tmp_path / "events"
    path.write_bytes(framed_length(2**40) + b"the record")
    text = f"For 'read_events', the file '{path}' is no event file that can be read: it ends inside"
    with pytest.raises(ValueError, match=f"^{re.escape(text)} the record that begins at byte 0"):
        list(read_events(path))


def framed_length(length: int) -> bytes:
    """Return the beginning of a record with this length."""
    from minispore.train.summary.crc32c import masked_crc32c

    data = struct.pack("<Q", length)
    return data + struct.pack("<I", masked_crc32c(data))
