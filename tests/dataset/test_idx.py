"""IDX files: a written array is read again; any other content raises one clear error."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore.dataset.idx import read_idx, read_idx_shape, write_idx

arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
names = st.sampled_from(["x-idx", "x-idx.gz"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx")


@given(array=arrays, name=names)
def test_read_idx_inverts_write_idx(folder: Path, array: npt.NDArray[np.uint8], name: str) -> None:
    write_idx(folder / name, array)
    result = read_idx(folder / name)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, array)
    assert read_idx_shape(folder / name) == array.shape
    write_idx(folder / f"other {name}", array)
    raw = (folder / name).read_bytes()
    assert (folder / f"other {name}").read_bytes() == raw
    assert name == "x-idx" or raw[4:8] == bytes(4)  # gzip's time of writing


@given(array=arrays.filter(lambda a: a.size > 0), name=names, data=st.data())
def test_truncation_at_any_byte_raises(
    folder: Path, array: npt.NDArray[np.uint8], name: str, data: st.DataObject
) -> None:
    path = folder / name
    write_idx(path, array)
    raw = path.read_bytes()
    path.write_bytes(raw[: data.draw(st.integers(0, len(raw) - 1))])
    with pytest.raises(RuntimeError, match="not a valid IDX file"):
        read_idx(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "starts with nothing"),
        (b"\0\0\x0d\x01\0\0\0\0", "starts with 00 00 0d 01"),
        (b"\0\0\x08\x00", "starts with 00 00 08 00"),
        (b"\0\0\x08\x02\0\0\0\x01", "ends inside its header"),
        (b"\0\0\x08\x01\0\0\0\x03ab", "only 2 follow"),
        (b"\0\0\x08\x01\0\0\0\x01ab", "bytes follow the 1 elements"),
        (b"\0\0\x08\x03\0\0\0\0" + b"\xff" * 8, "promises 0 elements"),
        (gzip.compress(b"\0\0\x08\x01\0\0\0\x02ab", mtime=0)[:-2], "gzip data is damaged"),
        (gzip.compress(b"\0\0\x08\x01\0\0\0\x02ab", mtime=0) + b"xx", "gzip data is damaged"),
    ],
)
def test_each_kind_of_damage_has_its_message(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "images"
    path.write_bytes(raw)
    with pytest.raises(RuntimeError, match=message):
        read_idx(path)


def test_write_idx_rejects_other_dtypes_and_shapes(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be of dtype uint8"):
        write_idx(tmp_path / "x", np.zeros(3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    for array in (np.array(3, np.uint8), np.empty((0, 2**32), np.uint8)):
        with pytest.raises(ValueError, match="at least one dimension"):
            write_idx(tmp_path / "x", array)
    assert not (tmp_path / "x").exists()


def test_missing_file_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        read_idx(tmp_path / "absent")


def test_plain_file_is_read_into_memory_once(tmp_path: Path) -> None:
    """A second copy of a large data set might not fit into memory."""
    path = tmp_path / "images"
    write_idx(path, np.zeros((2**13, 32, 32), np.uint8))
    tracemalloc.start()
    try:
        read = read_idx(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * read.nbytes
