"""Strategies: how `Model` runs in a single process; `data_parallel` has that of several."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from minispore._metrics.metric import Metric
from minispore.nn import Cell
from minispore.train._metric_collection import MetricCollection
from minispore.train.protocol.callback import (
    Callback,
    CallbackManager,
    Callbacks,
    make_callback_manager,
)
from minispore.train.protocol.dataset import DatasetLike, check_dataset


class SingleProcess:
    """What `Model` does in a single process; other strategies override what they do differently.

    Examples:
        >>> from minispore.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset([1, 2, 3])
        >>> SingleProcess().shard_dataset(data, "train_dataset") is data
        True
    """

    _name_in_errors: ClassVar[str] = ""  # the model's method is named

    def make_callback_manager(self, callbacks: Callbacks | None) -> CallbackManager:
        """Return the manager of a run's callbacks.

        Raises:
            TypeError: An item of `callbacks` is not a `Callback`.
        """
        return make_callback_manager(callbacks)

    def check_call(
        self,
        callbacks: Sequence[Callback],
        metrics: Iterable[str],
        arguments: Mapping[str, object],
    ) -> None:
        """Raise an error if other processes call another method, or with other arguments.

        Args:
            callbacks: The callbacks of the run.
            metrics: The names of the model's metrics.
            arguments: The arguments of the method by name.
        """

    def shard_dataset(self, dataset: object, name: str) -> DatasetLike:
        """Return the part of `dataset` that this process iterates over.

        Raises:
            TypeError: `dataset` is not a dataset.
            ValueError: `dataset` is empty.
        """
        return check_dataset(dataset, name)

    def make_eval_network(self, network: Cell) -> Cell:
        """Return the cell that an evaluation calls on each batch."""
        return network

    def make_metrics(
        self, metrics: Mapping[str, Metric], indexes: Sequence[int] | None
    ) -> MetricCollection:
        """Return the metrics of one evaluation.

        Args:
            metrics: The metrics by name.
            indexes: The positions of loss, prediction and label among the outputs.
        """
        return MetricCollection(metrics, indexes)
