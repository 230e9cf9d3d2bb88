"""Reading a pipeline: what it says of itself, and iterators over its rows."""

from typing import Literal, overload

import numpy as np

from minispore.common.tensor import Tensor
from minispore.dataset._arguments import Names, check_iterator, columns_of
from minispore.dataset._block import Array, Row
from minispore.dataset._iterators import DatasetIterator, arrays, tensors
from minispore.dataset._node import Node
from minispore.dataset._random import first_epoch
from minispore.dataset._structure import Project


class Readable:
    """A pipeline's end: its sizes, its columns, and iterators over its rows."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known_size: int | None = None

    # What a dataset says of itself.

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_dataset_size(self) -> int:
        """Return the number of rows in an epoch; batches, if the dataset is batched.

        Where only iterating tells (`filter`, a generator), one epoch is gone through, once.
        """
        if self._known_size is None:
            self._known_size = self._node.size()
        return self._known_size

    def get_batch_size(self) -> int:
        """Return the number of samples in a row; 1 without `batch`, -1 if a function decides."""
        return self._node.batch_size

    def get_repeat_count(self) -> int:
        """Return what the last `repeat` was given; 1 without."""
        return self._node.repeat_count

    def get_col_names(self) -> list[str]:
        """Return the names of the columns, in order."""
        return list(self._node.columns)

    def output_shapes(self) -> list[list[int]]:
        """Return the shape of each column in the first row."""
        return [list(array.shape) for array in self._first_row()]

    def output_types(self) -> list[np.dtype[np.generic]]:
        """Return the numpy type of each column in the first row."""
        return [array.dtype for array in self._first_row()]

    def _first_row(self) -> Row:
        for block in self._node.blocks(first_epoch(), 1):
            return tuple([column[0, ...] for column in block])
        raise RuntimeError("The dataset has no rows, so the types and shapes of none are known.")

    # What it gives.

    def __iter__(self) -> DatasetIterator[list[Tensor]]:
        return self.create_tuple_iterator(num_epochs=1)

    @overload
    def create_tuple_iterator(
        self,
        columns: Names | None = None,
        num_epochs: int = -1,
        output_numpy: Literal[False] = False,
        do_copy: bool = True,
    ) -> DatasetIterator[list[Tensor]]: ...

    @overload
    def create_tuple_iterator(
        self,
        columns: Names | None = None,
        num_epochs: int = -1,
        *,
        output_numpy: Literal[True],
        do_copy: bool = True,
    ) -> DatasetIterator[list[Array]]: ...

    def create_tuple_iterator(
        self,
        columns: Names | None = None,
        num_epochs: int = -1,
        output_numpy: bool = False,
        do_copy: bool = True,
    ) -> DatasetIterator[list[Tensor]] | DatasetIterator[list[Array]]:
        """Return an iterator over rows as lists.

        Args:
            columns: Which columns, in which order; None for all.
            num_epochs: How many epochs it gives, each to one `for` loop; -1 for any number.
            output_numpy: Whether to give numpy arrays rather than tensors.
            do_copy: Accepted; every row's memory is its own in any case.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If `num_epochs` is 0 or below -1.
            RuntimeError: If there is no such column.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False).batch(2)
            >>> for epoch in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            ...     print(epoch)
            [array([1, 2])]
            [array([3])]
        """
        owner = "create_tuple_iterator"
        check_iterator(num_epochs, output_numpy, do_copy, owner)
        node = self._node
        if columns is not None:
            node = Project(node, columns_of(node, columns, "columns", owner))
        if output_numpy:
            return DatasetIterator(node, arrays, num_epochs)
        return DatasetIterator(node, tensors, num_epochs)

    @overload
    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: Literal[False] = False, do_copy: bool = True
    ) -> DatasetIterator[dict[str, Tensor]]: ...

    @overload
    def create_dict_iterator(
        self, num_epochs: int = -1, *, output_numpy: Literal[True], do_copy: bool = True
    ) -> DatasetIterator[dict[str, Array]]: ...

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = True
    ) -> DatasetIterator[dict[str, Tensor]] | DatasetIterator[dict[str, Array]]:
        """Return an iterator over rows as dictionaries from column name to value.

        Args:
            num_epochs: How many epochs it gives, each to one `for` loop; -1 for any number.
            output_numpy: Whether to give numpy arrays rather than tensors.
            do_copy: Accepted; every row's memory is its own in any case.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If `num_epochs` is 0 or below -1.
        """
        owner = "create_dict_iterator"
        check_iterator(num_epochs, output_numpy, do_copy, owner)
        names = self._node.columns
        if output_numpy:
            return DatasetIterator(
                self._node, lambda row: dict(zip(names, arrays(row), strict=True)), num_epochs
            )
        return DatasetIterator(
            self._node, lambda row: dict(zip(names, tensors(row), strict=True)), num_epochs
        )
