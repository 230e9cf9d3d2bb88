"""Evaluation in data-parallel processes: sharding, and joining of outputs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, Metric, Model, RunContext, data_parallel
from minispore.train._metric_collection import MetricCollection
from minispore.train.model import current_strategy
from minispore.train.protocol import CallbackManager
from minispore.train.strategy import SingleProcess
from tests.distributed.threaded_communicator import run_in_threads


class RestoreStatistics(Callback):
    """Ends a training with the moving averages of its beginning, in each process its own."""

    def __init__(self, norm: nn.BatchNorm1d) -> None:
        super().__init__()
        self.mean = norm.moving_mean
        self.at_begin = norm.moving_mean.copy()

    def on_train_end(self, run_context: RunContext) -> None:
        self.mean.set_data(self.at_begin)


@given(st.integers(2, 3), st.booleans(), st.integers(0, 99))
@settings(max_examples=10)
def test_evaluation_is_that_of_the_first_process_network(
    processes: int, trains: bool, seed: int
) -> None:
    """Which is saved; the moving averages of the others are of other rows."""
    rng = np.random.default_rng(seed)
    x, y = (rng.standard_normal((4 * processes, n)).astype(np.float32) for n in (2, 1))
    norms = [nn.BatchNorm1d(2) for _ in range(processes)]
    for norm in norms:
        norm.moving_mean.set_data(ms.Tensor(rng.standard_normal(2), ms.float32))
    nets = [nn.SequentialCell(norm, nn.Dense(2, 1, "ones")) for norm in norms]

    def program(rank: int) -> tuple[ms.Tensor | None, dict[str, Any], ms.Tensor]:
        shard = NumpySlicesDataset((x, y), num_shards=processes, shard_id=rank, shuffle=False)
        net, data = nets[rank], shard.batch(2)
        model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), {"mae", "mse"})
        if trains:
            model.train(2, data, RestoreStatistics(norms[rank]) if seed % 2 else None)
        predicted = model.predict(x) if trains else None
        return predicted, model.eval(data), model.predict(x)

    results = run_in_threads(processes, program)
    single = Model(nets[0], nn.MSELoss(), metrics={"mae", "mse"})
    expected = single.predict(x).asnumpy()
    for predicted, evaluated, predicted_later in results:
        assert evaluated == pytest.approx(single.eval(NumpySlicesDataset((x, y)).batch(12)))
        np.testing.assert_array_equal(predicted_later.asnumpy(), expected)
        if predicted is not None:
            np.testing.assert_array_equal(predicted.asnumpy(), expected)


@pytest.mark.parametrize(
    ("other", "error", "text"),
    [
        (nn.Dense(2, 1, "ones", "zeros"), None, ""),
        (
            nn.Dense(2, 1, "ones", "ones"),
            RuntimeError,
            "in an evaluation these differ .* 1: 'bias'",
        ),
        (nn.Dense(2, 1, "ones", has_bias=False), ValueError, "'parameter bias' is .* and nothing"),
    ],
)
def test_other_network_of_a_process_is_refused(
    other: nn.Cell, error: type[Exception] | None, text: str
) -> None:
    nets = [nn.Dense(2, 1, "ones", "zeros"), other]
    columns = np.ones((4, 2), np.float32), np.arange(4, dtype=np.float32)[:, None]

    def program(rank: int) -> str:
        data = NumpySlicesDataset(columns, num_shards=2, shard_id=rank).batch(1)
        model = Model(nets[rank], nn.MSELoss(), metrics={"mae"})
        if error is None:
            model.eval(data)
            return ""
        with pytest.raises(error, match=text) as raised:
            model.eval(data)
        return str(raised.value)

    first, second = run_in_threads(2, program)
    assert first == second


def test_missing_init_raises() -> None:
    model, data = Model(nn.Cell()), NumpySlicesDataset([1])
    calls: dict[str, Callable[[], object]] = {
        "Model.train": lambda: model.train(1, data),
        "Model.fit": lambda: model.fit(1, data, data),
        "Model.eval": lambda: model.eval(data),
    }
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    try:
        for name, call in calls.items():
            with pytest.raises(RuntimeError, match=f"^For '{name}', the processes have not been"):
                call()
    finally:
        ms.reset_auto_parallel_context()


@pytest.mark.parametrize("count", [None, 2])
def test_non_dataset_raises_with_argument_name(count: int | None) -> None:
    def program(rank: int) -> None:
        def refuse(data: object, error: type[Exception], expectation: str) -> None:
            message = f"^For 'refuse', the argument 'valid_dataset' {expectation}"
            with pytest.raises(error, match=message):
                current_strategy().shard_dataset(data, "valid_dataset")

        refuse(3, TypeError, "must be a dataset")
        whole = NumpySlicesDataset([1]).batch(2, drop_remainder=True)
        refuse(whole, ValueError, "holds no batch")
        if count is not None:
            # The second has three rows of its own, and one that it shares with the first.
            shard = NumpySlicesDataset(np.ones(7), num_shards=2, shard_id=rank)
            refuse(shard.batch(4, drop_remainder=True), ValueError, "holds no batch")

    if count is None:
        program(0)
    else:
        run_in_threads(count, program)


def test_eval_network_keeps_parameter_names() -> None:
    net = nn.Dense(1, 1)
    run_in_threads(1, lambda _: current_strategy().make_eval_network(net))
    assert [parameter.name for parameter in net.get_parameters()] == ["weight", "bias"]


@given(st.integers(1, 200), st.integers(1, 5))
@example(179, 3)
@example(157, 4)
@example(1, 3)
def test_rows_of_processes_are_interleaved(total: int, processes: int) -> None:
    rows = [len(range(i, total, processes)) for i in range(min(processes, total))]
    columns = [np.arange(count) * len(rows) + i for i, count in enumerate(rows)]
    result = data_parallel._join([ms.Tensor(column) for column in columns], rows)
    assert result is not None
    assert result.tolist() == list(range(total))


@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=4),
    st.sampled_from([(), (1,), (1, 1)]),
    st.booleans(),
)
def test_scalar_outputs_are_averaged_by_rows(
    rows: list[int], shape: tuple[int, ...], in_a_tuple: bool
) -> None:
    """Scalars of all processes are averaged by rows, and keep type and shape."""

    class Recording(Metric):
        def clear(self) -> None:
            self.inputs: list[tuple[object, ...]] = []

        def update(self, *inputs: object) -> None:
            self.inputs.append(inputs)

        def eval(self) -> float:
            return 0.0

    def program(rank: int) -> list[tuple[object, ...]]:
        metric = Recording()
        scores = current_strategy().make_metrics({"m": metric}, None)
        number = ms.Tensor(np.full(shape, rank, np.float32))
        scores.update((number,) if in_a_tuple else number, rows[rank])
        return metric.inputs

    mean = sum(i * count for i, count in enumerate(rows)) / sum(rows)
    for inputs in run_in_threads(len(rows), program):
        ((result,),) = inputs
        assert isinstance(result, ms.Tensor)
        assert (result.shape, result.dtype) == (shape, ms.float32)
        assert result.item() == pytest.approx(mean)


def test_unequal_output_counts_raise() -> None:
    def program(rank: int) -> None:
        with pytest.raises(ValueError, match="zip"):
            current_strategy().make_metrics({}, None).update((ms.Tensor([1.0]),) * (rank + 1), 1)

    run_in_threads(2, program)


def test_single_process_uses_its_arguments_unchanged() -> None:
    strategy = current_strategy()
    assert type(strategy) is SingleProcess
    net, data, metrics = nn.Cell(), NumpySlicesDataset([1]), {"m": ms.train.MAE()}
    assert strategy.make_eval_network(net) is net
    assert strategy.shard_dataset(data, "valid_dataset") is data
    collection = strategy.make_metrics(metrics, None)
    assert type(collection) is MetricCollection
    assert type(strategy.make_callback_manager(None)) is CallbackManager
