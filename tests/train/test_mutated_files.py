"""Any change to a checkpoint's bytes: sound values or the documented error, within limits.

What is changed are files of MindSpore's and sliced ones of ours; hypothesis chooses what and where.
"""

import tracemalloc
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.common import Parameter
from minispore.train import _checkpoint_file, _safetensors_file
from minispore.train._protobuf import (
    WireError,
    bytes_field,
    length_header,
    text_field,
    varint,
    varint_field,
)
from minispore.train._stored import Value
from minispore.train.serialization import ckpt_to_safetensors, load_checkpoint, safetensors_to_ckpt

FIXTURES = Path(__file__).parent / "fixtures"
MEMORY = 2 * 2**20  # for a file of about a KiB

# Numbers where lengths, dims and offsets break.
EDGES = [0, 1, 2**7, 2**14, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


def sliced(*, crc: bool) -> bytes:
    file = BytesIO()
    array = np.arange(20, dtype=np.int16).reshape(4, 5)
    values: list[tuple[str, Value]] = [("weight", array), ("note", "text")]
    values += [("flags", array > 9), ("empty", array[:0])]
    _checkpoint_file.write(file, values, crc_check=crc, slice_bytes=7)
    return file.getvalue()


def files(ending: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(FIXTURES.glob(f"*.{ending}"))]


SEEDS = {
    "ckpt": [*files("ckpt"), sliced(crc=False), sliced(crc=True)],
    "safetensors": files("safetensors"),
}


@st.composite
def mutated(draw: st.DrawFn, ending: str) -> bytes:
    """One of the files with a few changes."""
    seeds = st.sampled_from(SEEDS[ending])
    data = draw(seeds)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        stop = draw(st.integers(start, min(len(data), start + 40)))
        other = draw(seeds)
        begin = draw(st.integers(0, len(other)))
        byte = data[start] if start < len(data) else 0
        piece = draw(
            st.one_of(
                st.binary(max_size=8),
                st.sampled_from([bytes([byte ^ 1 << bit]) for bit in range(8)]),
                st.sampled_from(EDGES).map(varint),
                st.sampled_from(EDGES).map(lambda n: n.to_bytes(8, "little")),
                st.sampled_from(EDGES).map(lambda n: str(n).encode()),
                st.just(other[begin : begin + draw(st.integers(0, 60))]),
                st.just(data[start:stop] * 2),
            )
        )
        data = draw(
            st.sampled_from(
                [
                    data[:start] + piece + data[stop:],
                    data[:start] + piece + data[start + len(piece) :],
                    data[:start],
                    data[:start] + other[begin:],
                ]
            )
        )
    return data


def within(memory: int, seconds: float, action: Callable[[], None]) -> None:
    """Run it, and hold it to so much memory and time."""
    tracemalloc.start()
    started = perf_counter()
    try:
        action()
        taken = perf_counter() - started
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < memory
    assert taken < seconds


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutated")


def check_load(path: Path) -> None:
    message = ""
    loaded: dict[str, Parameter | str] = {}
    try:
        loaded = load_checkpoint(path, format=path.suffix[1:])
    except ValueError as error:
        message = str(error)
    expected = f"Failed to read the checkpoint file '{path}': "
    nothing = f"For 'load_checkpoint', no value is loaded from the checkpoint file '{path}'"
    assert loaded or message.startswith((expected, nothing))
    for name, value in loaded.items():
        assert name
        assert isinstance(value, str) or value.name == name


@given(data=mutated("ckpt"))
def test_a_changed_ckpt(folder: Path, data: bytes) -> None:
    path = folder / "x.ckpt"
    path.write_bytes(data)
    within(MEMORY, 5, lambda: check_load(path))


@given(data=mutated("safetensors"))
def test_a_changed_safetensors(folder: Path, data: bytes) -> None:
    path = folder / "x.safetensors"
    path.write_bytes(data)
    within(MEMORY, 5, lambda: check_load(path))


@given(data=st.binary(max_size=200))
def test_any_bytes(folder: Path, data: bytes) -> None:
    for name in ("any.ckpt", "any.safetensors"):
        (folder / name).write_bytes(data)
        within(MEMORY, 5, partial(check_load, folder / name))


@given(ckpt=mutated("ckpt"), other=mutated("safetensors"))
def test_converting_a_changed_file(folder: Path, ckpt: bytes, other: bytes) -> None:
    for ending, made, data, convert, scan in (
        ("ckpt", "safetensors", ckpt, ckpt_to_safetensors, _safetensors_file.scan),
        ("safetensors", "ckpt", other, safetensors_to_ckpt, _checkpoint_file.scan),
    ):
        path, out = folder / f"y.{ending}", folder / "out" / f"y.{made}"
        path.write_bytes(data)
        out.unlink(missing_ok=True)
        try:
            convert(path, folder / "out")
        except ValueError:
            assert not out.exists()
        else:
            with out.open("rb") as file:
                scan(file)


# ---- files made to hurt


def value(tensor: bytes, tag: bytes = b"x") -> bytes:
    return bytes_field(1, bytes_field(1, tag) + bytes_field(2, tensor))


def tensor(dims: list[int], content: bytes, kind: str = "UInt8") -> bytes:
    shape = b"".join(varint_field(1, dim) for dim in dims)
    return shape + text_field(2, kind) + bytes_field(3, content)


def header(text: str) -> bytes:
    return len(text).to_bytes(8, "little") + text.encode()


GREEDY_CKPT = {
    "dims": value(tensor([2**31], b"\0")),
    "many dims": value(tensor([2**31] * 8, b"\0")),
    "empty, but long": value(tensor([0, 2**62], b"")),
    "content": value(text_field(2, "UInt8") + length_header(3, 2**31) + b"\0"),
    "tag": bytes_field(1, length_header(1, 2**31)),
    "value": length_header(1, 2**31),
    "type": value(length_header(2, 2**31)),
    "packed dims": value(length_header(1, 2**31)),
}
GREEDY_SAFETENSORS = {
    "header": (2**31).to_bytes(8, "little") + b"{",
    "endless header": (2**64 - 1).to_bytes(8, "little") + b"{",
    "shape": header('{"x":{"dtype":"U8","shape":[2147483648],"data_offsets":[0,2147483648]}}'),
    "empty": header(f'{{"x":{{"dtype":"U8","shape":[0,{2**62}],"data_offsets":[0,0]}}}}'),
    "unknown": header(f'{{"x":{{"dtype":"F4","shape":[{2**31}],"data_offsets":[0,{2**31}]}}}}'),
}


@pytest.mark.parametrize("name", GREEDY_CKPT)
def test_a_promise_allocates_nothing(name: str) -> None:
    def scan() -> None:
        with pytest.raises(WireError):
            _checkpoint_file.scan(BytesIO(GREEDY_CKPT[name]))

    within(2**18, 1, scan)


@pytest.mark.parametrize("name", GREEDY_SAFETENSORS)
def test_a_promise_in_a_header_allocates_nothing(name: str) -> None:
    def scan() -> None:
        with pytest.raises(WireError):
            _safetensors_file.scan(BytesIO(GREEDY_SAFETENSORS[name]))

    within(2**18, 1, scan)


COUNT = 20_000
SLOW_CKPT = {
    "slices of one byte": value(tensor([COUNT + 1], b"\0")) * COUNT,
    "slices of nothing": value(tensor([1], b"")) * COUNT,
    "many values": b"".join(value(tensor([], b"\0"), b"%d" % n) for n in range(COUNT)),
    "many dims": value(b"\x08\x01" * COUNT),
    "the same field": value(bytes_field(2, b"UInt8") * COUNT),
    "nothing but keys": b"\x0a\x00" * COUNT,
    "one long number": b"\x80" * COUNT * 20,
}
SLOW_SAFETENSORS = {
    "nested": header("[" * COUNT * 10),
    "nested objects": header('{"a":' * COUNT),
    "a long number": header('{"x":' + "9" * COUNT * 10 + "}"),
    "many names": header(
        "{"
        + ",".join(f'"{n}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for n in range(COUNT))
        + "}"
    ),
    "many large numbers": header(
        '{"__metadata__":{"crc_num":"0"},'
        + ",".join(
            f'"{n}":{{"dtype":"U32","shape":[],"data_offsets":[{4 * n},{4 * n + 4}]}}'
            for n in range(COUNT)
        )
        + "}"
    )
    + b"\xff\xff\xff\0" * COUNT,
    "one name": header("{" + ",".join(['"x":0'] * COUNT) + "}"),
}


@pytest.mark.parametrize("name", [*SLOW_CKPT, *SLOW_SAFETENSORS])
def test_much_of_little_is_told_soon(name: str) -> None:
    ckpt = name in SLOW_CKPT
    scan = _checkpoint_file.scan if ckpt else _safetensors_file.scan

    def run() -> None:
        data = SLOW_CKPT[name] if ckpt else SLOW_SAFETENSORS[name]
        try:
            scan(BytesIO(data))
        except WireError:
            return
        assert name in {"many values", "many names"}

    within(50 * 2**20, 10, run)
