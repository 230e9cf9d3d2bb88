"""The cost of data-parallel training: `mpiexec -n 2 python -m benchmarks.parallel`.

It measures a step of one process and of all processes, and the all-reduce of the gradients compared
with MPI's sum of as many bytes. With `--draw` it also plots, for the documentation, a model of the
time of a step with more processes; the constants of the model are measured here.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import log2, prod
from pathlib import Path
from time import perf_counter
from typing import cast

import numpy as np

from minispore import ParallelMode, Tensor, communication, nn, set_auto_parallel_context
from minispore.communication import _collectives
from minispore.communication._world import require_world
from minispore.engine.array import Array

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "parallel.svg"
TURNS = 60
BATCH = 32
KIB, MIB = 2**10, 2**20
BUFFERS = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 1024 * MIB)
# Widths of dense layers: LeNet's size, the tutorial's, many small arrays, a few large ones.
NETWORKS = {
    "LeNet's size": (784, 78, 10),
    "the tutorial's": (784, 512, 512, 10),
    "100 layers of 64": (64,) * 101,
    "4 layers of 1024": (1024,) * 5,
}
# Of a network between machines: seconds for a message, and for a byte. Assumed, not measured.
ASSUMED = (10e-6, 8 / 25e9)


@dataclass(frozen=True)
class Measurement:
    """The measurements of one network, in seconds.

    Attributes:
        name: The network.
        size: The bytes of its gradients.
        alone: A step of one process that waits for no other.
        together: A step of all processes.
        ours: The all-reduce of the gradients, including the copies to and from the buffers.
        theirs: MPI's sum of one array of as many bytes.
        buffers: The all-reduce with each size of `BUFFERS`.
    """

    name: str
    size: int
    alone: float
    together: float
    ours: float
    theirs: float
    buffers: Sequence[float]


def main() -> None:
    """Measure in all processes, and print in the first one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("--draw", action="store_true", help=f"plot {PICTURE.name}")
    options = parser.parse_args()
    communication.init()
    measurements = [_measure(name, widths) for name, widths in NETWORKS.items()]
    number = np.ones(1)
    (message,) = _in_turns([lambda: _mpi_sum(number)])
    if communication.get_rank():
        return
    print(_table(measurements))
    print(f"\nMPI's sum of one number: {message * 1e6:.1f} µs.")
    if options.draw:
        # Two processes send each byte once, and one message in each direction.
        _draw(measurements, (message / 2, measurements[1].theirs / measurements[1].size))


def _measure(name: str, widths: Sequence[int]) -> Measurement:
    alone = _step(widths)
    set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
    together = _step(widths)
    set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE)
    shapes = [shape for m, n in pairwise(widths) for shape in ((n, m), (n,))]
    gradients = [cast("Array", np.ones(shape, np.float32)) for shape in shapes]
    flat = np.ones(sum(prod(shape) for shape in shapes), np.float32)

    def reduce_with(buffer: int) -> Callable[[], object]:
        return lambda: _collectives.all_reduce_sum(gradients, bucket_bytes=buffer)

    runs = [alone, together, lambda: _collectives.all_reduce_sum(gradients), lambda: _mpi_sum(flat)]
    one, all_, ours, theirs, *buffers = _in_turns([*runs, *map(reduce_with, BUFFERS)])
    return Measurement(name, flat.nbytes, one, all_, ours, theirs, buffers)


def _step(widths: Sequence[int]) -> Callable[[], object]:
    """Return a training step of dense layers."""
    network = nn.SequentialCell([nn.Dense(m, n) for m, n in pairwise(widths)])
    random = np.random.default_rng(0)
    x = Tensor(random.standard_normal((BATCH, widths[0])).astype(np.float32))
    y = Tensor(random.standard_normal((BATCH, widths[-1])).astype(np.float32))
    optimizer = nn.SGD(network.trainable_params(), 1e-6)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    return lambda: step(x, y)


def _mpi_sum(array: "np.ndarray[tuple[int], np.dtype[np.generic]]") -> None:
    world = require_world()
    world.comm.Allreduce(world.mpi.IN_PLACE, array, world.mpi.SUM)


def _in_turns(runs: Sequence[Callable[[], object]]) -> list[float]:
    """Return the smallest time of each function over the turns; all processes start together.

    Processes that wait for each other are as slow as the slowest one, which other programs on the
    machine delay, so the median would depend on these programs.
    """
    comm = require_world().comm
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(TURNS + 2):
        for run, seconds in zip(runs, times, strict=True):
            comm.Barrier()
            start = perf_counter()
            run()
            if turn >= 2:
                seconds.append(perf_counter() - start)
    return [min(seconds) for seconds in times]


def _table(measurements: Sequence[Measurement]) -> str:
    count = communication.get_group_size()
    heads = ["network", "gradients", "step, 1 process", f"step, {count} processes"]
    heads += ["all-reduce", "MPI alone"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for measurement in measurements:
        times = (measurement.alone, measurement.together, measurement.ours, measurement.theirs)
        lines.append(
            f"| {measurement.name} | {measurement.size / MIB:.2f} MiB | "
            f"{' | '.join(f'{time * 1e3:.2f} ms' for time in times)} |"
        )
    names = [f"{size // KIB} KiB" for size in BUFFERS[:-1]] + ["all at once"]
    lines += ["", f"| bucket size | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for measurement in measurements:
        cells = " | ".join(f"{time * 1e3:.2f} ms" for time in measurement.buffers)
        lines.append(f"| {measurement.name} | {cells} |")
    return "\n".join(lines)


def step_model(processes: int, step: float, size: int, constants: tuple[float, float]) -> float:
    """Return the seconds of a step with a number of processes, by the model.

    A sum over k processes sends 2 log₂ k messages one after the other, and 2 (k − 1) / k of the
    bytes through each process. This is Rabenseifner's algorithm, which MPI uses for long arrays.

    Args:
        processes: The number of processes.
        step: The seconds of a step of one process.
        size: The bytes of the gradients.
        constants: The seconds for a message, and for a byte.
    """
    message, byte = constants
    sent = 2 * (processes - 1) / processes * size
    return step + 2 * log2(processes) * message + sent * byte


def _draw(measurements: Sequence[Measurement], measured: tuple[float, float]) -> None:
    # Equal measurements give an equal file.
    import_module("matplotlib").rcParams["svg.hashsalt"] = "minispore"
    figure = import_module("matplotlib.figure").Figure(figsize=(9, 3.6), layout="constrained")
    figure.suptitle("A model, not a measurement: fraction of a step that is computation")
    counts = [2**i for i in range(11)]
    titles = ("processes of one machine (measured)", "machines, 10 µs and 25 Gbit/s (assumed)")
    for place, constants in enumerate((measured, ASSUMED)):
        axes = figure.add_subplot(1, 2, place + 1)
        for case in measurements:
            fractions = [
                case.alone / step_model(k, case.alone, case.size, constants) for k in counts
            ]
            axes.plot(counts, fractions, label=case.name)
        axes.set_xscale("log")
        axes.set_ylim(0, 1.05)
        axes.set_title(f"constants: {titles[place]}", fontsize=9)
        axes.set_xlabel("processes")
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
