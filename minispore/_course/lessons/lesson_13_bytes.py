"""Lesson 13: a record has a length prefix and checksums, so that damage is detected."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, format_value
from minispore.train.checkpoint.protobuf import WireError

_MAX_READ = 2**20
_PARTS = ("length", "checksum of the length", "data", "checksum of the data")


@cache
def _checksum(data: bytes) -> bytes:
    """Return the masked CRC-32C, computed bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    rotated = crc >> 15 | crc << 17 & 0xFFFFFFFF
    return (rotated + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def _parts(data: bytes, length: int | None = None) -> tuple[bytes, ...]:
    """Return a record's four parts; `length` replaces the true length of the data."""
    prefix = (len(data) if length is None else length).to_bytes(8, "little")
    return prefix, _checksum(prefix), data, _checksum(data)


@dataclass(frozen=True)
class Case:
    """A stream of records, which may be truncated or damaged.

    Attributes:
        data: The data of each record.
        cut: The number of bytes to which the stream is truncated, None for all.
        hit: The index of a changed byte, None for none.
        bits: The bits that are flipped in that byte.
    """

    data: tuple[bytes, ...]
    cut: int | None = None
    hit: int | None = None
    bits: int = 1

    def __str__(self) -> str:
        text = f"a stream of {counted(len(self.data), 'record')}"
        if self.data:
            starts = self.starts()
            sizes = zip(self.data, starts[:-1], starts[1:], strict=True)
            text += f" ({', '.join(f'{d!r} in bytes {i} to {j - 1}' for d, i, j in sizes)})"
        if self.cut is not None:
            text += f", truncated after {self.cut} byte{'' if self.cut == 1 else 's'}"
        if self.hit is not None:
            text += f", with byte {self.hit} changed"
        return text

    def starts(self) -> list[int]:
        """Return the offset of each record, and the end of the last one."""
        offsets = [0]
        for data in self.data:
            offsets.append(offsets[-1] + 16 + len(data))
        return offsets

    def stream(self) -> bytes:
        """Return the bytes of the stream."""
        stream = bytearray(b"".join(part for data in self.data for part in _parts(data)))
        if self.hit is not None:
            stream[self.hit] ^= self.bits
        return bytes(stream[: self.cut])

    def intact_records(self) -> int:
        """Return the number of records before the damage."""
        end = len(self.stream()) if self.hit is None else self.hit
        return sum(stop <= end for stop in self.starts()[1:])

    def is_damaged(self) -> bool:
        """Return whether the stream is damaged or ends inside a record."""
        return self.hit is not None or len(self.stream()) not in self.starts()


# Each single bit of a byte, and all of them.
_BITS = st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128, 255])
_DATA = st.sampled_from([b"", b"a", b"bc", b"\0", b"\xff\xfe", b"a dozen byte"])


@st.composite
def cases(draw: st.DrawFn, *, cut: bool = False, hit: bool = False) -> Case:
    """Generate streams of up to three records."""
    data = tuple(draw(st.lists(_DATA, min_size=1 if cut or hit else 0, max_size=3)))
    offsets = st.integers(0, Case(data).starts()[-1] - 1)
    if cut:
        return Case(data, cut=draw(offsets))
    return Case(data, hit=draw(offsets), bits=draw(_BITS)) if hit else Case(data)


def _encodes(work: ModuleType, data: bytes) -> None:
    record, expected = work.encode_record(data), _parts(data)
    if not isinstance(record, bytes):
        raise WrongResult(
            f"your encode_record gave {format_value(record)}, but bytes were expected"
        )
    offset = 0
    for name, part in zip(_PARTS, expected, strict=True):
        actual = record[offset : offset + len(part)]
        offset += len(part)
        if actual != part:
            raise WrongResult(
                f"the {name} in the record is {_hex(actual)}, but {_hex(part)} was expected"
            )
    expect("the length of the record from your encode_record", len(record), offset)


def _hex(data: bytes) -> str:
    return data.hex(" ") or "empty"


def _read(work: ModuleType, stream: BytesIO) -> tuple[list[object], WireError | None]:
    """Return the data that the learner's reader yields, and its error."""
    result = list[object]()
    try:
        for data in work.read_records(stream):
            result.append(data)
            if len(result) > 1000:
                raise WrongResult("your read_records never ends")
    except WireError as error:
        return result, error
    return result, None


def _reads(work: ModuleType, case: Case) -> None:
    actual, error = _read(work, BytesIO(case.stream()))
    expected = list(case.data[: case.intact_records()])
    if actual != expected or (error is not None) != case.is_damaged():
        raise WrongResult(
            f"your read_records gave {_format_read(actual, failed=error is not None)}, but "
            f"{_format_read(expected, failed=case.is_damaged())} was expected"
        )


def _format_read(items: Sequence[object], *, failed: bool) -> str:
    data = ", ".join(map(format_value, items)) or "nothing"
    return f"{data} and then {'WireError' if failed else 'the end'}"


def _error_has_the_offset(work: ModuleType, case: Case) -> None:
    _, error = _read(work, BytesIO(case.stream()))
    offset = f"byte {case.starts()[case.intact_records()]}"
    if error is not None and not re.search(rf"\b{offset}\b", str(error)):
        raise WrongResult(f"your WireError says {str(error)!r}, but {offset!r} was expected in it")


@dataclass(frozen=True)
class LongPrefix:
    """A record with a large length prefix in a short stream.

    Attributes:
        length: The value of the prefix.
    """

    length: int

    def __str__(self) -> str:
        return f"a stream whose length prefix is {self.length} and that ends after 3 bytes of data"


class _CheckedStream(BytesIO):
    """A stream that limits the size of a read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            raise WrongResult("your read_records read the complete rest of the stream at once")
        if size > _MAX_READ:
            raise WrongResult(f"your read_records read {size} bytes at once")
        return super().read(size)


def _reads_in_pieces(work: ModuleType, prefix: LongPrefix) -> None:
    stream = _CheckedStream(b"".join(_parts(b"abc", prefix.length)[:3]))
    result, error = _read(work, stream)
    if result or error is None:
        text = _format_read(result, failed=False)
        raise WrongResult(f"your read_records gave {text}, but WireError was expected")


LESSON = Lesson(
    title="File formats that survive a crash",
    exercise=CodeExercise(
        module="minispore.train.summary.tfrecord",
        tasks={
            "encode_record": "Concatenate the four parts: length (8 bytes), its checksum (4), the "
            "data, its checksum (4); numbers are little-endian. masked_crc32c(…) is the checksum, "
            "a number.",
            "read_records": "Yield the data of one record after the other. Raise WireError if the "
            "stream is damaged or ends inside a record; the message must contain 'byte N', the "
            "offset of that record. You may write _data or leave it as it is.",
            "_data": "Read the rest of a record, after its first 12 bytes, and return the data. "
            "`start` is the offset of the record. Read at most _PIECE bytes at once.",
        },
        properties=(
            Property(
                "A record consists of the length of its data, the checksum of that length, the "
                "data, and the checksum of the data.",
                _DATA, _encodes, show=lambda data: f"the data {data!r}",
            ),
            Property("Records are read in the order in which they were written.",
                            cases(), _reads),
            Property(
                "A stream that ends inside a record yields the records before it, and then raises "
                "WireError.",
                cases(cut=True), _reads, examples=80,
            ),
            Property(
                "A changed byte is detected: the records before it are yielded, and then WireError "
                "is raised.",
                cases(hit=True), _reads, examples=80,
            ),
            Property(
                "The error contains the offset of the damaged record in the stream.",
                cases(cut=True) | cases(hit=True), _error_has_the_offset, examples=60,
            ),
            Property(
                "Memory is allocated for the bytes that exist, not for those that a prefix "
                "announces: at most 1 MiB is read at once.",
                st.sampled_from([LongPrefix(5), LongPrefix(2 * _MAX_READ), LongPrefix(2**60)]),
                _reads_in_pieces, examples=12,  # of which three are different
            ),
        ),
        bugs=(
            *bugs(
                "encode_record",
                ("the length is big-endian", '"<Q"', '">Q"'),
                ("the checksum of the length is in both places",
                 "masked_crc32c(data)", "masked_crc32c(length)"),
                ("the length includes the complete record", "len(data)", "len(data) + 16"),
            ),
            *bugs(
                "read_records",
                ("a record without data is omitted",
                 "yield _data(stream, length, start)",
                 "yield from filter(None, [_data(stream, length, start)])"),
                ("the end of the stream inside a header is not an error",
                 'raise WireError(f"it ends inside the record that begins at byte {start}")',
                 "return"),
                ("the checksum of the length is not verified",
                 "crc != masked_crc32c(header[:8])", "False"),
                ("the offset of each record is that of the first",
                 "start += _HEADER + length + _FOOTER", "pass"),
                ("the offset omits the last checksum of each record", " + _FOOTER", ""),
            ),
            *bugs(
                "_data",
                ("the checksum of the data is not verified", "!= (masked_crc32c(data),)", "== ()"),
                ("a truncated record is yielded",
                 'raise WireError(f"it ends inside the record that begins at byte {start}")',
                 "return data"),
                ("as many bytes are read at once as the prefix announces",
                 "min(_PIECE, remaining)", "remaining"),
            ),
        ),
    ),
    hints="""
        struct.pack("<Q", n) encodes a number in eight bytes, little-endian, and "<I" in four.
        struct.unpack("<QI", header) decodes two numbers from twelve bytes; it always returns a
        tuple.

        Read the first 12 bytes of a record. No byte: this is the regular end. Fewer than 12: the
        writer was killed here. Otherwise the length is valid only if masked_crc32c(header[:8]) is
        the number after it; if not, the offset of the next record is unknown.

        Keep the offset of the current record in a variable: a record is 16 bytes longer than its
        data. stream.read(n) returns less than n bytes only at the end of the stream.

        In _data: while bytes remain, read min(_PIECE, remaining) of them, append them to a list,
        and stop if there are none. Then read the four bytes of the checksum; if there are fewer, or
        data is missing, the stream ends inside the record; if they are not struct.pack("<I",
        masked_crc32c(data)), the record is damaged.
        """,
)  # fmt: skip
