"""Metrics and training steps with batches that are split between processes."""

from collections.abc import Iterator
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, Metric, Model, RunContext
from tests._metrics import cases
from tests.distributed.small_training import Case, model, network, weights
from tests.distributed.threaded_communicator import run_in_threads
from tests.properties.test_metrics import assert_same

Column = npt.NDArray[np.float32]


class Outputs(nn.Cell):
    """A network that returns its inputs."""

    def construct(self, *inputs: ms.Tensor) -> tuple[ms.Tensor, ...]:
        return inputs


@pytest.mark.parametrize("case", cases.CASES.values(), ids=cases.CASES.keys())
@settings(max_examples=4)
@given(data=st.data(), count=st.integers(2, 4), batch=st.integers(1, 3))
def test_metric_equals_that_of_all_rows(
    case: cases.Case, data: st.DataObject, count: int, batch: int
) -> None:
    inputs = data.draw(case.inputs)

    def program(rank: int) -> object:
        shard = NumpySlicesDataset(inputs, shuffle=False, num_shards=count, shard_id=rank)
        evaluated = Model(Outputs(), eval_network=Outputs(), metrics={"m": case.make()})
        return evaluated.eval(shard.batch(batch))["m"]

    single = case.make()
    for start in range(0, len(inputs[0]), count * batch):
        single.update(*(array[start : start + count * batch] for array in inputs))
    expected = single.eval()
    for result in run_in_threads(count, program):
        assert_same(result, expected)


@given(st.integers(1, 20), st.sampled_from([1, 2, 4]))
def test_mean_loss_equals_that_of_one_process(rows: int, count: int) -> None:
    case = Case(rows, 8)
    ms.set_seed(1)
    expected = model().eval(case.whole())
    networks = [network() for _ in range(count)]
    result = run_in_threads(count, lambda i: model(net=networks[i]).eval(case.shard(i, count)))
    assert result == [pytest.approx(expected, rel=1e-5)] * count


class Sums(Outputs):
    """A network that returns one value for each column."""

    def construct(self, *inputs: ms.Tensor) -> tuple[ms.Tensor, ...]:
        return tuple(x.sum(axis=0) for x in inputs)


class Arrays(Outputs):
    """A network whose outputs are not tensors."""

    def construct(self, *inputs: ms.Tensor) -> tuple[ms.Tensor, ...]:
        return cast("tuple[ms.Tensor, ...]", tuple(x.asnumpy() for x in inputs))


class Total(Metric):
    def clear(self) -> None:
        self._sum = 0.0

    def update(self, *inputs: object) -> None:
        self._sum += self._convert_data(inputs[0]).sum()

    def eval(self) -> float:
        return self._sum


@pytest.mark.parametrize("kind", [Sums, Arrays])
def test_unjoinable_outputs_update_metrics_separately(kind: type[Outputs]) -> None:
    numbers = np.arange(14, dtype=np.float32).reshape(7, 2)

    def program(rank: int) -> object:
        shard = NumpySlicesDataset(numbers, num_shards=3, shard_id=rank).batch(3)
        return float(Model(kind(), eval_network=kind(), metrics={"m": Total()}).eval(shard)["m"])

    assert run_in_threads(3, program) == [numbers.sum()] * 3


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=3), min_size=1, max_size=4),
    st.sampled_from([(False, None), (True, None), (True, 2)]),
)
@example([[1, 3], [2], [4], []], (False, None))
@example([[1, 3], [2], [4], []], (True, None))
@example([[1, 3], [2], [4], []], (True, 2))
@example([[], []], (True, None))
def test_step_with_unequal_rows_weights_gradients(
    rows: list[list[int]], options: tuple[bool, int | None]
) -> None:
    """The sum over the processes, or the mean over the rows as if they were of `degree` ones."""
    mean, degree = options
    result = run_in_threads(len(rows), lambda rank: _step(rows[rank], mean, degree))
    counts, sums = [len(numbers) for numbers in rows], [sum(numbers) for numbers in rows]
    loss = np.dot(counts, sums) / max(1, sum(counts))
    share = len(rows) / (degree or len(rows))
    weight, bias = share * loss, share * np.dot(counts, counts) / max(1, sum(counts))
    expected = [-weight, -bias, -loss] if mean else [-sum(sums), -sum(counts), -loss]
    assert result == [pytest.approx(expected, rel=1e-6)] * len(rows)


def _step(rows: list[int], mean: bool, degree: int | None) -> list[float]:
    """Return weight, bias and loss after a step that minimizes the sum of y - x from y = 0."""
    ms.set_auto_parallel_context(gradients_mean=mean)
    net = nn.Dense(1, 1, "zeros", "zeros")
    parameters = net.trainable_params()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, _difference), nn.SGD(parameters, 1.0))
    step.grad_reducer = nn.DistributedGradReducer(parameters, degree=degree)
    column = ms.Tensor(np.array(rows, np.float32).reshape(-1, 1))
    loss = step(column, column)
    return [*(parameter.item() for parameter in parameters), loss.item()]


def _difference(outputs: ms.Tensor, labels: ms.Tensor) -> ms.Tensor:
    return (outputs - labels).sum()


def test_float16_average_does_not_overflow() -> None:
    def program(rank: int) -> list[float]:
        net = nn.Dense(1, 1)
        reduced = nn.DistributedGradReducer(net.trainable_params())
        values = ms.Tensor([60000.0]).astype(ms.float16), ms.Tensor([float(rank)])
        return [gradient.item() for gradient in reduced(values)]

    assert run_in_threads(3, program) == [[60000.0, 1.0]] * 3


def test_custom_step_has_equal_shards() -> None:
    """A custom step cannot process a batch without rows."""

    class Step(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.lengths: list[int] = []

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            self.lengths.append(len(x))
            return x.sum()

    def program(rank: int) -> list[int]:
        step = Step()
        shard = NumpySlicesDataset(np.ones((5, 1)), num_shards=4, shard_id=rank)
        Model(step).train(1, shard.batch(1))
        return step.lengths

    assert run_in_threads(4, program) == [[1, 1]] * 4


def test_custom_dataset_is_not_sharded() -> None:
    class Own:
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def get_dataset_size(self) -> int:
            return 1

        def create_tuple_iterator(self, *, num_epochs: int) -> Iterator[list[Column]]:
            assert num_epochs == 1
            return iter([[np.full((2, 1), self.rank, np.float32)]])

    def program(rank: int) -> float:
        model = Model(Outputs(), eval_network=Outputs(), metrics={"m": Total()})
        return float(model.eval(Own(rank))["m"])

    assert run_in_threads(2, program) == [2, 2]


def test_too_small_dataset_is_empty() -> None:
    case = Case(7, 8, drop=True)
    networks = [network() for _ in range(2)]
    with pytest.raises(ValueError, match="'train_dataset' holds no batch"):
        run_in_threads(2, lambda rank: model(net=networks[rank]).train(1, case.shard(rank, 2)))


def test_shards_with_dropped_rows_end_together() -> None:
    columns = {"x": np.arange(10, dtype=np.float32)[:, None]}

    def program(rank: int) -> int:
        shard = NumpySlicesDataset(columns, shuffle=False, num_shards=2, shard_id=rank)
        filtered = shard.filter(_even_or_one).batch(1)
        evaluated = Model(Outputs(), eval_network=Outputs(), metrics={"m": Total()})
        return int(evaluated.eval(filtered)["m"])

    assert run_in_threads(2, program) == [0 + 1 + 2 + 4 + 6 + 8] * 2


def _even_or_one(x: Column) -> bool:
    return bool(x[0] % 2 == 0 or x[0] == 1)


def test_different_methods_raise_at_once() -> None:
    case = Case(8, 4)
    names = ("eval", "train", "fit")
    networks = [network() for _ in names]

    def program(rank: int) -> str:
        trained, data = model(net=networks[rank]), case.shard(rank, 4)
        calls = (lambda: trained.eval(data), lambda: trained.train(1, data))
        with pytest.raises(RuntimeError) as raised:
            (*calls, lambda: trained.fit(1, data))[rank]()
        return str(raised.value)

    called = "but the processes 0, 1, … call Model.eval, Model.train, Model.fit."
    assert run_in_threads(3, program) == [
        f"For 'Model.{name}', all processes must call it, {called}" for name in names
    ]


@pytest.mark.parametrize("broadcast", [None, True, False])
def test_parameters_of_rank_0_are_broadcast_by_default(
    broadcast: bool | None,
) -> None:
    networks = [network(seed) for seed in range(2)]

    def program(rank: int) -> bytes:
        if broadcast is not None:
            ms.set_auto_parallel_context(parameter_broadcast=broadcast)
        return weights(model(net=networks[rank])).tobytes()

    first, second = run_in_threads(2, program)
    assert (first == second) is (broadcast is not False)


class Evaluates(Callback):
    chief_only = True

    def __init__(self, evaluated: Model, case: Case) -> None:
        self._model, self._data = evaluated, case.whole()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self._model.eval(self._data)


@pytest.mark.parametrize("count", [1, 2])
def test_chief_only_callback_cannot_call_collectives(count: int) -> None:
    case = Case(8, 4)
    networks = [network() for _ in range(count)]

    def program(rank: int) -> None:
        trained = model(net=networks[rank])
        trained.train(1, case.shard(rank, count), callbacks=Evaluates(trained, case))

    if count == 1:
        run_in_threads(count, program)
        return
    with pytest.raises(RuntimeError, match="Evaluates is called in one process only") as raised:
        run_in_threads(count, program)
    assert "set its 'chief_only' to False" in str(raised.value)
    assert raised.value.__notes__[0].endswith("Evaluates.on_train_epoch_end.")
