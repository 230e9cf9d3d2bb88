"""Evaluation in data-parallel processes: sharding, and joining of outputs."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Metric, Model, strategy
from minispore.train._metric_collection import MetricCollection
from minispore.train.protocol import CallbackManager
from minispore.train.strategy import SingleProcess, current_strategy
from tests.distributed.threaded_communicator import run_in_threads


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
    result = strategy._join([ms.Tensor(column) for column in columns], rows)
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
