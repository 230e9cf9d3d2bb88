"""Training with tensorpack's configuration; tensorpack's import path of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.external import RunUpdateOps
from minispore.tensorpack.monitors import JSONWriter, ScalarPrinter, TFEventWriter
from minispore.tensorpack.protocol import StopTraining, Trainer
from minispore.tensorpack.tensors import MergeAllSummaries, MovingAverageSummary
from minispore.tensorpack.trackers import ProgressBar
from minispore.train import Callback as TrainCallback
from minispore.train import DatasetLike, Model
from minispore.train.protocol import check_dataset
from minispore.utils.checks import check_arguments, check_int
from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)

__all__ = [
    "DEFAULT_CALLBACKS", "DEFAULT_MONITORS", "StopTraining", "TrainConfig", "Trainer",
    "launch_train_with_config",
]  # fmt: skip


def DEFAULT_CALLBACKS() -> list[Callback]:  # noqa: N802 (tensorpack's name)
    """Return the callbacks that most trainings use.

    Returns:
        New callbacks, with tensorpack's settings.

    Examples:
        >>> [type(callback).__name__ for callback in DEFAULT_CALLBACKS()]
        ['MovingAverageSummary', 'ProgressBar', 'MergeAllSummaries', 'RunUpdateOps']

    Source: tensorpack's `train.DEFAULT_CALLBACKS`.
    """
    return [MovingAverageSummary(), ProgressBar(), MergeAllSummaries(), RunUpdateOps()]


def DEFAULT_MONITORS() -> list[MonitorBase]:  # noqa: N802 (tensorpack's name)
    """Return the monitors that most trainings use.

    Returns:
        New monitors, with tensorpack's settings.

    Examples:
        >>> [type(monitor).__name__ for monitor in DEFAULT_MONITORS()]
        ['TFEventWriter', 'JSONWriter', 'ScalarPrinter']

    Source: tensorpack's `train.DEFAULT_MONITORS`.
    """
    return [TFEventWriter(), JSONWriter(), ScalarPrinter()]


@check_arguments
@dataclass(eq=False)
class TrainConfig:
    """The arguments of a training, with tensorpack's names.

    Args:
        dataflow: The training data.
        data: The training data under another name.
        model: The model, whose loop trains.
        callbacks: The callbacks, of either API.
        extra_callbacks: Callbacks that follow them; by default those of `DEFAULT_CALLBACKS()` whose
            classes are not among `callbacks`.
        monitors: The monitors, which follow all callbacks; by default `DEFAULT_MONITORS()`.
        starting_epoch: The first epoch, counted from 1.
        steps_per_epoch: None or the number of batches of the data.
        max_epoch: The last epoch.

    Raises:
        TypeError: An argument is of another type.
        ValueError: There is no model, or not one of `dataflow` and `data`, or
            `steps_per_epoch` is another number.

    Source: tensorpack's `train.TrainConfig`.
    """

    dataflow: DatasetLike | None = None
    data: DatasetLike | None = None
    model: Model | None = None
    callbacks: Sequence[TrainCallback] = ()
    extra_callbacks: Sequence[TrainCallback] | None = None
    monitors: Sequence[MonitorBase] | None = None
    starting_epoch: int = 1
    steps_per_epoch: int | None = None
    max_epoch: int = 99999

    def __post_init__(self) -> None:
        check_int(self.starting_epoch, "starting_epoch", low=1)
        if self.model is None or (self.dataflow is None) is (self.data is None):
            raise ValueError(
                "For 'TrainConfig', 'model' and one of 'dataflow' and 'data' must be given, but "
                f"got {self.model}, {self.dataflow} and {self.data}."
            )
        data = self.data if self.dataflow is None else self.dataflow
        data = check_dataset(data, "dataflow" if self.data is None else "data")
        if self.steps_per_epoch not in {None, data.get_dataset_size()}:
            raise ValueError(
                "For 'TrainConfig', 'steps_per_epoch' must be the number of batches of the data, "
                f"{data.get_dataset_size()}, but got {self.steps_per_epoch}."
            )


def launch_train_with_config(config: TrainConfig) -> None:
    """Train a model with the arguments of a configuration.

    Args:
        config: The configuration.

    Examples:
        >>> import numpy as np
        >>> from minispore import nn
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.train import LossMonitor
        >>> data = NumpySlicesDataset({"x": np.ones((4, 2), np.float32)}).batch(2)
        >>> config = TrainConfig(
        ...     dataflow=data,
        ...     model=Model(nn.Dense(2, 1, weight_init="zeros", bias_init="ones")),
        ...     callbacks=[LossMonitor()],
        ...     extra_callbacks=[],
        ...     monitors=[],
        ...     max_epoch=1,
        ... )
        >>> launch_train_with_config(config)
        epoch: 1 step: 1, loss is 1.0
        epoch: 1 step: 2, loss is 1.0

    Source: tensorpack's `train.launch_train_with_config`.
    """
    model, data = config.model, config.data if config.dataflow is None else config.dataflow
    assert model is not None, "the constructor has checked it"
    assert data is not None, "the constructor has checked it"
    extra, monitors = config.extra_callbacks, config.monitors
    if extra is None:
        given = {type(callback) for callback in config.callbacks}
        extra = [default for default in DEFAULT_CALLBACKS() if type(default) not in given]
    if monitors is None:
        monitors = DEFAULT_MONITORS()
    callbacks = [*config.callbacks, *extra, *monitors]
    model.train(config.max_epoch, data, callbacks, initial_epoch=config.starting_epoch - 1)
