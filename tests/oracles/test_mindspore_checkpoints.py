"""Checkpoints are exchanged with MindSpore, which needs an environment of its own.

This test needs the path of a Python that has MindSpore:

    MINISPORE_MINDSPORE_PYTHON=path/to/python pytest tests/oracles/test_mindspore_checkpoints.py
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from minispore import nn
from minispore.common import Parameter, Tensor
from minispore.engine import dtypes
from minispore.train.checkpoint import checkpoint_file
from minispore.train.serialization import (
    ckpt_to_safetensors,
    load_checkpoint,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
)
from tests.helpers.processes import run, run_python

PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="MINISPORE_MINDSPORE_PYTHON is not set")

# Loads a file with MindSpore and saves it again.
RESAVE = """
import sys, mindspore
source, target, format, crc = sys.argv[1:]
options = {"format": format, "crc_check": crc == "True"}
mindspore.save_checkpoint(mindspore.load_checkpoint(source, **options), target, **options)
"""


# Loads the file of a recurrent layer, computes its outputs, and saves it again.
RECURRENT = """
import sys, mindspore, numpy
name, source, target, inputs, outputs = sys.argv[1:]
layer = getattr(mindspore.nn, name)(2, 3, 2, bidirectional=True)
assert mindspore.load_param_into_net(layer, mindspore.load_checkpoint(source)) == ([], [])
numpy.save(outputs, layer(mindspore.Tensor(numpy.load(inputs)))[0].asnumpy())
mindspore.save_checkpoint(layer, target)
"""


def resaved(path: Path, format_: str = "ckpt", *, crc: bool = False) -> Path:
    target = path.with_name(f"again.{format_}")
    done = run(PYTHON, "-c", RESAVE, path, target, format_, crc)
    assert "do not contain the crc" not in done.stdout + done.stderr
    return target


def values() -> list[dict[str, object]]:
    random = np.random.default_rng(1)
    arrays = {
        f"{dtype.name}.名{ndim}": random.integers(0, 2, (2, 3, 4)[:ndim]).astype(dtype.numpy_dtype)
        for dtype in dtypes.DTYPES
        for ndim in range(4)
    }
    return [{"name": name, "data": Tensor(array)} for name, array in arrays.items()]


@pytest.mark.parametrize("crc", [False, True])
def test_checkpoint_round_trips_through_mindspore(tmp_path: Path, crc: bool) -> None:
    path = tmp_path / "x.ckpt"
    # MindSpore cannot save a dict without a Parameter, so a text is saved with one.
    save_checkpoint(values(), path, append_dict={"t": "héllo 𝄞", "e": "", "i": 3}, crc_check=crc)
    assert resaved(path, crc=crc).read_bytes() == path.read_bytes()


def test_mindspore_joins_slices(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    array = np.arange(1000, dtype=np.float32).reshape(10, 100)
    with path.open("wb") as file:
        checkpoint_file.write(file, [("w", array), ("v", array[0])], slice_bytes=512)
    loaded = load_checkpoint(resaved(path))
    for name, expected in (("w", array), ("v", array[0])):
        result = loaded[name]
        assert isinstance(result, Parameter)
        np.testing.assert_array_equal(result.asnumpy(), expected)


@pytest.mark.parametrize("crc", [False, True])
def test_safetensors_round_trip_through_mindspore(tmp_path: Path, crc: bool) -> None:
    path = tmp_path / "x.safetensors"
    save_checkpoint(values(), path, format="safetensors", crc_check=crc)
    data, again = path.read_bytes(), resaved(path, "safetensors", crc=crc).read_bytes()
    # The order of MindSpore's metadata is arbitrary.
    assert sorted(again[:400]) == sorted(data[:400])
    assert again[400:] == data[400:]


def test_bfloat16_is_converted_for_mindspore(tmp_path: Path) -> None:
    path = tmp_path / "bfloat16.ckpt"
    path.write_bytes(
        (Path(__file__).parents[1] / "train" / "fixtures" / "bfloat16.ckpt").read_bytes()
    )
    ckpt_to_safetensors(path)
    again = resaved(tmp_path / "bfloat16.safetensors", "safetensors")
    assert again.read_bytes() == (tmp_path / "bfloat16.safetensors").read_bytes()
    safetensors_to_ckpt(again, tmp_path / "back")
    assert resaved(tmp_path / "back" / "again.ckpt").read_bytes() == path.read_bytes()


def test_mindspore_reads_empty_arrays(tmp_path: Path) -> None:
    """MindSpore writes no empty array to a `.ckpt`, and reads the shape (0,) as a scalar."""
    path = tmp_path / "x.ckpt"
    items = [{"name": "e", "data": Tensor(np.zeros((2, 0), np.float32))}, *values()]
    save_checkpoint(items, path)
    assert list(load_checkpoint(resaved(path))) == [str(item["name"]) for item in items[1:]]
    with path.open("rb") as file:
        entries, _ = checkpoint_file.scan(file)
    assert entries["e"].dims == (2, 0)


def test_conversions_match_mindspore_bytes(tmp_path: Path) -> None:
    code = "import sys, mindspore; mindspore.ckpt_to_safetensors(sys.argv[1], sys.argv[2])"
    path = tmp_path / "x.ckpt"
    save_checkpoint(values(), path)
    ckpt_to_safetensors(path, tmp_path / "ours")
    run(PYTHON, "-c", code, path, tmp_path / "theirs")
    ours, theirs = (tmp_path / who / "x.safetensors" for who in ("ours", "theirs"))
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_are_exchanged_with_mindspore(tmp_path: Path, name: str) -> None:
    layer: nn.Cell = getattr(nn, name)(2, 3, 2, bidirectional=True)
    source, target, inputs, outputs = (
        tmp_path / file for file in ("ours.ckpt", "theirs.ckpt", "x.npy", "y.npy")
    )
    save_checkpoint(layer, source)
    x = np.random.default_rng(1).normal(size=(4, 2, 2)).astype(np.float32)
    np.save(inputs, x)
    run(PYTHON, "-c", RECURRENT, name, source, target, inputs, outputs)
    assert target.read_bytes() == source.read_bytes()
    other: nn.Cell = getattr(nn, name)(2, 3, 2, bidirectional=True)
    assert load_param_into_net(other, load_checkpoint(target)) == ([], [])
    actual = other(Tensor(x))[0].asnumpy()
    np.testing.assert_allclose(actual, np.load(outputs), rtol=1e-4, atol=1e-5)


def test_training_comparison_matches_documentation() -> None:
    root = Path(__file__).parents[2]
    done = run_python("-m", "benchmarks.compare_callbacks", folder=root)
    assert done.stdout.strip() in (root / "docs" / "compatibility.md").read_text("utf-8")


@pytest.mark.slow
def test_512_mib_slices_match_mindspore(tmp_path: Path) -> None:
    path = tmp_path / "x.ckpt"
    array = np.arange(150 * 2**20, dtype=np.uint32).reshape(150, -1)
    save_checkpoint([{"name": "w", "data": Tensor.from_numpy(array)}], path)
    again = resaved(path)
    assert subprocess.run(["cmp", path, again], check=False).returncode == 0
    result = load_checkpoint(again)["w"]
    assert isinstance(result, Parameter)
    assert np.array_equal(result.asnumpy(), array)
