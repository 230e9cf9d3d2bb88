"""Both formats of checkpoints: what is written is read, MindSpore's files, and damage."""

from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.engine import dtypes
from minispore.train.checkpoint import checkpoint_file, safetensors_file
from minispore.train.checkpoint.protobuf import WireError
from minispore.train.checkpoint.storage import Location, Value, load
from minispore.train.serialization import load_checkpoint

FIXTURES = Path(__file__).parents[1] / "fixtures"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
NAMES = TEXTS.filter(lambda name: name != "__metadata__")
ARRAYS = st.sampled_from([dtype.numpy_dtype for dtype in dtypes.DTYPES]).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=5, min_side=0))
)
FILES = st.dictionaries(NAMES, ARRAYS, max_size=5)
TEXT_OR_ARRAY = ARRAYS | TEXTS.filter(lambda text: not text.endswith("\0"))

Writer = Callable[..., None]
WRITE: dict[str, Writer] = {"ckpt": checkpoint_file.write, "safetensors": safetensors_file.write}
SCAN = {"ckpt": checkpoint_file.scan, "safetensors": safetensors_file.scan}
KINDS = st.sampled_from([*WRITE])


def written(kind: str, values: Iterable[tuple[str, Value]], **options: object) -> bytes:
    file = BytesIO()
    WRITE[kind](file, values, **options)
    return file.getvalue()


def read_all(kind: str, data: bytes) -> tuple[dict[str, Value], bool]:
    """Return the values, and whether there is a checksum."""
    file = BytesIO(data)
    locations: Mapping[str, Location]
    locations, has_crc = SCAN[kind](file)
    return {name: load(file, name, location) for name, location in locations.items()}, has_crc


def read(kind: str, data: bytes) -> dict[str, Value]:
    return read_all(kind, data)[0]


def same(x: Value, y: Value) -> bool:
    if isinstance(x, str) or isinstance(y, str):
        return isinstance(x, str) and isinstance(y, str) and x == y
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def assert_same(result: Mapping[str, Value], expected: Mapping[str, Value]) -> None:
    assert result.keys() == expected.keys()
    assert all(same(result[name], expected[name]) for name in expected)


@given(FILES, st.dictionaries(NAMES, TEXT_OR_ARRAY, max_size=5), st.booleans(), st.integers(1, 64))
def test_written_values_are_read(
    arrays: dict[str, Value], values: dict[str, Value], crc: bool, slice_bytes: int
) -> None:
    """Only `.ckpt` files hold texts, and keep the order."""
    result, has_crc = read_all("safetensors", written("safetensors", arrays.items(), crc_check=crc))
    assert_same(result, arrays)
    assert has_crc == crc
    data = written("ckpt", values.items(), crc_check=crc, slice_bytes=slice_bytes)
    result, has_crc = read_all("ckpt", data)
    assert_same(result, values)
    assert (list(result), has_crc) == (list(values), crc)


@given(KINDS, ARRAYS, st.booleans())
def test_memory_layout_does_not_change_file(
    kind: str, array: npt.NDArray[np.generic], reverse: bool
) -> None:
    other = array.T[::-1].T if reverse and array.ndim else array.T
    swapped = other.astype(other.dtype.newbyteorder(">"))
    expected = written(kind, [("x", np.ascontiguousarray(other).reshape(other.shape))])
    assert written(kind, [("x", other)]) == written(kind, [("x", swapped)]) == expected


@given(FILES.filter(lambda files: any(array.size for array in files.values())), st.data())
def test_checksum_detects_changed_byte(arrays: dict[str, Value], draw: st.DataObject) -> None:
    """In a `.safetensors` file it is that of the content."""
    for kind in WRITE:
        data = bytearray(written(kind, arrays.items(), crc_check=True))
        header = 8 + int.from_bytes(data[:8], "little") if kind == "safetensors" else 0
        data[draw.draw(st.integers(header, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
        with pytest.raises(WireError, match="checksum" if header else None):
            read(kind, bytes(data))


@pytest.mark.parametrize("kind", WRITE)
def test_value_without_a_name_is_not_loaded(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{kind}"
    path.write_bytes(written(kind, [("", np.zeros(1))]))
    with pytest.raises(ValueError, match=f"x.{kind}': it has a value without a name\\.$"):
        load_checkpoint(path, format=kind)


MINDSPORE = [
    *("dtypes.ckpt", "shapes.ckpt", "appended.ckpt", "crc.ckpt"),
    *("dtypes.safetensors", "shapes.safetensors", "crc.safetensors"),
]


@pytest.mark.parametrize("name", MINDSPORE)
def test_mindspore_files_round_trip_byte_for_byte(name: str) -> None:
    stem, _, kind = name.partition(".")
    data = (FIXTURES / name).read_bytes()
    values, crc = read_all(kind, data)
    assert crc == (stem == "crc")
    assert written(kind, values.items(), crc_check=crc) == data


ONES = {
    str(dtype.name): np.array([[0, 1], [1, 0]]).astype(dtype.numpy_dtype) for dtype in dtypes.DTYPES
}
SHAPES: dict[str, Value] = {
    "scalar": np.array(2.5, np.float32),
    "one": np.array([2.5], np.float32),
    "é.名前.𝄞": np.arange(6, dtype=np.int32).reshape(1, 2, 3),
}
EMPTY = {"empty": np.zeros((2, 0, 3), np.float16)}
APPENDED: dict[str, Value] = {
    "w": np.array([[1, 2]], np.float32),
    "epoch_num": np.array(3),
    "lr": np.array(0.1, np.float32),
    "flag": np.array(True),
    "note": "héllo 𝄞",
    "nothing": "",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dtypes.ckpt", ONES),
        ("shapes.ckpt", SHAPES),
        ("appended.ckpt", APPENDED),
        ("dtypes.safetensors", ONES),
        ("crc.safetensors", {**ONES, "step": np.array(3, np.int32)}),
        ("shapes.safetensors", {**SHAPES, **EMPTY}),
    ],
)
def test_mindspore_files_have_expected_values(name: str, expected: dict[str, Value]) -> None:
    assert_same(read(name.partition(".")[2], (FIXTURES / name).read_bytes()), expected)


@pytest.mark.parametrize("name", MINDSPORE)
def test_truncated_file_raises(name: str) -> None:
    """A cut between two values leaves a valid shorter `.ckpt` file."""
    stem, _, kind = name.partition(".")
    data = (FIXTURES / name).read_bytes()
    complete = read(kind, data)
    borders = 0
    for cut in range(len(data)):
        try:
            result = read(kind, data[:cut])
        except WireError:
            continue
        borders += 1
        assert_same(result, dict(list(complete.items())[: len(result)]))
    assert borders == (len(complete) + (stem == "crc") if kind == "ckpt" else 0)
