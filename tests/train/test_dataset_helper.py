"""DatasetHelper: the batches of each epoch, and errors."""

from typing import Any

import pytest

from minispore.dataset import NumpySlicesDataset
from minispore.train import DatasetHelper


def test_each_loop_yields_the_batches_of_an_epoch() -> None:
    data = NumpySlicesDataset([1, 2, 3], shuffle=False).batch(2)
    helper = DatasetHelper(data, dataset_sink_mode=False, sink_size=1, epoch_num=2)
    for _ in range(2):
        assert [batch.tolist() for (batch,) in helper] == [[1, 2], [3]]
    with pytest.raises(RuntimeError, match="has yielded its 2 epochs"):
        next(iter(helper))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, RuntimeError, "'dataset_sink_mode' must be False, but got True"),
        ({"dataset_sink_mode": 3}, TypeError, "'dataset_sink_mode'.* got 3"),
        ({"sink_size": 0}, ValueError, "'sink_size' must be -1 or above 0, but got 0"),
        ({"sink_size": -2}, ValueError, "'sink_size'.* got -2"),
        ({"epoch_num": "a"}, TypeError, "'epoch_num'.* got 'a'"),
        ({"dataset": 3}, TypeError, "'dataset' must be one of Dataset, but got 3"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    make: Any = DatasetHelper
    with pytest.raises(error, match=f"^For 'DatasetHelper', .*{message}"):
        make(**{"dataset": NumpySlicesDataset([1])} | arguments)
