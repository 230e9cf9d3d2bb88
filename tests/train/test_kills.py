"""Killed at any moment, with a full disk: what is on the disk can be loaded and resumed from."""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minispore.train import load_checkpoint

from .resuming import files_in
from .test_resume import newest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills and limits are POSIX's")

# Trains with a checkpoint at each step; goes on from the newest in the folder.
CHILD = """
import random, resource, sys
from pathlib import Path
import numpy as np
from minispore import nn, set_seed
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint

folder, mode, resume, limit = sys.argv[1:]
set_seed(1)
random.seed(1)
np.random.seed(1)
x = np.linspace(-1, 1, 640, dtype=np.float32).reshape(64, 10)
data = NumpySlicesDataset({"x": x, "y": np.arange(64, dtype=np.int32) % 3}).batch(8)
net = nn.SequentialCell(nn.Dense(10, 3000), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(3000, 3))
model = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01))

class FullDisk(Callback):
    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == int(limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

saver = ModelCheckpoint("net", folder, CheckpointConfig(
    1, keep_checkpoint_max=2, append_info=["training_state"], async_save=mode == "async"))
print("begin", flush=True)
model.train(3, data, [LossMonitor(), FullDisk(), saver], resume=resume or None)
print("end", flush=True)
"""


def start(folder: Path, mode: str, limit: int = 0) -> subprocess.Popen[str]:
    resume = newest(folder) if folder.exists() else None
    arguments = [str(folder), mode, str(resume or ""), str(limit)]
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_until_it_ends(folder: Path, mode: str, chance: random.Random, most: int) -> int:
    """Start it again and again, kill it at random moments, and then let it come to its end."""
    kills = 0
    while True:
        with start(folder, mode) as child:
            assert child.stdout is not None
            assert child.stderr is not None
            assert child.stdout.readline() == "begin\n"
            if kills < most:
                time.sleep(chance.uniform(0, 0.12))
                child.kill()
                kills += 1
            ended = "end" in child.stdout.read().splitlines()
            errors = child.stderr.read()
        assert errors == ""
        found = list(folder.glob("net-*.ckpt"))
        assert len(found) <= 3
        for path in found:
            load_checkpoint(path)
        if ended:
            return kills


@pytest.fixture(scope="module", params=["at once", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    """How files are written."""
    return str(request.param)


@pytest.fixture(scope="module")
def uninterrupted(mode: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    with start(folder, mode) as child:
        out, errors = child.communicate()
    assert (out.splitlines()[-1], errors) == ("end", "")
    return files_in(folder)


def test_killed_at_random_moments(
    tmp_path: Path, mode: str, uninterrupted: dict[str, bytes]
) -> None:
    kill_until_it_ends(tmp_path, mode, random.Random(mode), 3)
    assert files_in(tmp_path) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_many_random_moments(
    tmp_path: Path, mode: str, seed: int, uninterrupted: dict[str, bytes]
) -> None:
    kill_until_it_ends(tmp_path, mode, random.Random(seed), 15)
    assert files_in(tmp_path) == uninterrupted


def test_a_full_disk_is_reported_and_leaves_the_last_file(
    tmp_path: Path, mode: str, uninterrupted: dict[str, bytes]
) -> None:
    with start(tmp_path, mode, limit=5) as child:
        out, errors = child.communicate()
    assert "end" not in out.splitlines()
    assert "OSError" in errors
    # In the background, the file of step 4 may not have been written to its end.
    last = "net-1_5.ckpt" if mode == "at once" else r"net-1_[45].ckpt"
    assert re.search(rf"\(nothing was changed\) while writing: '{tmp_path}/{last}'", errors)
    if mode == "at once":
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names == ["net-1_3.ckpt", "net-1_4.ckpt", "net-graph.meta"]
    # With room again, it goes on as if nothing had happened.
    kill_until_it_ends(tmp_path, mode, random.Random(0), 0)
    assert files_in(tmp_path) == uninterrupted
