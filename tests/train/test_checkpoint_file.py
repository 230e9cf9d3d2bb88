"""MindSpore's `.ckpt` bytes: ours are its bytes, its are read, and damage is found."""

import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import _dtype as dtypes
from minispore.train._files import checkpoint_file as ckpt
from minispore.train._files.protobuf import WireError, bytes_field, text_field, varint_field
from minispore.train._files.stored import Value, load

FIXTURES = Path(__file__).parent / "fixtures"
READABLE = ["dtypes", "shapes", "appended", "crc"]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ARRAYS = st.sampled_from([dtype.numpy_dtype for dtype in dtypes.ALL]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=5, min_side=0))
)
VALUES = ARRAYS | TEXTS.filter(lambda text: not text.endswith("\0"))
FILES = st.dictionaries(TEXTS, VALUES, max_size=5)


def written(
    values: Iterable[tuple[str, Value]], *, crc: bool = False, slice_bytes: int = 2**29
) -> bytes:
    file = BytesIO()
    ckpt.write(file, values, crc_check=crc, slice_bytes=slice_bytes)
    return file.getvalue()


def read_all(data: bytes) -> tuple[dict[str, Value], bool]:
    """The values, and whether there is a check sum."""
    file = BytesIO(data)
    entries, has_crc = ckpt.scan(file)
    return {name: load(file, name, entry) for name, entry in entries.items()}, has_crc


def read(data: bytes) -> dict[str, Value]:
    return read_all(data)[0]


def same(x: Value, y: Value) -> bool:
    if isinstance(x, str) or isinstance(y, str):
        return isinstance(x, str) and isinstance(y, str) and x == y
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def assert_same(x: dict[str, Value], y: dict[str, Value]) -> None:
    assert list(x) == list(y)
    assert all(same(x[name], y[name]) for name in x)


@given(FILES, st.booleans(), st.integers(1, 64))
def test_what_is_written_is_read(values: dict[str, Value], crc: bool, slice_bytes: int) -> None:
    data = written(values.items(), crc=crc, slice_bytes=slice_bytes)
    found, had_crc = read_all(data)
    assert_same(found, values)
    assert had_crc == crc


@given(ARRAYS, st.booleans())
def test_the_layout_in_memory_does_not_matter(
    array: npt.NDArray[np.generic], reverse: bool
) -> None:
    other = array.T[::-1].T if reverse and array.ndim else array.T
    swapped = other.astype(other.dtype.newbyteorder(">"))
    expected = written([("x", np.ascontiguousarray(other).reshape(other.shape))])
    assert written([("x", other)]) == written([("x", swapped)]) == expected


@given(FILES.filter(bool), st.data())
def test_a_flipped_byte_is_found_by_the_check_sum(
    values: dict[str, Value], draw: st.DataObject
) -> None:
    data = bytearray(written(values.items(), crc=True))
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(WireError):
        read(bytes(data))


@given(FILES.filter(bool), st.data())
def test_a_flipped_byte_without_check_sum_gives_an_error_or_sound_values(
    values: dict[str, Value], draw: st.DataObject
) -> None:
    data = bytearray(written(values.items()))
    place = draw.draw(st.integers(0, len(data) - 1))
    data[place] ^= draw.draw(st.integers(1, 255))
    try:
        found = read(bytes(data))
    except WireError:
        return
    assert len(found) == len(values)


@pytest.mark.parametrize("name", READABLE)
def test_every_cut_is_found(name: str) -> None:
    """But for the cuts between two values, which leave a shorter sound file."""
    data = (FIXTURES / f"{name}.ckpt").read_bytes()
    whole = read(data)
    borders = 0
    for cut in range(len(data)):
        try:
            found = read(data[:cut])
        except WireError:
            continue
        borders += 1
        assert_same(found, dict(list(whole.items())[: len(found)]))
    assert borders == len(whole) + (name == "crc")


@pytest.mark.parametrize("name", READABLE)
def test_mindspores_files_are_read_and_written_byte_for_byte(name: str) -> None:
    data = (FIXTURES / f"{name}.ckpt").read_bytes()
    values, crc = read_all(data)
    assert crc == (name == "crc")
    assert written(values.items(), crc=crc) == data


def test_the_values_of_mindspores_files() -> None:
    files = {name: read((FIXTURES / f"{name}.ckpt").read_bytes()) for name in READABLE}
    assert files["dtypes"].keys() == {dtype.name for dtype in dtypes.ALL}
    for name, value in files["dtypes"].items():
        assert same(value, np.array([[0, 1], [1, 0]]).astype(name))
    shapes = files["shapes"]
    assert same(shapes["scalar"], np.array(2.5, np.float32))
    assert same(shapes["one"], np.array([2.5], np.float32))
    assert same(shapes["é.名前.𝄞"], np.arange(6, dtype=np.int32).reshape(1, 2, 3))
    appended = files["appended"]
    assert same(appended["w"], np.array([[1, 2]], np.float32))
    assert same(appended["epoch_num"], np.array(3))
    assert same(appended["lr"], np.array(0.1, np.float32))
    assert same(appended["flag"], np.array(True))
    assert (appended["note"], appended["nothing"]) == ("héllo 𝄞", "")


def test_bfloat16_is_widened() -> None:
    (value,) = read((FIXTURES / "bfloat16.ckpt").read_bytes()).values()
    expected = np.array([1.5, -2, 3e38], np.float32)
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value.astype(np.float32), expected, rtol=2**-8)


@pytest.mark.parametrize("mode", ["aes_gcm", "aes_cbc", "sm4_cbc"])
def test_an_encrypted_file_is_called_so(mode: str) -> None:
    with pytest.raises(WireError, match="encrypted"):
        read((FIXTURES / f"encrypted_{mode}.ckpt").read_bytes())


def test_a_slice_has_the_documented_bytes() -> None:
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    kind = varint_field(1, 2) + varint_field(1, 3) + text_field(2, "UInt8")
    pieces = [bytes(range(4)), bytes([4, 5])]
    expected = b"".join(
        bytes_field(1, text_field(1, "x") + bytes_field(2, kind + bytes_field(3, piece)))
        for piece in pieces
    )
    assert written([("x", array)], slice_bytes=4) == expected
    assert same(read(expected)["x"], array)


def test_the_check_sum_has_the_documented_bytes() -> None:
    plain = written([("x", np.zeros(3))])
    trailer = b"crc_num" + zlib.crc32(plain).to_bytes(10, "big")
    assert written([("x", np.zeros(3))], crc=True) == plain + trailer


def test_content_that_looks_like_a_trailer_is_content() -> None:
    array = np.frombuffer(b"crc_num" + bytes(10), np.uint8)
    for crc in (False, True):
        assert same(read(written([("x", array)], crc=crc))["x"], array)


def tensor(dims: bytes = b"\x08\x02", kind: bytes = b"UInt8", content: bytes = b"\0\1") -> bytes:
    return dims + bytes_field(2, kind) + bytes_field(3, content)


def value(tag: bytes = b"x", inner: bytes | None = None, more: bytes = b"") -> bytes:
    body = tensor() if inner is None else inner
    return bytes_field(1, bytes_field(1, tag) + bytes_field(2, body) + more)


BAD = {
    "comes twice": value() + value(),
    "'x' comes twice": value() + value(b"y") + value(),
    "differ in type": value(inner=tensor(b"\x08\x04")) + value(inner=tensor(b"\x08\x03")),
    "2 bytes of content.*ask for 3": value(inner=tensor(b"\x08\x03")),
    "2 bytes of content.*ask for 1": value(inner=tensor(b"")),
    "impossible shape.*-1": value(inner=tensor(varint_field(1, -1))),
    "impossible shape": value(inner=tensor(varint_field(1, 2**62) * 2)),
    "more than 64 dim": value(inner=tensor(b"\x08\x01" * 65 + b"\x08\x02")),
    "more than 64 dimensions": value(inner=tensor(bytes_field(1, b"\1" * 9999))),
    "unknown type 'Int128'": value(inner=tensor(kind=b"Int128")),
    "type 'HiFloat8', which minispore has not": value(inner=tensor(kind=b"HiFloat8")),
    "not UTF-8": value(inner=tensor(kind=b"\xff")),
    "byte 4 is not UTF-8": value(b"\xff\xfe"),
    "no type or no content": value(inner=b""),
    "no name or no tensor": bytes_field(1, bytes_field(1, b"x")),
    "MapParameter": value(more=bytes_field(3, b"")),
    "unknown field 9 of Value": value(more=bytes_field(9, b"")),
    "unknown field 4 of TensorProto": value(inner=tensor() + bytes_field(4, b"")),
    "unknown field 2 of Checkpoint": value() + bytes_field(2, b""),
    "field 2 of TensorProto comes twice": value(inner=tensor() + bytes_field(2, b"Int8")),
    "neither true nor false": value(inner=tensor(kind=b"Bool", content=b"\0\2")),
    "is no text": value(inner=tensor(kind=b"str", content=b"\xff" * 4)),
    "no text": value(inner=tensor(kind=b"str", content=b"abc")),
}


@pytest.mark.parametrize("reason", BAD)
def test_what_is_wrong_is_said(reason: str) -> None:
    with pytest.raises(WireError, match=reason):
        read(BAD[reason])


def test_forms_that_mindspore_reads_too() -> None:
    packed = value(inner=tensor(bytes_field(1, b"\1\2")))
    assert same(read(packed)["x"], np.array([[0, 1]], np.uint8))
    scalar = value(inner=tensor(b"\x08\x00", content=b"\5"))
    assert same(read(scalar)["x"], np.array(5, np.uint8))


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(TypeError, match="complex"):
        written([("x", np.zeros(2, np.complex64))])
    with pytest.raises(WireError, match="Unicode"):
        written([("\ud800", np.zeros(2))])
