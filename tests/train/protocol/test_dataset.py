"""Datasets of `Model`: one iterator for all epochs, with the expected columns."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, set_seed
from minispore.train import Model
from minispore.train.protocol.dataset import IterableDataset
from tests.helpers.spy_callback import SpyCallback
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, X, Y, make


class Once:
    """A dataset whose iterator can be used only once."""

    def get_dataset_size(self) -> int:
        return 1

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterator[Sequence[object]]:
        return iter([(X, Y)])


class Resettable:
    """A dataset that is its own iterator, which `reset` sets to the beginning, as in MindSpore."""

    def __init__(self, size: int) -> None:
        self.size, self.next, self.resets = size, 0, 0

    def get_dataset_size(self) -> int:
        return self.size

    def create_tuple_iterator(self, *, num_epochs: int) -> "Resettable":
        return self

    def __iter__(self) -> Iterator[Sequence[object]]:
        return self

    def __next__(self) -> Sequence[object]:
        if self.next == self.size:
            raise StopIteration
        self.next += 1
        return X, Y

    def reset(self) -> None:
        self.next, self.resets = 0, self.resets + 1


@given(size=st.integers(1, 3), first=st.integers(0, 2), epochs=st.integers(1, 3))
@example(size=2, first=1, epochs=2)
def test_dataset_is_reset_after_each_epoch(size: int, first: int, epochs: int) -> None:
    spy, data, valid = SpyCallback(), Resettable(size), Resettable(size)
    make({"acc"}).fit(first + epochs, data, valid, callbacks=[spy], initial_epoch=first)
    numbers = [step["cur_epoch_num"] for step in spy.at("on_train_step_end")]
    assert numbers == [first + 1 + i // size for i in range(size * epochs)]
    assert (data.resets, valid.resets) == (epochs, epochs)


def test_epoch_without_batches_raises() -> None:
    with pytest.raises(ValueError, match="^There is") as raised:
        make().train(2, Once())
    assert str(raised.value) == (
        "There is no data left in the dataset for another epoch: its 'create_tuple_iterator' "
        "must return an iterable that can be iterated over 'num_epochs' times."
    )


@given(first=st.integers(0, 2), epochs=st.integers(1, 4), every=st.integers(1, 4))
@example(first=1, epochs=4, every=2)
def test_dataset_iterator_is_created_once(first: int, epochs: int, every: int) -> None:
    """That of the evaluation in each evaluation."""
    data, valid, last = Rows(4), Rows(4), first + epochs
    make({"acc"}).fit(last, data, valid, every, initial_epoch=first)
    assert data.requested_epochs == [epochs]
    assert valid.requested_epochs == [1] * (last // every - first // every)


@pytest.mark.parametrize("columns", [1, 3])
def test_loss_function_requires_two_columns(columns: int) -> None:
    with pytest.raises(ValueError, match="^When") as raised:
        make().train(1, Batches(1, columns))
    assert str(raised.value) == (
        "When 'loss_fn' is not None, 'train_dataset' should return 2 elements, the input and "
        f"the label, but got {columns}."
    )
    Model(ConstantLoss()).train(1, Batches(1, columns))


class Row(NamedTuple):
    x: object
    label: object


# The same batches as `Rows` yields, in the forms of other libraries.
FORMS: dict[str, Callable[[Any, Any], object]] = {
    "tuple": lambda x, y: (x, y),
    "list": lambda x, y: [x.asnumpy(), y.asnumpy()],
    "named tuple": Row,
    "dict": lambda x, y: {"x": x.tolist(), "label": y},
}


@given(st.lists(st.sampled_from(sorted(FORMS)), min_size=3, max_size=3))
def test_list_of_batches_trains_as_a_dataset_does(forms: list[str]) -> None:
    data = Rows()
    rows = data.create_tuple_iterator(num_epochs=1)
    batches = [FORMS[form](*row) for form, row in zip(forms, rows, strict=True)]
    losses: list[list[str]] = []
    for given_data in (data, batches):
        set_seed(1)
        model = make({"accuracy", "loss"})
        spy = SpyCallback()
        model.fit(2, given_data, given_data, callbacks=spy)
        outputs = [params["net_outputs"] for params in spy.at("on_train_step_end")]
        losses.append([repr(outputs), repr(model.eval(given_data))])
    assert losses[0] == losses[1]


def test_array_is_a_batch_of_one_column() -> None:
    data = IterableDataset([X, Tensor(X), Y])
    rows = list(data.create_tuple_iterator(num_epochs=1))
    assert [len(row) for row in rows] == [1, 1, 1]
    assert data.get_dataset_size() == 3


@pytest.mark.parametrize("batch", [1.0, "a", None, {1, 2}])
def test_value_that_is_no_batch_raises_with_the_value(batch: object) -> None:
    with pytest.raises(TypeError, match="A batch must be a tuple, list or dict") as raised:
        make().train(1, [batch])
    assert repr(batch) in str(raised.value)
