"""Saves are atomic, and make no second copy of the values."""

import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from minispore.common import Parameter, Tensor
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import load_checkpoint, save_checkpoint


def parameter(values: object, name: str = "p") -> Parameter:
    return Parameter(Tensor(values), name=name)


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_non_contiguous_arrays_are_copied_one_by_one(tmp_path: Path, format_: str) -> None:
    size = 2**21
    array = np.zeros((512, size // 2048), np.float32).T
    items = [{"name": str(i), "data": Tensor.from_numpy(array)} for i in range(8)]
    tracemalloc.start()
    save_checkpoint(items, tmp_path / "x", crc_check=True, format=format_)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * size


@pytest.mark.parametrize("format_", ["ckpt", "safetensors"])
def test_saving_and_loading_make_no_second_copy(tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"x.{format_}"
    size = 2**24
    weight = parameter(np.zeros(size // 4, np.float32), "w")
    tracemalloc.start()
    save_checkpoint([weight], path, crc_check=True, format=format_)
    saving = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    loaded = load_checkpoint(path, format=format_)
    loading = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert saving < size / 8
    assert loading < size * 9 / 8
    assert len(loaded) == 1


def test_bfloat16_conversion_needs_no_extra_array(tmp_path: Path) -> None:
    size = 2**22
    content = Content("BFloat16", (size // 4,), size // 2, lambda *_: [bytes(size // 2)])
    with (tmp_path / "x.ckpt").open("wb") as file:
        checkpoint_file.write(file, [("x", content)])
    tracemalloc.start()
    loaded = load_checkpoint(tmp_path / "x.ckpt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size * 7 / 4
    assert len(loaded) == 1


# Saves one network of ones and one of twos in turns, and says when it begins; every other
# process does so in the background.
WRITER = """
import sys
import numpy as np
from minispore.common.tensor import Tensor
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import save_checkpoint
print("ready", flush=True)
while True:
    for fill in (1, 2):
        items = [{"name": str(n), "data": Tensor(np.full(9999, fill))} for n in range(20)]
        save_checkpoint(items, sys.argv[1], crc_check=True, async_save=sys.argv[2] == "1")
"""


@pytest.mark.full
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_during_save_leaves_complete_file(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.full(1, 1), str(n)) for n in range(20)], path)
    for index in range(kills):
        command = [sys.executable, "-c", WRITER, str(path), str(index % 2)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.0037 * (index % 11))
            process.kill()
        loaded = load_checkpoint(path)
        assert len(loaded) == 20
        assert len({v.asnumpy()[0] for v in loaded.values() if isinstance(v, Parameter)}) == 1


# The size of a file is limited to 100 kB.
FULL = """
import resource, sys
import numpy as np
from minispore.common.tensor import Tensor
from minispore.train.checkpoint import checkpoint_file
from minispore.train.checkpoint.storage import Content
from minispore.train.serialization import save_checkpoint, wait_for_saves
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
items = [{"name": "p", "data": Tensor(np.full(99_999, 2))}]
try:
    save_checkpoint(items, sys.argv[1], async_save=sys.argv[2] == "1")
    print("continues")
    wait_for_saves()
except OSError as error:
    print(error)
# For the coverage measurement of this process.
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("background", [False, True])
def test_full_disk_raises_and_leaves_previous_file(tmp_path: Path, background: bool) -> None:
    path = tmp_path / "x.ckpt"
    save_checkpoint([parameter(np.full(1, 1))], path)
    command = [sys.executable, "-c", FULL, str(path), str(int(background))]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    printed = done.stdout.splitlines()
    assert printed[:-1] == ["continues"] * background
    assert "nothing was changed" in printed[-1]
    assert "x.ckpt" in printed[-1]
    assert not done.stderr
    loaded = load_checkpoint(path)["p"]
    assert isinstance(loaded, Parameter)
    assert loaded.tolist() == [1]
    assert [file.name for file in tmp_path.iterdir()] == ["x.ckpt"]
