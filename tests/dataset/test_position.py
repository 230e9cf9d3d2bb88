"""An iterator's position: another one over the same pipeline goes on with the same rows."""

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore.dataset as ds
from minispore import set_seed
from minispore.dataset._block import Array
from minispore.dataset._iterators import DatasetIterator

Step = Callable[[ds.Dataset], ds.Dataset]
Rows = list[list[object]]


def noise(x: object) -> object:
    return np.asarray(x, np.float64) + np.random.random() + random.random()  # noqa: NPY002


class Counted:
    """A function that counts its calls, and says so."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: object) -> object:
        self.calls += 1
        return np.asarray(x, np.float64) + self.calls

    def state_dict(self) -> dict[str, object]:
        return {"calls": self.calls}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        assert isinstance(state["calls"], int)
        self.calls = state["calls"]


STEPS: Mapping[str, Step] = {
    "shuffle": lambda data: data.shuffle(3),
    "batch": lambda data: data.batch(2, drop_remainder=True),
    "repeat": lambda data: data.repeat(2),
    "take": lambda data: data.take(9),
    "skip": lambda data: data.skip(1),
    "noise": lambda data: data.map(noise),
    "counted": lambda data: data.map(Counted()),
    "filter": lambda data: data.filter(lambda x: int(np.asarray(x).reshape(-1)[0]) % 3 != 0),
    "split": lambda data: data.split([0.5, 0.5])[0],
    "concat": lambda data: data + data,
    "batches of 1, 2, …": lambda data: data.batch(lambda info: info.get_batch_num() + 1),
}


def pipeline(steps: list[str]) -> ds.Dataset:
    data: ds.Dataset = ds.NumpySlicesDataset(list(range(16)), "x")
    for step in steps:
        data = STEPS[step](data)
    return data


def rows_from(iterator: Iterator[list[Array]], epochs: int) -> Rows:
    """The rows of so many epochs; an error is the last: batches of 1, 2, … cannot be batched."""
    rows: Rows = []
    try:
        for _ in range(epochs):
            for row in iterator:
                rows.append([item.tolist() for item in row])
    except RuntimeError as error:
        if "the rows of a batch must have the same shapes" not in str(error):
            raise
        rows.append([str(error)])
    return rows


@given(
    steps=st.lists(st.sampled_from(list(STEPS)), max_size=4),
    taken=st.integers(0, 60),
)
@example(["counted", "filter"], 0)
@example(["noise", "shuffle", "batch"], 3)
@example(["noise", "batch", "filter"], 6)
@example(["shuffle", "batches of 1, 2, …"], 7)
@example(["noise", "filter", "split"], 0)
@example(["batches of 1, 2, …", "batch"], 0)
def test_another_iterator_goes_on(steps: list[str], taken: int) -> None:
    set_seed(4)
    random.seed(4)
    try:
        data = pipeline(steps)
        size = data.get_dataset_size()
    except RuntimeError:  # a split of too few rows, or batches of batches that must be counted
        return
    if not size:
        return
    # What is filtered after noise has epochs of several sizes.
    epochs = left = 2 + taken // size
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    number = 0
    while number < taken and left:
        rows = rows_from(islice(iterator, taken - number), 1)
        if rows and isinstance(rows[-1][0], str):
            return  # after an error there is nothing to go on with
        number += len(rows)
        left -= number < taken
    state = iterator.state_dict()
    before = (random.getstate(), np.random.get_state())  # noqa: NPY002
    expected = rows_from(iterator, left)

    set_seed(4)
    random.seed(4)  # a split of what is filtered after noise counts it
    other = pipeline(steps).create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    set_seed(5)  # the order is the state's, whatever seed is set now
    other.load_state_dict(state)
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002
    assert rows_from(other, left) == expected


def test_between_two_epochs_too_objects_go_on_from_what_they_remember() -> None:
    iterator = pipeline(["counted"]).create_tuple_iterator(output_numpy=True)
    rows_from(iterator, 1)
    state = iterator.state_dict()
    other = pipeline(["counted"]).create_tuple_iterator(output_numpy=True)
    other.load_state_dict(state)
    assert rows_from(other, 1) == rows_from(iterator, 1)


def test_rows_before_are_not_read_where_all_code_is_ours() -> None:
    first = ds.NumpySlicesDataset(list(range(100)), "x").batch(10)
    iterator = first.create_tuple_iterator(num_epochs=3)
    for _ in range(7):
        next(iterator)
    assert iterator.state_dict()["begin"] == {}


@pytest.mark.parametrize(
    ("state", "message"),
    [({}, "This is no state"), ({"seed": "x"}, "This is no state")],
)
def test_no_state(state: dict[str, object], message: str) -> None:
    iterator = ds.NumpySlicesDataset([1, 2]).create_tuple_iterator()
    with pytest.raises(ValueError, match=message):
        iterator.load_state_dict(state)


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("begin", {"random": {}}),
        ("epoch", "one"),
        ("mapped", [0]),
        ("pipeline", 3),
        ("seed", -1),
        ("taken", float("inf")),
        ("taken", None),
    ],
)
def test_a_state_of_which_an_entry_is_damaged_changes_nothing(key: str, bad: object) -> None:
    iterator = ds.NumpySlicesDataset([1, 2, 3]).create_tuple_iterator(output_numpy=True)
    next(iterator)
    state = iterator.state_dict()
    with pytest.raises(ValueError, match="This is no state"):
        iterator.load_state_dict(state | {key: bad})
    assert iterator.state_dict() == state
    assert len(rows_from(iterator, 1)) == 2


def test_the_state_of_another_pipeline() -> None:
    one = ds.NumpySlicesDataset([1, 2, 3]).create_tuple_iterator()
    other = ds.NumpySlicesDataset([1, 2, 3]).batch(2).create_tuple_iterator()
    next(one)
    with pytest.raises(ValueError, match=r"had StoreNode\(.*\) where this one has Batch\(rows=2"):
        other.load_state_dict(one.state_dict())


def test_data_that_have_become_fewer() -> None:
    def some(rows: int) -> DatasetIterator[list[Array]]:
        kept = ds.NumpySlicesDataset([1, 2, 3, 4], "x").map(noise).filter(lambda x: x < rows + 2)
        return kept.create_tuple_iterator(output_numpy=True)

    iterator = some(3)
    for _ in range(3):
        next(iterator)
    with pytest.raises(ValueError, match=r"The dataset has come to its end before row 3\.$"):
        some(1).load_state_dict(iterator.state_dict())


def test_data_joined_to_itself_again_and_again_is_described_in_short() -> None:
    def doubled(times: int) -> ds.Dataset:
        data: ds.Dataset = ds.NumpySlicesDataset([1, 2, 3])
        for _ in range(times):
            data = (data + data).take(3)
        return data

    state = doubled(10).create_tuple_iterator().state_dict()
    assert len(cast("list[str]", state["pipeline"])) == 31
    doubled(10).create_tuple_iterator().load_state_dict(state)
    with pytest.raises(ValueError, match="of another dataset"):
        doubled(9).create_tuple_iterator().load_state_dict(state)


def test_data_with_itself_twice_is_not_data_with_itself_thrice() -> None:
    data = ds.NumpySlicesDataset([1, 2, 3])
    state = data.concat([data]).create_tuple_iterator().state_dict()
    with pytest.raises(ValueError, match="had nothing where this one has 1 again"):
        data.concat([data, data]).create_tuple_iterator().load_state_dict(state)


def test_an_object_used_twice_in_a_pipeline_has_one_state() -> None:
    data = ds.NumpySlicesDataset([1, 2, 3]).map(Counted())
    iterator = (data + data).create_tuple_iterator()
    next(iterator)
    assert cast("dict[str, object]", iterator.state_dict()["begin"])["objects"] == [{"calls": 0}]
