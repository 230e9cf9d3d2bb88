"""Datasets of arrays and of Python objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from minispore import dataset as ds
from minispore.dataset._dataset import Dataset, Names, as_names, check_workers
from minispore.dataset._node import Array, Node, as_element, initial_key
from minispore.dataset._sources import ArraySource, MapStyleNode, TextColumn
from minispore.dataset.iterators import arrays
from minispore.dataset.samplers import (
    BuiltinSampler,
    IndexIterable,
    Sampler,
    as_sampler,
    choose_sampler,
)
from minispore.utils.arrays import AnyArray, IndexArray
from minispore.utils.checks import (
    as_items,
    as_tuple,
    caller,
    check_int,
    check_type,
    describe_value,
    is_dict,
    is_sequence,
)

AnySampler = BuiltinSampler | Sampler | Iterable[int] | IndexIterable


class MappableDataset(Dataset):
    """Base class of sources; `dataset[i]` is row `i` of the first epoch, a tuple of arrays.

    Args:
        node: The source node, which the subclasses construct.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
        >>> [column.tolist() for column in data[-1]]
        [2, 4]

    Source: MindSpore's `mindspore.dataset.MappableDataset`.
    """

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._first_epoch: IndexArray | None = None

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        node = self._map_style_node()
        if self._first_epoch is None:
            self._first_epoch = node.indices(initial_key())
        count = len(self._first_epoch)
        number = check_int(index, "index")
        if not -count <= number < count:
            raise IndexError(
                f"For '{type(self).__name__}', there is no row {number}; it has {count} rows."
            )
        block = next(iter(node.store.rows(self._first_epoch[[number]])))
        return tuple(arrays(tuple([column[0, ...] for column in block])))

    def use_sampler(self, new_sampler: AnySampler) -> None:
        """Replace the sampler of this dataset, beginning with the next iterator.

        Args:
            new_sampler: A sampler, or an iterable of row indices.

        Raises:
            TypeError: If the source is not map-style.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset([5, 6, 7])
            >>> data.use_sampler([2, 0])
            >>> [int(x) for (x,) in data]
            [7, 5]
        """
        sampler = as_sampler(new_sampler)
        self._node = replace(self._map_style_node(), sampler=sampler)
        self._known_size = self._first_epoch = None

    def _map_style_node(self) -> MapStyleNode:
        if not isinstance(self._node, MapStyleNode):
            raise TypeError(
                f"This {type(self).__name__}'s source has no '__getitem__' and '__len__', so "
                "its rows cannot be chosen by index."
            )
        return self._node


def check_absent(value: object, name: str) -> None:
    """Raise TypeError unless an argument that is not supported is None."""
    if value is not None:
        raise TypeError(f"For '{caller()}', the argument '{name}' must be None, but got {value!r}.")


class NumpySlicesDataset(MappableDataset):
    """The slices of arrays along their first axis.

    Args:
        data: An array or a list for one column, a tuple of them for several columns, a dictionary
            from column names to them, or a table, such as a DataFrame of pandas.
        column_names: Names of the columns; None for the keys of the dictionary, the names in the
            table, or column_0, ...
        num_samples: The maximum number of rows of an epoch; None for all.
        num_parallel_workers: Accepted without effect: all work is done in the calling thread.
        shuffle: Whether each epoch has another random order; None for True.
        sampler: Chooses rows, instead of `num_samples`, `shuffle` and shards.
        num_shards: The number of processes among which the rows are divided.
        shard_id: The index of this process, from 0.

    Raises:
        TypeError: If a column has strings among other values.
        ValueError: If columns differ in length, or arguments contradict one another.

    Examples:
        >>> data = NumpySlicesDataset({"x": [1.5, 2.5], "y": [3, 4]}, shuffle=False)
        >>> [[x.item(), y.item()] for x, y in data]
        [[1.5, 3], [2.5, 4]]

    Source: MindSpore's `mindspore.dataset.NumpySlicesDataset`.
    """

    def __init__(
        self,
        data: "AnyArray | Sequence[object] | Mapping[str, object] | ds._tables.Table",
        column_names: Names | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: AnySampler | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        check_workers(num_parallel_workers)
        chosen = choose_sampler(sampler, shuffle, num_samples, num_shards, shard_id)
        arrays, keys = _columns(data)
        names = keys if column_names is None else as_names(column_names, "column_names")
        if len(names) != len(arrays):
            raise ValueError(
                f"For '{caller()}', 'column_names' must be {len(arrays)} names, but got "
                f"{len(names)}."
            )
        super().__init__(MapStyleNode(names, ArraySource(arrays), chosen))


def _columns(data: object) -> tuple[tuple[Array | TextColumn, ...], tuple[str, ...]]:
    """Return the arrays in the argument `data`, and their default names."""
    if hasattr(data, "to_numpy") and isinstance(data, ds._tables.Table):
        data = ds._tables.columns_of(data)
    check_type(data, (list, tuple, dict, np.ndarray), "data")
    keys: tuple[str, ...] = ()
    columns = as_tuple(data)
    if is_dict(data):
        keys = as_names(list(data), "data") if data else ()
        columns = tuple(data.values())
    names = keys or tuple([f"column_{i}" for i in range(len(columns))])
    arrays = tuple([_as_column(*column) for column in zip(columns, names, strict=True)])
    if not arrays or any(not array.ndim or not len(array) for array in arrays):
        raise ValueError(
            "For 'NumpySlicesDataset', the argument 'data' must have rows, but has none."
        )
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(
            "For 'NumpySlicesDataset', the columns of the argument 'data' must have the same "
            f"length, but got {lengths}."
        )
    return arrays, names


def _as_column(values: object, name: str) -> Array | TextColumn:
    """Return a column as an array, of objects if it is a list of dictionaries, or as texts."""
    subject = f"For 'NumpySlicesDataset', the column {name!r} of the argument 'data'"
    if hasattr(values, "to_numpy") and isinstance(values, ds._tables.Column):
        values = ds._tables.values_of(values, subject)
    if is_sequence(values) and values and all(isinstance(value, dict) for value in values):
        return np.array(values, np.object_)
    items = as_items(values) or ()
    texts = [item for item in items if isinstance(item, str)]
    if texts and len(texts) < len(items):
        raise TypeError(
            f"{subject} must have no strings among other values, but got {describe_value(values)}."
        )
    if texts:
        return TextColumn(texts)
    return as_element(values, subject)
