"""Saving what is trained: all the time, or when a number is the best so far."""

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from time import perf_counter

from minispore._checks import check_int, check_number
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.checked import checked
from minispore.tensorpack.states import Kept, Remembering
from minispore.train.callback._kept_files import KeptFiles
from minispore.train.serialization import save_checkpoint


@checked
@dataclass(eq=False)
class ModelSaver(Remembering, Callback):
    """Save the network and its optimiser's state as `model-{global_step}.ckpt`, after each epoch.

    A file that cannot be written is told of, and the training goes on.

    Source: tensorpack.callbacks.ModelSaver.

    Args:
        max_to_keep: How many files to keep, the newest; 0 for all.
        keep_checkpoint_every_n_hours: Of the files that would be removed, one is kept for good
            when so many hours have passed since the last that was; or since the beginning. As in
            TensorFlow, a resumed run begins to count again.
        checkpoint_dir: The folder; by default the logger's.
        var_collections: Accepted and without effect.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(ModelSaver(max_to_keep=2), epochs=3)
        ['model-6.ckpt', 'model-9.ckpt']
    """

    _files = Kept(list[str])

    max_to_keep: int = 10
    keep_checkpoint_every_n_hours: float = 0.5
    checkpoint_dir: logger.Path | None = None
    var_collections: object = None

    def __post_init__(self) -> None:
        check_int(self.max_to_keep, "max_to_keep", "ModelSaver", low=0)
        hours = self.keep_checkpoint_every_n_hours
        check_number(hours, "keep_checkpoint_every_n_hours", "ModelSaver")

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(self.checkpoint_dir, self)
        self._policy = KeptFiles()
        self._written: dict[str, float] = {}  # when the files were written, in this run
        self._kept_at = perf_counter()  # when the run began, or the last file kept was written

    def _trigger(self) -> None:
        name = f"model-{self.global_step}.ckpt"
        if not _save(self, self._path(name)):
            return
        self._policy.add(self._path(name))
        self._files = [*(each for each in self._files if each != name), name]
        self._written[name] = perf_counter()
        while self.max_to_keep and len(self._files) > self.max_to_keep:
            old = self._files.pop(0)
            written = self._written.pop(old, self._kept_at)
            if written - self._kept_at >= 3600 * self.keep_checkpoint_every_n_hours:
                self._kept_at = written
            else:
                self._policy.remove(self._path(old))

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _after_train(self) -> None:
        self._policy.end_run()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with those of these files that exist.

        Raises:
            ValueError: It is no such state.
        """
        super().load_state_dict(state)
        self._policy.end_run()
        self._files = [name for name in self._files if os.path.exists(self._path(name))]
        self._policy = KeptFiles(map(self._path, self._files))


@checked
@dataclass(eq=False)
class MinSaver(Remembering, MonitorBase):
    """Save what is trained as `min-{name}.ckpt` whenever a number is smaller than ever.

    It looks when triggered, by default after each epoch, at what was put in during that epoch. A
    number that is put in later within the same event counts as well, so that it may stand before
    the callback that measures, and saves what was measured. It needs no ModelSaver. NaN is never
    the best.

    Source: tensorpack.callbacks.MinSaver.

    Args:
        monitor_stat: The name of the number.
        reverse: Whether greater is better; the file is `max-{name}.ckpt` then.
        filename: Another name for the file.
        checkpoint_dir: The folder; by default the logger's.

    Attributes:
        best: The best value; None before the first.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(MinSaver("loss"), epochs=1)
        Saved 'min-loss.ckpt' with loss ...
        ['min-loss.ckpt']
    """

    chief_only = True
    # Both as if smaller were better.
    _best = Kept(float, math.nan)  # before the first
    _new = Kept(float, math.nan)
    _epoch = Kept(int, -1)  # of the new one,
    _looked_at = Kept(int, -1)  # and the step of the last look

    monitor_stat: str
    reverse: bool = False
    filename: str | None = None
    checkpoint_dir: logger.Path | None = None

    def __post_init__(self) -> None:
        self._sign = -1 if self.reverse else 1
        word = "max" if self.reverse else "min"
        self._name = self.filename or f"{word}-{self.monitor_stat.replace('/', '-')}.ckpt"

    @property
    def best(self) -> float | None:
        """The best value; None before the first."""
        return None if math.isnan(self._best) else self._sign * self._best

    def consumes(self) -> Collection[str]:
        """Return the number's name."""
        return (self.monitor_stat,)

    def _setup_graph(self) -> None:
        logger.folder_for(self.checkpoint_dir, self)  # better known to be missing before training

    @property
    def _path(self) -> str:
        return os.path.join(logger.folder_for(self.checkpoint_dir, self), self._name)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with that best value; if its file does not exist, say so and forget it.

        Raises:
            ValueError: It is no such state.
        """
        super().load_state_dict(state)
        if self.best is not None and not os.path.exists(self._path):
            logger.warn(f"'{self._path}' no longer exists: the next {self.monitor_stat} is saved.")
            self._best = math.nan

    def process_scalar(self, name: str, val: float) -> None:
        """Look at it the next time, or now if this time has just been."""
        if name == self.monitor_stat:
            self._new, self._epoch = self._sign * val, self.epoch_num
            if self._looked_at == self.global_step:
                self._look()

    def _trigger(self) -> None:
        self._looked_at = self.global_step
        self._look()

    def _look(self) -> None:
        value, self._new = self._new, math.nan
        better = math.isnan(self._best) or value < self._best
        current = self._epoch == self.epoch_num and not math.isnan(value)
        if current and better and _save(self, self._path):
            self._best = value
            logger.info(f"Saved '{self._name}' with {self.monitor_stat} {self._sign * value:.5g}.")


@checked
class MaxSaver(MinSaver):
    """Save what is trained as `max-{name}.ckpt` whenever a number is greater than ever.

    Source: tensorpack.callbacks.MaxSaver.

    Args:
        monitor_stat: The name of the number.
        filename: Another name for the file.
        checkpoint_dir: The folder; by default the logger's.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(MaxSaver("learning_rate", "greatest.ckpt"))
        Saved 'greatest.ckpt' with learning_rate 0.5.
        ['greatest.ckpt']
    """

    def __init__(
        self,
        monitor_stat: str,
        filename: str | None = None,
        checkpoint_dir: logger.Path | None = None,
    ) -> None:
        super().__init__(monitor_stat, True, filename, checkpoint_dir)


def _save(callback: Callback, path: str) -> bool:
    """Save, and return whether that was possible."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)  # it may have been removed
        save_checkpoint(callback.trainer.params.train_network, path)
    except OSError as error:
        logger.warn(f"{type(callback).__name__}: '{path}' cannot be written: {error}")
        return False
    return True
