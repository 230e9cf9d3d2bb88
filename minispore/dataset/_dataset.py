"""The public face of a pipeline: methods return a new dataset and leave the old as it is."""

from collections.abc import Callable, Sequence
from typing import cast

from minispore._checks import check_int, check_type
from minispore.dataset._arguments import (
    Names,
    check_workers,
    column_names,
    columns_of,
    count_or_all,
)
from minispore.dataset._batch import Batch, BatchInfo, PerBatch
from minispore.dataset._ds_callback import DSCallback
from minispore.dataset._map import Map
from minispore.dataset._reading import Readable
from minispore.dataset._shuffle import Shuffle
from minispore.dataset._split import parts_of
from minispore.dataset._structure import (
    Concat,
    Filter,
    Project,
    Repeat,
    Skip,
    Take,
    Zip,
    renamed,
)
from minispore.dataset.transforms import flattened

Function = Callable[..., object]


class Dataset(Readable):
    """Rows of named columns, made anew each epoch; the base of every dataset.

    Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.dataset.html
    """

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
        """Apply transforms and functions to columns of every row, in order.

        A function gets one numpy array for each input column and returns one value, or a tuple of
        one for each output column. As many outputs as inputs take the inputs' places; otherwise
        they go before the other columns.

        Args:
            operations: One or several.
            input_columns: The columns that the first operation gets; None for the first column.
            output_columns: Names for what the last one returns; None for those of the input.
            num_parallel_workers: Accepted; the work is done in the calling thread.
            python_multiprocessing: Accepted likewise.
            max_rowsize: Accepted likewise.
            callbacks: Called as the rows go by, in this order.

        Raises:
            TypeError: If an operation is not callable, or a callback no `DSCallback`.
            ValueError: If there is no operation.
            RuntimeError: If there is no such column; on iteration, if an operation fails.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset({"x": [1, 2], "y": [3, 4]}, shuffle=False)
            >>> data = data.map(lambda x, y: (x + y, x - y), ["x", "y"], ["sum", "difference"])
            >>> [[a.item(), b.item()] for a, b in data.create_tuple_iterator(num_epochs=1)]
            [[4, -2], [6, -2]]
        """
        check_workers(num_parallel_workers, "map")
        del python_multiprocessing, max_rowsize
        functions = flattened(
            [operations] if callable(operations) else operations, "map", "operations"
        )
        chosen = self._node.columns[:1] if input_columns is None else input_columns
        inputs = columns_of(self._node, chosen, "input_columns", "map")
        outputs = inputs
        if output_columns is not None:
            outputs = column_names(output_columns, "output_columns", "map")
        return Dataset(Map(self._node, functions, inputs, outputs, _callbacks(callbacks)))

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
        """Join every `batch_size` rows into one, along a new leading axis.

        Args:
            batch_size: A number, or a function from `BatchInfo` to one.
            drop_remainder: Whether to leave out a last batch with fewer rows.
            num_parallel_workers: Accepted; the work is done in the calling thread.
            per_batch_map: A function of the rows of a batch (a list of arrays for each input
                column) and a `BatchInfo`, which returns the rows of each output column.
            input_columns: The columns that it gets; None for all.
            output_columns: Names for what it returns; None for those of the input.
            python_multiprocessing: Accepted like `num_parallel_workers`.
            max_rowsize: Accepted likewise.

        Raises:
            TypeError: If `batch_size` is neither an int nor a function.
            ValueError: If it is below 1.
            RuntimeError: If there is no such column; on iteration, if the rows of a batch differ in
                shape or type, or `per_batch_map` fails.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> NumpySlicesDataset([1, 2, 3]).batch(2, drop_remainder=True).get_dataset_size()
            1
        """
        check_workers(num_parallel_workers, "batch")
        del python_multiprocessing, max_rowsize
        if not callable(batch_size):
            check_int(batch_size, "batch_size", "batch", low=1)
        check_type(drop_remainder, bool, "drop_remainder", "batch")
        if per_batch_map is None:
            if input_columns is not None or output_columns is not None:
                raise ValueError(
                    "For 'batch', 'input_columns' and 'output_columns' need 'per_batch_map'."
                )
            return Dataset(Batch(self._node, batch_size, drop_remainder))
        if not callable(per_batch_map):
            raise TypeError(
                "For 'batch', the argument 'per_batch_map' must be a function, but got "
                f"{per_batch_map!r}."
            )
        chosen = self._node.columns if input_columns is None else input_columns
        inputs = columns_of(self._node, chosen, "input_columns", "batch")
        outputs = inputs
        if output_columns is not None:
            outputs = column_names(output_columns, "output_columns", "batch")
        per_batch = PerBatch(per_batch_map, inputs, outputs)
        return Dataset(Batch(self._node, batch_size, drop_remainder, per_batch))

    def shuffle(self, buffer_size: int) -> "Dataset":
        """Give rows in random order from a buffer of `buffer_size` rows, another order each epoch.

        Raises:
            TypeError: If `buffer_size` is no int.
            ValueError: If it is below 2.
        """
        size = check_int(buffer_size, "buffer_size", "shuffle", low=2, high=2**31 - 1)
        return Dataset(Shuffle(self._node, size))

    def repeat(self, count: int | None = None) -> "Dataset":
        """Go through the dataset `count` times an epoch; None or -1 for ever.

        Raises:
            TypeError: If `count` is no int.
            ValueError: If it is 0 or below -1.
        """
        return Dataset(Repeat(self._node, count_or_all(count, "repeat")))

    def take(self, count: int = -1) -> "Dataset":
        """Keep the first `count` rows; -1 for all.

        Raises:
            TypeError: If `count` is no int.
            ValueError: If it is 0 or below -1.
        """
        checked = count_or_all(count, "take")
        return Dataset(self._node if checked < 0 else Take(self._node, checked))

    def skip(self, count: int) -> "Dataset":
        """Leave out the first `count` rows.

        Raises:
            TypeError: If `count` is no int.
            ValueError: If it is negative.
        """
        return Dataset(Skip(self._node, check_int(count, "count", "skip", low=0)))

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
            num_parallel_workers: Accepted; the work is done in the calling thread.

        Raises:
            TypeError: If `predicate` is not callable.
            RuntimeError: If there is no such column; on iteration, if `predicate` fails.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> odd = NumpySlicesDataset([1, 2, 3], shuffle=False).filter(lambda x: x % 2 == 1)
            >>> [int(x) for (x,) in odd.create_tuple_iterator(num_epochs=1)]
            [1, 3]
        """
        check_workers(num_parallel_workers, "filter")
        if not callable(predicate):
            raise TypeError(
                f"For 'filter', the argument 'predicate' must be a function, but got {predicate!r}."
            )
        chosen = self._node.columns if input_columns is None else input_columns
        inputs = columns_of(self._node, chosen, "input_columns", "filter")
        return Dataset(Filter(self._node, predicate, inputs))

    def rename(self, input_columns: Names, output_columns: Names) -> "Dataset":
        """Give columns other names.

        Raises:
            ValueError: If there are not as many new names as old.
            RuntimeError: If there is no such column, or already one of the new name.
        """
        inputs = column_names(input_columns, "input_columns", "rename")
        outputs = column_names(output_columns, "output_columns", "rename")
        if len(inputs) != len(outputs):
            raise ValueError(
                "For 'rename', 'input_columns' and 'output_columns' must have the same length, but "
                f"got {len(inputs)} and {len(outputs)}."
            )
        return Dataset(renamed(self._node, inputs, outputs))

    def project(self, columns: Names) -> "Dataset":
        """Keep some of the columns, in the given order.

        Raises:
            ValueError: If there is none, or one comes twice.
            RuntimeError: If there is no such column.
        """
        return Dataset(Project(self._node, columns_of(self._node, columns, "columns", "project")))

    def zip(self, datasets: "Dataset | Sequence[Dataset]") -> "Dataset":
        """Set other datasets beside this one: a row has all their columns; the shortest ends it.

        Raises:
            TypeError: If there is something other than datasets.
            RuntimeError: If two columns have the same name.
        """
        others = _datasets(datasets, "zip")
        return Dataset(Zip((self._node, *(other._node for other in others))))

    def concat(self, datasets: "Dataset | Sequence[Dataset]") -> "Dataset":
        """Append other datasets of the same columns; `a + b` is `a.concat(b)`.

        Raises:
            TypeError: If there is something other than datasets.
            RuntimeError: If columns differ; on iteration, if their types do.
        """
        others = _datasets(datasets, "concat")
        return Dataset(Concat((self._node, *(other._node for other in others))))

    def __add__(self, other: "Dataset") -> "Dataset":
        return self.concat(other)

    def apply(self, apply_func: Callable[["Dataset"], "Dataset"]) -> "Dataset":
        """Return `apply_func(self)`.

        Raises:
            TypeError: If `apply_func` is no function or returns no dataset.
        """
        result: object = apply_func(self)
        if not isinstance(result, Dataset):
            raise TypeError(f"For 'apply', 'apply_func' must return a dataset, but got {result!r}.")
        return result

    def split(
        self, sizes: Sequence[int] | Sequence[float], randomize: bool = True
    ) -> "list[Dataset]":
        """Divide the dataset into parts that share no row, now and in every epoch.

        Args:
            sizes: The number of rows of each part, or its fraction of all.
            randomize: Whether rows are dealt in random order.

        Raises:
            TypeError: If `sizes` is no list of ints or of floats.
            ValueError: If it is empty or has numbers that are not positive, or fractions that do
                not sum to 1.
            RuntimeError: If the numbers do not sum to the dataset's size, or a part has no row.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> parts = NumpySlicesDataset(list(range(10))).split([0.8, 0.2])
            >>> [part.get_dataset_size() for part in parts]
            [8, 2]
        """
        check_type(randomize, bool, "randomize", "split")
        parts = parts_of(self._node, self.get_dataset_size(), sizes, randomize)
        return [Dataset(part) for part in parts]


def zip_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Set datasets side by side: a row has all their columns; the shortest ends it.

    Raises:
        TypeError: If `datasets` is no list or tuple of datasets.
        ValueError: If it is empty.
        RuntimeError: If two columns have the same name.
    """
    check_type(datasets, (list, tuple), "datasets", "zip")
    if not datasets:
        raise ValueError("For 'zip', the argument 'datasets' must not be empty.")
    first, *rest = _datasets(datasets, "zip")
    return first.zip(rest)


def _datasets(datasets: object, owner: str) -> list[Dataset]:
    several = isinstance(datasets, list | tuple)
    listed = list(cast(Sequence[object], datasets)) if several else [datasets]
    checked: list[Dataset] = []
    for dataset in listed:
        if not isinstance(dataset, Dataset):
            raise TypeError(
                f"For '{owner}', the argument 'datasets' must be a dataset or a list of datasets, "
                f"but got {dataset!r} of type {type(dataset).__name__}."
            )
        checked.append(dataset)
    return checked


def _callbacks(callbacks: object) -> tuple[DSCallback, ...]:
    if callbacks is None:
        return ()
    listed = cast("list[object]", callbacks) if isinstance(callbacks, list) else [callbacks]
    checked = [callback for callback in listed if isinstance(callback, DSCallback)]
    if len(checked) < len(listed):
        raise TypeError(
            "For 'map', the argument 'callbacks' must be a DSCallback or a list of them, "
            f"but got {callbacks!r}."
        )
    return tuple(checked)
