"""What it costs to train together: `mpiexec -n 2 python -m benchmarks.parallel`.

The time of a step, alone and together, and of the gradients' way beside MPI's own sum of as many
bytes. With `--draw` it also draws for the docs how the step would grow with the processes: that is
a model with constants measured here, and no measurement.
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
from minispore._array import Array
from minispore.communication import _exchange
from minispore.communication._world import the_world

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "parallel.svg"
TURNS = 60
BATCH = 32
KIB, MIB = 2**10, 2**20
BUFFERS = (64 * KIB, 256 * KIB, MIB, 4 * MIB, 1024 * MIB)
# Widths of dense layers: of LeNet's size, the tutorial's, many small arrays, and few large ones.
NETWORKS = {
    "LeNet's size": (784, 78, 10),
    "the tutorial's": (784, 512, 512, 10),
    "100 layers of 64": (64,) * 101,
    "4 layers of 1024": (1024,) * 5,
}
# A network between machines: seconds for a message, and for a byte. Assumed, not measured.
ASSUMED = (10e-6, 8 / 25e9)


@dataclass(frozen=True)
class Figures:
    """What was measured of one network; seconds.

    Attributes:
        name: Which network.
        size: The bytes of its gradients.
        alone: A step of a process that has no others to wait for.
        together: A step of all processes.
        ours: The gradients' way: into the buffers, through MPI, and apart again.
        theirs: MPI's own sum of one array of as many bytes.
        buffers: The gradients' way with each of `BUFFERS`.
    """

    name: str
    size: int
    alone: float
    together: float
    ours: float
    theirs: float
    buffers: Sequence[float]


def main() -> None:
    """Measure in all processes, and print in the first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parallel", description=__doc__)
    parser.add_argument("--draw", action="store_true", help=f"draw {PICTURE.name}")
    options = parser.parse_args()
    communication.init()
    figures = [_measure(name, widths) for name, widths in NETWORKS.items()]
    number = np.ones(1)
    (message,) = _in_turns([lambda: _mpi_sum(number)])
    if communication.get_rank():
        return
    print(_table(figures))
    print(f"\nMPI's sum of one number: {message * 1e6:.1f} µs.")
    if options.draw:
        # Two processes pass each byte once, and one message each way.
        _draw(figures, (message / 2, figures[1].theirs / figures[1].size))


def _measure(name: str, widths: Sequence[int]) -> Figures:
    alone = _step(widths)
    set_auto_parallel_context(parallel_mode=ParallelMode.DATA_PARALLEL, gradients_mean=True)
    together = _step(widths)
    set_auto_parallel_context(parallel_mode=ParallelMode.STAND_ALONE)
    shapes = [shape for m, n in pairwise(widths) for shape in ((n, m), (n,))]
    gradients = [cast("Array", np.ones(shape, np.float32)) for shape in shapes]
    flat = np.ones(sum(prod(shape) for shape in shapes), np.float32)

    def way(buffer: int) -> Callable[[], object]:
        return lambda: _exchange.sums(gradients, buffer=buffer)

    runs = [alone, together, lambda: _exchange.sums(gradients), lambda: _mpi_sum(flat)]
    one, all_, ours, theirs, *buffers = _in_turns([*runs, *map(way, BUFFERS)])
    return Figures(name, flat.nbytes, one, all_, ours, theirs, buffers)


def _step(widths: Sequence[int]) -> Callable[[], object]:
    """A training step of dense layers."""
    network = nn.SequentialCell([nn.Dense(m, n) for m, n in pairwise(widths)])
    random = np.random.default_rng(0)
    x = Tensor(random.standard_normal((BATCH, widths[0])).astype(np.float32))
    y = Tensor(random.standard_normal((BATCH, widths[-1])).astype(np.float32))
    optimizer = nn.SGD(network.trainable_params(), 1e-6)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    return lambda: step(x, y)


def _mpi_sum(array: "np.ndarray[tuple[int], np.dtype[np.generic]]") -> None:
    world = the_world("benchmarks.parallel")
    world.everyone.Allreduce(world.mpi.IN_PLACE, array, world.mpi.SUM)


def _in_turns(runs: Sequence[Callable[[], object]]) -> list[float]:
    """The fastest of each over the turns, which all processes begin at the same moment.

    Processes that wait for one another are as slow as the one that the machine disturbs most, so
    that a median says more of the machine.
    """
    everyone = the_world("benchmarks.parallel").everyone
    times: list[list[float]] = [[] for _ in runs]
    for turn in range(TURNS + 2):
        for run, taken in zip(runs, times, strict=True):
            everyone.Barrier()
            start = perf_counter()
            run()
            if turn >= 2:
                taken.append(perf_counter() - start)
    return [min(taken) for taken in times]


def _table(figures: Sequence[Figures]) -> str:
    count = communication.get_group_size()
    heads = ["network", "gradients", "a step alone", f"of {count} together"]
    heads += ["the gradients' way", "MPI's own"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for each in figures:
        times = (each.alone, each.together, each.ours, each.theirs)
        lines.append(
            f"| {each.name} | {each.size / MIB:.2f} MiB | "
            f"{' | '.join(f'{time * 1e3:.2f} ms' for time in times)} |"
        )
    names = [f"{size // KIB} KiB" for size in BUFFERS[:-1]] + ["all at once"]
    lines += ["", f"| gradients' way in buffers of | {' | '.join(names)} |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for each in figures:
        told = " | ".join(f"{time * 1e3:.2f} ms" for time in each.buffers)
        lines.append(f"| {each.name} | {told} |")
    return "\n".join(lines)


def modelled(processes: int, step: float, size: int, constants: tuple[float, float]) -> float:
    """Seconds of a step of so many processes, by the model.

    A sum over k processes passes 2 log₂ k messages one after the other, and 2 (k − 1) / k of the
    bytes through each process: that is Rabenseifner's algorithm, which MPIs use for long arrays.

    Args:
        processes: How many there are.
        step: The seconds of a step alone.
        size: The bytes of the gradients.
        constants: The seconds of a message, and of a byte.
    """
    message, byte = constants
    passed = 2 * (processes - 1) / processes * size
    return step + 2 * log2(processes) * message + passed * byte


def _draw(figures: Sequence[Figures], measured: tuple[float, float]) -> None:
    # The same figures give the same file.
    import_module("matplotlib").rcParams["svg.hashsalt"] = "minispore"
    figure = import_module("matplotlib.figure").Figure(figsize=(9, 3.6), layout="constrained")
    figure.suptitle("A model, not a measurement: share of a step that is the process's own work")
    counts = [2**i for i in range(11)]
    titles = ("processes of one machine (measured)", "machines, 10 µs and 25 Gbit/s (assumed)")
    for place, constants in enumerate((measured, ASSUMED)):
        axes = figure.add_subplot(1, 2, place + 1)
        for each in figures:
            shares = [each.alone / modelled(k, each.alone, each.size, constants) for k in counts]
            axes.plot(counts, shares, label=each.name)
        axes.set_xscale("log")
        axes.set_ylim(0, 1.05)
        axes.set_title(f"constants: {titles[place]}", fontsize=9)
        axes.set_xlabel("processes")
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
