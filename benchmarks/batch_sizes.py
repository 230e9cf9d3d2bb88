"""The time of a training step over the batch size: `python -m benchmarks.batch_sizes` plots it.

Each system makes the steps of the tutorial's network, with one and with two threads of BLAS.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import minispore as ms
from benchmarks._figures import svg_figure
from benchmarks.graph_mode import network, others, training_step

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "batch-sizes.svg"
WIDTHS = (784, 512, 512, 10)
BATCHES = tuple(4**i for i in range(6))
REPEATS = 9


def main() -> None:
    """Measure, print, and plot."""
    results = dict[int, dict[str, list[float]]]()
    for threads in (1, 2):
        names = json.loads(_in_process(threads, "names"))
        results[threads] = {name: [] for name in names}
        # Each has its own process: waiting threads of a library would slow the others.
        for name in names:
            seconds = json.loads(_in_process(threads, "seconds", name))
            results[threads][name] = seconds
            print(f"{threads} threads, {name}:", *(f"{1000 * t:.3g}" for t in seconds), "ms")
    _draw(results, PICTURE)


def _in_process(threads: int, function: str, *arguments: str) -> str:
    """Return what a function prints in a process with so many threads."""
    program = (
        f"from benchmarks._machine import prepare; prepare({threads}); "
        f"import benchmarks.batch_sizes as b; b.print_{function}({threads}, *{arguments})"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
    return done.stdout.decode()


def _steps(batch: int, threads: int) -> dict[str, Callable[[], object]]:
    ours = training_step(network(WIDTHS), WIDTHS[:1], batch)
    return {"minispore": ours, "minispore, graph mode": ours} | others(WIDTHS, batch, threads)


def print_names(threads: int) -> None:
    """Print the names of the systems, as JSON."""
    print(json.dumps([*_steps(1, threads)]))


def print_seconds(threads: int, name: str) -> None:
    """Print the median seconds of a step of a system for each batch size, as JSON."""
    ms.set_context(mode=ms.GRAPH_MODE if "graph" in name else ms.PYNATIVE_MODE)
    seconds: list[float] = []
    for batch in BATCHES:
        run = _steps(batch, threads)[name]
        count = max(3, 256 // batch)
        times: list[float] = []
        for _ in range(REPEATS):
            start = perf_counter()
            for _ in range(count):
                run()
            times.append((perf_counter() - start) / count)
        seconds.append(median(times[1:]))
    print(json.dumps(seconds))


def _draw(results: Mapping[int, Mapping[str, Sequence[float]]], path: Path) -> None:
    with svg_figure(path, 9, 4.5) as figure:
        for place, (threads, seconds) in enumerate(results.items(), start=1):
            axes = figure.add_subplot(1, 2, place)
            for name, values in seconds.items():
                axes.plot(BATCHES, [1000 * t for t in values], "o-", label=name, markersize=4)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xlabel("batch size")
            axes.set_ylabel("ms for a step of 784-512-512-10")
            axes.set_title(f"{threads} thread{'s' * (threads > 1)} of BLAS", fontsize=10)
            axes.grid(alpha=0.3)
            axes.legend(fontsize=8)


if __name__ == "__main__":
    main()
