"""Readers of checkpoints: loading, also in a thread and into a network, and conversion."""

import json
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np

from minispore import nn
from minispore.common import Parameter
from minispore.train.checkpoint import checkpoint_file, safetensors_file
from minispore.train.checkpoint.protobuf import bytes_field, length_header, text_field, varint_field
from minispore.train.checkpoint.storage import Value
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    safetensors_to_ckpt,
)
from tests.fuzz.reader_contract import Reader

FIXTURES = Path(__file__).parents[1] / "train" / "fixtures"
_TRAILER = 17


def fixtures(ending: str) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(FIXTURES.glob(f"*.{ending}")))


def sliced(*, crc: bool) -> bytes:
    file = BytesIO()
    array = np.arange(20, dtype=np.int16).reshape(4, 5)
    values: list[tuple[str, Value]] = [("weight", array), ("note", "text")]
    values += [("flags", array > 9), ("empty", array[:0])]
    checkpoint_file.write(file, values, crc_check=crc, slice_bytes=7)
    return file.getvalue()


def of_net(*, crc: bool = False, **appended: object) -> bytes:
    file = BytesIO()
    values: list[tuple[str, Value]] = [
        ("weight", np.ones((2, 3), np.float32)),
        ("bias", np.ones(2, np.float64)),
    ]
    values += [(name, np.array(value)) for name, value in appended.items()]
    checkpoint_file.write(file, values, crc_check=crc)
    return file.getvalue()


def net() -> nn.Cell:
    return nn.Dense(3, 2, weight_init="zeros")


def with_checksum(body: bytes) -> bytes:
    """Return the body with a valid checksum."""
    return body + b"crc_num" + zlib.crc32(body).to_bytes(10, "big")


# .ckpt by hand.


def value(tensor: bytes, tag: bytes = b"x") -> bytes:
    return bytes_field(1, bytes_field(1, tag) + bytes_field(2, tensor))


def tensor(dims: list[int], content: bytes, kind: str = "UInt8") -> bytes:
    shape = b"".join(varint_field(1, dim) for dim in dims)
    return shape + text_field(2, kind) + bytes_field(3, content)


def text_of(content: str) -> bytes:
    return tensor([0], content.encode("utf-32-le", "surrogatepass"), "str")


MANY = 1_000
CKPT_EXAMPLES = {
    "nothing": b"",
    "a dim of 2³¹": value(tensor([2**31], b"\0")),
    "many dims of 2³¹": value(tensor([2**31] * 8, b"\0")),
    "empty, but long": value(tensor([0, 2**62], b"")),
    "content of 2³¹": value(text_field(2, "UInt8") + length_header(3, 2**31) + b"\0"),
    "a tag of 2³¹": bytes_field(1, length_header(1, 2**31)),
    "a value of 2³¹": length_header(1, 2**31),
    "a tensor of 2³¹": value(length_header(2, 2**31)),
    "packed dims of 2³¹": value(length_header(1, 2**31)),
    "slices of one byte": value(tensor([MANY + 1], b"\0")) * MANY,
    "slices of nothing": value(tensor([1], b"")) * MANY,
    "many values": b"".join(value(tensor([], b"\0"), b"%d" % n) for n in range(MANY)),
    "many dims": value(b"\x08\x01" * MANY),
    "the same field": value(bytes_field(2, b"UInt8") * MANY),
    "nothing but keys": b"\x0a\x00" * MANY,
    "one long number": b"\x80" * MANY * 20,
    "a name of two NULs": value(tensor([1], b"\0"), b"\0\0"),
    "a name that is a path": value(tensor([1], b"\0"), b"../../up"),
    "a name that is no UTF-8": value(tensor([1], b"\0"), b"\xff\xfe"),
    "a type that is no UTF-8": value(bytes_field(2, b"\xff") + bytes_field(3, b"\0")),
    "a lone surrogate": value(text_of("\ud800")),
    "a long name": value(tensor([1], b"\0"), b"x" * 100_000),
    "a long type": value(tensor([1], b"\0", "x" * 100_000)),
    "a long text": value(text_of("x" * 20_000)),
    "a NaN": value(tensor([1], b"\0\0\xc0\x7f", "Float32")),
    "no Bool": value(tensor([2], b"\1\2", "Bool")),
}


# .safetensors by hand.


def headed(header: bytes, content: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + content


CONTENT = bytes(range(24))


def with_header(header: bytes) -> bytes:
    """Return a file with this header before 24 bytes of content."""
    return headed(header, CONTENT)


def item(shape: list[int], begin: int, end: int, dtype: str = "U8") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


HEADERS = (
    json.dumps({"a": item([2, 3], 0, 6), "b": item([2], 6, 22, "F64"), "c": item([2], 22, 24)}),
    json.dumps({"__metadata__": {"format": "ms", "i": "Int4"}, "i": item([24], 0, 24, "I8")}),
    json.dumps(
        {"__metadata__": {"crc_num": "0"}, "n": item([], 0, 8, "I64"), "m": item([16], 8, 24)}
    ),
)
_NAMES = ",".join(f'"{n}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for n in range(MANY))
_LARGE = ",".join(
    f'"{n}":{{"dtype":"U32","shape":[],"data_offsets":[{4 * n},{4 * n + 4}]}}' for n in range(MANY)
)
_DIGITS = "9" * 4299
SAFETENSORS_EXAMPLES = {
    "nothing": b"",
    "a header of 2³¹": (2**31).to_bytes(8, "little") + b"{",
    "an endless header": b"\xff" * 8 + b"{",
    "a shape of 2³¹": headed(
        b'{"x":{"dtype":"U8","shape":[2147483648],"data_offsets":[0,2147483648]}}'
    ),
    "empty, but long": headed(json.dumps({"x": item([0, 2**62], 0, 0)}).encode()),
    "unknown": headed(json.dumps({"x": item([2**31], 0, 2**31, "F4")}).encode()),
    "nested": headed(b"[" * MANY * 10),
    "nested objects": headed(b'{"a":' * MANY),
    "a long number": headed(b'{"x":' + b"9" * MANY * 10 + b"}"),
    "long numbers": headed(
        f'{{"x":{{"dtype":"U8","shape":[{_DIGITS},{_DIGITS}],"data_offsets":[0,{_DIGITS}]}}}}'.encode()
    ),
    "long offsets": headed(
        f'{{"x":{{"dtype":"F4","shape":[0],"data_offsets":[{_DIGITS},{_DIGITS}]}}}}'.encode()
    ),
    "many names": headed(f"{{{_NAMES}}}".encode()),
    "many large numbers": headed(
        f'{{"__metadata__":{{"crc_num":"0"}},{_LARGE}}}'.encode(), b"\xff\xff\xff\0" * MANY
    ),
    "one name": headed(b"{" + b",".join([b'"x":0'] * MANY) + b"}"),
    "one long name": headed(b'{"%s":0,"%s":0}' % (b"x" * 50_000, b"x" * 50_000)),
    "no UTF-8": headed(b'{"\xff":0}'),
    "a lone surrogate": headed(b'{"\\ud800":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "a surrogate in the metadata": headed(b'{"__metadata__":{"\\ud800":"\\ud800"}}'),
}


# Reading.


def check_values(loaded: dict[str, Parameter | str], path: Path) -> None:
    assert loaded
    size = path.stat().st_size
    for name, content in loaded.items():
        assert name.encode()
        if isinstance(content, str):
            assert len(content) <= size
        else:
            assert content.name == name
            array = content.asnumpy()
            assert array.flags.c_contiguous
            assert array.dtype.isnative
            assert array.nbytes <= 2 * size  # BFloat16 becomes Float32
            assert array.dtype != np.bool_ or array.view(np.uint8).max(initial=0) < 2


def load(path: Path) -> None:
    check_values(load_checkpoint(path, format=path.suffix[1:]), path)


def load_in_thread(path: Path) -> None:
    check_values(load_checkpoint_async(path).result(), path)


def load_into_net(path: Path) -> None:
    """Load into a network, of which all parameters or none are changed."""
    cell = net()
    before = {p.name: p.asnumpy().copy() for p in cell.get_parameters()}
    try:
        loaded = load_checkpoint(path, cell)
    except Exception:
        after = {p.name: p.asnumpy() for p in cell.get_parameters()}
        assert all(np.array_equal(after[name], before[name]) for name in before)
        raise
    for parameter in cell.get_parameters():
        source = loaded.get(parameter.name)
        if isinstance(source, Parameter):
            assert np.array_equal(
                parameter.asnumpy(), source.asnumpy().astype(np.float32), equal_nan=True
            )


def convert(path: Path) -> None:
    """Convert to the other format; an existing file stays if that fails."""
    to_safetensors = path.suffix == ".ckpt"
    converted = path.with_suffix(".safetensors" if to_safetensors else ".ckpt")
    converted.unlink(missing_ok=True)  # the file of an earlier conversion is read-only
    converted.write_bytes(b"before")
    try:
        (ckpt_to_safetensors if to_safetensors else safetensors_to_ckpt)(path)
    except Exception:
        assert converted.read_bytes() == b"before"
        raise
    scan_ckpt, scan_st = checkpoint_file.scan, safetensors_file.scan
    with path.open("rb") as source, converted.open("rb") as target:
        old, crc = (scan_ckpt if to_safetensors else scan_st)(source)
        new, same_crc = (scan_st if to_safetensors else scan_ckpt)(target)
    assert crc == same_crc
    entries = {name: (entry.kind, entry.dims, entry.stored) for name, entry in new.items()}
    assert entries == {name: (entry.kind, entry.dims, entry.stored) for name, entry in old.items()}


CKPT = (*fixtures("ckpt"), sliced(crc=False), sliced(crc=True))
BODIES = tuple(data[:-_TRAILER] if data[-_TRAILER:-10] == b"crc_num" else data for data in CKPT)
SAFETENSORS = fixtures("safetensors")
FITTING = (
    of_net(),
    of_net().replace(b"\x08\x02\x08\x03", b"\x08\x03\x08\x02"),
    of_net(crc=True),
    of_net(other=1.5),
    of_net().replace(b"weight", b"a.weig"),
)
_TOO_LONG = value(tensor([2, 3], bytes(24), "Float32"), b"x" * 300_000 + b"weight")

CHECKPOINT_READERS = (
    Reader(
        "ckpt",
        "x.ckpt",
        CKPT,
        load,
        examples=CKPT_EXAMPLES,
        modules=("train/checkpoint/loading.py",),
    ),
    Reader(
        "ckpt with checksum",
        "x.ckpt",
        BODIES,
        load,
        wrap=with_checksum,
        modules=("train/checkpoint/loading.py",),
    ),
    Reader("ckpt, async", "x.ckpt", CKPT, load_in_thread, modules=("train/checkpoint/loading.py",)),
    Reader(
        "ckpt into a network",
        "x.ckpt",
        FITTING,
        load_into_net,
        (ValueError, RuntimeError),
        examples={"a long name before its own": _TOO_LONG},
        modules=("train/checkpoint/loading.py",),
    ),
    Reader(
        "ckpt to safetensors",
        "x.ckpt",
        CKPT,
        convert,
        examples={name: CKPT_EXAMPLES[name] for name in ("a long text", "a lone surrogate")},
        modules=("train/checkpoint/conversion.py",),
    ),
    Reader(
        "safetensors",
        "x.safetensors",
        SAFETENSORS,
        load,
        examples=SAFETENSORS_EXAMPLES,
        modules=("train/checkpoint/loading.py",),
    ),
    Reader(
        "safetensors header",
        "x.safetensors",
        tuple(header.encode() for header in HEADERS),
        load,
        text=True,
        wrap=with_header,
        modules=("train/checkpoint/safetensors_file.py",),
    ),
    Reader(
        "safetensors to ckpt",
        "x.safetensors",
        SAFETENSORS,
        convert,
        examples={"one long name": SAFETENSORS_EXAMPLES["one long name"]},
        modules=("train/checkpoint/conversion.py",),
    ),
)
