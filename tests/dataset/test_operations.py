"""Operations on datasets: columns, sizes, errors, and what is read when."""
# Functions of users carry no types; the lambdas here stand for them.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from collections.abc import Iterator

import numpy as np
import pytest

import minispore
import minispore.dataset as ds


def numbers(count: int = 10) -> ds.NumpySlicesDataset:
    return ds.NumpySlicesDataset(list(range(count)), "a", shuffle=False)


def pairs(count: int = 3) -> ds.NumpySlicesDataset:
    halves = [i / 2 for i in range(count)]
    return ds.NumpySlicesDataset((list(range(count)), halves), ["a", "b"], shuffle=False)


def rows(dataset: ds.Dataset) -> list[list[object]]:
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[value.tolist() for value in row] for row in iterator]


# map


def test_map_takes_the_first_column_unless_told() -> None:
    assert rows(pairs(2).map(lambda a: a + 1)) == [[1, 0.0], [2, 0.5]]


def test_map_gives_functions_numpy_arrays() -> None:
    seen: list[object] = []

    def look(a: object, b: object) -> tuple[object, object]:
        seen.extend((a, b))
        return a, b

    rows(pairs(2).map(look, ["a", "b"]))
    assert len(seen) == 4
    assert all(isinstance(value, np.ndarray) and value.shape == () for value in seen)


@pytest.mark.parametrize(
    ("inputs", "outputs", "columns", "first"),
    [
        (["b", "a"], ["a", "b"], ["b", "a"], [1, 0.5]),
        (["b", "a"], ["a", "c"], ["c", "a"], [1, 0.5]),
        (["b"], ["c"], ["a", "c"], [1, 0.5]),
    ],
)
def test_as_many_outputs_take_the_inputs_places(
    inputs: list[str], outputs: list[str], columns: list[str], first: list[float]
) -> None:
    mapped = pairs().map(lambda *values: values, inputs, outputs)
    assert mapped.get_col_names() == columns
    assert rows(mapped)[1] == first


def test_other_numbers_of_outputs_go_first() -> None:
    split = pairs().map(lambda a: (a, 2 * a), ["a"], ["c", "d"])
    assert split.get_col_names() == ["c", "d", "b"]
    assert rows(split)[2] == [2, 4, 1.0]
    joined = pairs().map(lambda a, b: a + b, ["a", "b"], ["c"])
    assert rows(joined) == [[0.0], [1.5], [3.0]]


def test_map_mixes_transforms_and_functions_that_change_shapes() -> None:
    grown = numbers(4).map(
        [
            ds.transforms.TypeCast(minispore.int32),
            lambda a: np.arange(a // 2),
            ds.transforms.Compose([lambda a: a + 1, ds.transforms.TypeCast(minispore.int16)]),
        ]
    )
    assert rows(grown) == [[[]], [[]], [[1]], [[1]]]
    with pytest.raises(RuntimeError, match="same shapes and types, but in the column 'a'"):
        rows(grown.batch(3))


def test_map_errors() -> None:
    with pytest.raises(RuntimeError, match="no column 'z' in the dataset; it has 'a', 'b'"):
        pairs().map(abs, "z")
    with pytest.raises(TypeError, match="'operations' must be one of list, tuple, but got 3"):
        pairs().map(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="'operations' must not be empty"):
        pairs().map([])
    with pytest.raises(RuntimeError, match="column 'b' would be there twice"):
        pairs().map(abs, "a", "b")
    with pytest.raises(RuntimeError, match="must return 1 columns, .* but returned 2"):
        rows(pairs().map(lambda a: (a, a)))
    with pytest.raises(TypeError, match="must be a number, or an array"):
        rows(pairs().map(lambda a: None))
    with pytest.raises(TypeError, match="must be a number, or an array"):
        rows(pairs().map(lambda a: [[1], [1, 2]]))
    with pytest.raises(RuntimeError, match="'TypeCast' takes one column"):
        rows(pairs().map(ds.transforms.TypeCast(np.int8), ["a", "b"]))


# batch


def test_batch_sizes_and_remainders() -> None:
    assert rows(numbers(5).batch(2)) == [[[0, 1]], [[2, 3]], [[4]]]
    assert rows(numbers(5).batch(2, drop_remainder=True)) == [[[0, 1]], [[2, 3]]]
    assert numbers(5).batch(2).get_dataset_size() == 3
    assert numbers(5).batch(2, True).get_dataset_size() == 2
    assert numbers(5).batch(9, True).get_dataset_size() == 0
    growing = numbers(5).batch(lambda info: info.get_batch_num() + 1)
    assert rows(growing) == [[[0]], [[1, 2]], [[3, 4]]]
    assert (growing.get_dataset_size(), growing.get_batch_size()) == (3, -1)


def test_per_batch_map_gets_lists_and_the_number_of_the_batch() -> None:
    seen: list[tuple[int, int]] = []

    def shift(a: list[np.int64], info: ds.BatchInfo) -> tuple[list[np.int64], list[int]]:
        seen.append((info.get_epoch_num(), info.get_batch_num()))
        return a, [info.get_batch_num()] * len(a)

    batched = pairs().batch(
        2, per_batch_map=shift, input_columns="a", output_columns=["a", "number"]
    )
    assert batched.get_col_names() == ["a", "number", "b"]
    iterator = batched.create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        epoch = [[value.tolist() for value in row] for row in iterator]
        assert epoch == [[[0, 1], [0, 0], [0.0, 0.5]], [[2], [1], [1.0]]]
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_batch_errors() -> None:
    with pytest.raises(ValueError, match="'batch_size' must be in|at least 1"):
        numbers().batch(0)
    with pytest.raises(TypeError, match="'batch_size'"):
        numbers().batch(1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="need 'per_batch_map'"):
        numbers().batch(2, input_columns="a")
    with pytest.raises(RuntimeError, match="must return 2 columns, but returned 1"):
        rows(numbers().batch(2, per_batch_map=lambda a, _: (a,), output_columns=["a", "b"]))


# what a user's code raises


class Failing:
    """It can be all that a pipeline calls."""

    def __call__(self, *_: object) -> int:
        return 1 // 0

    def __getitem__(self, index: int) -> int:
        return self(index)

    def __iter__(self) -> Iterator[int]:
        yield self()

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "made",
    [
        ds.GeneratorDataset(Failing(), "a"),
        ds.GeneratorDataset(Failing().__iter__, "a"),
        numbers().map(Failing()),
        numbers().filter(Failing()),
        numbers().batch(Failing()),
        numbers().batch(2, per_batch_map=Failing()),
    ],
)
def test_a_failure_of_the_users_names_the_code_and_is_the_cause(made: ds.Dataset) -> None:
    with pytest.raises(RuntimeError, match="'Failing.*' in the .* ZeroDivisionError") as failure:
        rows(made)
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


# structure


def test_sizes_and_counts() -> None:
    assert numbers().repeat(3).get_repeat_count() == 3
    assert numbers().repeat(3).get_dataset_size() == 30
    assert numbers().batch(4).repeat(2).repeat(3).get_repeat_count() == 3
    assert numbers().repeat(2).batch(4).shuffle(2).get_repeat_count() == 2
    assert numbers().batch(4).repeat(2).get_batch_size() == 4
    assert numbers().repeat().get_repeat_count() == -1
    assert numbers().repeat().get_dataset_size() == 10
    for counted in (
        numbers().repeat().filter(lambda x: x > 1),
        numbers().repeat().batch(lambda info: info.get_batch_num() + 1),
    ):
        with pytest.raises(RuntimeError, match="a repeat for ever comes before it"):
            counted.get_dataset_size()
    assert numbers().get_batch_size() == numbers().get_repeat_count() == 1
    assert numbers().take(500).get_dataset_size() == numbers().take().get_dataset_size() == 10
    assert numbers().skip(500).get_dataset_size() == 0
    assert (numbers().batch(2) + numbers().batch(5)).get_batch_size() == 2


def test_a_repeat_without_end_and_rows_taken_of_it() -> None:
    assert rows(numbers(3).repeat().take(5)) == [[0], [1], [2], [0], [1]]
    assert rows(numbers(3).skip(3).repeat()) == []


def test_take_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def count() -> Iterator[int]:
        for i in range(1000):
            read.append(i)
            yield i

    assert len(rows(ds.GeneratorDataset(count, "x").take(3))) == 3
    assert len(read) <= 4


def test_counts_must_be_positive() -> None:
    for make in (numbers().repeat, numbers().take):
        for count in (0, -2):
            with pytest.raises(ValueError, match="'count'"):
                make(count)
    with pytest.raises(ValueError, match="'count'"):
        numbers().skip(-1)
    with pytest.raises(ValueError, match="'buffer_size'"):
        numbers().shuffle(1)


def test_zip_and_concat() -> None:
    beside = ds.zip((numbers(5), pairs(3).rename(["a", "b"], ["c", "d"])))
    assert beside.get_col_names() == ["a", "c", "d"]
    assert beside.get_dataset_size() == len(rows(beside)) == 3
    assert ds.zip((numbers().batch(3), pairs().rename("a", "c"))).get_batch_size() == 3
    assert numbers(5).repeat().zip(pairs(3).rename("a", "c").repeat()).get_dataset_size() == 3
    assert numbers(2).concat([numbers(1), numbers(2)]).get_dataset_size() == 5
    with pytest.raises(RuntimeError, match="column 'a' would be there twice"):
        numbers().zip(pairs())
    with pytest.raises(RuntimeError, match="same columns in the same order"):
        _ = numbers() + pairs()
    with pytest.raises(TypeError, match="must be a dataset"):
        _ = numbers() + 3  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]
    with pytest.raises(RuntimeError, match="must have the same types"):
        rows(numbers(2) + ds.NumpySlicesDataset([1.0], "a"))
    with pytest.raises(RuntimeError, match="got int64 of 0 axes and int64 of 1 axes"):
        rows(numbers(2) + numbers(2).batch(2))


def test_rename_and_project() -> None:
    assert pairs().rename("a", "x").get_col_names() == ["x", "b"]
    assert pairs().rename(["a", "b"], ["b", "a"]).get_col_names() == ["b", "a"]
    assert rows(pairs(1).project(["b", "a"])) == [[0.0, 0]]
    with pytest.raises(RuntimeError, match="no column 'z'"):
        pairs().rename("z", "x")
    with pytest.raises(RuntimeError, match="'b' would be there twice"):
        pairs().rename("a", "b")
    with pytest.raises(ValueError, match="same length"):
        pairs().rename(["a", "b"], "x")
    with pytest.raises(RuntimeError, match="no column 'z'"):
        pairs().project("z")
    with pytest.raises(ValueError, match="'columns' must not be empty"):
        pairs().project([])
    with pytest.raises(ValueError, match="different names"):
        pairs().project(["a", "a"])


def test_filter() -> None:
    kept = pairs(10).filter(lambda a, b: a % 2 == 0 and b > 1)
    assert [row[0] for row in rows(kept)] == [4, 6, 8]
    assert kept.get_dataset_size() == 3
    assert rows(numbers(3).filter(lambda a: 3, "a")) == [[0], [1], [2]]
    with pytest.raises(RuntimeError, match="must return one bool"):
        rows(numbers(3).filter(lambda a: [True, False]))
    with pytest.raises(TypeError, match="'predicate' must be a function"):
        numbers().filter(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_apply() -> None:
    assert rows(numbers(1).apply(lambda d: d.repeat(2))) == [[0], [0]]
    with pytest.raises(TypeError, match="'apply_func' must return a dataset"):
        numbers().apply(lambda d: 3)  # type: ignore[arg-type, return-value]  # pyright: ignore[reportArgumentType]


# split


@pytest.mark.parametrize("randomize", [True, False])
@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("indexed", [True, False])
def test_parts_share_no_row_in_any_epoch(randomize: bool, shuffled: bool, indexed: bool) -> None:
    source = ds.NumpySlicesDataset(list(range(10)), "a", shuffle=shuffled)
    parts = (source if indexed else source.map(lambda a: a)).split([0.7, 0.3], randomize)
    epochs: list[list[set[int]]] = []
    for part in parts:
        iterator = part.create_tuple_iterator(num_epochs=3, output_numpy=True)
        epochs.append([{int(a) for (a,) in iterator} for _ in range(3)])
    first, second = epochs
    assert first == [first[0]] * 3
    assert second == [second[0]] * 3
    assert (len(first[0]), len(second[0])) == (7, 3)
    assert first[0] | second[0] == set(range(10))
    if not randomize and not shuffled:
        assert first[0] == set(range(7))


def test_split_sizes() -> None:
    assert [len(part) for part in numbers(11).split([0.5, 0.25, 0.25])] == [5, 3, 3]
    assert [rows(part) for part in numbers(3).split([2, 1], randomize=False)] == [[[0], [1]], [[2]]]
    with pytest.raises(RuntimeError, match="sum to the dataset's 10 rows, but sum to 11"):
        numbers().split([7, 4])
    with pytest.raises(ValueError, match="fractions must sum to 1"):
        numbers().split([0.7, 0.4])
    with pytest.raises(RuntimeError, match="leave a part without a row"):
        numbers(3).split([0.05, 0.95])
    with pytest.raises(ValueError, match="must not be empty"):
        numbers().split([])
    with pytest.raises(ValueError, match="above 0"):
        numbers().split([0, 10])
    with pytest.raises(TypeError, match="'sizes'"):
        numbers().split([0.7, "a"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
