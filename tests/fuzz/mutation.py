"""Mutations of the bytes of a file.

Every change replaces a range, which may be empty, by a piece: flipping, inserting, deleting,
truncating, repeating and splicing are such changes.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from minispore.train.checkpoint.protobuf import varint

# Edge cases of lengths, dims, offsets and counts.
EDGES = (
    0, 1, 9, 2**7, 2**8 - 1, 2**14, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62,
    2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
_NUMBERS = (
    *(varint(edge) for edge in EDGES),
    *(edge.to_bytes(8, order) for edge in EDGES for order in ("little", "big")),
    *(edge.to_bytes(4, order) for edge in EDGES if edge < 2**32 for order in ("little", "big")),
    *(str(edge).encode() for edge in EDGES),
)

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\w.+-]+|\s+|.', re.DOTALL)
_VALUE = re.compile(rb'("(?:[^"\\]|\\.)*"|[\w.+-]+)(?!\s*:)')
_DEEP = 5_000
# A JSON text with any of these in place of a value is still JSON.
_VALUES = (
    b"null", b"true", b"false", b"0", b"-1", b"1", b"2", b"0.5", b"-0.0", b"1e999", b"-1e999",
    b"1e-320", b"NaN", b"Infinity", b"-Infinity", b"1e5", b"9" * 400,
    *(str(sign * (edge + by)).encode() for edge in EDGES for sign in (1, -1) for by in (0, 1)),
    b'""', b'"\\u0000"', b'"\\ud800"', b'"../up"', b'"/"', b'"a/b"', b'"\xc3\xa9"', b'"x"',
    b'"True"', b"[]", b"{}", b"[[]]", b"[null]", b"[1]", b'{"": 0}', b"[0, 0]",
)  # fmt: skip
_TOKENS = (
    *_VALUES, b"", b"9" * 5000, b"1_0", b"0x1f", b'"\xff\xfe"', b'"x": 1,', b'{"a":',
    b"[" * _DEEP, b"[" * _DEEP + b"]" * _DEEP, b'{"a":' * _DEEP + b"0" + b"}" * _DEEP,
    b"\n", b"\r", b"\r\n", b"\x0b", b"\x85", b"\xe2\x80\xa8", b"\0", b"\xef\xbb\xbf", b"#", b":",
    b",", b"[", b"]", b"{", b"}", b'"', b"\\",
)  # fmt: skip


# The range to replace, and the new bytes.
Change = tuple[int, int, bytes]


def mutant(seeds: Sequence[bytes], rng: Random, *, text: bool) -> bytes:
    """Return one of the files with one to four changes; in a text most of them change tokens."""
    data, other = rng.choice(seeds), rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        kinds = _TEXTUAL if text and rng.random() < 0.75 else _BINARY
        start, stop, piece = rng.choice(kinds)(data, other, rng)
        data = data[:start] + piece + data[max(start, stop) :]
    return data


# One change.


def _flip(data: bytes, _: bytes, rng: Random) -> Change:
    at = rng.randrange(len(data) or 1)
    byte = data[at] if data else 0
    return (at, at + 1, bytes([byte ^ 1 << rng.randrange(8)]))


def _number(data: bytes, _: bytes, rng: Random) -> Change:
    at = rng.randrange(len(data) + 1)
    piece = rng.choice(_NUMBERS)
    # Overwrite bytes, insert, or replace a number of another length.
    return (at, at + rng.choice((len(piece), 0, rng.randrange(9))), piece)


def _noise(data: bytes, _: bytes, rng: Random) -> Change:
    start, stop = _range(data, rng)
    return (start, stop, rng.randbytes(rng.randrange(9)))


def _delete(data: bytes, _: bytes, rng: Random) -> Change:
    return (*_range(data, rng), b"")


def _cut(data: bytes, _: bytes, rng: Random) -> Change:
    return (rng.randrange(len(data) + 1), len(data), b"")


def _double(data: bytes, _: bytes, rng: Random) -> Change:
    start, stop = _range(data, rng)
    return (stop, stop, data[start:stop] * rng.choice((1, 1, 2, 50)))


def _splice(data: bytes, other: bytes, rng: Random) -> Change:
    begin, end = _range(other, rng)
    return (*_range(data, rng), other[begin:end])


def _join(data: bytes, other: bytes, rng: Random) -> Change:
    """Join the head of one file and the tail of another."""
    return (rng.randrange(len(data) + 1), len(data), other[rng.randrange(len(other) + 1) :])


def _range(data: bytes, rng: Random) -> tuple[int, int]:
    """Return a range that is mostly short."""
    start = rng.randrange(len(data) + 1)
    longest = rng.choice((1, 4, 16, 64, len(data)))
    return start, min(len(data), start + rng.randrange(longest + 1))


_BINARY = (_flip, _flip, _number, _number, _noise, _delete, _cut, _double, _splice, _join)


# One change of a text.


def _value(data: bytes, _: bytes, rng: Random) -> Change:
    """Replace a value by another one; JSON stays JSON."""
    spans = [match.span() for match in _VALUE.finditer(data)]
    return (*rng.choice(spans or [(0, len(data))]), rng.choice(_VALUES))


def _other_value(data: bytes, other: bytes, rng: Random) -> Change:
    """Replace a value by one of the other file."""
    spans = [match.span() for match in _VALUE.finditer(data)]
    pieces = [match[0] for match in _VALUE.finditer(other)]
    return (*rng.choice(spans or [(0, len(data))]), rng.choice(pieces or [b""]))


def _token(data: bytes, _: bytes, rng: Random) -> Change:
    """Replace a token by another one."""
    start, stop = _tokens(data, rng, most=1)
    return (start, stop, rng.choice(_TOKENS))


def _inserted_token(data: bytes, _: bytes, rng: Random) -> Change:
    start = _tokens(data, rng, most=0)[0]
    return (start, start, rng.choice(_TOKENS))


def _deleted_tokens(data: bytes, _: bytes, rng: Random) -> Change:
    return (*_tokens(data, rng, most=8), b"")


def _spliced_tokens(data: bytes, other: bytes, rng: Random) -> Change:
    begin, end = _tokens(other, rng, most=8)
    return (*_tokens(data, rng, most=8), other[begin:end])


def _doubled_tokens(data: bytes, _: bytes, rng: Random) -> Change:
    start, stop = _tokens(data, rng, most=12)
    return (stop, stop, data[start:stop])


def _tokens(data: bytes, rng: Random, *, most: int) -> tuple[int, int]:
    """Return the range of up to `most` tokens, not counting spaces."""
    spans = [match.span() for match in _TOKEN.finditer(data) if not match[0].isspace()]
    if not spans:
        return 0, 0
    first = rng.randrange(len(spans))
    last = min(len(spans), first + most) - 1
    return spans[first][0], spans[rng.randint(first, last)][1] if most else spans[first][0]


_TEXTUAL: Sequence[Callable[[bytes, bytes, Random], Change]] = (
    _value, _value, _value, _value, _other_value, _other_value, _token, _inserted_token,
    _deleted_tokens, _spliced_tokens, _doubled_tokens,
)  # fmt: skip


def cuts(data: bytes, most: int) -> Iterable[bytes]:
    """Return the file truncated at up to `most` positions, and near its ends."""
    step = max(1, len(data) // most)
    ends = range(min(most, 6))
    places = {*range(0, len(data), step), *ends, *(len(data) - 1 - end for end in ends)}
    return (data[:place] for place in sorted(places) if 0 <= place < len(data))
