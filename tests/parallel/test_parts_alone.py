"""The parts of a batch in several processes, one by one: what is joined, refused, left as it is."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Metric
from minispore.train import _parts as parts
from minispore.train import _ranks as ranks
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train._scores import Scores
from tests.parallel.threads import play


@pytest.mark.parametrize(
    "call",
    [
        lambda: ranks.manager_of(None),
        lambda: parts.evaluator_of(nn.Cell()),
        lambda: parts.scores_of({}, None, InternalCallbackParam()),
        lambda: parts.data_of(NumpySlicesDataset([1]), "valid_dataset", "Model"),
    ],
)
def test_who_has_not_joined_the_others_is_told_to(call: Callable[[], object]) -> None:
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    try:
        with pytest.raises(RuntimeError, match="^For 'Model', the processes have not been joined"):
            call()
    finally:
        ms.reset_auto_parallel_context()


def test_alone_everything_is_as_it_was_given() -> None:
    net, data, metrics = nn.Cell(), NumpySlicesDataset([1]), {"m": ms.train.MAE()}
    assert parts.evaluator_of(net) is net
    assert parts.data_of(data, "valid_dataset", "Model") is data
    assert type(parts.scores_of(metrics, None, InternalCallbackParam())) is Scores
    assert type(ranks.manager_of(None)) is CallbackManager


@pytest.mark.parametrize("count", [None, 2])
def test_what_is_no_data_set_is_refused_by_name(count: int | None) -> None:
    def program(rank: int) -> None:
        with pytest.raises(
            TypeError, match="^For 'Some', the argument 'valid_dataset' must be a dataset"
        ):
            parts.data_of(3, "valid_dataset", "Some")
        empty = NumpySlicesDataset([1]).batch(2, drop_remainder=True)
        with pytest.raises(
            ValueError, match="^For 'Some', the argument 'valid_dataset' holds no batch"
        ):
            parts.data_of(empty, "valid_dataset", "Some")

        if count is not None:
            # The second has three rows of its own, and one that it shares with the first.
            empty = NumpySlicesDataset(np.ones(7), num_shards=2, shard_id=rank)
            with pytest.raises(
                ValueError, match="^For 'Some', the argument 'valid_dataset' holds no batch"
            ):
                parts.data_of(empty.batch(4, drop_remainder=True), "valid_dataset", "Some")

    if count is None:
        program(0)
    else:
        play(count, program)


def test_a_network_that_is_evaluated_keeps_the_names_of_its_parameters() -> None:
    net = nn.Dense(1, 1)
    play(1, lambda _: parts.evaluator_of(net))
    assert [each.name for each in net.get_parameters()] == ["weight", "bias"]


@pytest.mark.parametrize("rows", [[1], [2, 1], [60, 60, 59], [40, 39, 39, 39]])
def test_rows_are_joined_one_of_each_process_after_the_other(rows: list[int]) -> None:
    columns = [np.arange(count) * len(rows) + i for i, count in enumerate(rows)]
    found = parts._joined([ms.Tensor(column) for column in columns], rows)
    assert found is not None
    assert found.tolist() == list(range(sum(rows)))


@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=4),
    st.sampled_from([(), (1,), (1, 1)]),
    st.booleans(),
)
def test_one_output_need_not_be_in_a_tuple(
    rows: list[int], shape: tuple[int, ...], in_a_tuple: bool
) -> None:
    """And numbers of all processes are joined to one of their type and shape, by their rows."""

    class Seen(Metric):
        def clear(self) -> None:
            self.seen: list[tuple[object, ...]] = []

        def update(self, *inputs: object) -> None:
            self.seen.append(inputs)

        def eval(self) -> float:
            return 0.0

    def program(rank: int) -> list[tuple[object, ...]]:
        metric = Seen()
        batch = [ms.Tensor(np.zeros(rows[rank], np.float32))]
        told = InternalCallbackParam(eval_dataset_element=batch)
        scores = parts.scores_of({"m": metric}, None, told)
        number = ms.Tensor(np.full(shape, rank, np.float32))
        scores.update((number,) if in_a_tuple else number)
        return metric.seen

    mean = sum(i * count for i, count in enumerate(rows)) / sum(rows)
    for seen in play(len(rows), program):
        ((found,),) = seen
        assert isinstance(found, ms.Tensor)
        assert (found.shape, found.dtype) == (shape, ms.float32)
        assert found.item() == pytest.approx(mean)


def test_processes_whose_networks_return_more_or_fewer_outputs_are_not_compared() -> None:
    def program(rank: int) -> None:
        batch = [ms.Tensor([1.0])]
        told = InternalCallbackParam(eval_dataset_element=batch)
        with pytest.raises(ValueError, match="zip"):
            parts.scores_of({}, None, told).update((ms.Tensor([1.0]),) * (rank + 1))

    play(2, program)
