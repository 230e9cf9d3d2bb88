"""What the loop asks of a dataset, and its batches, epoch by epoch."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol, TypeVar, cast, runtime_checkable

from minispore.common import Tensor
from minispore.common.seed import random_state, set_random_state

_T = TypeVar("_T")
_TOO_MANY: Final = 2**63


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


@runtime_checkable
class SupportsState(Protocol):
    """What remembers something: a callback, or an iterable that knows where it stands.

    The state consists of None, bool, int, float, str, Tensor and numpy array, and of lists, tuples
    and dicts (with str as keys) of these.
    """

    def state_dict(self) -> Mapping[str, object]:
        """Return what another one, made alike, needs to go on from here."""
        ...

    def load_state_dict(self, state: Mapping[str, object], /) -> object:
        """Go on from there; ValueError if that cannot be."""
        ...


class Epochs:
    """The batches of a dataset, epoch by epoch, and how far they have been gone through.

    An iterable of your own without `state_dict` and `load_state_dict` is brought to a position by
    going through it: through all epochs before, and, from the random state in which the current
    one began, through its batches. So it must give the same again, but for what it draws from
    `random` and `numpy.random`.

    Args:
        dataset: what to go through.
        num_epochs: how often.
        columns: how many tensors a batch must have, if that is known.

    Raises:
        ValueError: on a batch with another number of columns, or an epoch without a batch.
    """

    _taken: int  # batches of the epoch so far
    _ended: bool  # whether these are all

    def __init__(self, dataset: DatasetLike, num_epochs: int, columns: int | None = None) -> None:
        self._source = dataset.create_tuple_iterator(num_epochs=num_epochs)
        self._num_epochs = num_epochs
        self._columns = columns
        self._next = 0  # the epoch to begin with
        self._number = -1  # of the epoch that is gone through, or was last
        self._begin: Mapping[str, object] = {}  # the random state before that
        self._rest: Iterator[Sequence[object]] | None = None  # of that, after a jump into it

    def __iter__(self) -> Iterator[tuple[int, Iterator[list[Tensor]]]]:
        """Yield the number of epochs before, and the batches of the epoch."""
        for number in range(self._next, self._num_epochs):
            self._number = number
            yield number, self._batches()

    def state_dict(self, *, closed: bool) -> dict[str, object]:
        """Where to go on: with the current epoch, or, if that is closed, with the next."""
        source = self._source
        open_: dict[str, object] = {"taken": 0, "ended": False, "begin": {}}
        if not closed:
            begin: Mapping[str, object] = self._begin
            open_ = {"taken": self._taken, "ended": self._ended, "begin": begin}
        position: Mapping[str, object] = {}
        if isinstance(source, SupportsState):
            position = source.state_dict()
        return {"number": self._number, "closed": closed, **open_, "source": position}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go to a position.

        Raises:
            ValueError: The dataset is another one, or this is no position.
        """
        number, taken = (_entry(state, key, int) for key in ("number", "taken"))
        closed, ended = (_entry(state, key, bool) for key in ("closed", "ended"))
        begin, position = (
            cast("Mapping[str, object]", _entry(state, key, dict)) for key in ("begin", "source")
        )
        if not -1 <= number < self._num_epochs or not 0 <= taken < _TOO_MANY:
            raise ValueError(f"There is no batch {taken} of epoch {number + 1}.")
        self._number, self._next = number, number + closed
        self._taken, self._ended, self._begin = taken, ended, begin
        if isinstance(self._source, SupportsState):
            self._source.load_state_dict(position)
            rest = iter(self._source)
        else:
            rest = self._gone_through()
        if self._ended:
            rest = iter(())
        self._rest = rest if self._taken else None

    def end(self) -> None:
        """Give no further batch."""
        self._rest = iter(())
        self._next = self._num_epochs

    def _gone_through(self) -> Iterator[Sequence[object]]:
        for _ in range(self._next):
            for _ in self._source:
                pass
        if self._begin:
            set_random_state(self._begin)
        rest = iter(self._source) if self._taken else iter(())
        if sum(1 for _ in islice(rest, self._taken)) < self._taken:
            raise ValueError(f"The dataset has come to its end before batch {self._taken}.")
        if self._ended:
            next(rest, None)  # nothing is left, but it may have to be asked
        return rest

    def _batches(self) -> Iterator[list[Tensor]]:
        rest, self._rest = self._rest, None
        if rest is None:
            if not isinstance(self._source, SupportsState):
                self._begin = random_state()
            rest = iter(self._source)
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
                "'create_tuple_iterator' must return an iterable that can be gone through "
                "'num_epochs' times."
            )


def _entry(state: Mapping[str, object], key: str, kind: type[_T]) -> _T:
    value = state.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"The dataset's '{key}' must be of type {kind.__name__}: {value!r:.100}.")
    return value
