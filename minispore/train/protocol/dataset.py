"""The data that `Model` accepts, and the iteration over their batches, epoch by epoch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final, Protocol, TypeGuard, runtime_checkable

from minispore.common import Tensor
from minispore.common.seed import get_rng_state, set_rng_state
from minispore.train.resume.training_state import read_field
from minispore.utils.checks import caller, describe_value, is_mapping, is_sequence

_MAX_COUNT: Final = 2**63


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
        f"{describe_value(batch)}."
    )


def _is_batch_iterable(value: object) -> TypeGuard[BatchIterable]:
    ordered = not isinstance(value, str | bytes | Mapping | AbstractSet)
    return ordered and isinstance(value, Sized) and isinstance(value, Iterable)


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
        if not _is_batch_iterable(dataset):
            raise TypeError(
                f"For '{caller()}', the argument '{name}' must be a dataset or a sized iterable of "
                f"batches, such as a list of tuples or a data loader, but got {dataset!r} of type "
                f"{type(dataset).__name__}."
            )
        dataset = IterableDataset(dataset)
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
        >>> [isinstance(each, SupportsState) for each in (History(), LossMonitor(), TimeMonitor())]
        [True, True, False]
    """

    def state_dict(self) -> Mapping[str, object]:
        """Return the state from which an equally configured object can continue."""
        ...

    def load_state_dict(self, state: Mapping[str, object], /) -> object:
        """Restore a state that `state_dict` returned; ValueError if that is impossible."""
        ...


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

    _taken: int  # batches of the current epoch so far
    _ended: bool  # whether these are all

    def __init__(self, dataset: DatasetLike, num_epochs: int, columns: int | None = None) -> None:
        self._dataset = dataset
        self._source = dataset.create_tuple_iterator(num_epochs=num_epochs)
        self._num_epochs = num_epochs
        self._columns = columns
        self._next = 0  # the number of the first epoch
        self._number = -1  # the number of the current epoch, or of the last one
        self._begin: Mapping[str, object] = {}  # the random state at its beginning
        self._rest: Iterator[Sequence[object]] | None = None  # its batches after a restored one

    def __iter__(self) -> Iterator[tuple[int, Iterator[list[Tensor]]]]:
        """Yield the number of each epoch, from 0, and an iterator over its batches."""
        for number in range(self._next, self._num_epochs):
            self._number = number
            yield number, self._batches()

    def state_dict(self, *, closed: bool) -> dict[str, object]:
        """Return the position: in the current epoch, or, if `closed`, before the next one."""
        source = self._source
        inside: dict[str, object] = {"taken": 0, "ended": False, "begin": {}}
        if not closed:
            inside = {"taken": self._taken, "ended": self._ended, "begin": self._begin}
        position: Mapping[str, object] = {}
        if isinstance(source, SupportsState):
            position = source.state_dict()
        return {"number": self._number, "closed": closed, **inside, "source": position}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Move to a position that `state_dict` returned.

        Raises:
            ValueError: The position is damaged, or not one of this dataset.
        """
        number, taken = (read_field(state, key, int) for key in ("number", "taken"))
        closed, ended = (read_field(state, key, bool) for key in ("closed", "ended"))
        begin, position = (read_field(state, key, dict) for key in ("begin", "source"))
        if not -1 <= number < self._num_epochs or not 0 <= taken < _MAX_COUNT:
            raise ValueError(f"There is no batch {taken} of epoch {number + 1}.")
        self._number, self._next = number, number + closed
        self._taken, self._ended, self._begin = taken, ended, begin
        if isinstance(self._source, SupportsState):
            self._source.load_state_dict(position)
            rest = self._rows()
        else:
            rest = self._skip_batches()
        if self._ended:
            rest = iter(())
        self._rest = rest if self._taken else None

    def end(self) -> None:
        """Yield no further batch."""
        self._rest = iter(())
        self._next = self._num_epochs

    def _skip_batches(self) -> Iterator[Sequence[object]]:
        """Iterate over the earlier epochs and the taken batches; return the batches left."""
        for _ in range(self._next):
            for _ in self._rows():
                pass
        if self._begin:
            set_rng_state(self._begin)
        rest = self._rows() if self._taken else iter(())
        if sum(1 for _ in islice(rest, self._taken)) < self._taken:
            raise ValueError(f"The dataset has come to its end before batch {self._taken}.")
        if self._ended:
            next(rest, None)  # runs the source's code after its last batch
        return rest

    def _rows(self) -> Iterator[Sequence[object]]:
        """Yield the batches of an epoch; then call the dataset's `reset`, as MindSpore does."""
        yield from self._source
        reset: object = getattr(self._dataset, "reset", None)
        if callable(reset):
            reset()

    def _batches(self) -> Iterator[list[Tensor]]:
        rest, self._rest = self._rest, None
        if rest is None:
            if not isinstance(self._source, SupportsState):
                self._begin = get_rng_state()
            rest = self._rows()
            self._taken, self._ended = 0, False
        for row in rest:
            self._taken += 1
            if self._columns is not None and len(row) != self._columns:
                raise ValueError(
                    f"When 'loss_fn' is not None, 'train_dataset' should return {self._columns} "
                    f"elements, the input and the label, but got {len(row)}."
                )
            yield [item if isinstance(item, Tensor) else Tensor(item) for item in row]
        self._ended = True
        if not self._taken:
            raise ValueError(
                "There is no data left in the dataset for another epoch: its "
                "'create_tuple_iterator' must return an iterable that can be iterated over "
                "'num_epochs' times."
            )
