"""Iterables of batches that are no data sets: lists, and data loaders of other libraries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeGuard

from minispore.train.protocol.dataset import BatchIterable
from minispore.utils.checks import describe_value, is_mapping, is_sequence, type_error

# The end of an error for data that are no batches.
MAKE_BATCHES: Final = "NumpySlicesDataset((x, y)).batch(32) makes batches of arrays x and y"


@dataclass(frozen=True)
class IterableDataset:
    """A sized iterable of batches with the methods of a dataset."""

    batches: BatchIterable

    def get_dataset_size(self) -> int:
        """Return the number of batches in an epoch."""
        return len(self.batches)

    def create_tuple_iterator(self, *, num_epochs: int) -> "IterableDataset":
        """Return the dataset itself, which is iterated over once in each epoch."""
        return self

    def __iter__(self) -> Iterator[Sequence[object]]:
        return map(_columns, self.batches)


def _columns(batch: object) -> Sequence[object]:
    """Return the columns of a batch.

    Raises:
        TypeError: It is no batch.
    """
    if is_mapping(batch):
        return tuple(batch.values())
    if hasattr(batch, "__array__"):
        return (batch,)
    if is_sequence(batch):
        return batch
    raise TypeError(
        "A batch must be a tuple, list or dict of columns, or an array, but got "
        f"{describe_value(batch)}. {MAKE_BATCHES}."
    )


def as_dataset(value: object, name: str) -> IterableDataset:
    """Return a sized iterable of batches as a dataset.

    Args:
        value: The value.
        name: The name of the argument, for the error.

    Returns:
        The dataset.

    Raises:
        TypeError: It is no sized iterable, or is a dict, a set or a text.

    Examples:
        >>> as_dataset([([1.0], [0]), ([2.0], [1])], "train_dataset").get_dataset_size()
        2
    """
    if _is_batch_iterable(value):
        return IterableDataset(value)
    raise type_error(
        value,
        name,
        "be a dataset or a sized iterable of batches, such as a list of tuples or a data loader "
        f'({MAKE_BATCHES}, and GeneratorDataset(rows, ["x", "y"]).batch(32) of rows)',
    )


def _is_batch_iterable(value: object) -> TypeGuard[BatchIterable]:
    ordered = not isinstance(value, str | bytes | Mapping | AbstractSet)
    return ordered and isinstance(value, Sized) and isinstance(value, Iterable)
