"""Sources: rows of Python objects, what is read of them, and errors."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
import minispore.dataset as ds
from tests.helpers.dataset_rows import order, rows


class IndexSequence:
    """A sampler with row indices by position, which cannot be iterated over."""

    def __getitem__(self, index: int) -> int:
        return (4, 1, 3)[index]

    def __len__(self) -> int:
        return 2


class Squares:
    """Rows by index, which record the requested indices."""

    def __init__(self) -> None:
        self.requested: list[int] = []

    def __getitem__(self, index: int) -> tuple[object, ...]:
        self.requested.append(index)
        return np.array([index, index + 1], np.int32), np.float32(index**2)

    def __len__(self) -> int:
        return 5


def test_indexable_object_as_source() -> None:
    dataset = ds.GeneratorDataset(Squares(), ["x", "y"])
    assert dataset.output_types() == [np.int32, np.float32]
    assert dataset.output_shapes() == [[2], []]
    assert sorted(row[1] for row in rows(dataset)) == [0, 1, 4, 9, 16]  # type: ignore[type-var]
    for sampler in ([4, 1], IndexSequence()):
        chosen = ds.GeneratorDataset(Squares(), ["x", "y"], sampler=sampler)
        assert chosen.get_dataset_size() == 2
        assert rows(chosen) == [[[4, 5], 16.0], [[1, 2], 1.0]]
        assert [float(chosen[i][1]) for i in (0, 1, -1)] == [16.0, 1.0, 1.0]


def test_rows_by_index_are_those_of_the_first_epoch() -> None:
    ds.config.set_seed(3)
    dataset = ds.NumpySlicesDataset([*range(20)])
    by_index = [int(dataset[i][0]) for i in range(20)]
    assert by_index == order(dataset) != list(range(20))
    dataset.use_sampler([7])
    assert int(dataset[0][0]) == 7
    assert len(dataset) == len(order(dataset)) == 1


@given(st.integers(0, 5))
def test_skipped_rows_are_not_read(skipped: int) -> None:
    source = Squares()
    dataset = ds.GeneratorDataset(source, ["x", "y"], shuffle=False).map(np.negative, "y").batch(1)
    rows(dataset.skip(skipped))
    assert source.requested == list(range(skipped, 5))


def three() -> Iterator[int]:
    yield from range(3)


def test_column_types_are_checked() -> None:
    assert order(ds.GeneratorDataset(three, "x", [minispore.int64])) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="column 'x' must be of type float32"):
        rows(ds.GeneratorDataset(three, "x", [minispore.float32]))
    with pytest.raises(ValueError, match="must be 1 types"):
        ds.GeneratorDataset(three, "x", [minispore.int64, minispore.int64])


def test_rows_of_different_shapes_cannot_be_batched() -> None:
    ragged = ds.GeneratorDataset(lambda: iter([np.arange(2), np.arange(3)]), "x")
    assert rows(ragged) == [[[0, 1]], [[0, 1, 2]]]
    with pytest.raises(RuntimeError, match="rows of a batch must have the same shapes"):
        rows(ragged.batch(2))


def test_source_without_rows_stays_empty() -> None:
    dataset = ds.GeneratorDataset(lambda: iter(()), "x")
    assert rows(dataset) == rows(dataset) == []
    assert rows(ds.GeneratorDataset([], "x", sampler=ds.SequentialSampler())) == []
