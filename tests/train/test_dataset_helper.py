"""DatasetHelper: the batches of each epoch, and errors."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import NumpySlicesDataset
from minispore.train import DatasetHelper


@given(rows=st.integers(1, 5), size=st.integers(1, 3), epochs=st.integers(1, 3))
def test_each_loop_yields_the_batches_of_an_epoch(rows: int, size: int, epochs: int) -> None:
    data = NumpySlicesDataset([*range(rows)], shuffle=False).batch(size)
    helper = DatasetHelper(data, dataset_sink_mode=False, sink_size=1, epoch_num=epochs)
    expected = [[*range(i, min(i + size, rows))] for i in range(0, rows, size)]
    for _ in range(epochs):
        assert [batch.tolist() for (batch,) in helper] == expected
    with pytest.raises(RuntimeError, match=f"has yielded its {epochs} epochs"):
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
