"""The time of a training step on a GPU, which is printed (`pytest -rP`)."""

from collections.abc import Callable
from importlib import import_module
from statistics import median
from time import perf_counter

import numpy as np
import pytest

from minispore import Tensor, nn, set_context

pytestmark = [pytest.mark.gpu, pytest.mark.slow]
TURNS = 21


def a_step(width: int, batch: int, inputs: int = 784, classes: int = 10) -> Callable[[], object]:
    """One training step of two hidden layers on the current device."""
    net = nn.SequentialCell(
        nn.Dense(inputs, width), nn.ReLU(), nn.Dense(width, width), nn.ReLU(),
        nn.Dense(width, classes),
    )  # fmt: skip
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params(), 0.01)
    )
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(batch, inputs)).astype(np.float32))
    y = Tensor(rng.integers(0, classes, batch).astype(np.int32))
    return lambda: step(x, y)


def torchs_step(
    width: int, batch: int, inputs: int = 784, classes: int = 10
) -> Callable[[], object]:
    """The same step in PyTorch's eager mode."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device")
    net = torch.nn.Sequential(
        torch.nn.Linear(inputs, width), torch.nn.ReLU(),
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, classes),
    ).cuda()  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.randn(batch, inputs, device="cuda")
    y = torch.randint(0, classes, (batch,), device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def seconds(step: Callable[[], object], wait: Callable[[], object], steps: int) -> float:
    """Return the median time of a step; the device is synchronized after several steps."""
    step()
    times: list[float] = []
    for _ in range(TURNS):
        wait()
        start = perf_counter()
        for _ in range(steps):
            step()
        wait()
        times.append((perf_counter() - start) / steps)
    return median(times)


def on_card(step: Callable[[], object], steps: int) -> float:
    cupy = import_module("cupy")
    return seconds(step, cupy.cuda.Device().synchronize, steps)


def test_wide_step_is_faster_than_on_the_cpu(card: str) -> None:
    there = on_card(a_step(4096, 512), 5)
    set_context(device_target="CPU")
    step = a_step(4096, 512)
    start = perf_counter()
    step()
    here = perf_counter() - start
    print(f"{card}: a step 4096 wide takes {there * 1e3:.3f} ms, on the CPU {here * 1e3:.1f} ms")
    assert there < here / 4


@pytest.mark.parametrize(("width", "batch"), [(512, 32), (4096, 512)])
def test_step_time_compared_with_pytorch(card: str, width: int, batch: int) -> None:
    torch = pytest.importorskip("torch")
    theirs = torchs_step(width, batch)
    mine = on_card(a_step(width, batch), 20)
    other = seconds(theirs, torch.cuda.synchronize, 20)
    print(
        f"{card}: a step {width} wide, of {batch} samples, takes {mine * 1e6:.0f} µs, "
        f"in PyTorch {other * 1e6:.0f} µs: {mine / other:.2f} times as long"
    )
    # No target yet: kernels are not fused.
    assert mine < 20 * other
