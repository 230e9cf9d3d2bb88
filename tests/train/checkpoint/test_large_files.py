"""Files of 3 GiB are saved, loaded and converted with little more memory than their arrays."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.processes import run_python

GIB = 2**30
SIZE = 3 * GIB
SLACK = GIB // 8  # besides the interpreter with numpy

SAVE = """
from minispore.train import save_checkpoint
tensors = [Tensor.from_numpy(np.full((n, 2**18), n, np.float32)) for n in (2**11, 2**10)]
items = [{"name": str(i), "data": tensor} for i, tensor in enumerate(tensors)]
for format in ("ckpt", "safetensors"):
    save_checkpoint(items, sys.argv[1], crc_check=True, format=format)
"""
LOAD = """
from minispore.train import load_checkpoint
format = sys.argv[1].rpartition(".")[2]
loaded = load_checkpoint(sys.argv[1], format=format)
for name, n in (("0", 2**11), ("1", 2**10)):
    array = loaded[name].asnumpy()
    assert array.shape == (n, 2**18) and array.dtype == np.float32
    assert all((row == n).all() for row in array)
"""
CONVERT = """
from minispore.train import ckpt_to_safetensors
ckpt_to_safetensors(sys.argv[1], sys.argv[2])
"""
PEAK = """
import resource
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak if sys.platform == "darwin" else peak * 1024)
"""


def peak(code: str, *arguments: Path) -> int:
    """Return the peak memory, in bytes, of a process that runs this code."""
    code = "import sys\nimport numpy as np\nfrom minispore import Tensor\n" + code + PEAK
    return int(run_python("-c", code, *arguments).stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="asks the resource module for the peak")
def test_large_file_needs_no_second_copy(tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < 4 * SIZE:
        pytest.skip("too little room on the disk")
    if os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") < 1.5 * SIZE:
        pytest.skip("too little memory")
    empty = peak("")
    path = tmp_path / "x"
    assert peak(SAVE, path) < empty + SIZE + SLACK
    ckpt, safetensors = path.with_suffix(".ckpt"), path.with_suffix(".safetensors")
    assert ckpt.stat().st_size > SIZE
    assert peak(LOAD, ckpt) < empty + SIZE + SLACK
    assert peak(LOAD, safetensors) < empty + SIZE + SLACK
    assert peak(CONVERT, ckpt, tmp_path / "converted") < empty + SLACK
    converted = tmp_path / "converted" / "x.safetensors"
    assert subprocess.run(["cmp", converted, safetensors], check=False).returncode == 0
