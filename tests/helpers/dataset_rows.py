"""The rows of datasets as plain Python values."""

from minispore.dataset import Dataset, NumpySlicesDataset


def numbers(count: int = 10, name: str = "a") -> NumpySlicesDataset:
    """Return a dataset of the numbers from 0, in order."""
    return NumpySlicesDataset(list(range(count)), name, shuffle=False)


def rows(dataset: Dataset) -> list[list[object]]:
    """Return the rows of the first epoch."""
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[value.tolist() for value in row] for row in iterator]


def order(dataset: Dataset) -> list[object]:
    """Return the values of the first column."""
    return [row[0] for row in rows(dataset)]
