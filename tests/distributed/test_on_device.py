"""Device arrays as MPI buffers, in two processes.

The strict backend replaces the GPU. mpi4py finds its arrays by `__cuda_array_interface__`,
and CuPy's by that or by `__dlpack__`. Its memory is the host's, so that any MPI can read it: what
is tested is everything except the GPU and MPI's access to it.
"""

import json
from pathlib import Path

import pytest

from tests.distributed.mpi_launcher import HERE, launch, needs_mpi


@needs_mpi
@pytest.mark.full
def test_device_training_with_mpi_is_bitwise_the_cpus(tmp_path: Path) -> None:
    worker = HERE / "mpi_worker.py"
    done = launch(2, worker, tmp_path, "train_on_device", folder=tmp_path, MINISPORE_MPI_CUDA="1")
    assert done.returncode == 0, done.stdout + done.stderr
    for i, rows in enumerate([[0, 2, 0, 2], [3, 1, 3, 1]]):
        is_set, is_queried, *results = json.loads(
            (tmp_path / f"train_on_device-{i}.json").read_text("utf-8")
        )
        assert is_set is True
        assert is_queried in {True, False}  # it depends on the MPI
        cpu, over_host, direct = results
        assert cpu["bits"] == over_host["bits"] == direct["bits"]
        assert set(cpu["devices"]) == {"CPU"}
        for result in (over_host, direct):
            assert result["devices"] == ["CPU", *["GPU:0"] * (len(cpu["devices"]) - 1)]
        assert cpu["counts"] == [[0, 0, 0]] * 5
        # At the beginning four parameters and their moments are broadcast. In a step MPI gets one
        # buffer, and nothing is copied but the loss of a process without rows.
        first, *steps = direct["counts"]
        assert first == [0, 0, 8]
        assert steps == [[int(not count), 0, 1] for count in rows]
        for to_device, to_host, to_mpi in over_host["counts"]:
            assert min(to_device, to_host) > 0
            assert to_mpi == 0
