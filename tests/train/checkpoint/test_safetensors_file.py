"""The `.safetensors` format: exchange with the package and MindSpore, and damage."""

import json
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.common import Parameter, Tensor
from minispore.train.checkpoint import safetensors_file as st_file
from minispore.train.checkpoint.protobuf import WireError
from minispore.train.serialization import load_checkpoint, save_checkpoint
from tests.train.checkpoint import test_file_formats as formats

written = partial(formats.written, "safetensors")
read = partial(formats.read, "safetensors")


def header_of(data: bytes) -> dict[str, object]:
    length = int.from_bytes(data[:8], "little")
    result: dict[str, object] = json.loads(data[8 : 8 + length])
    return result


@given(st.integers(0, 200))
@example(200)
def test_header_beyond_limit_raises(limit: int) -> None:
    data = written([("x", np.zeros(50))])
    length = int.from_bytes(data[:8], "little")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st_file, "_MAX_HEADER", limit)
        if length <= limit:
            read(data)
        else:
            with pytest.raises(WireError, match=f"^its header has the impossible length {length}$"):
                read(data)


@given(formats.FILES)
def test_bytes_equal_those_of_safetensors_package(
    values: dict[str, npt.NDArray[np.generic]],
) -> None:
    package = pytest.importorskip("safetensors.numpy")
    arrays = {name: np.ascontiguousarray(a).reshape(a.shape) for name, a in values.items()}
    data: bytes = package.save(arrays, metadata={"format": "ms"})
    assert written(values.items()) == data
    formats.assert_same(read(data), values)


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_foreign_types_are_loaded_or_raise(format_: str) -> None:
    path = formats.FIXTURES / f"others.{format_}"
    loaded = load_checkpoint(path, format=format_, specify_prefix="bfloat16")
    (value,) = loaded.values()
    assert isinstance(value, Parameter)
    assert str(value.dtype) == "Float32"
    assert value.tolist() == [1.0, 2.0]
    refused = {"qint4x2": "Int4", "complex64": "Complex64"}
    if format_ == "ckpt":
        refused |= {"complex128": "Complex128", "hifloat8": "HiFloat8"}
        refused |= {"float8_e4m3fn": "Float8E4M3FN", "float8_e5m2": "Float8E5M2"}
    for name, kind in refused.items():
        with pytest.raises(ValueError, match=f"others.*'{name}' has the type '{kind}', which mini"):
            load_checkpoint(path, format=format_, specify_prefix=name)


@given(hnp.arrays(np.uint16, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_every_bfloat16_is_converted_without_loss(halves: npt.NDArray[np.uint16]) -> None:
    header: dict[str, object] = {
        "b": {"dtype": "BF16", "shape": halves.shape, "data_offsets": [0, halves.nbytes]}
    }
    (value,) = read(file_of(header, halves.tobytes())).values()
    assert isinstance(value, np.ndarray)
    assert value.dtype == np.float32
    assert value.shape == halves.shape
    np.testing.assert_array_equal(value.view(np.uint32) >> 16, halves)
    assert not (value.view(np.uint32) & 0xFFFF).any()


INTEGERS = st.sampled_from([-1, 0, 2, 3, 98, 99, 127, 255, 2**20 + 1, 2**28 + 1, 2**62])


# MindSpore gives an integer without axes to Python's `bytes`, which makes so many NULs of it.
@given(
    st.dictionaries(st.sampled_from("abx"), INTEGERS, min_size=1),
    st.sampled_from([np.int8, np.uint8, np.int64]),
    st.booleans(),
)
@example({"x": 98, "a": 2}, np.int64, True)
@example({"x": 99, "a": 2}, np.int64, True)
@example({"a": 2**20 + 1, "x": 2**28 + 1}, np.int64, False)
def test_scalar_integers_count_as_nuls(
    numbers: dict[str, int], dtype: type[np.integer], limited: bool
) -> None:
    """Up to a limit for all of a file."""
    arrays = {name: np.array(number).astype(dtype) for name, number in numbers.items()}
    remaining, summed = 100 if limited else 2**28, b""
    for name, array in sorted(arrays.items()):
        nuls = int(array)
        summed += name.encode()
        summed += bytes(nuls) if 0 <= nuls <= remaining else array.tobytes()
        remaining -= nuls if 0 <= nuls <= remaining else 0
    with pytest.MonkeyPatch.context() as patch:
        if limited:
            patch.setattr(st_file, "_MAX_NULS", 100)
        data = written(arrays.items(), crc_check=True)
        assert formats.read_all("safetensors", data)[1]
    result = header_of(data)["__metadata__"]
    assert result == {"format": "ms", "crc_num": str(zlib.crc32(summed))}


def file_of(header: object, content: bytes = b"\0\1") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


def one(**changes: object) -> dict[str, object]:
    return {"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]} | changes}


def crc_of(name: bytes, content: bytes) -> str:
    return str(zlib.crc32(content, zlib.crc32(name)))


# The source of the bytes, and the error.
INVALID = Path(__file__).with_name("invalid_safetensors.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("row", INVALID)
def test_invalid_bytes_raise_descriptive_error(tmp_path: Path, row: str) -> None:
    source, _, reason = row.partition("  # ")
    path = tmp_path / "x.safetensors"
    path.write_bytes(eval(source))
    with pytest.raises(ValueError, match="^Failed to read") as raised:
        load_checkpoint(path, format="safetensors")
    assert str(raised.value) == f"Failed to read the checkpoint file '{path}': {reason}."
    assert isinstance(raised.value.__cause__, WireError)


def test_number_with_too_many_digits_raises() -> None:
    with pytest.raises(WireError, match=r"^its header is not JSON: .*digits"):
        read(file_of(b'{"x": ' + b"9" * 9999 + b"}"))


def test_forms_of_other_writers_are_read() -> None:
    for header in (one(), one() | {"__metadata__": {"note": "any"}}):
        formats.assert_same(read(file_of(header)), {"x": np.array([0, 1], np.uint8)})
    checked = one() | {"__metadata__": {"crc_num": crc_of(b"x", b"\0\1")}}
    assert formats.read_all("safetensors", file_of(checked))[1]
    assert read(file_of({}, b"")) == {}


def parameter(values: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(values), name=name)


def test_unsupported_values_raise(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    reason = r"^A '\.safetensors' file cannot hold the text 'note'; use 'ckpt'\.$"
    with pytest.raises(ValueError, match=reason):
        save_checkpoint([parameter(1)], path, append_dict={"note": "x"}, format="safetensors")
    for name, reason in (
        ("__metadata__", r"^A '\.safetensors' file reserves the name '__metadata__'\.$"),
        ("\ud800", r"^The name '\\ud800' is not valid Unicode\.$"),
    ):
        with pytest.raises(ValueError, match=reason):
            save_checkpoint([parameter(1, name)], path, format="safetensors")
    assert not list(tmp_path.iterdir())


def test_save_and_load_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_checkpoint(
        [parameter([1.0, 2.0])],
        path,
        append_dict={"epoch": 3},
        format="safetensors",
        crc_check=True,
    )
    loaded = load_checkpoint(path, format="safetensors", crc_check=True)
    assert {n: p.tolist() for n, p in loaded.items() if isinstance(p, Parameter)} == {
        "p": [1.0, 2.0],
        "epoch": 3,
    }
    assert list(load_checkpoint(path, format="safetensors", specify_prefix="e")) == ["epoch"]
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"Failed to read .*x.safetensors': its arrays do not lie"):
        load_checkpoint(path, format="safetensors")
    save_checkpoint([parameter(1)], path, format="safetensors")
    with pytest.warns(UserWarning, match="no checksum"):
        load_checkpoint(path, format="safetensors", crc_check=True)
