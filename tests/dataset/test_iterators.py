"""Iterators: what they give, epoch by epoch, and where random order comes from."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

import minispore
import minispore.dataset as ds


def numbers(count: int = 3, shuffle: bool = False) -> ds.NumpySlicesDataset:
    data = {"a": list(range(count)), "b": [0.5] * count}
    return ds.NumpySlicesDataset(data, shuffle=shuffle)


def epochs(dataset: ds.Dataset, count: int) -> list[list[int]]:
    iterator = dataset.create_tuple_iterator(num_epochs=count, output_numpy=True)
    return [[int(row[0]) for row in iterator] for _ in range(count)]


def test_tuple_iterators_give_lists_of_tensors_or_arrays() -> None:
    (first, *_) = numbers()
    assert [type(value) for value in first] == [minispore.Tensor, minispore.Tensor]
    assert first[0].dtype is minispore.int64
    (row, *_) = numbers().create_tuple_iterator("b", num_epochs=1, output_numpy=True)
    assert isinstance(row, list)
    assert [type(value) for value in row] == [np.ndarray]
    assert row[0].flags.writeable


def test_dict_iterators_name_the_columns() -> None:
    for row in numbers().create_dict_iterator(num_epochs=1):
        assert [(name, type(value)) for name, value in row.items()] == [
            ("a", minispore.Tensor),
            ("b", minispore.Tensor),
        ]
    values = [
        r["a"].item() for r in numbers().create_dict_iterator(num_epochs=1, output_numpy=True)
    ]
    assert values == [0, 1, 2]


def test_an_iterator_gives_its_number_of_epochs_and_no_more() -> None:
    iterator = numbers().create_tuple_iterator(num_epochs=2)
    assert [len(list(iterator)) for _ in range(2)] == [3, 3]
    with pytest.raises(RuntimeError, match="has given its 2 epochs"):
        next(iterator)
    endless = numbers().create_tuple_iterator()
    assert [len(list(endless)) for _ in range(5)] == [3] * 5


def test_a_loop_that_was_left_goes_on_where_it_was() -> None:
    iterator = numbers().create_tuple_iterator(num_epochs=2, output_numpy=True)
    for row in iterator:
        assert row[0] == 0
        break
    assert [int(row[0]) for row in iterator] == [1, 2]
    assert [int(row[0]) for row in iterator] == [0, 1, 2]


def test_what_a_user_writes_into_a_row_stays_there() -> None:
    dataset = numbers()
    for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
        row[0][...] = 9
    assert epochs(dataset, 1) == [[0, 1, 2]]


def test_bad_arguments() -> None:
    for count in (0, -2):
        with pytest.raises(ValueError, match="'num_epochs'"):
            numbers().create_tuple_iterator(num_epochs=count)
    with pytest.raises(TypeError, match="'num_epochs'"):
        numbers().create_dict_iterator("a")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(TypeError, match="'output_numpy'"):
        numbers().create_dict_iterator(output_numpy=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    with pytest.raises(RuntimeError, match="no column 'z'"):
        numbers().create_tuple_iterator(columns=["z"])
    with pytest.raises(RuntimeError, match="has no rows"):
        numbers().skip(3).output_types()


def test_shapes_and_types_come_from_the_first_row() -> None:
    batched = numbers(5).batch(2)
    assert batched.output_shapes() == [[2], [2]]
    assert batched.output_types() == [np.int64, np.float64]


@pytest.mark.parametrize("set_seed", [minispore.set_seed, ds.config.set_seed])
def test_a_seed_fixes_the_order_of_every_epoch(set_seed: object) -> None:
    dataset = numbers(20, shuffle=True).shuffle(7)
    assert callable(set_seed)
    set_seed(5)
    first = epochs(dataset, 3)
    assert len({tuple(epoch) for epoch in first}) == 3
    assert epochs(dataset, 3) == first
    set_seed(6)
    assert epochs(dataset, 3) != first
    set_seed(5)
    assert epochs(dataset, 3) == first


def test_repeats_are_epochs_of_their_own() -> None:
    minispore.set_seed(1)
    twice = numbers(20, shuffle=True).repeat(2)
    once, again = epochs(twice, 2)
    orders = [tuple(part) for epoch in (once, again) for part in (epoch[:20], epoch[20:])]
    assert len(set(orders)) == 4
    assert all(sorted(order) == list(range(20)) for order in orders)


def test_the_last_seed_counts() -> None:
    """As in MindSpore 2.10, where `set_seed` sets the seed of datasets, too."""
    assert ds.config.get_seed() == 5489
    minispore.set_seed(1)
    assert ds.config.get_seed() == 1
    ds.config.set_seed(2)
    assert ds.config.get_seed() == 2
    minispore.set_seed(3)
    assert ds.config.get_seed() == 3
    with pytest.raises(ValueError, match="'seed'"):
        ds.config.set_seed(-1)


def test_settings_of_mindspores_machinery_are_accepted() -> None:
    workers, size = ds.config.get_num_parallel_workers(), ds.config.get_prefetch_size()
    ds.config.set_num_parallel_workers(3)
    ds.config.set_prefetch_size(4)
    ds.config.set_enable_shared_mem(False)
    assert (ds.config.get_num_parallel_workers(), ds.config.get_prefetch_size()) == (3, 4)
    ds.config.set_num_parallel_workers(workers)
    ds.config.set_prefetch_size(size)
    with pytest.raises(ValueError, match="'num'"):
        ds.config.set_num_parallel_workers(0)
    with pytest.raises(TypeError, match="'enable'"):
        ds.config.set_enable_shared_mem(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_without_a_seed_iterators_differ() -> None:
    assert epochs(numbers(30, shuffle=True), 1) != epochs(numbers(30, shuffle=True), 1)


def test_memory_does_not_grow_with_the_data() -> None:
    alive: list[int] = []

    def rows() -> Iterator[npt.NDArray[np.float64]]:
        for _ in range(300):
            yield np.zeros(1000)

    for (batch,) in (
        ds.GeneratorDataset(rows, "x")
        .shuffle(10)
        .batch(5)
        .create_tuple_iterator(num_epochs=1, output_numpy=True)
    ):
        alive.append(0 if batch.base is None else batch.base.nbytes)
    assert max(alive) <= 5 * 8000
