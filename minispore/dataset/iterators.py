"""Iterators over pipelines, which convert arrays to tensors, and their saved positions."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, zip_longest
from typing import Any, Final, Generic, TypedDict, TypeVar, cast

import numpy as np

from minispore import dataset as ds
from minispore.dataset._node import (
    Array,
    Driver,
    EpochKey,
    Node,
    Row,
    Stateful,
    as_argument,
    as_element,
    initial_key,
    nodes_of,
    rows_of,
    user_code_of,
)
from minispore.ops.seed import get_rng_state, set_rng_state
from minispore.ops.tensors import Tensor
from minispore.utils.checks import is_mapping, is_sequence, map_items

T = TypeVar("T")

# The number of rows that are computed at once where there is no batch.
_PREFETCH_ROWS: Final = 32


class _Position(TypedDict):
    """What `DatasetIterator.state_dict` returns."""

    seed: int
    seeded: bool
    epoch: int
    taken: int
    begin: Mapping[str, object]
    mapped: list[int]
    pipeline: list[str]


class DatasetIterator(Generic[T]):
    """Iterator over the rows of a dataset; each `for` loop over it lasts one epoch.

    Args:
        node: The end of the pipeline.
        convert: The function from a row's arrays to what the iterator returns.
        num_epochs: The number of epochs; -1 for any number.
    """

    def __init__(self, node: Node, convert: Callable[[Row], T], num_epochs: int) -> None:
        self._node = node
        self._convert = convert
        self._num_epochs = num_epochs
        self._pipeline = node
        self._drivers: list[Driver] = []
        self._closes: list[Callable[[], None]] = []
        if any(_has_instances(part) for part in nodes_of(node)):
            from minispore.dataset._instances import instantiate

            self._pipeline, self._drivers, self._closes = instantiate(node)
        for close in self._closes:
            # The traceback of an exception that was caught may keep the pipeline for longer.
            weakref.finalize(self, close)
        self._key = initial_key()  # of the current epoch, or of the next one between epochs
        self._taken = 0  # rows of this epoch so far
        self._rows: Iterator[Row] | None = None
        self._epoch_begin: dict[str, object] = {}

    def __iter__(self) -> "DatasetIterator[T]":
        return self

    def __next__(self) -> T:
        """Return the next row of the epoch; StopIteration at its end.

        Raises:
            RuntimeError: If all `num_epochs` epochs have ended.
        """
        if self._rows is None:
            if self._key.number == self._num_epochs:
                raise RuntimeError(
                    f"The iterator has yielded its {self._num_epochs} epochs. Set 'num_epochs' "
                    "to a larger number, or to -1 for any number."
                )
            self._epoch_begin = self._user_state()
            self._rows = self._epoch(0)
        row = next(self._rows, None)
        if row is None:
            self._rows, self._taken = None, 0
            self._key = self._key.with_number(self._key.number + 1)
            raise StopIteration
        self._taken += 1
        return self._convert(row)

    def state_dict(self) -> dict[str, object]:
        """Return the position, from which another iterator over the same pipeline can continue.

        Python functions and objects in the pipeline may draw from `random` or `numpy.random`. Those
        with any other state must define `state_dict` and `load_state_dict`.

        Examples:
            >>> from minispore.dataset import NumpySlicesDataset
            >>> data = NumpySlicesDataset(list(range(100)))
            >>> rows, others = data.create_tuple_iterator(), data.create_tuple_iterator()
            >>> first = next(rows)
            >>> others.load_state_dict(rows.state_dict())
            >>> int(next(rows)[0]) == int(next(others)[0])
            True
        """
        return {
            "seed": self._key.seed,
            "seeded": self._key.seeded,
            "epoch": self._key.number,
            "taken": self._taken,
            "begin": self._epoch_begin if self._taken else self._user_state(),
            "mapped": [driver.rows_before for driver in self._drivers],
            "pipeline": ds._description.describe_pipeline(self._node),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue from the position of another iterator.

        Its completed epochs count towards `num_epochs`. Earlier rows are not computed again, unless
        there is Python code in the pipeline: then the rows of the current epoch are, starting with
        the random state at the begin of the epoch.

        Raises:
            ValueError: If the state is invalid, of another pipeline, or of an epoch after the last
                one of this iterator. The iterator is then unchanged.
        """
        try:
            position = cast("_Position", state)
            numbers = [int(position["seed"]), int(position["epoch"]), int(position["taken"])]
            mapped = [int(rows) for rows in position["mapped"]]
            drivers = list(zip(self._drivers, mapped, strict=True))
            begin = dict(position["begin"])
            pipeline, seeded = list(position["pipeline"]), bool(position["seeded"])
            if (begin and begin.keys() != {"random", "objects"}) or min(*numbers, *mapped) < 0:
                raise ValueError("a number is negative, or 'begin' is invalid")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"This is not the state of a dataset's iterator: {error!r}."
            ) from error
        _check_pipeline(pipeline, ds._description.describe_pipeline(self._node))
        seed, number, taken = numbers
        begun = number + (taken > 0)
        if 0 <= self._num_epochs < begun:
            raise ValueError(
                f"The state is that of an iterator that has begun {begun} epochs, but this one has "
                f"'num_epochs' {self._num_epochs}, in which completed epochs count too."
            )
        self._key, self._taken = EpochKey(seed, seeded, number), taken
        for driver, rows in drivers:
            driver.rows_before = rows
        if begin:
            self._restore_user_state(begin)
        self._epoch_begin = begin
        self._rows = None
        if taken:
            self._rows = self._epoch(0 if begin else taken)
            if begin and sum(1 for _ in islice(self._rows, taken)) < taken:
                raise ValueError(f"The dataset ended before row {taken}.")

    def _epoch(self, start: int) -> Iterator[Row]:
        return _rows_of_epoch(self._pipeline, self._drivers, self._closes, self._key, start)

    def _user_state(self) -> dict[str, object]:
        """Return the state on which user code depends: empty if the pipeline has no user code."""
        if not user_code_of(self._node):
            return {}
        states = [dict(item.state_dict()) for item in stateful_objects(self._node)]
        return {"random": get_rng_state(), "objects": states}

    def _restore_user_state(self, begin: Mapping[str, Any]) -> None:
        for item, state in zip(stateful_objects(self._node), begin["objects"], strict=True):
            item.load_state_dict(state)
        set_rng_state(begin["random"])


def _has_instances(node: Node) -> bool:
    """Return whether a node has callbacks or worker processes, which belong to one iterator."""
    return bool(getattr(node, "workers", None) or getattr(node, "callbacks", ()))


def _rows_of_epoch(
    pipeline: Node,
    drivers: list[Driver],
    closes: list[Callable[[], None]],
    key: EpochKey,
    start: int,
) -> Iterator[Row]:
    # Not a method: without a reference to its iterator, that is deleted with its last reference,
    # and with it the worker processes.
    for driver in drivers:
        driver.begin_epoch(key.number + 1)
    try:
        for block in pipeline.blocks(key, _PREFETCH_ROWS, start):
            yield from rows_of(block)
    except BaseException:  # also where the epoch is abandoned
        for close in closes:
            close()
        raise
    for driver in drivers:
        driver.end_epoch()


def stateful_objects(node: Node) -> list[Stateful]:
    """Return the user's objects in a pipeline whose states a position contains."""
    return [item for item in user_code_of(node) if isinstance(item, Stateful)]


def _check_pipeline(saved_lines: list[str], current_lines: list[str]) -> None:
    for saved, current in zip_longest(saved_lines, current_lines):
        if saved != current:
            raise ValueError(
                f"The state is that of another dataset, which had {saved or 'nothing'} where this "
                f"one has {current or 'nothing'}. (If a 'split' differs, set a seed before it.)"
            )


def tensors(row: Row) -> list[Tensor]:
    """Return a row's arrays as tensors that share their memory; strings as `arrays` does."""
    return [
        # A program that has columns of strings or dictionaries knows which they are.
        cast("Tensor", _with_plain_strings(as_argument(array), _as_tensor))
        if array.dtype.kind in "USO"
        else Tensor.from_numpy(array)
        for array in row
    ]


def arrays(row: Row) -> list[Array]:
    """Return a row's arrays in C order; dictionaries as dictionaries of arrays."""
    return [
        cast("Array", _with_plain_strings(as_argument(array), lambda value: value))
        if array.dtype.kind in "USO"
        else np.ascontiguousarray(array)
        if array.ndim
        else array
        for array in row
    ]


def _as_tensor(value: Array) -> object:
    return value if value.dtype.kind in "US" else Tensor.from_numpy(value)


def _with_plain_strings(value: object, convert: Callable[[Array], object]) -> object:
    """Return strings in an array of their length, and a dictionary with its leaves converted."""
    if is_mapping(value) or is_sequence(value):
        return map_items(lambda item: _with_plain_strings(item, convert), value)
    array = as_element(value, "A value in a dictionary")
    if array.dtype.kind in "US":
        # The array of a block has room for its longest string.
        longest = max([1, *map(len, array.ravel().tolist())])
        return array.astype(f"{array.dtype.kind}{longest}")
    return convert(array)
