"""The `.safetensors` format as MindSpore writes and reads it: named arrays, written as a stream.

A file is the header's length as a little-endian uint64, the header, and the arrays' content:

    {"__metadata__": {"format": "ms", …},
     name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, …}

Offsets count from the header's end; no bytes are between or after the arrays. As in MindSpore, the
checksum is `crc_num` in the metadata: the CRC-32 of each name and its content in turn, in the
order of the names. A scalar integer n counts as n NULs, since MindSpore passes it to Python's
`bytes`. MindSpore's Int4 is stored as I8, with a note in the metadata.

The package `safetensors` is not used: its arrays would be a second copy in memory, its numpy
interface has no BF16, and it has no checksum.

Source: https://huggingface.co/docs/safetensors
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from itertools import pairwise
from typing import BinaryIO, Final

from minispore.train.checkpoint import storage
from minispore.train.checkpoint.protobuf import WireError, read_exactly, size_of
from minispore.train.checkpoint.storage import Chunk, Content, Location, Value
from minispore.utils.checks import is_dict, is_list

_METADATA: Final = "__metadata__"
_CRC: Final = "crc_num"
_MAX_NULS: Final = 2**28  # in total; integers beyond it count as their bytes
_MAX_HEADER: Final = 100_000_000  # the package's limit
# In reverse of the order of arrays in a file, which is the package's, so that each is aligned.
_CODES: Final = {
    "Bool": "BOOL", "UInt8": "U8", "Int8": "I8", "Int4": "I8", "Float8E5M2": "F8_E5M2",
    "Float8E4M3FN": "F8_E4M3", "Int16": "I16", "UInt16": "U16", "Float16": "F16",
    "BFloat16": "BF16", "Int32": "I32", "UInt32": "U32", "Float32": "F32", "Complex64": "C64",
    "Float64": "F64", "Int64": "I64", "UInt64": "U64",
}  # fmt: skip
_KINDS: Final = {code: kind for kind, code in _CODES.items() if kind != "Int4"}
_RANKS: Final = {code: rank for rank, code in enumerate(_KINDS)}


# Writing.


def write(
    file: BinaryIO, values: Iterable[tuple[str, Value | Content]], *, crc_check: bool = False
) -> None:
    """Write named arrays to `file`, without a second copy of any.

    Args:
        file: The file, which is only written to, never sought in.
        values: Names and arrays or another file's contents.
        crc_check: Whether to add a checksum, for which all content is read twice.

    Raises:
        TypeError: MindSpore has no dtype like that of an array.
        ValueError: A value is a text or of a type that the format does not have, or a name is
            reserved or not valid Unicode.
    """
    import json

    contents = {name: _content(name, value) for name, value in values}
    order = sorted(contents, key=lambda name: (-_RANKS[_CODES[contents[name].kind]], name))
    metadata = {name: "Int4" for name in order if contents[name].kind == "Int4"}
    metadata |= {"format": "ms"}
    if crc_check:
        metadata[_CRC] = str(_crc(contents))
    header: dict[str, object] = {_METADATA: metadata}
    end = 0
    for name in order:
        content = contents[name]
        begin, end = end, end + content.size
        header[name] = {
            "dtype": _CODES[content.kind],
            "shape": content.dims,
            "data_offsets": (begin, end),
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in order:
        file.writelines(contents[name].read(0, contents[name].size))


def _content(name: str, value: Value | Content) -> Content:
    content = value if isinstance(value, Content) else storage.content_of(value)
    if content.kind == "str":
        raise ValueError(f"A '.safetensors' file cannot hold the text {name!r}; use 'ckpt'.")
    if content.kind not in _CODES:
        raise ValueError(f"A '.safetensors' file cannot hold {name!r}, of type {content.kind}.")
    if name == _METADATA:
        raise ValueError(f"A '.safetensors' file reserves the name '{_METADATA}'.")
    if not _is_unicode(name):
        raise ValueError(f"The name {name!r} is not valid Unicode.")
    return content


def _crc(contents: Mapping[str, Content]) -> int:
    crc, budget = 0, _MAX_NULS
    for name in sorted(contents):
        crc = zlib.crc32(name.encode(), crc)
        number = _number(contents[name])
        if number is not None and 0 <= number <= budget:
            budget -= number
            pieces: Iterable[Chunk] = _nuls(number)
        else:
            pieces = contents[name].read(0, contents[name].size)
        for piece in pieces:
            crc = zlib.crc32(piece, crc)
    return crc


def _number(content: Content) -> int | None:
    """Return the value of an integer scalar; None for other arrays."""
    if content.dims or not content.kind.startswith(("Int", "UInt")):
        return None
    signed = content.kind.startswith("I")
    return int.from_bytes(b"".join(content.read(0, content.size)), "little", signed=signed)


def _nuls(count: int) -> Iterator[bytes]:
    while count > 0:
        yield bytes(min(count, 2**20))
        count -= 2**20


# Reading.


def scan(file: BufferedIOBase) -> tuple[dict[str, Location], bool]:
    """Return the locations of a `.safetensors` file; check its header and its checksum.

    Args:
        file: Open for reading and seekable.

    Returns:
        The location of each name's content, in the header's order, and whether the file has a
        checksum.

    Raises:
        WireError: The file is of another format, or damaged.
    """
    header, start = _header(file)
    metadata = header.pop(_METADATA, {})
    if not is_dict(metadata):
        raise WireError(f"its {_METADATA} is not a JSON object")
    locations = {name: _location(name, item, start) for name, item in header.items()}
    for name, location in locations.items():
        if location.kind == "Int8" and metadata.get(name) == "Int4":
            location.kind = "Int4"
        storage.check(name, location)
    spans = sorted(location.spans[0] for location in locations.values())
    ends = [start, *(begin + length for begin, length in spans)]
    begins = [*(begin for begin, _ in spans), size_of(file)]
    if ends != begins:
        raise WireError("its arrays do not lie one after the other from the header to the end")
    if _CRC not in metadata:
        return locations, False
    crc = _crc(
        {name: storage.stored_content(file, location) for name, location in locations.items()}
    )
    if metadata[_CRC] != str(crc):
        raise WireError(storage.WRONG_CRC)
    return locations, True


def _header(file: BufferedIOBase) -> tuple[dict[str, object], int]:
    """Return the items of the header, and the position at which the content begins."""
    import json

    size = size_of(file)
    length = int.from_bytes(read_exactly(file, 0, 8), "little")
    if length > min(size - 8, _MAX_HEADER):
        raise WireError(f"its header has the impossible length {length}")
    text = read_exactly(file, 8, length)
    try:
        header: object = json.loads(text.decode(), object_pairs_hook=_without_repeats)
    except RecursionError:
        raise WireError("its header is nested too deeply") from None
    except WireError:
        raise
    except ValueError as error:  # invalid UTF-8, invalid JSON, or a number with too many digits
        raise WireError(f"its header is not JSON: {error}") from None
    if not is_dict(header):
        raise WireError("its header is not a JSON object")
    return {str(name): item for name, item in header.items()}, 8 + length


def _without_repeats(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    items = dict(pairs)
    if len(items) < len(pairs):
        names = sorted(name for name, _ in pairs)
        raise WireError(f"the name {next(a for a, b in pairwise(names) if a == b)!r} comes twice")
    return items


def _location(name: str, item: object, start: int) -> Location:
    if not _is_unicode(name):
        raise WireError(f"the name {name!r} is not valid Unicode")
    fields = item if is_dict(item) else {}
    code = fields.get("dtype")
    shape, offsets = _integers(fields.get("shape")), _integers(fields.get("data_offsets"))
    if len(fields) != 3 or not isinstance(code, str) or shape is None or offsets is None:
        raise WireError(f"{name!r} is not described by dtype, shape and data_offsets")
    if len(offsets) != 2 or not offsets[0] <= offsets[1]:
        raise WireError(f"{name!r} has the impossible data_offsets {list(offsets)}")
    begin, end = offsets
    # A type that was added to the format later.
    kind = _KINDS.get(code, f"safetensors' {code}")
    return Location(kind, shape, [(start + begin, end - begin)], end - begin)


def _integers(item: object) -> tuple[int, ...] | None:
    """Return the items of a list of integers ≥ 0; None for anything else."""
    if not is_list(item):
        return None
    valid = tuple(n for n in item if type(n) is int and n >= 0)
    return valid if len(valid) == len(item) else None


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
