"""Callbacks that save the model regularly, or whenever a number is the best so far."""

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import perf_counter

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.train.checkpoint.retention import RetainedFiles
from minispore.train.protocol.outputs import has_finite_weights
from minispore.train.resume import StateField, StatefulMixin
from minispore.train.serialization import save_checkpoint
from minispore.utils.checks import check_arguments, check_int, check_number


@check_arguments
@dataclass(eq=False)
class ModelSaver(StatefulMixin, Callback):
    """Save the network and the optimizer's state as `model-{global_step}.ckpt`, after each epoch.

    If a file cannot be written, or weights are not finite, a warning is logged and the training
    continues.

    Args:
        max_to_keep: The number of newest files to keep; 0 for all.
        keep_checkpoint_every_n_hours: Never remove a file that is written so many hours after the
            last such file, or after the beginning. As in TensorFlow, a resumed run starts counting
            again.
        checkpoint_dir: The folder; by default the logger's.
        var_collections: Has no effect.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(ModelSaver(max_to_keep=2), epochs=3)
        ['model-6.ckpt', 'model-9.ckpt']

    Source: tensorpack's `callbacks.ModelSaver`.
    """

    _files = StateField(list[str])

    max_to_keep: int = 10
    keep_checkpoint_every_n_hours: float = 0.5
    checkpoint_dir: logger.Path | None = None
    var_collections: object = None

    def __post_init__(self) -> None:
        check_int(self.max_to_keep, "max_to_keep", low=0)
        check_number(self.keep_checkpoint_every_n_hours, "keep_checkpoint_every_n_hours")

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(self.checkpoint_dir, self)
        self._policy = RetainedFiles()
        self._written: dict[str, float] = {}  # the time at which each file of this run was written
        self._retained_at = perf_counter()  # of the run's beginning, or the last file kept for good

    def _trigger(self) -> None:
        name = f"model-{self.global_step}.ckpt"
        if not _save(self, self._path(name)):
            return
        self._policy.add(self._path(name))
        self._files = [*(file for file in self._files if file != name), name]
        self._written[name] = perf_counter()
        while self.max_to_keep and len(self._files) > self.max_to_keep:
            old = self._files.pop(0)
            written = self._written.pop(old, self._retained_at)
            if written - self._retained_at >= 3600 * self.keep_checkpoint_every_n_hours:
                self._retained_at = written
            else:
                self._policy.remove(self._path(old))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _after_train(self) -> None:
        self._policy.release()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the list of files, without those that no longer exist.

        Raises:
            ValueError: The state is invalid.
        """
        super().load_state_dict(state)
        self._policy.release()
        self._files = [name for name in self._files if os.path.exists(self._path(name))]
        self._policy = RetainedFiles(map(self._path, self._files))


@check_arguments
@dataclass(eq=False)
class MinSaver(StatefulMixin, MonitorBase):
    """Save the model as `min-{name}.ckpt` when a number has a new minimum.

    When triggered, by default after each epoch, it compares the value that was logged in that epoch
    with the best one. A value that is logged later within the same event counts as well, so that
    the saver may precede the callback that measures. It needs no ModelSaver. The file contains
    the network and the optimizer's state. NaN is never the best value.

    Args:
        monitor_stat: The name of the number.
        reverse: Whether greater is better; then the file is `max-{name}.ckpt`.
        filename: Another name for the file; ".ckpt" is added if it is missing.
        checkpoint_dir: The folder; by default the logger's.

    Attributes:
        best: The best value; None before the first.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(MinSaver("loss"), epochs=1)
        Saved 'min-loss.ckpt' with loss ...
        ['min-loss.ckpt']

    Source: tensorpack's `callbacks.MinSaver`.
    """

    chief_only = True
    # Both values have the sign with which smaller is better; NaN for none.
    _best = StateField(float, math.nan)
    _new = StateField(float, math.nan)
    _epoch = StateField(int, -1)  # of the new value
    _checked_at = StateField(int, -1)  # the step of the last check

    monitor_stat: str
    reverse: bool = False
    filename: str | None = None
    checkpoint_dir: logger.Path | None = None

    def __post_init__(self) -> None:
        self._sign = -1 if self.reverse else 1
        prefix = "max" if self.reverse else "min"
        name = self.filename or f"{prefix}-{self.monitor_stat.replace('/', '-')}"
        self._name = f"{name.removesuffix('.ckpt')}.ckpt"

    @property
    def best(self) -> float | None:
        """The best value; None before the first."""
        return None if math.isnan(self._best) else self._sign * self._best

    def consumes(self) -> Collection[str]:
        """Return the name of the number."""
        return (self.monitor_stat,)

    def _setup_graph(self) -> None:
        logger.folder_for(self.checkpoint_dir, self)  # raises an error if there is none

    @property
    def _path(self) -> str:
        return os.path.join(logger.folder_for(self.checkpoint_dir, self), self._name)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the best value; if its file no longer exists, log a warning and reset the value.

        Raises:
            ValueError: The state is invalid.
        """
        super().load_state_dict(state)
        if self.best is not None and not os.path.exists(self._path):
            logger.warn(
                f"'{self._path}' no longer exists: the model is saved at the next value of "
                f"{self.monitor_stat}."
            )
            self._best = math.nan

    def process_scalar(self, name: str, val: float) -> None:
        """Store a value until the next check; check it now if it was triggered in this event."""
        if name == self.monitor_stat:
            self._new, self._epoch = self._sign * val, self.epoch_num
            if self._checked_at == self.global_step:
                self._check_best()

    def _trigger(self) -> None:
        self._checked_at = self.global_step
        self._check_best()

    def _check_best(self) -> None:
        value, self._new = self._new, math.nan
        is_better = math.isnan(self._best) or value < self._best
        is_current = self._epoch == self.epoch_num and not math.isnan(value)
        if is_current and is_better and _save(self, self._path):
            self._best = value
            logger.info(f"Saved '{self._name}' with {self.monitor_stat} {self._sign * value:.5g}.")


@check_arguments
class MaxSaver(MinSaver):
    """Save the model as `max-{name}.ckpt` when a number has a new maximum.

    It is `MinSaver` with `reverse=True`.

    Args:
        monitor_stat: The name of the number.
        filename: Another name for the file; ".ckpt" is added if it is missing.
        checkpoint_dir: The folder; by default the logger's.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(MaxSaver("learning_rate", "greatest.ckpt"))
        Saved 'greatest.ckpt' with learning_rate 0.5.
        ['greatest.ckpt']

    Source: tensorpack's `callbacks.MaxSaver`.
    """

    def __init__(
        self,
        monitor_stat: str,
        filename: str | None = None,
        checkpoint_dir: logger.Path | None = None,
    ) -> None:
        super().__init__(monitor_stat, True, filename, checkpoint_dir)


def _save(callback: Callback, path: str) -> bool:
    """Save a checkpoint; return False after logging a warning if that fails."""
    params = callback.trainer.params
    if not has_finite_weights(params.network):
        logger.warn(f"{type(callback).__name__} saves nothing: weights are not finite.")
        return False
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # the folder may have been removed
        save_checkpoint(params.train_network, path)
    except OSError as error:
        logger.warn(f"{type(callback).__name__}: '{path}' cannot be written: {error}")
        return False
    return True
