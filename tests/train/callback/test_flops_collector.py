"""FlopsUtilizationCollector: exact counts, correct ratios, and removed observers."""

import math
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore import Tensor, grad, nn, ops
from minispore.engine.rules import linalg
from minispore.train import FlopsUtilizationCollector, LambdaCallback, RunContext
from minispore.train.callback import _flops_collector
from minispore.train.callback._flops_collector import matmul_flops, measure_peak_flops
from tests.helpers.stub_models import Rows, make


def counted(network: nn.Cell, rows: int) -> int:
    """Return the operations of a training step on `rows` rows of four numbers."""
    collector = FlopsUtilizationCollector(1, computility=1e9)
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, nn.CrossEntropyLoss()), optimizer)
    x, y = Tensor(np.ones((rows, 4), np.float32)), Tensor(np.zeros(rows, np.int32))
    with collector:
        context = RunContext({})
        collector.on_train_begin(context)
        collector.on_train_step_begin(context)
        step(x, y)
        collector.on_train_step_end(context)
    return collector.flops


@given(st.lists(st.integers(1, 20), min_size=1, max_size=3), st.integers(1, 32))
@example([20], 32)
@example([20, 5], 32)  # MindSpore 2.10 counts the same
def test_layer_flops_exclude_gradient_of_data(widths: list[int], rows: int) -> None:
    sizes = [*pairwise([4, *widths])]
    network = nn.SequentialCell(*[nn.Dense(*size) for size in sizes], nn.ReLU())
    products = [2 * rows * inputs * outputs for inputs, outputs in sizes]
    assert counted(network, rows) == 3 * sum(products) - products[0]


def test_higher_order_products_are_counted_once() -> None:
    observed: list[int] = []
    collector = FlopsUtilizationCollector(1, computility=1e9)
    x = Tensor(np.eye(3, dtype=np.float32))

    def cube(x: Tensor) -> Tensor:
        return ops.matmul(ops.matmul(x, x), x).sum()

    def derivative(x: Tensor) -> Tensor:
        return grad(cube)(x).sum()

    functions: list[Callable[[Tensor], object]] = [cube, grad(cube), grad(derivative)]
    for function in functions:
        collector.on_train_step_begin(RunContext({}))
        function(x)
        collector.on_train_step_end(RunContext({}))
        observed.append(collector.flops // matmul_flops((3, 3), (3, 3)))
    # Two products, each with two in its backward pass.
    assert observed[:2] == [2, 6]
    real: list[int] = []
    linalg.gemm_observers.append(lambda x, y: real.append(1) if isinstance(x, np.ndarray) else None)
    try:
        grad(derivative)(x)
    finally:
        linalg.gemm_observers.clear()
    assert observed[2] == len(real)


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([0.25, 0.5, 2.0]),
            st.integers(0, 3),
            st.sampled_from(["", "epoch", "resumed"]),
        ),
        max_size=8,
    ),
    every=st.integers(1, 4),
    full=st.booleans(),
)
@example([(0.5, 2, "")] * 4 + [(0.25, 1, "resumed"), (0.5, 1, "epoch")], 2, True)
def test_line_gives_mean_time_and_utilization_of_measured_steps(
    steps: list[tuple[float, int, str]], every: int, full: bool
) -> None:
    """Also after a resumption, whose clock is that of another process."""
    clock, context = [3.0], RunContext({})
    x = Tensor(np.ones((2, 3), np.float32))
    expected: list[str] = []

    def make() -> FlopsUtilizationCollector:
        made = FlopsUtilizationCollector(every, 1000, full)
        assert made.flops == 0
        made.on_train_begin(context)
        made.on_train_epoch_begin(context)
        return made

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as screen:
        patch.setattr(_flops_collector, "perf_counter", lambda: clock[0])
        collector = make()
        since = measured = total = 0
        elapsed = 0.0
        for number, (seconds, products, before) in enumerate(steps):
            if before == "epoch":  # the time between epochs does not count
                clock[0] += 1000.0
                collector.on_train_epoch_begin(context)
            if before == "resumed":
                state = collector.state_dict()
                clock[0] += 100.0
                collector = make()
                clock[0] += 10.0
                collector.load_state_dict(state)
                assert collector.state_dict() == state
                measured = total = 0
                elapsed = 0.0
            collector.on_train_step_begin(context)
            for _ in range(products):
                ops.matmul(x, ops.transpose(x, (1, 0)))
            clock[0] += seconds
            collector.on_train_step_end(context)
            assert collector.flops == 24 * products  # 2 * 2 * 2 * 3 for each
            since, measured, total = since + 1, measured + 1, total + 24 * products
            elapsed += seconds
            if number == 0:
                names = [f"{a} {b}" for a in ("Full", "Shard") for b in ("model", "hardware")]
                counts = [f"{n} flops is {24.0 * products}" for n in names[0 if full else 2 :]]
                expected.append(", ".join(counts) + ".")
            if since >= every:
                share = f"{total / elapsed / 1000:.2%}"
                mean = f"{1e3 * elapsed / measured:.3f}"
                expected.append(f"Train per step time: {mean} ms mfu:{share} hfu:{share}")
                since = measured = total = 0
                elapsed = 0.0
        collector.__exit__(None, None, None)
    assert screen.getvalue().splitlines() == expected


@given(hnp.mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", max_dims=3, max_side=4))
def test_matmul_flops_are_twice_the_multiplications(
    shapes: hnp.BroadcastableShapes,
) -> None:
    x, y = shapes.input_shapes
    product = np.matmul(np.ones(x), np.ones(y))
    assert matmul_flops(x, y) == 2 * product.size * x[-1] == 2 * product.sum()


def test_default_computility_is_measured() -> None:
    collector = FlopsUtilizationCollector(9)
    make().train(1, Rows(4), collector)
    assert collector.computility > 1e6
    assert measure_peak_flops(64, 0.0) > 1e6
    for peak in (0.5, 1.5):
        collector = FlopsUtilizationCollector(9, computility=peak)
        make().train(1, Rows(4), collector)
        assert collector.computility == peak


def test_measuring_peak_on_gpu_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_flops_collector, "device_target", lambda: "GPU")
    with pytest.raises(ValueError, match="'computility' to the peak of the device"):
        make().train(1, Rows(4), FlopsUtilizationCollector(9))
    make().train(1, Rows(4), FlopsUtilizationCollector(9, 1e12))


def test_observer_is_removed_after_training() -> None:
    collector = FlopsUtilizationCollector(1, 1e9)
    make().train(2, Rows(), collector)
    assert linalg.gemm_observers == []
    boom = LambdaCallback(on_train_step_begin=lambda context: context.no_such_attribute)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        make().train(2, Rows(), [collector, boom])
    assert linalg.gemm_observers == []


class Machine:
    """Matrix products with given durations, of which the last repeats, and their clock."""

    def __init__(self, times: list[float]) -> None:
        self.times = times
        self.now = 1000.0
        self.made: list[tuple[tuple[int, ...], np.dtype[np.generic]]] = []

    def matmul(self, x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
        self.now += self.times[min(len(self.made), len(self.times) - 1)]
        assert x.shape == y.shape
        self.made.append((x.shape, x.dtype))


# Binary fractions, so that sums of times are exact.
durations = st.lists(st.sampled_from([2.0**-n for n in range(3, 9)]), min_size=1, max_size=8)


@given(durations, st.sampled_from([8, 512]), st.sampled_from([0.0, 0.25, 1.0]))
def test_peak_is_that_of_fastest_product(times: list[float], size: int, seconds: float) -> None:
    machine = Machine(times)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        peak = measure_peak_flops(size, seconds)
    assert set(machine.made) == {((size, size), np.dtype(np.float32))}
    taken = [times[min(i, len(times) - 1)] for i in range(len(machine.made))]
    assert peak == matmul_flops((size, size), (size, size)) / min(taken)
    # At least one product, and none begins after the time limit.
    assert len(taken) == 1 or math.fsum(taken[:-1]) < seconds
    assert math.fsum(taken) >= seconds


def test_peak_measurement_defaults() -> None:
    machine = Machine([0.03125])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_flops_collector, "perf_counter", lambda: machine.now)
        patch.setattr(np, "matmul", machine.matmul)
        assert measure_peak_flops() == 2 * 512**3 * 32
    assert len(machine.made) == 4
