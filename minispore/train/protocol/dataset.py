"""The data that `Model` accepts, and the iteration over their batches, epoch by epoch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from minispore.ops.tensors import Tensor
from minispore.train import protocol
from minispore.train.protocol.state_fields import read_field
from minispore.utils.checks import caller


@runtime_checkable
class DatasetLike(Protocol):
    """Anything that `Model` can train and evaluate on: a `Dataset`, or an object of your own.

    `create_tuple_iterator` returns an iterable that can be iterated over `num_epochs` times. Each
    pass yields batches, and each batch is a sequence of tensors (or of values that `Tensor` takes),
    one for each column. If the object has a method `reset`, it is called after each pass.

    Examples:
        >>> class Batches:
        ...     def get_dataset_size(self) -> int:
        ...         return 1
        ...     def create_tuple_iterator(self, *, num_epochs: int) -> list[list[float]]:
        ...         return [[0.5, 1.0]]
        >>> isinstance(Batches(), DatasetLike)
        True
    """

    def get_dataset_size(self) -> int:
        """Return the number of batches in an epoch."""
        ...

    def create_tuple_iterator(self, *, num_epochs: int) -> Iterable[Sequence[object]]:
        """Return an iterable over the batches, for `num_epochs` passes."""
        ...


class BatchIterable(Protocol):
    """A sized iterable of batches: a list, or the data loader of another library.

    A batch is a tuple or list of columns, a dict whose values are the columns in this order, or an
    array, which is the only column. A column is a tensor or a value that `Tensor` takes.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[object]: ...


def check_dataset(dataset: object, name: str) -> DatasetLike:
    """Return `dataset` as a dataset, if it has at least one batch.

    Args:
        dataset: The value to check.
        name: The name of the argument, for the error.

    Returns:
        `dataset` itself, or with the methods of a dataset if it is a sized iterable.

    Raises:
        TypeError: It is neither a dataset nor a sized iterable.
        ValueError: It has no batch.

    Examples:
        >>> def train(data: object) -> DatasetLike:
        ...     return check_dataset(data, "train_dataset")
        >>> train(1.0)
        Traceback (most recent call last):
        TypeError: For 'train', the argument 'train_dataset' must be a dataset or ...
        >>> train([([1.0], [0])]).get_dataset_size()
        1
    """
    if not isinstance(dataset, DatasetLike):
        dataset = protocol.iterable_dataset.as_dataset(dataset, name)
    if dataset.get_dataset_size() == 0:
        raise ValueError(f"For '{caller()}', the argument '{name}' holds no batch: {dataset!r}.")
    return dataset


@runtime_checkable
class SupportsState(Protocol):
    """An object with a state: a callback, or an iterable that can continue from a position.

    The state consists of None, bool, int, float, str, Tensor and numpy array, and of lists, tuples
    and dicts (with str as keys) of these.

    Examples:
        >>> from minispore.train import History, LossMonitor, TimeMonitor
        >>> [isinstance(x, SupportsState) for x in (History(), LossMonitor(), TimeMonitor())]
        [True, True, False]
    """

    def state_dict(self) -> Mapping[str, object]:
        """Return the state from which an equally configured object can continue."""
        ...

    def load_state_dict(self, state: Mapping[str, object], /) -> object:
        """Restore a state that `state_dict` returned; ValueError if that is impossible."""
        ...


class _Source(SupportsState, Iterable[Sequence[object]], Protocol):
    """An iterable that holds its position in the data."""


class EpochIterator:
    """Iterates over the batches of a dataset, epoch by epoch, with a position that can be saved.

    If the dataset's iterable has no `state_dict` and `load_state_dict`, a position is restored by
    iterating: over all earlier epochs, and, with the random state at the beginning of the current
    one, over its batches. It must then yield the same batches again, except for what it draws from
    `random` and `numpy.random`.

    Args:
        dataset: The dataset.
        num_epochs: The number of epochs.
        columns: The number of tensors in a batch, if it is known.

    Raises:
        ValueError: A batch has another number of columns, or an epoch has no batch.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False).batch(2)
        >>> for number, batches in EpochIterator(data, 2):
        ...     print(number, [row.tolist() for (row,) in batches])
        0 [[1, 2], [3]]
        1 [[1, 2], [3]]
    """

    _name_in_errors: ClassVar[str] = "{kind}"

    def __init__(self, dataset: DatasetLike, num_epochs: int, columns: int | None = None) -> None:
        self._dataset = dataset
        self._num_epochs = num_epochs
        self._columns = columns
        batches = dataset.create_tuple_iterator(num_epochs=num_epochs)
        if not isinstance(batches, SupportsState):
            batches = protocol.replayed_batches.ReplayedBatches(dataset, batches, num_epochs)
        self._source: _Source = batches
        self._next = 0  # the number of the first epoch
        self._number = -1  # the number of the current epoch, or of the last one
        self._ended = True  # whether the source has yielded all its batches

    def __iter__(self) -> Iterator[tuple[int, Iterator[list[Tensor]]]]:
        """Yield the number of each epoch, from 0, and an iterator over its batches."""
        for number in range(self._next, self._num_epochs):
            resumed = number == self._number
            self._number, self._ended = number, resumed and self._ended
            yield number, self._batches(resumed)

    def state_dict(self, *, closed: bool) -> dict[str, object]:
        """Return the position: in the current epoch, or, if `closed`, before the next one."""
        position = self._source.state_dict()
        return {
            "number": self._number,
            "closed": closed,
            "ended": self._ended,
            "source": position,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Move to a position that `state_dict` returned.

        Raises:
            ValueError: The position is damaged, or not one of this dataset.
        """
        number = read_field(state, "number", int)
        position = read_field(state, "source", dict[str, object])
        closed, ended = (read_field(state, key, bool) for key in ("closed", "ended"))
        if not -1 <= number < self._num_epochs:
            raise ValueError(f"There is no epoch {number + 1}.")
        self._source.load_state_dict(position)
        self._number, self._next, self._ended = number, number + closed, ended
        if closed and not ended:  # the epoch was left before its last batch
            complete_epoch(self._dataset, self._source)

    def end(self) -> None:
        """Yield no further batch."""
        self._ended = True
        self._next = self._num_epochs

    def _batches(self, resumed: bool) -> Iterator[list[Tensor]]:
        if self._ended:
            return
        row = None
        for row in self._source:
            if self._columns is not None and len(row) != self._columns:
                raise ValueError(
                    "When 'loss_fn' is not None, 'train_dataset' and 'valid_dataset' should return "
                    f"{self._columns} elements, the input and the label, but got {len(row)}. "
                    f"{protocol.iterable_dataset.MAKE_BATCHES}."
                )
            yield [item if isinstance(item, Tensor) else Tensor(item) for item in row]
        _reset(self._dataset)
        self._ended = True
        if row is None and not resumed:
            raise ValueError(
                "There is no data left in the dataset for another epoch: its "
                "'create_tuple_iterator' must return an iterable that can be iterated over "
                "'num_epochs' times."
            )


def complete_epoch(dataset: DatasetLike, batches: Iterable[object]) -> None:
    """Iterate over the batches that are left in an epoch."""
    for _ in batches:
        pass
    _reset(dataset)


def _reset(dataset: DatasetLike) -> None:
    """Call the dataset's `reset` after an epoch, as MindSpore does."""
    reset: object = getattr(dataset, "reset", None)
    if callable(reset):
        reset()
