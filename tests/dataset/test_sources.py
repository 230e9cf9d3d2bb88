"""Sources from arrays and Python objects, and samplers."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
import minispore.dataset as ds
from minispore.dataset._block import as_tuple


def rows(dataset: ds.Dataset) -> list[list[object]]:
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[value.tolist() for value in row] for row in iterator]


def order(dataset: ds.Dataset) -> list[object]:
    return [row[0] for row in rows(dataset)]


def sampled(sampler: object, count: int = 10) -> list[object]:
    return order(ds.NumpySlicesDataset(list(range(count)), "a", sampler=sampler))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


# NumpySlicesDataset


def test_slices_of_a_list_tuple_dictionary_or_array() -> None:
    def described(data: object) -> tuple[list[str], list[object], list[list[object]]]:
        dataset = ds.NumpySlicesDataset(data, shuffle=False)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        return dataset.get_col_names(), [str(t) for t in dataset.output_types()], rows(dataset)

    assert described([1, 2]) == (["column_0"], ["int64"], [[1], [2]])
    assert described(([1, 2], [3.0, 4.0])) == (
        ["column_0", "column_1"],
        ["int64", "float64"],
        [[1, 3.0], [2, 4.0]],
    )
    assert described({"p": [True], "q": [[1, 2]]}) == (
        ["p", "q"],
        ["bool", "int64"],
        [[True, [1, 2]]],
    )
    assert described(np.ones((1, 2), np.float32)) == (["column_0"], ["float32"], [[[1.0, 1.0]]])


def test_bad_slices() -> None:
    make = ds.NumpySlicesDataset
    with pytest.raises(ValueError, match="must have the same length, but got"):
        make(([1, 2], [3]))
    nothing: list[list[object] | dict[str, object] | tuple[object, ...]] = [[], {}, ()]
    for empty in nothing:
        with pytest.raises(ValueError, match="must have rows"):
            make(empty)
    with pytest.raises(TypeError, match="'data'"):
        make(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="must be a number, or an array or a list of numbers"):
        make(["a", "b"])
    with pytest.raises(ValueError, match="'column_names' must be 1 names, but got 2"):
        make([1], ["a", "b"])
    with pytest.raises(ValueError, match="different names"):
        make(([1], [2]), ["a", "a"])


def test_rows_by_number() -> None:
    dataset = ds.NumpySlicesDataset([5, 6, 7])
    assert [dataset[i][0].item() for i in (0, 1, -1)] == [5, 6, 7]
    with pytest.raises(IndexError, match="there is no row 3; it has 3 rows"):
        dataset[3]
    with pytest.raises(TypeError, match="'index'"):
        dataset["a"]  # type: ignore[index]  # pyright: ignore[reportArgumentType]


# GeneratorDataset


class Squares:
    """Rows by number, which remember what was asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __getitem__(self, index: int) -> tuple[object, ...]:
        self.asked.append(index)
        return np.array([index, index + 1], np.int32), np.float32(index**2)

    def __len__(self) -> int:
        return 5


class ByNumber:
    """A sampler that is asked for one row number after another."""

    def __getitem__(self, index: int) -> int:
        return (4, 1, 3)[index]

    def __len__(self) -> int:
        return 2


def test_an_object_with_rows_by_number() -> None:
    dataset = ds.GeneratorDataset(Squares(), ["x", "y"])
    assert dataset.output_types() == [np.int32, np.float32]
    assert dataset.output_shapes() == [[2], []]
    assert sorted(row[1] for row in rows(dataset)) == [0, 1, 4, 9, 16]  # type: ignore[type-var]
    assert dataset[2][1] == 4
    for sampler in ([4, 1], ByNumber()):
        chosen = ds.GeneratorDataset(Squares(), ["x", "y"], sampler=sampler)
        assert chosen.get_dataset_size() == 2
        assert rows(chosen) == [[[4, 5], 16.0], [[1, 2], 1.0]]


@pytest.mark.parametrize("sampler", ["41", b"41", 4, Squares])
def test_what_is_no_sampler_is_refused(sampler: object) -> None:
    with pytest.raises(TypeError, match="'sampler' must be a sampler or an iterable of row"):
        ds.GeneratorDataset(Squares(), ["x", "y"], sampler=sampler)  # type: ignore[arg-type]


def test_skipped_rows_are_not_asked_for() -> None:
    source = Squares()
    dataset = ds.GeneratorDataset(source, ["x", "y"], shuffle=False).map(np.negative, "y").batch(1)
    rows(dataset.skip(3))
    assert source.asked == [3, 4]


def three() -> Iterator[int]:
    yield from range(3)


@pytest.mark.parametrize("source", [three, three(), range(3), [0, 1, 2], {0: 0, 1: 0, 2: 0}.keys()])
def test_iterables_are_gone_through_in_every_epoch(source: object) -> None:
    dataset = ds.GeneratorDataset(source, "x", shuffle=None if callable(source) else False)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert dataset.get_dataset_size() == 3
    assert order(dataset) == order(dataset) == [0, 1, 2]
    assert order(ds.GeneratorDataset(three, "x", num_samples=2)) == [0, 1]


def test_column_types_are_checked() -> None:
    assert order(ds.GeneratorDataset(three, "x", [minispore.int64])) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="column 'x' must be of type float32"):
        rows(ds.GeneratorDataset(three, "x", [minispore.float32]))
    with pytest.raises(ValueError, match="must be 1 types"):
        ds.GeneratorDataset(three, "x", [minispore.int64, minispore.int64])


def test_a_source_that_fails_or_gives_something_else() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise KeyError("boo")

    with pytest.raises(RuntimeError, match="failing.*KeyError: 'boo'") as failure:
        rows(ds.GeneratorDataset(failing, "x"))
    assert isinstance(failure.value.__cause__, KeyError)
    with pytest.raises(RuntimeError, match="must give 2 values a row"):
        rows(ds.GeneratorDataset(three, ["x", "y"]))
    with pytest.raises(TypeError, match="a value of the column 'x' must be a number"):
        rows(ds.GeneratorDataset(["a"], "x"))
    with pytest.raises(ValueError, match="'column_names' must name the columns"):
        ds.GeneratorDataset(three)
    with pytest.raises(TypeError, match="'source' must be"):
        ds.GeneratorDataset(3, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="'num_shards' needs a 'source' with '__getitem__'"):
        ds.GeneratorDataset(three, "x", num_shards=2, shard_id=0)
    with pytest.raises(TypeError, match="has no rows by number"):
        ds.GeneratorDataset(three, "x")[0]


def test_rows_of_different_shapes_pass_but_do_not_batch() -> None:
    ragged = ds.GeneratorDataset(lambda: iter([np.arange(2), np.arange(3)]), "x")
    assert rows(ragged) == [[[0, 1]], [[0, 1, 2]]]
    with pytest.raises(RuntimeError, match="rows of a batch must have the same shapes"):
        rows(ragged.batch(2))


class Once(Iterator[int]):
    """An iterator of a program; `__iter__` is that of `collections.abc`."""

    def __init__(self, values: list[int]) -> None:
        self.values = iter(values)

    def __next__(self) -> int:
        return next(self.values)


class Restarts(Once):
    def __init__(self, values: list[int]) -> None:
        self.list = values

    def __iter__(self) -> "Restarts":
        self.values = iter(self.list)
        return self


class GoesOn(Once):
    def __iter__(self) -> "GoesOn":
        return self


ITERATORS: list[Callable[[list[int]], Iterator[object]]] = [
    iter, zip, enumerate, reversed, partial(map, float), partial(filter, None), chain, Once,
    Restarts, lambda values: (value for value in values),
]  # fmt: skip


@given(
    make=st.sampled_from(ITERATORS),
    values=st.lists(st.integers(1, 99), min_size=1, max_size=9),
    passes=st.lists(st.integers(0, 9), max_size=4),
)
def test_an_iterator_gives_the_same_rows_in_each_pass(
    make: Callable[[list[int]], Iterator[object]], values: list[int], passes: list[int]
) -> None:
    expected = list(make(values))
    names = ["x", "y"] if len(as_tuple(expected[0])) == 2 else ["x"]
    dataset = ds.GeneratorDataset(make(values), names)
    for count in passes:  # which need not go to the end
        for _ in zip(range(count), dataset.create_tuple_iterator(num_epochs=1), strict=False):
            pass
    assert dataset.get_dataset_size() == len(values)
    wanted = [list(as_tuple(row)) for row in expected]
    assert rows(dataset) == rows(dataset) == wanted
    assert rows(dataset.repeat(2)) == wanted * 2


@pytest.mark.parametrize("make", [GoesOn, lambda values: partial(next, iter([iter(values)]), ())])
def test_an_iterator_that_was_used_up_is_refused(make: Callable[[list[int]], object]) -> None:
    dataset = ds.GeneratorDataset(make([1, 2, 3]), "x")  # type: ignore[arg-type]
    assert order(dataset) == [1, 2, 3]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="gave rows before, but none in this pass"):
            rows(dataset)


def test_a_source_without_rows_stays_one() -> None:
    dataset = ds.GeneratorDataset(lambda: iter(()), "x")
    assert rows(dataset) == rows(dataset) == []


# samplers


@given(st.integers(1, 30), st.integers(1, 6), st.booleans(), st.integers(-1, 5))
def test_shards_share_the_rows_out(count: int, shards: int, shuffle: bool, offset: int) -> None:
    offset = min(offset, shards - 1)
    dealt = [
        sampled(ds.DistributedSampler(shards, i, shuffle, offset=offset), count)
        for i in range(shards)
    ]
    together = [row for shard in dealt for row in shard]
    assert set(together) == set(range(count))
    if offset >= 0:
        assert len(together) == count
    else:
        assert {len(shard) for shard in dealt} == {-(-count // shards)}


def test_orders_are_mindspores() -> None:
    assert sampled(ds.SequentialSampler(2, 3)) == [2, 3, 4]
    assert sampled(ds.SequentialSampler(8, 5)) == [8, 9]
    assert sampled(ds.SubsetSampler([3, 1, 3])) == [3, 1, 3]
    assert sampled(ds.SubsetSampler([1, 2, 3], 2)) == [1, 2]
    assert sampled(ds.SubsetSampler(3)) == [3]
    assert [sampled(ds.DistributedSampler(3, i, False)) for i in range(3)] == [
        [0, 3, 6, 9],
        [1, 4, 7, 0],
        [2, 5, 8, 1],
    ]
    assert [sampled(ds.DistributedSampler(3, i, False, offset=1)) for i in range(3)] == [
        [2, 5, 8],
        [0, 3, 6, 9],
        [1, 4, 7],
    ]
    assert sampled(np.array([4, 2])) == [4, 2]


def test_random_samplers() -> None:
    assert ds.RandomSampler(num_samples=4).get_num_samples() == 4
    assert sorted(sampled(ds.RandomSampler())) == list(range(10))  # type: ignore[type-var]
    assert len(set(sampled(ds.RandomSampler(num_samples=4)))) == 4
    assert len(sampled(ds.RandomSampler(replacement=True, num_samples=20))) == 10
    assert sorted(sampled(ds.SubsetRandomSampler([5, 6, 7]))) == [5, 6, 7]  # type: ignore[type-var]
    assert set(sampled(ds.WeightedRandomSampler([0, 1, 3], 8))) <= {1, 2}
    assert sorted(sampled(ds.WeightedRandomSampler([0, 1, 3], 8, False))) == [1, 2]  # type: ignore[type-var]


def test_a_sampler_of_the_users_own() -> None:
    class Even(ds.Sampler):
        def __iter__(self) -> Iterator[int]:
            return iter(range(0, self.dataset_size, 2))

    assert sampled(Even()) == [0, 2, 4, 6, 8]
    assert sampled(Even(num_samples=2)) == [0, 2]


def test_use_sampler_replaces_the_sampler() -> None:
    dataset = ds.NumpySlicesDataset([5, 6, 7])
    assert dataset.get_dataset_size() == 3
    dataset.use_sampler(ds.SubsetSampler([2]))
    assert order(dataset) == [7]
    assert dataset.get_dataset_size() == 1


def test_bad_samplers() -> None:
    with pytest.raises(RuntimeError, match="there is no row 10 in a source of 10 rows"):
        sampled(ds.SubsetSampler([0, 10]))
    with pytest.raises(RuntimeError, match="there is no row 12"):
        sampled(ds.SequentialSampler(12))
    with pytest.raises(RuntimeError, match="3 weights for a source of 2 rows"):
        sampled(ds.WeightedRandomSampler([1, 1, 1]), 2)
    with pytest.raises(ValueError, match="'weights'"):
        ds.WeightedRandomSampler([0, 0])
    with pytest.raises(TypeError, match="'indices'"):
        ds.SubsetSampler([1.5])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="'shard_id'"):
        ds.DistributedSampler(3, 3)
    with pytest.raises(ValueError, match="'num_shards'"):
        ds.DistributedSampler(0, 0)
    with pytest.raises(TypeError, match="'sampler' must be a sampler"):
        sampled(3)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"shuffle": False, "sampler": [1]}, "'sampler' and 'shuffle'"),
        ({"num_samples": 2, "sampler": [1]}, "'sampler' and 'num_samples'"),
        ({"num_shards": 2, "shard_id": 0, "sampler": [1]}, "'sampler' and 'num_shards'"),
        ({"num_shards": 2}, "'num_shards' and 'shard_id'"),
    ],
)
def test_arguments_that_contradict_one_another(arguments: dict[str, Any], names: str) -> None:
    """With MindSpore's kinds of error: MnistDataset's is another."""
    for make in (partial(ds.GeneratorDataset, [1, 2], ["x"]), partial(ds.NumpySlicesDataset, [1])):
        with pytest.raises(ValueError, match=names):
            make(**arguments)
