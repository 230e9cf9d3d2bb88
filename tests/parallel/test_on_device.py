"""A device's arrays as MPI's buffers, in two processes.

The guarded device stands in for the card. mpi4py finds its arrays by `__cuda_array_interface__`,
and CuPy's by that or by `__dlpack__`. Its memory is the host's, so that any MPI can read it: what
is tested is all but the card and the MPI's way to it.
"""

import json
from pathlib import Path

from tests.parallel.launching import HERE, launch, needs_mpi


@needs_mpi
def test_both_ways_of_a_device_train_the_cpu_s_bits(tmp_path: Path) -> None:
    scenes = HERE / "scenes.py"
    done = launch(2, scenes, tmp_path, "device", folder=tmp_path, MINISPORE_MPI_CUDA="1")
    assert done.returncode == 0, done.stdout + done.stderr
    for i, rows in enumerate([[0, 2, 0, 2], [3, 1, 3, 1]]):
        told, asked, *ways = json.loads((tmp_path / f"device-{i}.json").read_text("utf-8"))
        assert told is True
        assert asked in {True, False}  # by the MPI that is there
        cpu, over_host, direct = ways
        assert cpu["bits"] == over_host["bits"] == direct["bits"]
        assert set(cpu["devices"]) == {"CPU"}
        for way in (over_host, direct):
            assert way["devices"] == ["CPU", *["GPU:0"] * (len(cpu["devices"]) - 1)]
        assert cpu["counts"] == [[0, 0, 0]] * 5
        # At the beginning four parameters and their moments go to all. In a step MPI gets one
        # buffer, and nothing is copied but the loss of a process without rows.
        begun, *steps = direct["counts"]
        assert begun == [0, 0, 8]
        assert steps == [[int(not count), 0, 1] for count in rows]
        for to_device, to_host, to_mpi in over_host["counts"]:
            assert min(to_device, to_host) > 0
            assert to_mpi == 0
