"""Samplers, which choose the rows of a source and their order in an epoch."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence, Sized
from types import NoneType
from typing import Protocol, cast, runtime_checkable

import numpy as np

from minispore.dataset._node import EpochKey
from minispore.utils.arrays import AnyArray, Float64Array, IndexArray
from minispore.utils.checks import caller, check_int, check_type, type_error, value_error

__all__ = [
    "BuiltinSampler",
    "DistributedSampler",
    "IterSampler",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WeightedRandomSampler",
]


@runtime_checkable
class SupportsIndexing(Protocol):
    """An object with a length and with items by index, such as the rows of a source."""

    def __getitem__(self, index: int, /) -> object:
        """Return item `index`."""
        ...

    def __len__(self) -> int:
        """Return the number of items."""
        ...


class IndexIterable(SupportsIndexing, Protocol):
    """Row indices by position."""

    def __getitem__(self, index: int, /) -> int:
        """Return the index of the row at position `index` of an epoch."""
        ...


class BuiltinSampler(ABC):
    """Base class of the package's samplers, which return an epoch's row indices as an array.

    Args:
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Examples:
        >>> isinstance(SequentialSampler(), BuiltinSampler)
        True

    Source: MindSpore's `mindspore.dataset.BuiltinSampler`.
    """

    shuffles = False
    _name_in_errors = "{kind}"

    def __init__(self, num_samples: int | None = None) -> None:
        if num_samples is not None:
            check_int(num_samples, "num_samples", low=0)
        self.num_samples = num_samples

    @abstractmethod
    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return the indices of an epoch's rows in a source of `count` rows."""

    def get_num_samples(self) -> int | None:
        """Return the argument `num_samples`.

        Examples:
            >>> SequentialSampler(num_samples=2).get_num_samples()
            2
        """
        return self.num_samples

    def _max_samples(self, count: int) -> int:
        return min(count, self.num_samples or count)


class SequentialSampler(BuiltinSampler):
    """Choose rows in the order of the source.

    Args:
        start_index: The index of the first row; None for 0.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Raises:
        RuntimeError: On iteration, if `start_index` is not in the source.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=SequentialSampler(1))
        >>> [int(x) for (x,) in data]
        [6, 7]

    Source: MindSpore's `mindspore.dataset.SequentialSampler`.
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start_index: int = 0 if start_index is None else check_int(start_index, "start_index")

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return `start_index` and the indices after it."""
        del key
        if self.start_index:
            _within(np.array([self.start_index]), count)
        remaining = count - self.start_index
        return self.start_index + np.arange(self._max_samples(remaining), dtype=np.intp)


class RandomSampler(BuiltinSampler):
    """Choose rows in random order, which differs in each epoch.

    Args:
        replacement: Whether to draw each row from all rows, so that rows may repeat.
        num_samples: The maximum number of rows of an epoch; None or 0 for the size of the source.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=RandomSampler())
        >>> sorted(int(x) for (x,) in data)
        [5, 6, 7]

    Source: MindSpore's `mindspore.dataset.RandomSampler`.
    """

    shuffles = True

    def __init__(self, replacement: bool = False, num_samples: int | None = None) -> None:
        self.replacement: bool = check_type(replacement, bool, "replacement")
        super().__init__(num_samples)

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return a permutation, or independent draws."""
        rng = key.generator()
        if self.replacement:
            return rng.integers(count, size=self._max_samples(count), dtype=np.intp)
        return rng.permutation(count)[: self._max_samples(count)]


class SubsetSampler(BuiltinSampler):
    """Choose the rows with the indices `indices`, in this order.

    Args:
        indices: Row indices, or one.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Raises:
        RuntimeError: On iteration, if an index is not in the source.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=SubsetSampler([2, 0]))
        >>> [int(x) for (x,) in data]
        [7, 5]

    Source: MindSpore's `mindspore.dataset.SubsetSampler`.
    """

    def __init__(self, indices: Iterable[int] | int, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        listed = list(indices) if isinstance(indices, Iterable) else [indices]
        for index in listed:
            check_type(index, (int, np.integer), "indices")
        self.indices: IndexArray = np.array(listed, np.intp)

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return the first of `indices`."""
        del key
        chosen = self.indices[: self._max_samples(len(self.indices))]
        return _within(chosen, count)


class SubsetRandomSampler(SubsetSampler):
    """Choose the rows with the indices `indices`, in random order, which differs in each epoch.

    Args:
        indices: Row indices, or one.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=SubsetRandomSampler([2, 0]))
        >>> sorted(int(x) for (x,) in data)
        [5, 7]

    Source: MindSpore's `mindspore.dataset.SubsetRandomSampler`.
    """

    shuffles = True

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return a permutation of `indices`."""
        permuted = key.generator().permutation(_within(self.indices, count))
        return permuted[: self._max_samples(len(permuted))]


class WeightedRandomSampler(BuiltinSampler):
    """Draw rows with probabilities proportional to weights.

    Args:
        weights: A weight for each of the first rows; other rows are never drawn.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.
        replacement: Whether to draw each row from all rows, so that rows may repeat.

    Raises:
        ValueError: If a weight is negative, or none is above 0.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=WeightedRandomSampler([0, 1, 0]))
        >>> [int(x) for (x,) in data]
        [6, 6, 6]

    Source: MindSpore's `mindspore.dataset.WeightedRandomSampler`.
    """

    shuffles = True

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int | None = None,
        replacement: bool = True,
    ) -> None:
        super().__init__(num_samples)
        check_type(replacement, bool, "replacement")
        try:
            array = np.array(weights, np.float64)
        except (TypeError, ValueError):
            array = np.array(np.nan)
        if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any() or not array.any():
            raise value_error(
                weights, "weights", "be finite numbers, none negative and one above zero"
            )
        scaled = np.ldexp(array, -np.frexp(array.max())[1])  # exactly, so that the sum is finite
        self.weights: Float64Array = scaled / scaled.sum()
        self.replacement = replacement

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return independent draws, or draws without replacement."""
        if len(self.weights) > count:
            raise RuntimeError(
                f"For 'WeightedRandomSampler', there are {len(self.weights)} weights for a source "
                f"of {count} rows."
            )
        possible = count if self.replacement else int(np.count_nonzero(self.weights))
        return key.generator().choice(
            len(self.weights), self._max_samples(possible), self.replacement, self.weights
        )


class PKSampler(BuiltinSampler):
    """Choose `num_val` rows of each class, one class after the other; rows may repeat.

    Args:
        num_val: The number of rows of each class.
        num_class: Must be None, as in MindSpore: all classes.
        shuffle: Whether the order of the classes is random; it is then another in each epoch.
        class_column: The column of the classes, in a data set of images.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Raises:
        NotImplementedError: If `num_class` is given.
        ValueError: If the data set it is given to has no such column of labels.

    Examples:
        >>> import tempfile
        >>> from minispore.dataset import MnistDataset, digits
        >>> folder = tempfile.TemporaryDirectory()
        >>> data = MnistDataset(digits.write(folder.name, train=100, test=1), sampler=PKSampler(2))
        >>> [int(label) for _, label in data][:6]
        [0, 0, 1, 1, 2, 2]
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.dataset.PKSampler`.
    """

    shuffles = True

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        super().__init__(num_samples)
        self.num_val: int = check_int(num_val, "num_val", low=1)
        if num_class is not None:
            raise NotImplementedError(
                f"For 'PKSampler', the argument 'num_class' must be None, but got {num_class!r}."
            )
        self.shuffle: bool = check_type(shuffle, bool, "shuffle")
        self.class_column: str = check_type(class_column, str, "class_column")

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Raise ValueError: `indices_by_label` needs the labels."""
        raise ValueError("For 'PKSampler', a data set of images with labels is needed.")

    def indices_by_label(self, labels: AnyArray, key: EpochKey) -> IndexArray:
        """Return independent draws from the rows of each class."""
        rng = key.generator()
        classes = np.unique(labels)
        if self.shuffle:
            classes = rng.permutation(classes)
        left = self._max_samples(self.num_val * len(classes))
        indices = [np.empty(0, np.intp)]
        for class_ in classes:
            count = min(self.num_val, left)
            indices.append(rng.choice(np.flatnonzero(labels == class_), count))
            left -= count
        return np.concatenate(indices)


class DistributedSampler(BuiltinSampler):
    """Choose one of several shards of the rows, one for each process.

    All shards have equally many rows: if `num_shards` does not divide the number of rows, the last
    shards repeat rows from the beginning.

    Args:
        num_shards: The number of processes.
        shard_id: The index of the shard, from 0.
        shuffle: Whether to permute the rows before sharding, equally in all processes.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.
        offset: The shard that gets the first row; no row is then repeated, and the sizes of shards
            may differ. -1 for shards of equal size.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> sampler = DistributedSampler(2, 1, shuffle=False)
        >>> [int(x) for (x,) in NumpySlicesDataset([5, 6, 7], sampler=sampler)]
        [6, 5]

    Source: MindSpore's `mindspore.dataset.DistributedSampler`.
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
        self.num_shards: int = check_int(num_shards, "num_shards", low=1)
        self.shard_id: int = check_int(shard_id, "shard_id", low=0, high=num_shards - 1)
        self.shuffles: bool = check_type(shuffle, bool, "shuffle")
        self.offset: int = check_int(offset, "offset", low=-1, high=num_shards - 1)

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return every `num_shards`-th index of the permutation that all shards use."""
        rows = key.shared().generator().permutation(count) if self.shuffles else np.arange(count)
        if self.offset < 0:
            size = -(-count // self.num_shards)
            positions = (self.shard_id + self.num_shards * np.arange(size)) % max(count, 1)
        else:
            first = (self.shard_id - self.offset) % self.num_shards
            positions = np.arange(first, count, self.num_shards)
        return rows[positions][: self._max_samples(len(positions))]


class Sampler(ABC):
    """Base class of custom samplers: `__iter__` yields the row indices of an epoch.

    Args:
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Attributes:
        dataset_size: The number of rows of the source; set before each epoch.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter(range(self.dataset_size - 1, -1, -1))
        >>> data = NumpySlicesDataset([5, 6, 7], sampler=Backwards())
        >>> [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)]
        [7, 6, 5]

    Source: MindSpore's `mindspore.dataset.Sampler`.
    """

    def __init__(self, num_samples: int | None = None) -> None:
        self.dataset_size = 0
        self.num_samples = num_samples

    @abstractmethod
    def __iter__(self) -> Iterator[int]:
        """Yield row indices."""


class IterSampler(BuiltinSampler):
    """Adapter of a custom sampler, which is iterated over in each epoch.

    Args:
        sampler: The custom sampler, or another iterable of row indices.
        num_samples: The maximum number of rows of an epoch; None or 0 for all.

    Raises:
        TypeError: `sampler` is not iterable.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> class First(Sampler):
        ...     def __iter__(self):
        ...         return iter([0])
        >>> [int(x) for (x,) in NumpySlicesDataset([5, 6], sampler=IterSampler(First()))]
        [5]

    Source: MindSpore's `mindspore.dataset.IterSampler`.
    """

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.sampler = sampler
        if not isinstance(sampler, Iterable):
            raise type_error(sampler, "sampler", "be an iterable of row indices")

    def epoch_indices(self, count: int, key: EpochKey) -> IndexArray:
        """Return the indices that the sampler yields."""
        max_count = self.num_samples
        if isinstance(self.sampler, Sampler):
            self.sampler.dataset_size = count
            max_count = self.sampler.num_samples or max_count
        return SubsetSampler(list(self.sampler), max_count).epoch_indices(count, key)


def choose_sampler(
    sampler: object,
    shuffle: bool | None,
    num_samples: int | None,
    num_shards: int | None,
    shard_id: int | None,
    conflict_error: type[ValueError | RuntimeError] = ValueError,
) -> BuiltinSampler:
    """Return the sampler for the arguments of a source; by default a random one.

    Args:
        sampler: The argument of the source, as the next four.
        shuffle: None for True.
        num_samples: None for all.
        num_shards: None for no shards.
        shard_id: None for no shards.
        conflict_error: The class of the error to raise if arguments contradict one another.
    """
    check_type(shuffle, (bool, NoneType), "shuffle")
    if num_samples is not None:
        check_int(num_samples, "num_samples", low=0)
    if sampler is not None:
        others = {"shuffle": shuffle, "num_shards": num_shards, "shard_id": shard_id}
        # As in MindSpore, a source of Python objects takes the first indices of a list.
        if isinstance(sampler, BuiltinSampler | Sampler) or conflict_error is not ValueError:
            others["num_samples"] = num_samples
        for name, value in others.items():
            if value is not None:
                raise conflict_error(
                    f"For '{caller()}', 'sampler' and '{name}' cannot be given at the same time."
                )
        return as_sampler(sampler, num_samples)
    if num_shards is None and shard_id is None:
        kind = SequentialSampler if shuffle is False else RandomSampler
        return kind(num_samples=num_samples)
    if num_shards is None or shard_id is None:
        raise conflict_error(
            f"For '{caller()}', 'num_shards' and 'shard_id' must be given together."
        )
    check_int(num_shards, "num_shards", low=1)
    check_int(shard_id, "shard_id", low=0, high=num_shards - 1)
    return DistributedSampler(num_shards, shard_id, shuffle is not False, num_samples)


def as_sampler(sampler: object, num_samples: int | None = None) -> BuiltinSampler:
    """Return a sampler, or a sampler of the first `num_samples` row indices in another object."""
    if isinstance(sampler, BuiltinSampler):
        return sampler
    if isinstance(sampler, Sampler):
        return IterSampler(sampler)
    if not isinstance(sampler, str | bytes):
        if isinstance(sampler, Iterable):
            return SubsetSampler(list(cast(Iterable[int], sampler)), num_samples)
        if isinstance(sampler, Sized) and hasattr(type(sampler), "__getitem__"):
            indexable = cast("IndexIterable", sampler)
            return SubsetSampler([indexable[i] for i in range(len(indexable))], num_samples)
    raise TypeError(
        f"For '{caller()}', the argument 'sampler' must be a sampler or an iterable of row "
        f"indices, but got {sampler!r} of type {type(sampler).__name__}."
    )


def _within(indices: IndexArray, count: int) -> IndexArray:
    wrong = indices[(indices < 0) | (indices >= count)]
    if len(wrong):
        raise RuntimeError(
            f"For '{caller()}', there is no row {wrong[0]} in a source of {count} rows."
        )
    return indices
