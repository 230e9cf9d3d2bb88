"""Saving what is trained: all the time, or when a number is the best so far."""

import os
from collections.abc import Collection, Mapping
from time import monotonic

from minispore._checks import check_int, check_number
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.train.callback._kept_files import KeptFiles
from minispore.train.callback._states import entry, numbers
from minispore.train.serialization import save_checkpoint


class ModelSaver(Callback):
    """Save the network and its optimiser's state as `model-{global_step}.ckpt`, after each epoch.

    A file that cannot be written is told of, and the training goes on.

    Source: tensorpack.callbacks.ModelSaver.

    Args:
        max_to_keep: How many files to keep, the newest; 0 for all.
        keep_checkpoint_every_n_hours: Of the files that would be removed, one is kept for good
            when so many hours have passed since the last that was; or since the beginning.
        checkpoint_dir: The folder; by default the logger's.
        var_collections: Accepted and without effect.
    """

    def __init__(
        self,
        max_to_keep: int = 10,
        keep_checkpoint_every_n_hours: float = 0.5,
        checkpoint_dir: logger.Path | None = None,
        var_collections: object = None,
    ) -> None:
        self._most = check_int(max_to_keep, "max_to_keep", "ModelSaver", low=0)
        hours = keep_checkpoint_every_n_hours
        self._seconds = 3600 * check_number(hours, "keep_checkpoint_every_n_hours", "ModelSaver")
        self._directory = checkpoint_dir
        self._files: list[tuple[str, float]] = []  # path, and when it was written

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(self._directory, "ModelSaver")
        self._files, self._kept_at = [], monotonic()
        self._kept = KeptFiles()

    def _trigger(self) -> None:
        path = os.path.join(self._folder, f"model-{self.global_step}.ckpt")
        if not _save(self, path):
            return
        self._kept.add(path)
        self._files = [each for each in self._files if each[0] != path] + [(path, monotonic())]
        while self._most and len(self._files) > self._most:
            old, written = self._files.pop(0)
            if written - self._kept_at >= self._seconds:
                self._kept_at = written
            else:
                self._kept.remove(old)

    def _after_train(self) -> None:
        self._kept.end_run()

    def state_dict(self) -> dict[str, object]:
        """Return which files there are, and their ages in seconds."""
        now = monotonic()
        paths = [os.path.relpath(path, self._folder) for path, _ in self._files]
        ages = [now - written for _, written in self._files]
        return {"files": paths, "ages": ages, "kept": now - self._kept_at}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with these files.

        Raises:
            ValueError: It is no such state.
        """
        paths = numbers(state, "files", str, "ModelSaver")
        ages = numbers(state, "ages", float, "ModelSaver")
        kept, now = entry(state, "kept", float, "ModelSaver"), monotonic()
        full = [os.path.join(self._folder, path) for path in paths]
        self._files = [(path, now - age) for path, age in zip(full, ages, strict=True)]
        self._kept_at = now - kept
        self._kept.end_run()
        self._kept = KeptFiles(full)


class MinSaver(MonitorBase):
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
    """

    chief_only = True

    def __init__(
        self,
        monitor_stat: str,
        reverse: bool = False,
        filename: str | None = None,
        checkpoint_dir: logger.Path | None = None,
    ) -> None:
        self.monitor_stat: str = monitor_stat
        self.reverse: bool = reverse
        word = "max" if reverse else "min"
        self._name = filename or f"{word}-{monitor_stat.replace('/', '-')}.ckpt"
        self._directory = checkpoint_dir
        self.best: float | None = None
        self._new: float | None = None
        self._epoch = self._looked_at = -1  # of the number, and the step of the last look

    def consumes(self) -> Collection[str]:
        """Return the number's name."""
        return (self.monitor_stat,)

    def _setup_graph(self) -> None:
        folder = logger.folder_for(self._directory, type(self).__name__)
        self._path = os.path.join(folder, self._name)
        self.best, self._new, self._epoch, self._looked_at = None, None, -1, -1

    def process_scalar(self, name: str, val: float) -> None:
        """Look at it the next time, or now if this time has just been."""
        if name == self.monitor_stat:
            self._new, self._epoch = val, self.epoch_num
            if self._looked_at == self.global_step:
                self._look()

    def _trigger(self) -> None:
        self._looked_at = self.global_step
        self._look()

    def _look(self) -> None:
        value, self._new = self._new, None
        if value is None or value != value or self._epoch != self.epoch_num:  # noqa: PLR0124 (NaN)
            return
        best = self.best
        better = best is None or (value > best if self.reverse else value < best)
        if better and _save(self, self._path):
            self.best = value
            logger.info(f"Saved '{self._name}' with {self.monitor_stat} {value:.5g}.")

    def state_dict(self) -> dict[str, object]:
        """Return the best value, and the one to look at."""
        places = {"epoch": self._epoch, "looked_at": self._looked_at}
        return {"best": self.best, "new": self._new, **places}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with it.

        Raises:
            ValueError: It is no such state.
        """
        owner = type(self).__name__
        epoch, looked_at = (entry(state, key, int, owner) for key in ("epoch", "looked_at"))
        best, new = (
            entry(state, key, float, owner) if state.get(key, 0) is not None else None
            for key in ("best", "new")
        )
        self.best, self._new, self._epoch, self._looked_at = best, new, epoch, looked_at


class MaxSaver(MinSaver):
    """Save what is trained as `max-{name}.ckpt` whenever a number is greater than ever.

    Source: tensorpack.callbacks.MaxSaver.

    Args:
        monitor_stat: The name of the number.
        filename: Another name for the file.
        checkpoint_dir: The folder; by default the logger's.
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
