"""Datasets of `Model`: one iterator for all epochs, with the expected columns."""

from collections.abc import Iterator, Sequence

import pytest

from minispore.train import Model
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, X, Y, make


class Once:
    """A dataset whose iterator can be used only once."""

    def get_dataset_size(self) -> int:
        return 1

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterator[Sequence[object]]:
        return iter([(X, Y)])


def test_epoch_without_batches_raises() -> None:
    with pytest.raises(ValueError, match="^There is") as raised:
        make().train(2, Once())
    assert str(raised.value) == (
        "There is no data left in the dataset for another epoch: its 'create_tuple_iterator' "
        "must return an iterable that can be iterated over 'num_epochs' times."
    )


def test_dataset_iterator_is_created_once() -> None:
    data, valid = Rows(4), Rows(4)
    make({"acc"}).fit(5, data, valid, 2, initial_epoch=1)
    assert data.requested_epochs == [4]
    assert valid.requested_epochs == [1, 1]


@pytest.mark.parametrize("columns", [1, 3])
def test_loss_function_requires_two_columns(columns: int) -> None:
    with pytest.raises(ValueError, match="^When") as raised:
        make().train(1, Batches(1, columns))
    assert str(raised.value) == (
        "When 'loss_fn' is not None, 'train_dataset' should return 2 elements, the input and "
        f"the label, but got {columns}."
    )
    Model(ConstantLoss()).train(1, Batches(1, columns))
