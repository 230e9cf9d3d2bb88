"""What the loop asks of a dataset, and its batches, epoch by epoch."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from minispore.common import Tensor


@runtime_checkable
class DatasetLike(Protocol):
    """Anything that `Model` can train on and evaluate: a dataset of the package or your own.

    `create_tuple_iterator` returns an iterable that can be gone through `num_epochs` times; each
    pass gives batches, each batch a sequence of tensors (or of anything that `Tensor` takes), one
    per column.
    """

    def get_dataset_size(self) -> int:
        """Return the number of batches in an epoch."""
        ...

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterable[Sequence[object]]:
        """Return the batches, for `num_epochs` passes."""
        ...


def check_dataset(dataset: object, name: str, owner: str) -> DatasetLike:
    """Return `dataset`; TypeError if it is none, ValueError if it is empty."""
    if not isinstance(dataset, DatasetLike):
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be a dataset, with 'get_dataset_size' and "
            f"'create_tuple_iterator', but got {dataset!r} of type {type(dataset).__name__}."
        )
    if dataset.get_dataset_size() == 0:
        raise ValueError(f"For '{owner}', the argument '{name}' holds no batch: {dataset!r}.")
    return dataset


def epochs(
    dataset: DatasetLike, num_epochs: int, columns: int | None = None
) -> Iterator[Iterator[list[Tensor]]]:
    """Yield, `num_epochs` times, the batches of an epoch.

    Args:
        dataset: what to go through.
        num_epochs: how often.
        columns: how many tensors a batch must have, if that is known.

    Raises:
        ValueError: on a batch with another number of columns, or an epoch without a batch.
    """
    source = dataset.create_tuple_iterator(num_epochs=num_epochs)
    for _ in range(num_epochs):
        yield _batches(source, columns)


def _batches(source: Iterable[Sequence[object]], columns: int | None) -> Iterator[list[Tensor]]:
    empty = True
    for row in source:
        empty = False
        if columns is not None and len(row) != columns:
            raise ValueError(
                f"When 'loss_fn' is not None, 'train_dataset' should return {columns} elements, "
                f"the input and the label, but got {len(row)}."
            )
        yield [item if isinstance(item, Tensor) else Tensor(item) for item in row]
    if empty:
        raise ValueError(
            "There is no data left in the dataset for another epoch: its 'create_tuple_iterator' "
            "must return an iterable that can be gone through 'num_epochs' times."
        )
