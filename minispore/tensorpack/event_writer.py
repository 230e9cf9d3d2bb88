"""TFEventWriter: what is put in the channel, for TensorBoard."""

import time

import numpy as np

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import MonitorBase
from minispore.tensorpack.channel import Array
from minispore.train.summary import Event, Value
from minispore.train.summary._encode import for_tensorboard
from minispore.train.summary._event import TENSORBOARD_VERSION, Content
from minispore.train.summary._files import EventFile, Names
from minispore.train.summary._histogram import histogram
from minispore.train.summary._image import picture


class TFEventWriter(MonitorBase):
    """Write an event file of all that is put in the channel, at once.

    The network's graph is not in it; `SummaryCollector` writes that. Without a folder nothing is
    written.

    Source: tensorpack.callbacks.TFEventWriter.

    Args:
        logdir: The folder; by default the logger's.
        max_queue: Accepted, and without effect: nothing waits.
        flush_secs: Likewise.
        split_files: Whether to begin another file with each epoch.
    """

    def __init__(
        self,
        logdir: logger.Path | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        split_files: bool = False,
    ) -> None:
        self._logdir = logdir
        self._split = split_files
        self._folder: str | None = None
        self._file: EventFile | None = None

    def process_scalar(self, name: str, val: float) -> None:
        """Write it."""
        self._put(name, val)

    def process_image(self, name: str, val: Array) -> None:
        """Write a picture of them side by side."""
        pixels = np.clip(val.astype(np.float64), 0, 255).round().astype(np.uint8)
        self._put(name, picture(pixels.transpose(0, 3, 1, 2)))

    def process_histogram(self, name: str, val: Array) -> None:
        """Write the distribution."""
        self._put(name, histogram(val))

    def process_event(self, evt: Event) -> None:
        """Write it as it is."""
        if self._folder is None:
            return
        try:
            if self._file is None:
                self._file = EventFile(Names(self._folder, "events", "").tensorboard)
                self._file.append(for_tensorboard(Event(time.time(), version=TENSORBOARD_VERSION)))
            self._file.append(for_tensorboard(evt))
        except OSError as error:
            logger.warn(f"TFEventWriter writes no more: {error}")
            self._folder = None

    def _put(self, name: str, content: Content) -> None:
        values = (Value(name, content),)
        self.process_event(Event(time.time(), self.global_step, values=values))

    def _setup_graph(self) -> None:
        self._folder = None
        if self._logdir is None and logger.get_logger_dir() is None:
            logger.warn("TFEventWriter has no folder and writes nothing: see set_logger_dir.")
            return
        self._folder = logger.folder_for(self._logdir, "TFEventWriter")

    def _trigger(self) -> None:
        if self._split:
            self._close()

    def _after_train(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.sync()
            self._file.close()
            self._file = None
