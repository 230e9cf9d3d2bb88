"""Lesson 13: a record says how long it is, and proves that it is whole."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from types import ModuleType

from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect, shown
from minispore.train._files.protobuf import WireError

_MOST = 2**20
_PARTS = ("length", "check sum of the length", "data", "check sum of the data")


@cache
def _check_sum(data: bytes) -> bytes:
    """The masked CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    turned = crc >> 15 | crc << 17 & 0xFFFFFFFF
    return (turned + 0xA282EAD8 & 0xFFFFFFFF).to_bytes(4, "little")


def _parts(data: bytes, length: int | None = None) -> tuple[bytes, ...]:
    """A record's four parts; with `length`, one that promises more than it has."""
    promised = (len(data) if length is None else length).to_bytes(8, "little")
    return promised, _check_sum(promised), data, _check_sum(data)


@dataclass(frozen=True)
class Case:
    """A stream of records, which may have been cut off or damaged.

    Attributes:
        data: What was put into each record.
        cut: How many bytes are left of the stream, None for all.
        hit: The byte that has changed, None for none.
        bits: How it has changed: it was xor'ed with this.
    """

    data: tuple[bytes, ...]
    cut: int | None = None
    hit: int | None = None
    bits: int = 1

    def __str__(self) -> str:
        count = f"{len(self.data)} record{'' if len(self.data) == 1 else 's'}"
        text = f"a stream of {count}"
        if self.data:
            starts = self.starts()
            sizes = zip(self.data, starts[:-1], starts[1:], strict=True)
            text += f" ({', '.join(f'{d!r} in bytes {i} to {j - 1}' for d, i, j in sizes)})"
        if self.cut is not None:
            text += f", cut off after {self.cut} byte{'' if self.cut == 1 else 's'}"
        if self.hit is not None:
            text += f", with another byte {self.hit}"
        return text

    def starts(self) -> list[int]:
        """Where each record begins, and where the last one ends."""
        places = [0]
        for each in self.data:
            places.append(places[-1] + 16 + len(each))
        return places

    def stream(self) -> bytes:
        """The bytes that are left."""
        stream = bytearray(b"".join(part for each in self.data for part in _parts(each)))
        if self.hit is not None:
            stream[self.hit] ^= self.bits
        return bytes(stream[: self.cut])

    def whole(self) -> int:
        """How many records are in front of the damage."""
        end = len(self.stream()) if self.hit is None else self.hit
        return sum(stop <= end for stop in self.starts()[1:])

    def is_damaged(self) -> bool:
        """Whether it does not end with the end of a record."""
        return self.hit is not None or len(self.stream()) not in self.starts()


# Each of a byte's bits, and all of them.
_BITS = st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128, 255])
_DATA = st.sampled_from([b"", b"a", b"bc", b"\0", b"\xff\xfe", b"a dozen byte"])


@st.composite
def cases(draw: st.DrawFn, *, cut: bool = False, hit: bool = False) -> Case:
    """Streams of up to three records."""
    data = tuple(draw(st.lists(_DATA, min_size=1 if cut or hit else 0, max_size=3)))
    places = st.integers(0, Case(data).starts()[-1] - 1)
    if cut:
        return Case(data, cut=draw(places))
    return Case(data, hit=draw(places), bits=draw(_BITS)) if hit else Case(data)


def _frames(work: ModuleType, data: bytes) -> None:
    found, wanted = work.framed(data), _parts(data)
    if not isinstance(found, bytes):
        raise Wrong(f"your framed gave {shown(found)}, but bytes were expected")
    at = 0
    for name, part in zip(_PARTS, wanted, strict=True):
        got = found[at : at + len(part)]
        at += len(part)
        if got != part:
            raise Wrong(
                f"the {name} in what your framed gave is {_hex(got)}, but {_hex(part)} was expected"
            )
    expect("your framed", len(found), len(b"".join(wanted)))


def _hex(data: bytes) -> str:
    return data.hex(" ") or "empty"


def _read(work: ModuleType, stream: BytesIO) -> tuple[list[object], WireError | None]:
    """What comes from the learner's records, and how it ends."""
    found = list[object]()
    try:
        for data in work.records(stream):
            found.append(data)
            if len(found) > 1000:
                raise Wrong("your records never ends")
    except WireError as error:
        return found, error
    return found, None


def _reads(work: ModuleType, case: Case) -> None:
    found, error = _read(work, BytesIO(case.stream()))
    wanted = list(case.data[: case.whole()])
    if found != wanted or (error is not None) != case.is_damaged():
        raise Wrong(
            f"your records gave {_ended(found, failed=error is not None)}, but "
            f"{_ended(wanted, failed=case.is_damaged())} was expected"
        )


def _ended(found: Sequence[object], *, failed: bool) -> str:
    data = ", ".join(map(shown, found)) or "nothing"
    return f"{data} and then {'WireError' if failed else 'the end'}"


def _tells_where(work: ModuleType, case: Case) -> None:
    _, error = _read(work, BytesIO(case.stream()))
    place = f"byte {case.starts()[case.whole()]}"
    if error is not None and not re.search(rf"\b{place}\b", str(error)):
        raise Wrong(f"your WireError says {str(error)!r}, but {place!r} was expected in it")


@dataclass(frozen=True)
class Promise:
    """A record that says that it is long, at the end of a stream that is short.

    Attributes:
        length: What it says.
    """

    length: int

    def __str__(self) -> str:
        return f"a stream that promises {self.length} bytes of data and ends after 3"


class _Counting(BytesIO):
    """A stream that says when too much is asked for."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0:
            raise Wrong("your records asked for all that is left of the stream at once")
        if size > _MOST:
            raise Wrong(f"your records asked for {size} bytes at once")
        return super().read(size)


def _takes_its_time(work: ModuleType, promise: Promise) -> None:
    stream = _Counting(b"".join(_parts(b"abc", promise.length)[:3]))
    found, error = _read(work, stream)
    if found or error is None:
        raise Wrong(f"your records gave {_ended(found, failed=False)}, but WireError was expected")


LESSON = Lesson(
    title="Bytes on disk",
    idea="Length first, then the bytes, then a proof that they are all there: so a file can be "
    "read up to the byte at which its writer was killed.",
    minutes=40,
    explains=(
        "minispore.save_checkpoint",
        "minispore.train.SummaryRecord",
        "minispore.train._files.protobuf.WireError",
        "minispore.train.summary._crc32c.crc32c",
        "minispore.train.summary._crc32c.masked",
        "minispore.train.summary._records.framed",
        "minispore.train.summary._records.records",
    ),
    exercise=Build(
        module="minispore.train.summary._records",
        tasks={
            "framed": "Put the four parts together: length (8 bytes), its check sum (4), the data, "
            "its check sum (4); numbers have their low byte first. masked(…) is the check sum, a "
            "number.",
            "records": "Yield the data of one record after the other. Raise WireError where the "
            "stream is damaged or ends inside a record, with a message that has 'byte N' in it: "
            "where that record begins. _data is yours to use, or to leave as it is.",
            "_data": "Read the rest of a record, behind its first 12 bytes, and return the data. "
            "`start` is where the record begins. Ask for at most _PIECE bytes at once.",
        },
        laws=(
            law(
                "A record is the length of its data, the check sum of that length, the data, and "
                "the check sum of the data.",
                _DATA,
                _frames,
                show=lambda data: f"the data {data!r}",
            ),
            law("What was written is read, in its order.", cases(), _reads, show=str),
            law(
                "A stream that ends inside a record gives the records before that one, and then "
                "WireError.",
                cases(cut=True),
                _reads,
                show=str,
                examples=80,
            ),
            law(
                "A byte that has changed is found: the records before it are given, and then "
                "WireError.",
                cases(hit=True),
                _reads,
                show=str,
                examples=80,
            ),
            law(
                "The error says at which byte of the stream the damaged record begins.",
                cases(cut=True) | cases(hit=True),
                _tells_where,
                show=str,
                examples=60,
            ),
            law(
                "Memory is taken as the bytes come, not as they are promised: never is more than "
                "1 MiB asked for at once.",
                st.sampled_from([Promise(5), Promise(2 * _MOST), Promise(2**60)]),
                _takes_its_time,
                show=str,
                examples=12,  # of which three are different
            ),
        ),
        bugs=(
            Bug("the length has its high byte first", "framed", '"<Q"', '">Q"'),
            Bug(
                "the check sum of the length stands in both places",
                "framed", "masked(data)", "masked(length)",
            ),
            Bug(
                "the length counts the whole record",
                "framed", "len(data)", "len(data) + 16",
            ),
            Bug(
                "a stream that ends inside a header just ends",
                "records",
                'raise WireError(f"it ends inside the record that begins at byte {start}")',
                "return",
            ),
            Bug(
                "a length is believed without its check sum",
                "records", "crc != masked(header[:8])", "False",
            ),
            Bug("data is believed without its check sum", "_data", "!= (masked(data),)", "== ()"),
            Bug(
                "a record of which the end is missing is given all the same",
                "_data",
                'raise WireError(f"it ends inside the record that begins at byte {start}")',
                "return data",
            ),
            Bug(
                "each record is said to begin where the first one does",
                "records", "start += _HEADER + length + _FOOTER", "pass",
            ),
            Bug(
                "the place in the error leaves out the last check sum of each record",
                "records", " + _FOOTER", "",
            ),
            Bug(
                "as many bytes are asked for as the length promises",
                "_data", "min(_PIECE, left)", "left",
            ),
        ),
    ),
    hints=paragraphs(
        """
        struct.pack("<Q", n) makes eight bytes of a number, its low byte first, and "<I" four.
        struct.unpack("<QI", header) makes two numbers of twelve bytes; it always returns a
        tuple.

        Read the first 12 bytes of a record. None at all: that is the end, and a good one. Fewer
        than 12: the writer was killed here. Else the length is right only if
        masked(header[:8]) is the number that follows it; if not, nobody knows where the next
        record begins.

        Keep the place at which the record begins in a variable of your own: a record is 16 bytes
        longer than its data. stream.read(n) gives less than n bytes only where the stream ends.

        In _data: while bytes are left, read min(_PIECE, left) of them, put them into a list, and
        stop when nothing comes. Then the four bytes of the check sum; if there are fewer, or
        data is missing, it ends inside the record; if they are not struct.pack("<I",
        masked(data)), it has been damaged.
        """
    ),
)  # fmt: skip
