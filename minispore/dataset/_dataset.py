"""Dataset: the methods of every pipeline, each of which returns a new dataset."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import NoneType
from typing import Literal, TypeVar, overload

import numpy as np

from minispore import dataset as ds
from minispore.dataset._batches import Batch, BatchInfo, BucketBatch, Padding, PerBatch
from minispore.dataset._ds_callback import DSCallback
from minispore.dataset._node import (
    Array,
    Node,
    Row,
    initial_key,
    replaced_columns,
    require_distinct,
)
from minispore.dataset.iterators import DatasetIterator, arrays, tensors
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    as_items,
    caller,
    check_bool,
    check_function,
    check_int,
    check_type,
    describe_value,
    type_error,
    value_error,
)

T = TypeVar("T")
Function = Callable[..., object]
Names = str | Sequence[str]
PadInfo = Mapping[str, tuple[Sequence[int | None] | None, float | str | None]]


class Dataset:
    """A pipeline of rows with named columns; the base class of all datasets.

    A dataset is immutable: its methods return new datasets. Each epoch computes the rows again.

    Args:
        node: The end of the pipeline, which the sources and the methods construct.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset({"x": [1, 2, 3], "y": [4, 5, 6]}, shuffle=False)
        >>> data = data.map(lambda x: x * 10, "x").batch(2)
        >>> for row in data.create_dict_iterator(num_epochs=1, output_numpy=True):
        ...     print(row["x"].tolist(), row["y"].tolist())
        [10, 20] [4, 5]
        [30] [6]

    Source: MindSpore's `mindspore.dataset.Dataset`.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known_size: int | None = None

    def __repr__(self) -> str:
        steps = (
            f"{name}({settings})"
            for name, settings, _ in ds._pipeline_table.pipeline_table(self._node).rows
        )
        return f"<{type(self).__name__}: {' → '.join(steps)}>"

    def _repr_html_(self) -> str:
        return ds._pipeline_table.pipeline_table(self._node)._repr_html_()

    # Operations.

    def map(
        self,
        operations: Function | Sequence[Function],
        input_columns: Names | None = None,
        output_columns: Names | None = None,
        num_parallel_workers: int | None = None,
        *,
        python_multiprocessing: bool = False,
        max_rowsize: int | None = None,
        callbacks: DSCallback | list[DSCallback] | None = None,
    ) -> "Dataset":
        """Apply transforms and functions, one after the other, to columns of each row.

        A function gets one numpy array for each input column, and returns one value, or a tuple of
        one value for each output column. Outputs take the positions of the inputs if they are
        equally many; otherwise they come before the other columns.

        Args:
            operations: One or several transforms or functions.
            input_columns: The columns that the first operation gets; None for the first column.
            output_columns: Names for the results of the last one; None for those of the input.
            num_parallel_workers: The number of processes if `python_multiprocessing`; None for that
                of `dataset.config`.
            python_multiprocessing: Whether functions and random transforms run in several worker
                processes, ahead of the iterator. The rows stay the same: where they would depend on
                the process (functions that draw random numbers or have a `state_dict`, callbacks),
                a warning says so, and all work is done in the calling thread, as it is without
                this. A function must keep nothing else from one call to the next.
            max_rowsize: Accepted without effect.
            callbacks: Their hooks are called while rows are mapped, in this order.

        Raises:
            RuntimeError: If there is no such column; on iteration, if an operation fails, or a
                worker process is killed.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
            >>> data = data.map(lambda x, y: (x + y, x - y), ["x", "y"], ["sum", "difference"])
            >>> [[a.item(), b.item()] for a, b in data.create_tuple_iterator(num_epochs=1)]
            [[4, -2], [6, -2]]
        """
        workers = count_workers(num_parallel_workers, python_multiprocessing)
        del max_rowsize
        functions = ds.transforms.transforms.flatten_transforms(
            [operations] if callable(operations) else operations, "operations"
        )
        if input_columns is None:
            input_columns = self._node.columns[:1]
        inputs, outputs = self._inputs_and_outputs(input_columns, output_columns)
        check_type(callbacks, (DSCallback, list, NoneType), "callbacks")
        hooks = _as_tuple_of(DSCallback, callbacks or (), "callbacks")
        return Dataset(ds._operations.Map(self._node, functions, inputs, outputs, hooks, workers))

    def batch(
        self,
        batch_size: int | Callable[[BatchInfo], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        *,
        per_batch_map: Function | None = None,
        input_columns: Names | None = None,
        output_columns: Names | None = None,
        python_multiprocessing: bool = False,
        max_rowsize: int | None = None,
    ) -> "Dataset":
        """Join `batch_size` rows at a time into one, along a new leading axis.

        Args:
            batch_size: The number of rows, or a function from `BatchInfo` to it.
            drop_remainder: Whether to drop a last batch with fewer rows.
            num_parallel_workers: Accepted without effect: all work is done in the calling thread.
            per_batch_map: A function of the rows of a batch (a list of arrays for each input
                column) and a `BatchInfo`, which returns the rows of each output column.
            input_columns: The columns that it gets; None for all.
            output_columns: Names for its results; None for those of the input.
            python_multiprocessing: Accepted without effect.
            max_rowsize: Accepted without effect.

        Raises:
            RuntimeError: If there is no such column; on iteration, if the rows of a batch differ in
                shape or type, or `per_batch_map` fails.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).batch(2, drop_remainder=True).get_dataset_size()
            1
        """
        check_workers(num_parallel_workers)
        del python_multiprocessing, max_rowsize
        if not callable(batch_size):
            check_int(batch_size, "batch_size", low=1)
        check_type(drop_remainder, bool, "drop_remainder")
        per_batch = None
        if per_batch_map is not None:
            check_function(per_batch_map, "per_batch_map")
            inputs, outputs = self._inputs_and_outputs(input_columns, output_columns)
            per_batch = PerBatch(per_batch_map, inputs, outputs)
        elif input_columns is not None or output_columns is not None:
            raise ValueError(
                "For 'batch', 'input_columns' and 'output_columns' need 'per_batch_map'."
            )
        return Dataset(Batch(self._node, batch_size, drop_remainder, per_batch))

    def padded_batch(
        self,
        batch_size: int | Callable[[BatchInfo], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: PadInfo | None = None,
    ) -> "Dataset":
        """Join `batch_size` rows at a time into one, after padding them to equal shapes.

        Args:
            batch_size: The number of rows, or a function from `BatchInfo` to it.
            drop_remainder: Whether to drop a last batch with fewer rows.
            num_parallel_workers: Accepted without effect: all work is done in the calling thread.
            pad_info: The shape and the padding value of columns. None instead of a shape, or in
                it, is the largest length in the batch, and None for the value is 0. An empty
                dictionary pads all columns so; None pads none.

        Raises:
            RuntimeError: If there is no such column; on iteration, if rows differ in their number
                of axes or their type, or a column's type cannot hold its padding value.

        Examples:
            >>> from minispore.dataset import GeneratorDataset
            >>> data = GeneratorDataset([[1], [2, 3]], "x", shuffle=False)
            >>> for (batch,) in data.padded_batch(2, pad_info={"x": ([3], -1)}):
            ...     print(batch.tolist())
            [[1, -1, -1], [2, 3, -1]]
        """
        check_workers(num_parallel_workers)
        if not callable(batch_size):
            check_int(batch_size, "batch_size", low=1)
        check_type(drop_remainder, bool, "drop_remainder")
        padding = None if pad_info is None else self._padding(pad_info)
        return Dataset(Batch(self._node, batch_size, drop_remainder, padding=padding))

    def bucket_batch_by_length(
        self,
        column_names: Sequence[str],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Function | None = None,
        pad_info: PadInfo | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> "Dataset":
        """Join rows of similar length into batches, after padding them to equal shapes.

        Args:
            column_names: The columns that determine the length of a row.
            bucket_boundaries: Ascending lengths. Bucket i collects the rows that are shorter than
                boundary i and not shorter than the one before; the last bucket, all others.
            bucket_batch_sizes: The number of rows of the batches of each bucket, one more than
                there are boundaries.
            element_length_function: A function that returns the length, and gets one numpy array
                for each column; None for the length of the only column.
            pad_info: As in `padded_batch`; None pads all columns.
            pad_to_bucket_boundary: Whether None in a shape of `pad_info` is the largest length of
                the bucket.
            drop_remainder: Whether to drop the last batch of each bucket if it has fewer rows.

        Raises:
            RuntimeError: If there is no such column; on iteration, if rows differ in their number
                of axes or their type, or a column's type cannot hold its padding value, or a row is
                too long for `pad_to_bucket_boundary`.

        Examples:
            >>> from minispore.dataset import GeneratorDataset
            >>> data = GeneratorDataset([[1], [1, 2, 3], [4], [5, 6]], "x", shuffle=False)
            >>> for (batch,) in data.bucket_batch_by_length(["x"], [2], [2, 2]):
            ...     print(batch.tolist())
            [[1], [4]]
            [[1, 2, 3], [5, 6, 0]]
        """
        check_type(column_names, (list, tuple), "column_names")
        columns = self._columns(column_names, "column_names")
        boundaries = _positive_ints(bucket_boundaries, "bucket_boundaries")
        sizes = _positive_ints(bucket_batch_sizes, "bucket_batch_sizes")
        if any(a >= b for a, b in pairwise(boundaries)) or len(sizes) != len(boundaries) + 1:
            raise ValueError(
                f"For '{caller()}', 'bucket_boundaries' must be ascending, and "
                f"'bucket_batch_sizes' one longer, but got {bucket_boundaries} and "
                f"{bucket_batch_sizes}."
            )
        if element_length_function is not None:
            check_function(element_length_function, "element_length_function")
        elif len(columns) != 1:
            raise ValueError(
                f"For '{caller()}', 'column_names' must be one column unless "
                f"'element_length_function' is given, but got {column_names}."
            )
        check_type(pad_to_bucket_boundary, bool, "pad_to_bucket_boundary")
        check_type(drop_remainder, bool, "drop_remainder")
        padding = self._padding({} if pad_info is None else pad_info)
        return Dataset(
            BucketBatch(
                self._node,
                columns,
                boundaries,
                sizes,
                element_length_function,
                padding,
                pad_to_bucket_boundary,
                drop_remainder,
            )
        )

    def shuffle(self, buffer_size: int) -> "Dataset":
        """Yield rows in random order from a buffer of `buffer_size` rows; each epoch differs.

        Args:
            buffer_size: At least 2. Orders are equally likely if it is at least the dataset's size.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset, config
            >>> config.set_seed(1)
            >>> data = NumpySlicesDataset([1, 2, 3, 4], shuffle=False).shuffle(4)
            >>> sorted(int(x) for (x,) in data)
            [1, 2, 3, 4]
        """
        size = check_int(buffer_size, "buffer_size", low=2, high=2**31 - 1)
        return Dataset(ds._operations.Shuffle(self._node, size))

    def repeat(self, count: int | None = None) -> "Dataset":
        """Make an epoch of `count` epochs; None or -1 for an endless one.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2]).repeat(3).get_dataset_size()
            6
        """
        return Dataset(ds._operations.Repeat(self._node, _check_count(count, "count")))

    def take(self, count: int = -1) -> "Dataset":
        """Keep the first `count` rows; -1 for all.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> [int(x) for (x,) in NumpySlicesDataset([1, 2, 3], shuffle=False).take(2)]
            [1, 2]
        """
        checked = _check_count(count, "count")
        return Dataset(self._node if checked < 0 else ds._operations.Take(self._node, checked))

    def skip(self, count: int) -> "Dataset":
        """Drop the first `count` rows.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> [int(x) for (x,) in NumpySlicesDataset([1, 2, 3], shuffle=False).skip(2)]
            [3]
        """
        return Dataset(ds._operations.Skip(self._node, check_int(count, "count", low=0)))

    def filter(
        self,
        predicate: Function,
        input_columns: Names | None = None,
        num_parallel_workers: int | None = None,
    ) -> "Dataset":
        """Keep the rows for which `predicate` returns true.

        Args:
            predicate: A function that gets one numpy array for each input column.
            input_columns: The columns that it gets; None for all.
            num_parallel_workers: Accepted without effect: all work is done in the calling thread.

        Raises:
            RuntimeError: If there is no such column; on iteration, if `predicate` fails.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> odd = NumpySlicesDataset([1, 2, 3], shuffle=False).filter(lambda x: x % 2 == 1)
            >>> [int(x) for (x,) in odd.create_tuple_iterator(num_epochs=1)]
            [1, 3]
        """
        check_workers(num_parallel_workers)
        check_function(predicate, "predicate")
        inputs, _ = self._inputs_and_outputs(input_columns, None)
        return Dataset(ds._operations.Filter(self._node, predicate, inputs))

    def rename(self, input_columns: Names, output_columns: Names) -> "Dataset":
        """Rename columns.

        Raises:
            RuntimeError: If there is no such column, or another one has the new name.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset({"x": [1], "y": [2]}).rename("x", "image").get_col_names()
            ['image', 'y']
        """
        inputs = self._columns(input_columns, "input_columns")
        outputs = as_names(output_columns, "output_columns")
        if len(inputs) != len(outputs):
            raise ValueError(
                "For 'rename', 'input_columns' and 'output_columns' must have the same length, but "
                f"got {len(inputs)} and {len(outputs)}."
            )
        names = replaced_columns(self._node.columns, inputs, outputs)
        return Dataset(ds._operations.Rename(self._node, require_distinct(names)))

    def project(self, columns: Names) -> "Dataset":
        """Keep the columns `columns`, in this order.

        Raises:
            RuntimeError: If there is no such column.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset({"x": [1], "y": [2], "z": [3]})
            >>> data.project(["z", "x"]).get_col_names()
            ['z', 'x']
        """
        return Dataset(ds._operations.Project(self._node, self._columns(columns, "columns")))

    def zip(self, datasets: "Dataset | Sequence[Dataset]") -> "Dataset":
        """Join the columns of this and other datasets; the shortest determines the size.

        Raises:
            RuntimeError: If two columns have the same name.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> x, y = NumpySlicesDataset([1, 2, 3], "x"), NumpySlicesDataset([4, 5], "y")
            >>> zipped = x.zip(y)
            >>> zipped.get_col_names(), zipped.get_dataset_size()
            (['x', 'y'], 2)
        """
        others = _as_tuple_of(Dataset, datasets, "datasets")
        node = ds._operations.Zip((self._node, *(other._node for other in others)))
        require_distinct(node.columns)
        return Dataset(node)

    def concat(self, datasets: "Dataset | Sequence[Dataset]") -> "Dataset":
        """Append the rows of other datasets with the same columns; `a + b` is `a.concat(b)`.

        Raises:
            RuntimeError: If columns differ; on iteration, if their types do.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2]).concat(NumpySlicesDataset([3])).get_dataset_size()
            3
        """
        others = _as_tuple_of(Dataset, datasets, "datasets")
        return Dataset(ds._operations.Concat((self._node, *(other._node for other in others))))

    def __add__(self, other: "Dataset") -> "Dataset":
        return self.concat(other)

    def apply(self, apply_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Return `apply_func(self)`.

        Raises:
            TypeError: If the result is not a dataset.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).apply(lambda data: data.batch(2)).get_dataset_size()
            2
        """
        result: object = apply_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"For 'apply', 'apply_func' must return a dataset, but got {result!r}.")
        return result

    def split(
        self, sizes: Sequence[int] | Sequence[float], randomize: bool = True
    ) -> "list[Dataset]":
        """Divide the dataset into parts that share no row, in any epoch.

        Unless the rows of a source are divided, they keep one order; random transforms draw other
        numbers in each epoch.

        Args:
            sizes: The number of rows of each part, or its fraction of all rows.
            randomize: Whether rows are assigned to parts at random.

        Raises:
            ValueError: If fractions do not sum to 1.
            RuntimeError: If numbers do not sum to the dataset's size, or a part has no row.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> parts = NumpySlicesDataset(list(range(10))).split([0.8, 0.2])
            >>> [part.get_dataset_size() for part in parts]
            [8, 2]
        """
        check_type(randomize, bool, "randomize")
        parts = ds._operations.split_node(self._node, self.get_dataset_size(), sizes, randomize)
        return [Dataset(part) for part in parts]

    # Properties.

    def __len__(self) -> int:
        return self.get_dataset_size()

    def get_dataset_size(self) -> int:
        """Return the number of rows of an epoch, or of batches if the dataset is batched.

        After a `filter`, or of a generator, one epoch is iterated over to count them, once.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).batch(2).get_dataset_size()
            2
        """
        if self._known_size is None:
            self._known_size = self._node.size()
        return self._known_size

    def get_batch_size(self) -> int:
        """Return the number of samples in a row; 1 without `batch`, -1 if a function determines it.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).batch(2).get_batch_size()
            2
        """
        return self._node.batch_size

    def get_repeat_count(self) -> int:
        """Return the argument of the last `repeat`; 1 without one.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).repeat(4).get_repeat_count()
            4
        """
        return self._node.repeat_count

    def get_col_names(self) -> list[str]:
        """Return the names of the columns, in order.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset({"x": [1], "y": [2]}).get_col_names()
            ['x', 'y']
        """
        return list(self._node.columns)

    @overload
    def output_shapes(self, estimate: Literal[False] = False) -> list[list[int]]: ...

    @overload
    def output_shapes(self, estimate: bool) -> list[list[int | None]]: ...

    def output_shapes(self, estimate: bool = False) -> list[list[int]] | list[list[int | None]]:
        """Return the shape of each column in the first row.

        Args:
            estimate: Whether to compare all rows of an epoch, and to return None for each length
                that differs between them.

        Raises:
            RuntimeError: If rows are compared, and differ in their number of axes.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset({"x": [[1, 2]] * 3, "y": [3, 4, 5]}).batch(2)
            >>> data.output_shapes(), data.output_shapes(estimate=True)
            ([[2, 2], [2]], [[None, 2], [None]])
        """
        check_type(estimate, bool, "estimate")
        first: list[list[int | None]] = [list(array.shape) for array in self._first_row()]
        for block in self._node.blocks(initial_key(), 64) if estimate else ():
            for shape, array in zip(first, block, strict=True):
                if array.ndim - 1 != len(shape):
                    raise RuntimeError(
                        "For 'output_shapes', the rows must have the same number of axes, but "
                        f"their shapes are {shape} and {list(array.shape[1:])}."
                    )
                lengths = zip(shape, array.shape[1:], strict=True)
                shape[:] = [first if first == other else None for first, other in lengths]
        return first

    def output_types(self) -> list[np.dtype[np.generic]]:
        """Return the numpy dtype of each column in the first row; "U" for strings of any length.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> [str(dtype) for dtype in NumpySlicesDataset({"x": [1], "y": [2.5]}).output_types()]
            ['int64', 'float64']
        """
        return [
            np.dtype(array.dtype.kind) if array.dtype.kind in "US" else array.dtype
            for array in self._first_row()
        ]

    def _first_row(self) -> Row:
        for block in self._node.blocks(initial_key(), 1):
            return tuple([column[0, ...] for column in block])
        raise RuntimeError("The dataset has no rows, so their types and shapes are unknown.")

    # Iterators.

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
            columns: The columns to return, in this order; None for all.
            num_epochs: The number of epochs, one for each `for` loop; -1 for any number.
            output_numpy: Whether to return numpy arrays instead of tensors.
            do_copy: Accepted without effect: rows never share memory.

        Raises:
            RuntimeError: If there is no such column.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset([1, 2, 3], shuffle=False).batch(2)
            >>> for (batch,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
            ...     print(batch.tolist())
            [1, 2]
            [3]
        """
        check_bool(output_numpy, "output_numpy")
        check_bool(do_copy, "do_copy")
        _check_count(check_int(num_epochs, "num_epochs"), "num_epochs")
        node = self._node
        if columns is not None:
            node = ds._operations.Project(node, self._columns(columns, "columns"))
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
        """Return an iterator over rows as dictionaries from column names to values.

        Args:
            num_epochs: The number of epochs, one for each `for` loop; -1 for any number.
            output_numpy: Whether to return numpy arrays instead of tensors.
            do_copy: Accepted without effect: rows never share memory.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset({"x": [1, 2]}, shuffle=False)
            >>> [row["x"].item() for row in data.create_dict_iterator(num_epochs=1)]
            [1, 2]
        """
        check_bool(output_numpy, "output_numpy")
        check_bool(do_copy, "do_copy")
        _check_count(check_int(num_epochs, "num_epochs"), "num_epochs")
        names = self._node.columns
        if output_numpy:
            return DatasetIterator(
                self._node, lambda row: dict(zip(names, arrays(row), strict=True)), num_epochs
            )
        return DatasetIterator(
            self._node, lambda row: dict(zip(names, tensors(row), strict=True)), num_epochs
        )

    # Arguments.

    def _columns(self, names: object, argument: str) -> tuple[str, ...]:
        """Return column names as a tuple; raise RuntimeError unless the dataset has them all."""
        chosen = as_names(names, argument, allow_empty="" in self._node.columns)
        for name in chosen:
            if name not in self._node.columns:
                listed = ", ".join(map(repr, self._node.columns))
                raise RuntimeError(
                    f"For '{caller()}', there is no column {name!r} in the dataset; it has "
                    f"{listed}."
                )
        return chosen

    def _padding(self, pad_info: PadInfo) -> Padding:
        """Return the argument `pad_info` as a `Padding`; an empty one is for all columns."""
        check_type(pad_info, dict, "pad_info")
        if not pad_info:
            return Padding()
        columns = self._columns(list(pad_info), "pad_info")
        shapes: list[tuple[int | None, ...] | None] = []
        values: list[object] = []
        for item in pad_info.values():
            pair = as_items(item) or ()
            shape = as_items(pair[0]) if len(pair) == 2 else ()
            lengths = [n for n in shape or () if n is None or (type(n) is int and n > 0)]
            if len(pair) != 2 or len(lengths) < len(shape or ()) or (pair[0] and not shape):
                raise TypeError(
                    f"For '{caller()}', 'pad_info' must have a shape and a value for each column, "
                    f"but got {describe_value(pad_info)}."
                )
            shapes.append(None if shape is None else tuple(lengths))
            values.append(pair[1])
        return Padding(columns, tuple(shapes), tuple(values))

    def _inputs_and_outputs(
        self, input_columns: object, output_columns: object
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the arguments as tuples; None is all columns, or the same as the inputs."""
        names = self._node.columns if input_columns is None else input_columns
        inputs = outputs = self._columns(names, "input_columns")
        if output_columns is not None:
            outputs = as_names(output_columns, "output_columns")
        require_distinct(replaced_columns(self._node.columns, inputs, outputs))
        return inputs, outputs


def zip_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Join the columns of datasets; the shortest determines the size.

    Args:
        datasets: At least one.

    Returns:
        A dataset whose row i consists of the columns of row i of each dataset.

    Raises:
        RuntimeError: If two columns have the same name.

    Examples:
        >>> from minispore import dataset as ds
        >>> x, y = ds.NumpySlicesDataset([1, 2], "x"), ds.NumpySlicesDataset([3, 4], "y")
        >>> ds.zip((x, y)).get_col_names()
        ['x', 'y']

    Source: MindSpore's `mindspore.dataset.zip`.
    """
    check_type(datasets, (list, tuple), "datasets", "zip")
    if not datasets:
        raise ValueError("For 'zip', the argument 'datasets' must not be empty.")
    first, *others = [check_type(dataset, Dataset, "datasets", "zip") for dataset in datasets]
    return first.zip(others)


def as_names(names: object, argument: str, allow_empty: bool = False) -> tuple[str, ...]:
    """Return one or several column names as a tuple.

    Raises:
        TypeError: If it is neither a string nor a list of strings.
        ValueError: If the list is empty, or a name is empty or occurs twice.
    """
    check_type(names, (str, list, tuple), argument)
    listed = _as_tuple_of(str, names, argument)
    if not listed:
        raise ValueError(f"For '{caller()}', the argument '{argument}' must not be empty.")
    if ("" in listed and not allow_empty) or len(set(listed)) < len(listed):
        raise value_error(names, argument, "hold different names, none empty")
    return listed


def _positive_ints(values: object, argument: str) -> tuple[int, ...]:
    """Return a list of positive ints as a tuple; raise ValueError if it is empty."""
    check_type(values, (list, tuple), argument)
    items = as_items(values) or ()
    if not items:
        raise value_error(values, argument, "not be empty")
    return tuple([check_int(item, argument, low=1) for item in items])


def check_workers(num_parallel_workers: object) -> None:
    """Check a number of workers; None is the default."""
    if num_parallel_workers is not None:
        check_int(num_parallel_workers, "num_parallel_workers", low=1)


def count_workers(num_parallel_workers: object, python_multiprocessing: object) -> int | None:
    """Return the number of processes that run Python code; None for the iterating thread only."""
    check_workers(num_parallel_workers)
    check_type(python_multiprocessing, bool, "python_multiprocessing")
    workers = num_parallel_workers or ds.config.get_num_parallel_workers()
    return workers if python_multiprocessing and isinstance(workers, int) and workers > 1 else None


def _check_count(count: object, argument: str) -> int:
    """Return a count from 1 on, or -1 for None and -1."""
    checked = -1 if count is None else check_int(count, argument, low=-1, high=2**31 - 1)
    if checked == 0:
        raise value_error(0, argument, "be -1 or above 0")
    return checked


def _as_tuple_of(kind: type[T], one_or_several: object, argument: str) -> tuple[T, ...]:
    """Return an object of class `kind`, or a list of such objects, as a tuple."""
    items = as_items(one_or_several)
    checked: list[T] = []
    for item in (one_or_several,) if items is None else items:
        if not isinstance(item, kind):
            raise type_error(item, argument, f"be a {kind.__name__} or a list of them")
        checked.append(item)
    return tuple(checked)
