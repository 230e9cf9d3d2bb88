"""Batches whose parts are in several processes: the data, and the metrics of the parts' outputs."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from minispore.common import Tensor
from minispore.common.tensor import host_tensor
from minispore.communication._exchange import gathered, highest, is_data_parallel
from minispore.dataset import Dataset
from minispore.dataset._dealt import dealt
from minispore.nn import Cell
from minispore.nn.wrap.cell_wrapper import rows_of
from minispore.train._dataset import DatasetLike, check_dataset
from minispore.train._protocol.run_context import InternalCallbackParam
from minispore.train._scores import Scores
from minispore.train.metrics import Metric


def data_of(dataset: object, name: str, owner: str) -> DatasetLike:
    """Return what to go through, alone or with other processes, for the data that the user gave.

    Raises:
        TypeError: It is no data set.
        ValueError: It is empty.
    """
    checked = check_dataset(dataset, name, owner)
    if not is_data_parallel("Model") or not isinstance(checked, Dataset):
        return checked
    return check_dataset(dealt(checked, _agreed), name, owner)


def scores_of(
    metrics: Mapping[str, Metric], indexes: Sequence[int] | None, params: InternalCallbackParam
) -> Scores:
    """Return the metrics of an evaluation, alone or with other processes."""
    if is_data_parallel("Model"):
        return _ScoresOfRanks(metrics, indexes, params)
    return Scores(metrics, indexes)


def evaluator_of(network: Cell) -> Cell:
    """Return what evaluates a batch, alone or with other processes."""
    return _WhereRows(network) if is_data_parallel("Model") else network


class _WhereRows(Cell):
    """A network that is not asked about batches without rows."""

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, *batch: Tensor) -> object:
        """What the network returns; None without rows."""
        return self.network(*batch) if rows_of(batch) else None


class _ScoresOfRanks(Scores):
    """The metrics of what all processes compute.

    Args:
        metrics: As for `Scores`.
        indexes: As for `Scores`.
        params: Where the evaluation has this process's batch.
    """

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        indexes: Sequence[int] | None,
        params: InternalCallbackParam,
    ) -> None:
        super().__init__(metrics, indexes)
        self._params = params

    def update(self, outputs: object) -> None:
        """Take in the batches of all processes as the one that they are parts of.

        Outputs that are neither of rows nor one number are taken in part by part.
        """
        everybodys = gathered((rows_of(self._params.eval_dataset_element), outputs))
        rows = [count for count, _ in everybodys if count]
        parts = [_items(part) for count, part in everybodys if count]
        joined = [_joined(items, rows) for items in zip(*parts, strict=True)]
        for items in parts if any(each is None for each in joined) else [tuple(joined)]:
            super().update(items)


def _agreed(size: int, drop_remainder: bool) -> int:
    """How many batches all processes have, where they have so many each."""
    return -highest(-size) if drop_remainder else highest(size)


def _items(outputs: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", outputs) if isinstance(outputs, tuple) else (outputs,)


def _joined(parts: Sequence[object], rows: Sequence[int]) -> Tensor | None:
    """One output of a batch for those of its parts; None where that cannot be known."""
    arrays = [part.asnumpy() for part in parts if isinstance(part, Tensor)]
    if len(arrays) < len(rows):
        return None
    if all(array.ndim and len(array) == n for array, n in zip(arrays, rows, strict=True)):
        # Shards are dealt out row by row, and so they are collected.
        places = np.concatenate([np.arange(n) for n in rows])
        return host_tensor(np.concatenate(arrays)[np.argsort(places, kind="stable")])
    if all(array.size == 1 for array in arrays):
        mean = np.average([array.item() for array in arrays], weights=rows)
        return host_tensor(np.full_like(arrays[0], mean))
    return None
