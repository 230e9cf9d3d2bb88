"""Datasets of `Model`: one iterator for all epochs, with the expected columns."""

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, set_seed
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model
from minispore.train.protocol.iterable_dataset import MAKE_BATCHES, IterableDataset
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


def train_once(model: Model, data: Batches) -> None:
    model.train(1, data)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("call", [train_once, Model.eval])
def test_loss_function_requires_two_columns(
    columns: int, call: Callable[[Model, Batches], object]
) -> None:
    with pytest.raises(ValueError, match="^When") as raised:
        call(make({"acc"}), Batches(1, columns))
    assert str(raised.value) == (
        "When 'loss_fn' is not None, 'train_dataset' and 'valid_dataset' should return 2 elements, "
        f"the input and the label, but got {columns}. {MAKE_BATCHES}."
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


# What a user of another library writes, with arrays in place of a data set.
ARRAYS: list[Callable[[Any, Any, Any], object]] = [
    lambda model, x, y: model.fit(x, y),
    lambda model, x, y: model.fit(x, y, 3),
    lambda model, x, y: model.fit(x=x, y=y, epoch=3),
    lambda model, x, y: model.fit(3, x, y),
    lambda model, x, y: model.fit(3, (x, y)),
    lambda model, x, y: model.train(3, [x, y]),
    lambda model, x, y: model.train(3, {"x": x, "y": y}),
    lambda model, x, y: model.train(3, zip(x, y, strict=True)),
    lambda model, x, y: model.eval(x, y),
    lambda model, x, y: model.eval((x, y)),
]


@pytest.mark.parametrize("call", ARRAYS)
@pytest.mark.parametrize("kind", [np.array, Tensor])
def test_error_for_arrays_shows_how_they_are_batched(
    call: Callable[[Model, Any, Any], object], kind: Callable[[Any], object]
) -> None:
    line = "NumpySlicesDataset((x, y)).batch(32)"
    with pytest.raises((TypeError, ValueError), match=re.escape(line)):
        call(make({"acc"}), kind(X), kind(Y))
    NumpySlicesDataset((X, Y)).batch(32)


SHAPES = st.lists(st.integers(1, 3), max_size=3).map(tuple)
SIZES = st.sampled_from([0, 1, 2])  # of a batch; 0 for single rows


def sum_loss(output: Tensor, label: Tensor) -> Tensor:
    return output + label.sum()


class FirstElement(nn.Cell):
    """A network for inputs of all shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = ms.Parameter(Tensor(1.0))

    def construct(self, x: Tensor) -> Tensor:
        return x.reshape(-1)[0] * self.weight


@given(x=SHAPES, label=SHAPES, size=SIZES, long=st.booleans())
@example(x=(2,), label=(), size=0, long=True)
@example(x=(2,), label=(1,), size=0, long=True)
@example(x=(2,), label=(1,), size=1, long=True)
def test_warning_of_data_that_are_not_batched(
    x: tuple[int, ...], label: tuple[int, ...], size: int, long: bool
) -> None:
    """Never of batches; of rows of numbers and vectors, unless both have the same length."""
    batch = (size,) if size else ()
    row = (np.ones(batch + x, np.float32), np.ones(batch + label, np.float32))
    network = FirstElement()
    model = Model(network, sum_loss, nn.SGD(network.trainable_params(), 0.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.train(2, [row] * (101 if long else 100))
    vectors = len(x) == len(label) == 1 and x != label
    expected = long and not size and (vectors or not x or not label)
    assert len(caught) == expected
    assert all("101 steps of an epoch is a single row" in str(each.message) for each in caught)
    assert all(each.filename == __file__ for each in caught)
