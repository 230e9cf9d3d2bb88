"""The growth of time and memory with the work: `python -m benchmarks.scaling` plots it.

Twice the work should take at most twice the time, and a longer pass should not need more memory.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from benchmarks import _other_frameworks
from benchmarks._figures import svg_figure
from benchmarks.graph_mode import dense
from benchmarks.tutorial import IdleCallback, RepeatedBatch
from minispore import Tensor, nn
from minispore.train import Model

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "scaling.svg"
REPEATS = 7

_PASS = """
import time
from minispore.dataset import GeneratorDataset
import numpy as np

row = np.ones(64, np.float32)

def rows():
    for _ in range({count}):
        yield row, 1

data = GeneratorDataset(rows, ["x", "y"]).batch(100)
start = time.perf_counter()
for _ in data.create_tuple_iterator(num_epochs=1):
    pass
seconds = time.perf_counter() - start
print(seconds, peak() / 2**20)
"""


@dataclass(frozen=True)
class Panel:
    """One plot.

    Attributes:
        title: The measured work.
        axis: The quantity that grows.
        sizes: Its values.
        results: The measurement for each value.
        unit: The unit of the measurements.
    """

    title: str
    axis: str
    sizes: Sequence[int]
    results: Sequence[float]
    unit: str = "s"


def main() -> None:
    """Measure, print, and plot."""
    panels = list(_panels())
    for panel in panels:
        print(panel.title)
        for size, result in zip(panel.sizes, panel.results, strict=True):
            print(f"  {size:>10,}  {result:.4g} {panel.unit}")
    _draw(panels, PICTURE)


def _panels() -> Iterable[Panel]:
    batches = [4**i for i in range(7)]
    yield Panel(
        "a training step", "batch size", batches, [_step([784, 512, 10], n) for n in batches]
    )
    widths = [4**i for i in range(2, 7)]
    yield Panel(
        "a training step", "width of two layers", widths, [_step([n, n, n], 64) for n in widths]
    )
    depths = [1, 10, 100, 1000]
    yield Panel("a training step", "layers", depths, [_step([16] * (n + 1), 16) for n in depths])
    counts = [0, 1, 10, 100, 1000]
    yield Panel("a step of the loop", "callbacks", counts, [_loop(n) for n in counts])
    samples = [10**i for i in range(3, 8)]
    passes = [
        _other_frameworks.run_python(_other_frameworks.PEAK + _PASS.format(count=n))
        for n in samples
    ]
    yield Panel("a pass over a generator", "samples", samples, [seconds for seconds, _ in passes])
    peaks = [peak for _, peak in passes]
    yield Panel("memory of the pass", "samples", samples, peaks, "MiB")


def _step(widths: list[int], batch: int) -> float:
    """Return the seconds of a training step of dense layers."""
    network = nn.SequentialCell([*dense(widths, nn.Dense, nn.ReLU), nn.ReLU()])
    random = np.random.default_rng(0)
    x = Tensor(random.standard_normal((batch, widths[0])).astype(np.float32))
    y = Tensor(random.standard_normal((batch, widths[-1])).astype(np.float32))
    optimizer = nn.SGD(network.trainable_params(), 1e-3)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss()), optimizer)
    return _median_time(lambda: step(x, y))


def _loop(callbacks: int) -> float:
    """Return the seconds of a step of a tiny network with a number of callbacks."""
    network = nn.Dense(1, 1)
    optimizer = nn.SGD(network.trainable_params(), 1e-3)
    model = Model(network, nn.MSELoss(), optimizer)
    data = RepeatedBatch([Tensor([[1.0]]), Tensor([[1.0]])], 100)
    idle = [IdleCallback() for _ in range(callbacks)]
    return _median_time(lambda: model.train(1, data, callbacks=idle)) / 100


def _median_time(run: Callable[[], object]) -> float:
    run()
    times: list[float] = []
    for _ in range(REPEATS):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return median(times)


def _draw(panels: Sequence[Panel], path: Path) -> None:
    with svg_figure(path, 9, 5.5) as figure:
        for place, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(2, 3, place)
            axes.plot(panel.sizes, panel.results, "o-", color="#00897b")
            axes.set_xscale("symlog" if 0 in panel.sizes else "log")
            axes.set_title(panel.title, fontsize=10)
            axes.set_xlabel(panel.axis)
            axes.set_ylabel(panel.unit)
            if panel.unit == "s":
                axes.set_yscale("log")
            else:
                axes.set_ylim(0, 2 * max(panel.results))
            axes.grid(alpha=0.3)


if __name__ == "__main__":
    main()
