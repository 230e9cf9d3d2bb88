"""Samplers: which rows of a source an epoch takes, and in which order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int, check_type
from minispore.dataset._random import Epoch

__all__ = [
    "BuiltinSampler",
    "DistributedSampler",
    "IterSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
]

Indices = npt.NDArray[np.intp]


class RowNumbers(Protocol):
    """Row numbers in their order, asked for one by one."""

    def __getitem__(self, index: int, /) -> int:
        """Return the number of the row that comes at `index`."""
        ...

    def __len__(self) -> int:
        """Return how many rows an epoch has."""
        ...


class BuiltinSampler(ABC):
    """What the package's samplers have in common: the order is an array of row numbers.

    Args:
        num_samples: At most so many rows an epoch; None or 0 for all.
    """

    shuffles = False

    def __init__(self, num_samples: int | None = None) -> None:
        if num_samples is not None:
            check_int(num_samples, "num_samples", type(self).__name__, low=0)
        self.num_samples = num_samples

    @abstractmethod
    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return the numbers of the rows to take from a source of `count` rows in this epoch."""

    def get_num_samples(self) -> int | None:
        """Return the argument `num_samples`."""
        return self.num_samples

    def _most(self, count: int) -> int:
        return min(count, self.num_samples or count)


class SequentialSampler(BuiltinSampler):
    """Rows as they lie in the source.

    Args:
        start_index: The first row to take; None for 0.
        num_samples: At most so many rows an epoch; None or 0 for all.

    Raises:
        RuntimeError: On iteration, if `start_index` is not in the source.
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        if start_index is not None:
            check_int(start_index, "start_index", "SequentialSampler")
        self.start_index: int = start_index or 0

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return `start_index` and the numbers after it."""
        del epoch
        if self.start_index:
            _within(np.array([self.start_index]), count, "SequentialSampler")
        left = count - self.start_index
        return self.start_index + np.arange(self._most(left), dtype=np.intp)


class RandomSampler(BuiltinSampler):
    """Rows in random order, another one each epoch.

    Args:
        replacement: Draw every row from all rows, so that rows repeat.
        num_samples: At most so many rows an epoch; None or 0 for as many as there are.
    """

    shuffles = True

    def __init__(self, replacement: bool = False, num_samples: int | None = None) -> None:
        check_type(replacement, bool, "replacement", "RandomSampler")
        super().__init__(num_samples)
        self.replacement = replacement

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return a permutation, or independent draws."""
        rng = epoch.generator()
        if self.replacement:
            return rng.integers(count, size=self._most(count), dtype=np.intp)
        return rng.permutation(count)[: self._most(count)]


class SubsetSampler(BuiltinSampler):
    """The rows of the given numbers, in the given order.

    Args:
        indices: Row numbers, or one.
        num_samples: At most so many rows an epoch; None or 0 for all.

    Raises:
        TypeError: If a number is no int.
        RuntimeError: On iteration, if a number is not in the source.
    """

    def __init__(self, indices: Iterable[int] | int, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        listed = list(indices) if isinstance(indices, Iterable) else [indices]
        for index in listed:
            check_type(index, (int, np.integer), "indices", type(self).__name__)
        self.indices: npt.NDArray[np.intp] = np.array(listed, np.intp)

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return the given numbers."""
        del epoch
        return _within(self.indices[: self._most(len(self.indices))], count, type(self).__name__)


class SubsetRandomSampler(SubsetSampler):
    """The rows of the given numbers, in random order, another one each epoch.

    Args:
        indices: Row numbers, or one.
        num_samples: At most so many rows an epoch; None or 0 for all.
    """

    shuffles = True

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return a permutation of the given numbers."""
        order = epoch.generator().permutation(_within(self.indices, count, "SubsetRandomSampler"))
        return order[: self._most(len(order))]


class WeightedRandomSampler(BuiltinSampler):
    """Rows drawn by weight.

    Args:
        weights: A weight for each of the first rows; the others are never drawn.
        num_samples: At most so many rows an epoch; None or 0 for all.
        replacement: Draw every row from all rows, so that rows repeat.

    Raises:
        ValueError: If there is no weight, a negative one, or none above zero.
    """

    shuffles = True

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int | None = None,
        replacement: bool = True,
    ) -> None:
        super().__init__(num_samples)
        check_type(replacement, bool, "replacement", "WeightedRandomSampler")
        array = np.array(weights, np.float64)
        if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any() or not array.any():
            raise ValueError(
                "For 'WeightedRandomSampler', the argument 'weights' must be finite numbers, none "
                f"negative and one above zero, but got {weights!r}."
            )
        self.weights: npt.NDArray[np.float64] = array / array.sum()
        self.replacement = replacement

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return draws with these weights."""
        if len(self.weights) > count:
            raise RuntimeError(
                f"For 'WeightedRandomSampler', there are {len(self.weights)} weights for a source "
                f"of {count} rows."
            )
        possible = count if self.replacement else int(np.count_nonzero(self.weights))
        return epoch.generator().choice(
            len(self.weights), self._most(possible), self.replacement, self.weights
        )


class DistributedSampler(BuiltinSampler):
    """The rows of one of several processes, which share a data set without overlap.

    Every shard has the same number of rows: where they do not divide evenly, the last shards take
    rows from the beginning again.

    Args:
        num_shards: The number of processes.
        shard_id: This one's number, from 0.
        shuffle: Whether to permute the rows (in the same way in every process) before dealing them.
        num_samples: At most so many rows an epoch; None or 0 for all.
        offset: The shard that gets the first row; then nothing is taken twice, so that shards may
            differ in size. -1 for the even division.

    Raises:
        ValueError: If `num_shards` is below 1, or `shard_id` not below it.
    """

    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool = True,
        num_samples: int | None = None,
        offset: int = -1,
    ) -> None:
        super().__init__(num_samples)
        owner = "DistributedSampler"
        self.num_shards: int = check_int(num_shards, "num_shards", owner, low=1)
        self.shard_id: int = check_int(shard_id, "shard_id", owner, low=0, high=num_shards - 1)
        check_type(shuffle, bool, "shuffle", owner)
        self.shuffles = shuffle
        self.offset: int = check_int(offset, "offset", owner, low=-1, high=num_shards - 1)

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return every `num_shards`-th row of the permutation that all shards share."""
        rows = epoch.shared().generator().permutation(count) if self.shuffles else np.arange(count)
        if self.offset < 0:
            share = -(-count // self.num_shards)
            places = (self.shard_id + self.num_shards * np.arange(share)) % max(count, 1)
        else:
            places = np.arange(
                (self.shard_id - self.offset) % self.num_shards, count, self.num_shards
            )
        return rows[places][: self._most(len(places))]


class Sampler(ABC):
    """Base of your own samplers: `__iter__` gives the row numbers of an epoch.

    Attributes:
        dataset_size: The number of rows of the source; set before iteration begins.
        num_samples: The constructor's argument.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter(range(self.dataset_size - 1, -1, -1))
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=Backwards())
        >>> [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)]
        [7, 6, 5]
    """

    def __init__(self, num_samples: int | None = None) -> None:
        self.dataset_size = 0
        self.num_samples = num_samples

    @abstractmethod
    def __iter__(self) -> Iterator[int]:
        """Yield row numbers."""


class IterSampler(BuiltinSampler):
    """A sampler of your own, asked anew each epoch, as an array of row numbers."""

    def __init__(self, sampler: Sampler, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.sampler = sampler

    def order(self, count: int, epoch: Epoch) -> Indices:
        """Return what the sampler yields."""
        del epoch
        self.sampler.dataset_size = count
        most = self.sampler.num_samples or self.num_samples
        return SubsetSampler(list(self.sampler), most).order(count, Epoch(0, seeded=True))


def choose_sampler(
    sampler: object,
    shuffle: bool | None,
    num_samples: int | None,
    num_shards: int | None,
    shard_id: int | None,
    owner: str,
    contradicting: type[ValueError | RuntimeError] = ValueError,
) -> BuiltinSampler:
    """Return the sampler that a source's arguments ask for; shuffled unless they say otherwise.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a number is out of range.
        Exception: Of the type `contradicting`, if arguments contradict one another.
    """
    check_type(shuffle, bool, "shuffle", owner, none=True)
    if num_samples is not None:
        check_int(num_samples, "num_samples", owner, low=0)
    if sampler is not None:
        for name, value in (
            ("shuffle", shuffle),
            ("num_shards", num_shards),
            ("num_samples", num_samples),
        ):
            if value is not None:
                raise contradicting(
                    f"For '{owner}', 'sampler' and '{name}' cannot be given at the same time."
                )
        return _as_sampler(sampler, owner)
    if (num_shards is None) != (shard_id is None):
        raise contradicting(f"For '{owner}', 'num_shards' and 'shard_id' must be given together.")
    if num_shards is not None and shard_id is not None:
        check_int(num_shards, "num_shards", owner, low=1)
        check_int(shard_id, "shard_id", owner, low=0, high=num_shards - 1)
        return DistributedSampler(num_shards, shard_id, shuffle is not False, num_samples)
    if shuffle is False:
        return SequentialSampler(num_samples=num_samples)
    return RandomSampler(num_samples=num_samples)


def _as_sampler(sampler: object, owner: str) -> BuiltinSampler:
    if isinstance(sampler, BuiltinSampler):
        return sampler
    if isinstance(sampler, Sampler):
        return IterSampler(sampler)
    if not isinstance(sampler, str | bytes):
        if isinstance(sampler, Iterable):
            return SubsetSampler(list(cast(Iterable[int], sampler)))
        if isinstance(sampler, Sized) and hasattr(type(sampler), "__getitem__"):
            by_number = cast(RowNumbers, sampler)
            return SubsetSampler([by_number[i] for i in range(len(by_number))])
    raise TypeError(
        f"For '{owner}', the argument 'sampler' must be a sampler or an iterable of row numbers, "
        f"but got {sampler!r} of type {type(sampler).__name__}."
    )


def _within(indices: Indices, count: int, owner: str) -> Indices:
    wrong = indices[(indices < 0) | (indices >= count)]
    if len(wrong):
        raise RuntimeError(
            f"For '{owner}', there is no row {wrong[0]} in a source of {count} rows."
        )
    return indices
