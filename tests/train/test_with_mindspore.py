"""The real MindSpore opens what is written here: run where an environment has it.

Its numpy is older than ours, so it lives in an environment of its own; say where its Python is:

    MINISPORE_MINDSPORE_PYTHON=path/to/python pytest tests/train/test_with_mindspore.py
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minispore import _dtype as dtypes
from minispore.common import Parameter, Tensor
from minispore.train._files import checkpoint_file
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    safetensors_to_ckpt,
    save_checkpoint,
)

PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")

# Loads a file with MindSpore and saves it again.
RESAVE = """
import sys, mindspore
source, target, format, crc = sys.argv[1:]
options = {"format": format, "crc_check": crc == "True"}
mindspore.save_checkpoint(mindspore.load_checkpoint(source, **options), target, **options)
"""


def resaved(path: Path, format_: str = "ckpt", *, crc: bool = False) -> Path:
    target = path.with_name(f"again.{format_}")
    command = [str(PYTHON), "-c", RESAVE, str(path), str(target), format_, str(crc)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert "do not contain the crc" not in done.stdout + done.stderr
    return target


def values() -> list[dict[str, object]]:
    random = np.random.default_rng(1)
    arrays = {
        f"{dtype.name}.名{ndim}": random.integers(0, 2, (2, 3, 4)[:ndim]).astype(dtype.numpy_dtype)
        for dtype in dtypes.ALL
        for ndim in range(4)
    }
    return [{"name": name, "data": Tensor(array)} for name, array in arrays.items()]


@pytest.mark.parametrize("crc", [False, True])
def test_a_checkpoint_survives_mindspore_byte_for_byte(tmp_path: Path, crc: bool) -> None:
    path = tmp_path / "x.ckpt"
    # A dict without a Parameter is more than MindSpore can save, so a text needs company.
    save_checkpoint(values(), path, append_dict={"t": "héllo 𝄞", "e": "", "i": 3}, crc_check=crc)
    assert resaved(path, crc=crc).read_bytes() == path.read_bytes()


def test_mindspore_joins_our_slices(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    array = np.arange(1000, dtype=np.float32).reshape(10, 100)
    with path.open("wb") as file:
        checkpoint_file.write(file, [("w", array), ("v", array[0])], slice_bytes=512)
    loaded = load_checkpoint(resaved(path))
    for name, expected in (("w", array), ("v", array[0])):
        found = loaded[name]
        assert isinstance(found, Parameter)
        np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("crc", [False, True])
def test_safetensors_survive_mindspore(tmp_path: Path, crc: bool) -> None:
    path = tmp_path / "x.safetensors"
    save_checkpoint(values(), path, format="safetensors", crc_check=crc)
    data, again = path.read_bytes(), resaved(path, "safetensors", crc=crc).read_bytes()
    # MindSpore's metadata come in no order.
    assert sorted(again[:400]) == sorted(data[:400])
    assert again[400:] == data[400:]


def test_bfloat16_arrives_by_way_of_our_conversions(tmp_path: Path) -> None:
    path = tmp_path / "bfloat16.ckpt"
    path.write_bytes((Path(__file__).parent / "fixtures" / "bfloat16.ckpt").read_bytes())
    ckpt_to_safetensors(path)
    again = resaved(tmp_path / "bfloat16.safetensors", "safetensors")
    assert again.read_bytes() == (tmp_path / "bfloat16.safetensors").read_bytes()
    safetensors_to_ckpt(again, tmp_path / "back")
    assert resaved(tmp_path / "back" / "again.ckpt").read_bytes() == path.read_bytes()


def test_mindspore_reads_our_empty_arrays(tmp_path: Path) -> None:
    """It writes none to a `.ckpt`, and takes the shape (0,) for a scalar's."""
    path = tmp_path / "x.ckpt"
    items = [{"name": "e", "data": Tensor(np.zeros((2, 0), np.float32))}, *values()]
    save_checkpoint(items, path)
    assert list(load_checkpoint(resaved(path))) == [str(item["name"]) for item in items[1:]]
    with path.open("rb") as file:
        entries, _ = checkpoint_file.scan(file)
    assert entries["e"].dims == (2, 0)


def test_our_conversions_make_mindspores_bytes(tmp_path: Path) -> None:
    code = "import sys, mindspore; mindspore.ckpt_to_safetensors(sys.argv[1], sys.argv[2])"
    path = tmp_path / "x.ckpt"
    save_checkpoint(values(), path)
    ckpt_to_safetensors(path, tmp_path / "ours")
    command = [str(PYTHON), "-c", code, str(path), str(tmp_path / "theirs")]
    subprocess.run(command, check=True, capture_output=True)
    ours, theirs = (tmp_path / who / "x.safetensors" for who in ("ours", "theirs"))
    assert ours.read_bytes() == theirs.read_bytes()


def test_the_same_trainings_compare_as_the_documentation_says() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "benchmarks.compare_callbacks"]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in (root / "docs" / "compatibility.md").read_text("utf-8")


@pytest.mark.slow
def test_slices_of_512_mib_are_mindspores(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    array = np.arange(150 * 2**20, dtype=np.uint32).reshape(150, -1)
    save_checkpoint([{"name": "w", "data": Tensor.from_numpy(array)}], path)
    again = resaved(path)
    assert subprocess.run(["cmp", path, again], check=False).returncode == 0
    found = load_checkpoint(again)["w"]
    assert isinstance(found, Parameter)
    assert np.array_equal(found.asnumpy(), array)
