"""Iterators: types of rows, epochs, random order, and saved positions."""

import random
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice, product
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
import minispore.dataset as ds
from minispore import set_seed
from minispore.dataset._node import Array
from minispore.dataset.iterators import DatasetIterator
from tests.distributed.small_training import Case


def numbers(count: int = 3, shuffle: bool = False) -> ds.NumpySlicesDataset:
    data = {"a": list(range(count)), "b": [0.5] * count}
    return ds.NumpySlicesDataset(data, shuffle=shuffle)


def epochs(dataset: ds.Dataset, count: int) -> list[list[int]]:
    iterator = dataset.create_tuple_iterator(num_epochs=count, output_numpy=True)
    return [[int(row[0]) for row in iterator] for _ in range(count)]


@pytest.mark.parametrize("name", ["create_tuple_iterator", "create_dict_iterator"])
def test_number_of_epochs_must_be_an_int(name: str) -> None:
    """None stands for any number elsewhere, as in `repeat`."""
    message = f"^For '{name}', the type of 'num_epochs' must be one of int, but got None of type"
    with pytest.raises(TypeError, match=message):
        getattr(numbers(), name)(num_epochs=None)


@given(
    columns=st.sampled_from([["a", "b"], ["b"], ["b", "a"]]),
    output_numpy=st.booleans(),
    as_dict=st.booleans(),
)
def test_rows_are_lists_or_dictionaries_of_tensors_or_arrays_of_their_own(
    columns: list[str], output_numpy: bool, as_dict: bool
) -> None:
    data = numbers()
    create: Any = partial(data.create_tuple_iterator, columns)
    if as_dict:
        create = data.project(columns).create_dict_iterator
    for _ in range(2):
        for i, row in enumerate(create(num_epochs=1, output_numpy=output_numpy)):
            assert type(row).__name__ == ("dict" if as_dict else "list")
            named: dict[str, Any] = row if as_dict else dict(zip(columns, row, strict=True))
            assert list(named) == columns
            for name, value in named.items():
                assert type(value) is (np.ndarray if output_numpy else ms.Tensor)
                assert value.item() == {"a": i, "b": 0.5}[name]
                value[...] = 9
    assert [value.dtype for value in next(iter(data))] == [ms.int64, ms.float64]


@given(st.integers(1, 9), st.integers(1, 9))
def test_output_shapes_and_types_are_those_of_the_first_row(count: int, size: int) -> None:
    batched = numbers(count).batch(size)
    assert batched.output_shapes() == [[min(count, size)]] * 2
    equal = count <= size or count % size == 0
    assert batched.output_shapes(True) == [[min(count, size) if equal else None]] * 2
    assert batched.output_types() == [np.int64, np.float64]


@pytest.mark.parametrize("collect", ["shuffle", "bucket_batch_by_length"])
def test_collected_rows_are_kept_without_others(collect: str) -> None:
    """Not the blocks of which they are a part: those would need 32 times the memory."""
    row_count, bytes_each = 1280, 8000

    def source() -> Iterator[npt.NDArray[np.float64]]:
        for _ in range(row_count):
            yield np.zeros(bytes_each // 8)

    data: ds.Dataset = ds.GeneratorDataset(source, "x")
    if collect == "shuffle":
        data = data.shuffle(40)
    else:
        # One row of 32 is collected until the end, each other one is a batch.
        numbers = iter(range(row_count))
        data = data.bucket_batch_by_length(["x"], [1], [row_count, 1], lambda x: next(numbers) % 32)
    tracemalloc.start()
    try:
        count = sum(1 for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == (row_count if collect == "shuffle" else row_count - row_count // 32 + 1)
    assert peak < (40 + 8 * 32) * bytes_each


Step = Callable[[ds.Dataset], ds.Dataset]
Rows = list[list[object]]


def noise(x: object) -> object:
    return np.asarray(x, np.float64) + np.random.random() + random.random()  # noqa: NPY002


class Counted:
    """A function that adds the number of its calls, which is its state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *values: object) -> object:
        self.calls += 1
        return np.asarray(values[0], np.float64) + self.calls

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
    """Return the rows of several epochs; the last may be an error, as in batches of batches."""
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
@example(["counted"], 16)
@example(["noise", "shuffle", "batch"], 3)
@example(["noise", "batch", "filter"], 6)
@example(["shuffle", "batches of 1, 2, …"], 7)
@example(["noise", "filter", "split"], 0)
@example(["batches of 1, 2, …", "batch"], 0)
def test_another_iterator_continues_from_a_state(steps: list[str], taken: int) -> None:
    set_seed(4)
    random.seed(4)
    try:
        data = pipeline(steps)
        size = data.get_dataset_size()
    except RuntimeError:  # a split of too few rows, or batches of batches that must be counted
        return
    if not size:
        return
    # Epochs of a filter after noise have different sizes.
    epochs = remaining = 2 + taken // size
    iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    number = 0
    while number < taken and remaining:
        rows = rows_from(islice(iterator, taken - number), 1)
        if rows and isinstance(rows[-1][0], str):
            return  # after an error the iterator cannot continue
        number += len(rows)
        remaining -= number < taken
    state = iterator.state_dict()
    before = (random.getstate(), np.random.get_state())  # noqa: NPY002
    expected = rows_from(iterator, remaining)

    set_seed(4)
    random.seed(4)  # a split counts the rows of a filter after noise
    other = pipeline(steps).create_tuple_iterator(num_epochs=epochs, output_numpy=True)
    set_seed(5)  # the order comes from the state, not from the seed
    other.load_state_dict(state)
    random.setstate(before[0])
    np.random.set_state(before[1])  # noqa: NPY002
    assert rows_from(other, remaining) == expected


def test_earlier_rows_are_not_read_without_user_code() -> None:
    first = ds.NumpySlicesDataset(list(range(100)), "x").batch(10)
    iterator = first.create_tuple_iterator(num_epochs=3)
    for _ in range(7):
        next(iterator)
    assert iterator.state_dict()["begin"] == {}


# Of the pipeline of three rows with a callback; None for an entry that is missing.
DAMAGED: dict[str, tuple[object, ...]] = {
    "begin": ({"random": {}}, 3, None),
    "epoch": ("one", -1, None),
    "mapped": ([], [0, 0], [-1], ["one"], 3, None),
    "pipeline": (3, None),
    "seed": (-1, "x", None),
    "taken": (float("inf"), -1, None),
    "seeded": (None,),
}


@pytest.mark.parametrize(
    ("key", "value"), [(key, x) for key, values in DAMAGED.items() for x in values]
)
@pytest.mark.parametrize("taken", [0, 2])
def test_damaged_state_leaves_iterator_unchanged(key: str, value: object, taken: int) -> None:
    data = ds.NumpySlicesDataset([1, 2, 3]).map(np.negative, callbacks=ds.DSCallback())
    iterator = data.create_tuple_iterator(output_numpy=True)
    for _ in range(taken):
        next(iterator)
    state = iterator.state_dict()
    damaged = {name: x for name, x in (state | {key: value}).items() if (name, x) != (key, None)}
    with pytest.raises(ValueError, match="This is not the state"):
        iterator.load_state_dict(damaged)
    assert repr(iterator.state_dict()) == repr(state)
    assert len(rows_from(iterator, 1)) == 3 - taken


def test_state_of_another_pipeline_is_rejected() -> None:
    one = ds.NumpySlicesDataset([1, 2, 3]).create_tuple_iterator()
    other = ds.NumpySlicesDataset([1, 2, 3]).batch(2).create_tuple_iterator()
    next(one)
    with pytest.raises(ValueError, match=r"had MapStyleNode\(.*\) where this .* Batch\(rows=2"):
        other.load_state_dict(one.state_dict())


def ten(**arguments: Any) -> ds.Dataset:  # noqa: ANN401 (those of the source)
    return ds.NumpySlicesDataset(list(range(10)), "x", **arguments)


def seeded_split(seed: int) -> ds.Dataset:
    set_seed(seed)
    return ten().map(np.negative).split([0.5, 0.5])[0]


def joined(data: ds.Dataset, times: int) -> ds.Dataset:
    return data.concat([data] * times)


SETTINGS: dict[str, Callable[[int], ds.Dataset]] = {
    "shuffle": lambda n: ten().shuffle(2 + n),
    "take": lambda n: ten().take(5 + n),
    "skip": lambda n: ten().skip(n),
    "repeat": lambda n: ten().repeat(1 + n),
    "batch": lambda n: ten().batch(1 + n),
    "drop_remainder": lambda n: ten().batch(3, drop_remainder=n > 0),
    "source": lambda n: ten(shuffle=n > 0),
    "num_samples": lambda n: ten(num_samples=4 + n),
    "indices": lambda n: ten(sampler=[3, n]),
    "weights": lambda n: ten(sampler=ds.WeightedRandomSampler([1, 1 + n])),
    "replacement": lambda n: ten(sampler=ds.RandomSampler(n > 0)),
    "column": lambda n: ten().rename("x", "yz"[n]),
    "seed of a split": seeded_split,
    "padded length": lambda n: ten().batch(2).padded_batch(2, pad_info={"x": ([3 + n], 0)}),
    "any length": lambda n: ten().batch(2).padded_batch(2, pad_info={"x": ([(3, None)[n]], 0)}),
    "padding": lambda n: ten().batch(2).padded_batch(2, pad_info={"x": ([3], n)}),
    "uses of one dataset": lambda n: joined(ten(), 1 + n),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_state_of_other_settings_is_rejected(kind: str) -> None:
    for saved, current in product((0, 1), repeat=2):
        state = SETTINGS[kind](saved).create_tuple_iterator().state_dict()
        iterator = SETTINGS[kind](current).create_tuple_iterator()
        if saved == current:
            iterator.load_state_dict(state)
        else:
            with pytest.raises(ValueError, match="that of another dataset"):
                iterator.load_state_dict(state)


def test_state_beyond_the_end_of_data_is_rejected() -> None:
    def some(rows: int) -> DatasetIterator[list[Array]]:
        data = ds.NumpySlicesDataset([1, 2, 3, 4], "x").map(noise).filter(lambda x: x < rows + 2)
        return data.create_tuple_iterator(output_numpy=True)

    iterator = some(3)
    for _ in range(3):
        next(iterator)
    with pytest.raises(ValueError, match=r"The dataset ended before row 3\.$"):
        some(1).load_state_dict(iterator.state_dict())


def test_description_of_repeatedly_joined_dataset_is_short() -> None:
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


class One(Counted):
    """A length whose calls are counted."""

    def __call__(self, *values: object) -> int:
        self.calls += 1
        return 1


def twice(data: ds.Dataset) -> ds.Dataset:
    return data + data


class Source(Counted):
    """Three rows by index."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> object:
        return self(index)


STATEFUL: dict[str, Callable[[], ds.Dataset]] = {
    "map": lambda: ten().map(Counted()),
    "source": lambda: ds.GeneratorDataset(Source(), "x"),
    "RandomApply": lambda: ten().map(ds.transforms.RandomApply([Counted()], 1.0)),
    "map, used twice": lambda: twice(ten().map(Counted())),
    "predicate": lambda: ten().filter(One()),
    "batch_size": lambda: ten().batch(One()),
    "per_batch_map": lambda: ten().batch(2, per_batch_map=Counted()),
    "element_length_function": lambda: ten().bucket_batch_by_length(["x"], [5], [1, 1], One()),
    "collate_fn": lambda: ds.GeneratorDataset(
        [1, 2, 3], "x", batch_sampler=[[0, 1], [2]], collate_fn=Counted()
    ),
}


@pytest.mark.parametrize("use", STATEFUL)
def test_state_has_that_of_each_function_once(use: str) -> None:
    iterator = STATEFUL[use]().create_tuple_iterator()
    next(iterator)
    assert cast("dict[str, object]", iterator.state_dict()["begin"])["objects"] == [{"calls": 0}]


def test_iterator_state_is_independent_of_shards() -> None:
    """So a run can be resumed with another number of processes, but not with other batches."""
    ms.set_seed(3)
    case = Case(rows=24, batch=8)
    half = case.shard(0, 2).create_tuple_iterator(num_epochs=2)
    next(half)
    state = half.state_dict()
    for count in (1, 2, 4):
        parts = [case.shard(i, count).create_tuple_iterator(num_epochs=2) for i in range(count)]
        for part in parts:
            part.load_state_dict(state)
            next(part)
    other = Case(rows=24, batch=4).shard(0, 2).create_tuple_iterator(num_epochs=2)
    with pytest.raises(ValueError, match="that of another dataset"):
        other.load_state_dict(state)
