"""The time of a convolution over the images: `python -m benchmarks.convolutions` plots it.

A 3 × 3 convolution of images of 32 × 32, forward and backward, with as many channels in its result
as in the images, compared with PyTorch: processor time, one thread.
"""

from pathlib import Path
from types import ModuleType

import minispore as ms
from benchmarks import _other_frameworks
from benchmarks._figures import svg_figure
from benchmarks._machine import prepare

PICTURE = Path(__file__).parent.parent / "docs" / "assets" / "convolutions.svg"
CHANNELS = (8, 16, 32, 64)
IMAGES = (1, 4, 16, 64, 128)
REPEATS = 5


def main() -> None:
    """Measure, print, and plot."""
    prepare()
    torch = _other_frameworks.library("torch")
    if torch is None:
        raise SystemExit("PyTorch is not installed.")
    torch.set_num_threads(1)
    ratios = {c: [_ratio(torch, n, c) for n in IMAGES] for c in CHANNELS}
    for channels, values in ratios.items():
        print(f"{channels} channels:", *(f"{ratio:.2f}" for ratio in values))
    with svg_figure(PICTURE, 5, 3.5) as figure:
        axes = figure.add_subplot()
        for channels, values in ratios.items():
            axes.plot(IMAGES, values, "o-", label=f"{channels} channels", markersize=4)
        axes.axhline(1, color="gray", linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_ylim(0)
        axes.set_xlabel("images")
        axes.set_ylabel("minispore's time / PyTorch's")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)


def _ratio(torch: ModuleType, images: int, channels: int) -> float:
    """Return minispore's time divided by PyTorch's."""
    # They import numpy, after `prepare`.
    import numpy as np

    from benchmarks.graph_mode import cpu_time

    values = np.random.default_rng(0).standard_normal((images, channels, 32, 32), np.float32)
    ones = np.ones_like(values)
    layer = ms.nn.Conv2d(channels, channels, 3)
    gradient = ms.value_and_grad(layer, 0, layer.trainable_params(), sens_param=True)
    x, sens = ms.Tensor(values), ms.Tensor(ones)
    theirs = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
    their_x, their_sens = torch.tensor(values, requires_grad=True), torch.from_numpy(ones)

    def by_torch() -> object:
        return torch.autograd.grad(theirs(their_x), [their_x, *theirs.parameters()], their_sens)

    def ours() -> object:
        return gradient(x, sens)

    runs = cpu_time(ours, 1), cpu_time(by_torch, 1)
    times: list[tuple[float, float]] = [(runs[0](), runs[1]()) for _ in range(REPEATS + 1)][1:]
    return min(t for t, _ in times) / min(t for _, t in times)


if __name__ == "__main__":
    main()
