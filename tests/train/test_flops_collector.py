"""FlopsUtilizationCollector: an exact count, honest shares, and nothing left behind."""

import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, grad, nn, ops
from minispore._rules import linalg
from minispore.train import Callback, FlopsUtilizationCollector, Model, RunContext
from minispore.train.callback import _flops_collector
from minispore.train.callback._flops_collector import flops_of_product, measured_peak

from .standins import Batches, ConstantLoss, Rows, make

shapes = st.lists(st.sampled_from([1, 3]), max_size=3)


@given(shapes, shapes, st.tuples(*[st.integers(0, 4)] * 3))
def test_operations_of_a_product(x: list[int], y: list[int], sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    a, b = np.zeros((*x, m, k)), np.zeros((*y, k, n))
    assert flops_of_product(a.shape, b.shape) == 2 * k * (a @ b).size


def counted(network: nn.Cell, rows: int = 32) -> int:
    """The operations of a training step on `rows` rows of four numbers."""
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


def test_a_layer_costs_its_product_and_two_gradients_but_none_for_the_data() -> None:
    one, two = 2 * 32 * 4 * 20, 2 * 32 * 20 * 5
    assert counted(nn.Dense(4, 20)) == 2 * one
    # MindSpore 2.10 counts the same.
    assert counted(nn.SequentialCell(nn.Dense(4, 20), nn.ReLU(), nn.Dense(20, 5))) == (
        2 * one + 3 * two
    )


def test_a_derivative_of_higher_order_is_counted_once() -> None:
    seen: list[int] = []
    collector = FlopsUtilizationCollector(1, computility=1e9)
    x = Tensor(np.eye(3, dtype=np.float32))

    def cube(x: Tensor) -> Tensor:
        return ops.matmul(ops.matmul(x, x), x).sum()

    def slope(x: Tensor) -> Tensor:
        return grad(cube)(x).sum()

    functions: list[Callable[[Tensor], object]] = [cube, grad(cube), grad(slope)]
    for function in functions:
        collector.on_train_step_begin(RunContext({}))
        function(x)
        collector.on_train_step_end(RunContext({}))
        seen.append(collector.flops // flops_of_product((3, 3), (3, 3)))
    # Two products; and each has two pullbacks.
    assert seen[:2] == [2, 6]
    real: list[int] = []
    linalg.watchers.append(lambda x, y: real.append(1) if isinstance(x, np.ndarray) else None)
    try:
        grad(slope)(x)
    finally:
        linalg.watchers.clear()
    assert seen[2] == len(real)


LINE = re.compile(r"Train per step time: (\d+\.\d{3}) ms mfu:(\d+\.\d\d)% hfu:(\d+\.\d\d)%")


def test_the_lines_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    class Slow(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            time.sleep(0.01)

    model = make({"accuracy"})
    collector = FlopsUtilizationCollector(4, computility=1e5)
    model.fit(4, Rows(10), Rows(10), callbacks=[Slow(), collector])  # batches of 4, 4 and 2
    first, *lines = capsys.readouterr().out.splitlines()
    each = ", ".join(
        f"{a} {b} flops is 192.0" for a in ("Full", "Shard") for b in ("model", "hardware")
    )
    assert first == f"{each}."
    assert len(lines) == 3
    # Two operations, forwards and backwards, 12 weights: that is 48 for each of these rows.
    for line, rows in zip(lines, (4 + 4 + 2 + 4, 4 + 2 + 4 + 4, 2 + 4 + 4 + 2), strict=True):
        match = LINE.fullmatch(line)
        assert match
        seconds = 4 * float(match[1]) / 1e3
        assert seconds >= 0.04
        assert match[2] == match[3]
        share = 100 * 48 * rows / seconds / 1e5
        assert abs(float(match[2]) - share) < 0.05 * share + 0.01


@given(hnp.mutually_broadcastable_shapes(signature="(m,k),(k,n)->(m,n)", max_dims=3, max_side=4))
def test_a_product_is_two_operations_for_each_element_and_each_it_is_summed_over(
    shapes: hnp.BroadcastableShapes,
) -> None:
    x, y = shapes.input_shapes
    product = np.matmul(np.ones(x), np.ones(y))
    assert flops_of_product(x, y) == 2 * product.size * x[-1] == 2 * product.sum()


def test_before_a_training_there_are_none() -> None:
    assert FlopsUtilizationCollector(1).flops == 0


def test_the_time_of_a_step_is_the_mean_since_the_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]

    class Slow(Callback):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            now[0] += run_context.original_args().cur_step_num

    monkeypatch.setattr(_flops_collector, "perf_counter", lambda: now[0])
    make().train(2, Rows(8), [Slow(), FlopsUtilizationCollector(2, 1e5)])
    assert [line.split(" ms ")[0] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "Train per step time: 1500.000",
        "Train per step time: 3500.000",
    ]


def test_only_a_shard(capsys: pytest.CaptureFixture[str]) -> None:
    make().train(1, Rows(4), FlopsUtilizationCollector(9, 1e9, full_flops=False))
    assert capsys.readouterr().out == "Shard model flops is 192.0, Shard hardware flops is 192.0.\n"


def test_without_a_peak_it_is_measured() -> None:
    collector = FlopsUtilizationCollector(9)
    make().train(1, Rows(4), collector)
    assert collector.computility > 1e6
    assert measured_peak(64, 0.0) > 1e6


def test_on_a_device_the_peak_must_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_flops_collector, "device_target", lambda: "GPU")
    with pytest.raises(ValueError, match="'computility' to the peak of the device"):
        make().train(1, Rows(4), FlopsUtilizationCollector(9))
    make().train(1, Rows(4), FlopsUtilizationCollector(9, 1e12))


def test_nobody_watches_when_it_is_over() -> None:
    class Boom(Callback):
        def on_train_step_begin(self, run_context: RunContext) -> None:
            raise KeyError

    collector = FlopsUtilizationCollector(1, 1e9)
    make().train(2, Rows(), collector)
    assert linalg.watchers == []
    with pytest.raises(KeyError):
        make().train(2, Rows(), [collector, Boom()])
    assert linalg.watchers == []


def test_a_run_without_products(capsys: pytest.CaptureFixture[str]) -> None:
    Model(ConstantLoss()).train(1, Batches(2), FlopsUtilizationCollector(2, 1e9))
    assert "mfu:0.00%" in capsys.readouterr().out


def test_lines_come_at_the_same_steps_after_an_interruption(
    capsys: pytest.CaptureFixture[str],
) -> None:
    context = RunContext({})
    collector = FlopsUtilizationCollector(3, 1e9)
    printed: list[int] = []
    for step in range(1, 10):
        other = FlopsUtilizationCollector(3, 1e9)
        other.load_state_dict(collector.state_dict())
        collector = other
        collector.on_train_step_begin(context)
        collector.on_train_step_end(context)
        printed += [step] * len(capsys.readouterr().out.splitlines())
    assert printed == [1, 3, 6, 9]
    with pytest.raises(ValueError, match="'FlopsUtilizationCollector', the state's 'steps'"):
        collector.load_state_dict({**collector.state_dict(), "steps": 1.5})


def test_arguments() -> None:
    refused: list[tuple[type[Exception], str, dict[str, object]]] = [
        (ValueError, "data_size", {"data_size": 0}),
        (TypeError, "data_size", {"data_size": True}),
        (ValueError, "computility", {"computility": 0}),
        (ValueError, "computility", {"computility": -1.5}),
        (TypeError, "computility", {"computility": "1"}),
        (TypeError, "full_flops", {"full_flops": 1}),
        (NotImplementedError, "enable_ma_collector", {"enable_ma_collector": True}),
    ]
    for error, name, options in refused:
        with pytest.raises(error, match=f"'{name}'"):
            FlopsUtilizationCollector(**{"data_size": 1, **options})  # type: ignore[arg-type]
