"""The time of a training step over the batch size: `python -m benchmarks.batch_sizes` plots it.

Each system makes the steps of the tutorial's network, with one and with two threads of BLAS.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
        # The environment is set before numpy is loaded.
        program = (
            f"from benchmarks._machine import prepare; prepare({threads}); "
            f"import benchmarks.batch_sizes as b; b.print_seconds({threads})"
        )
        done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE)
        results[threads] = json.loads(done.stdout)
        for name, seconds in results[threads].items():
            print(f"{threads} threads, {name}:", *(f"{1000 * t:.3g}" for t in seconds), "ms")
    _draw(results, PICTURE)


def print_seconds(threads: int) -> None:
    """Print the median seconds of a step for each system and batch size, as JSON."""
    seconds: dict[str, list[float]] = {}
    for batch in BATCHES:
        ours = training_step(network(WIDTHS), WIDTHS[:1], batch)
        runs = {"minispore": ours, "minispore, graph mode": ours}
        runs |= others(WIDTHS, batch, threads)
        times: dict[str, list[float]] = {name: [] for name in runs}
        count = max(3, 256 // batch)
        for _ in range(REPEATS):
            for name, run in runs.items():
                ms.set_context(mode=ms.GRAPH_MODE if "graph" in name else ms.PYNATIVE_MODE)
                run()
                start = perf_counter()
                for _ in range(count):
                    run()
                times[name].append((perf_counter() - start) / count)
        for name, taken in times.items():
            seconds.setdefault(name, []).append(median(taken[1:]))
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
