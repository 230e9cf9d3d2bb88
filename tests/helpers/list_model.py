"""Datasets and iterators, each with a model: the plain rows that it must yield."""

from dataclasses import dataclass, field

import numpy as np

from minispore.dataset import Dataset
from minispore.dataset._node import Array, EpochKey, length, rows_of
from minispore.dataset.iterators import DatasetIterator

Row = tuple[object, ...]


@dataclass
class Modelled:
    """A dataset and the rows that it must yield, which are compared at construction.

    Attributes:
        dataset: The dataset.
        columns: The names of its columns.
        rows: The rows of each epoch: tuples of ints and nested lists of them.
        ordered: Whether the dataset must yield them in this order.
        stored: For a source, the rows from which a sampler selects.
        leaves: The number of sources of its pipeline; a source that is used twice counts twice.
    """

    dataset: Dataset
    columns: tuple[str, ...]
    rows: list[Row]
    ordered: bool = True
    stored: list[Row] = field(default_factory=list[Row])
    leaves: int = 1

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Check names, sizes and rows: in two epochs, as dictionaries, and from the middle."""
        assert self.dataset.get_col_names() == list(self.columns)
        assert self.dataset.get_dataset_size() == len(self.rows)
        iterator = self.dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
        for _ in range(2):
            self.compare([plain(row) for row in iterator])
        dictionaries = self.dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        listed = [list(zip(*row.items(), strict=True)) for row in dictionaries]
        assert all(names == self.columns for names, _ in listed)
        self.compare([plain(list(values)) for _, values in listed])
        if self.ordered:
            middle = len(self.rows) // 2
            blocks = list(self.dataset._node.blocks(EpochKey(1, seeded=True), 3, middle))
            assert all(length(block) <= 3 for block in blocks)
            self.compare([plain(list(row)) for block in blocks for row in rows_of(block)], middle)

    def compare(self, actual: list[Row], start: int = 0) -> None:
        if self.ordered:
            assert actual == self.rows[start:]
        else:
            assert sorted(map(repr, actual)) == sorted(map(repr, self.rows))

    def can_be_batched(self) -> bool:
        """Whether all rows have the same shapes."""
        return len({tuple(np.asarray(x).shape for x in row) for row in self.rows}) <= 1

    def column(self, number: int) -> str:
        return self.columns[number % len(self.columns)]


@dataclass
class Running:
    """An iterator over a dataset, and its expected state.

    Attributes:
        of: The dataset.
        iterator: The iterator.
        left: The rows that remain in this epoch.
        epochs: The iterator's `num_epochs`.
        ended: The number of epochs that have ended.
    """

    of: Modelled
    iterator: DatasetIterator[list[Array]]
    unread: list[Row]
    epochs: int
    ended: int = 0


def plain(row: list[Array]) -> Row:
    return tuple(x.tolist() for x in row)


def doubled(x: object) -> object:
    return [doubled(item) for item in x] if isinstance(x, list) else 2 * x + 1  # type: ignore[operator]


def is_kept(x: object) -> bool:
    return int(np.asarray(x).reshape(-1)[0]) % 3 != 0


def padded(rows: list[Row]) -> Row:
    """Return a batch of rows, each filled with zeros to the largest lengths."""
    batch: list[object] = []
    for column in zip(*rows, strict=True):
        values = [np.asarray(value) for value in column]
        shape = np.max([value.shape for value in values], axis=0).astype(int).tolist()
        result = np.zeros((len(rows), *shape), int)
        for i, value in enumerate(values):
            part: list[int | slice] = [i, *map(slice, value.shape)]
            result[tuple(part)] = value
        batch.append(result.tolist())
    return tuple(batch)


def changed(row: Row, index: int, value: object) -> Row:
    return (*row[:index], value, *row[index + 1 :])
