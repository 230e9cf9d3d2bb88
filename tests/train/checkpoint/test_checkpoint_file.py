"""The `.ckpt` format: bytes equal MindSpore's, and damage is detected."""

import zlib
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.checkpoint import checkpoint_file as ckpt
from minispore.train.checkpoint import storage
from minispore.train.checkpoint.protobuf import WireError, bytes_field, text_field, varint_field
from minispore.train.serialization import load_checkpoint
from tests.train.checkpoint import test_file_formats as formats


def test_bfloat16_is_converted_to_float32() -> None:
    (value,) = read((formats.FIXTURES / "bfloat16.ckpt").read_bytes()).values()
    expected = np.array([1.5, -2, 3e38], np.float32)
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value.astype(np.float32), expected, rtol=2**-8)


@pytest.mark.parametrize("mode", ["aes_gcm", "aes_cbc", "sm4_cbc"])
def test_encrypted_file_raises(mode: str) -> None:
    with pytest.raises(WireError, match="encrypted"):
        read((formats.FIXTURES / f"encrypted_{mode}.ckpt").read_bytes())


@given(st.binary(min_size=1, max_size=9), st.integers(1, 9))
@example(bytes(range(6)), 4)
def test_slice_has_documented_bytes(content: bytes, slice_bytes: int) -> None:
    array = np.frombuffer(content, np.uint8).reshape(1, -1)
    kind = varint_field(1, 1) + varint_field(1, len(content)) + text_field(2, "UInt8")
    pieces = [content[i : i + slice_bytes] for i in range(0, len(content), slice_bytes)]
    expected = b"".join(
        bytes_field(1, text_field(1, "x") + bytes_field(2, kind + bytes_field(3, piece)))
        for piece in pieces
    )
    assert written([("x", array)], slice_bytes=slice_bytes) == expected


@given(st.binary(min_size=1), st.integers(1, 20), st.tuples(st.integers(0), st.integers(0)))
@example(b"abcdefgh", 2, (1, 6))
def test_any_range_of_slices_can_be_copied(
    content: bytes, slice_bytes: int, positions: tuple[int, int]
) -> None:
    start, stop = sorted(position % (len(content) + 1) for position in positions)
    file = BytesIO(written([("x", np.frombuffer(content, np.uint8))], slice_bytes=slice_bytes))
    result = storage.stored_content(file, ckpt.scan(file)[0]["x"])
    assert (result.kind, result.dims, result.size) == ("UInt8", (len(content),), len(content))
    assert b"".join(result.read(start, stop)) == content[start:stop]


written, read = partial(formats.written, "ckpt"), partial(formats.read, "ckpt")


@given(formats.ARRAYS)
def test_checksum_has_documented_bytes(array: npt.NDArray[np.generic]) -> None:
    plain, file = written([("x", array)]), BytesIO()
    ckpt.write(file, [("x", array)])
    assert file.getvalue() == plain
    trailer = b"crc_num" + zlib.crc32(plain).to_bytes(10, "big")
    assert written([("x", array)], crc_check=True) == plain + trailer


def test_content_like_trailer_is_content() -> None:
    array = np.frombuffer(b"crc_num" + bytes(10), np.uint8)
    for crc in (False, True):
        assert formats.same(read(written([("x", array)], crc_check=crc))["x"], array)


@given(st.text(st.characters()), st.integers(0, 2))
@example("\0X", 2)
@example("\ud800", 0)
def test_text_loses_only_trailing_nuls(text: str, nuls: int) -> None:
    assert read(written([("x", text + nuls * "\0")])) == {"x": text.rstrip("\0")}


def tensor(dims: bytes = b"\x08\x02", kind: bytes = b"UInt8", content: bytes = b"\0\1") -> bytes:
    return dims + bytes_field(2, kind) + bytes_field(3, content)


def value(tag: bytes = b"x", inner: bytes | None = None, more: bytes = b"") -> bytes:
    body = tensor() if inner is None else inner
    return bytes_field(1, bytes_field(1, tag) + bytes_field(2, body) + more)


def dims_of(*dims: int) -> bytes:
    return b"".join(varint_field(1, dim) for dim in dims)


def first_of_two() -> bytes:
    """Return one of two slices of four bytes."""
    return value(inner=tensor(b"\x08\x04"))


# The source of the bytes, and the error.
INVALID = Path(__file__).with_name("invalid_ckpt.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", INVALID)
def test_invalid_bytes_raise_descriptive_error(tmp_path: Path, row: str) -> None:
    source, _, reason = row.partition("  # ")
    path = tmp_path / "x.ckpt"
    path.write_bytes(eval(source))
    with pytest.raises(ValueError, match="^Failed to read") as raised:
        load_checkpoint(path)
    assert str(raised.value) == f"Failed to read the checkpoint file '{path}': {reason}."
    assert isinstance(raised.value.__cause__, WireError)


def test_alternative_forms_are_read() -> None:
    packed = value(inner=tensor(bytes_field(1, b"\1\2")))
    assert formats.same(read(packed)["x"], np.array([[0, 1]], np.uint8))
    scalar = value(inner=tensor(b"\x08\x00", content=b"\5"))
    assert formats.same(read(scalar)["x"], np.array(5, np.uint8))
    ones = value(inner=tensor(bytes_field(1, (b"\x81" + b"\x80" * 8 + b"\0") * 64), content=b"\5"))
    assert formats.same(read(ones)["x"], np.full((1,) * 64, 5, np.uint8))
    text = value(inner=tensor(b"\x08\x00", b"str", "é".encode("utf-32-le")))
    assert read(text) == {"x": "é"}


def test_scan_returns_content_locations() -> None:
    text, half = value(b"y", tensor(b"\x08\x00", b"str", b"a\0\0\0")), first_of_two()
    data = text + half + half
    entries, _ = ckpt.scan(BytesIO(data))
    result = {name: (e.kind, e.dims, e.spans, e.stored) for name, e in entries.items()}
    one, two = len(text + half) - 2, len(data) - 2
    assert result == {
        "y": ("str", (0,), [(len(text) - 4, 4)], 4),
        "x": ("UInt8", (4,), [(one, 2), (two, 2)], 4),
    }


def test_unsupported_content_raises() -> None:
    with pytest.raises(TypeError, match="complex"):
        written([("x", np.zeros(2, np.complex64))])
    with pytest.raises(
        WireError, match=r"^the text '\\ud800' is not valid Unicode: surrogates not "
    ):
        written([("\ud800", np.zeros(2))])
    strange = storage.Content("F4", (2,), 1, lambda start, stop: [b"\0"[start:stop]])
    with pytest.raises(ValueError, match=r"^A '.ckpt' file cannot hold 'x', whose type is F4.$"):
        ckpt.write(BytesIO(), [("x", strange)])
