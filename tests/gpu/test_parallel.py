"""Gradients of two processes on GPUs, or on one GPU, by CUDA-aware MPI and by the host."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.distributed.mpi_launcher import HERE, launch, needs_mpi

pytestmark = [pytest.mark.gpu, needs_mpi]


def test_host_and_cuda_aware_mpi_train_the_same(card: str, tmp_path: Path) -> None:
    done = launch(2, HERE / "mpi_worker.py", tmp_path, "train_on_gpu", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = [json.loads((tmp_path / f"train_on_gpu-{i}.json").read_text("utf-8")) for i in range(2)]
    if not seen[0]:
        pytest.skip("this MPI says that it does not take a card's arrays")
    for over_host, direct in seen:
        assert direct["devices"] == over_host["devices"]
        for mine, theirs in zip(direct["bits"], over_host["bits"], strict=True):
            np.testing.assert_allclose(values(mine), values(theirs), rtol=1e-5, atol=1e-7)


def values(bits: list[Any]) -> npt.NDArray[np.float64]:
    kind, shape, text = bits
    return np.frombuffer(bytes.fromhex(text), kind).reshape(shape).astype(np.float64)
