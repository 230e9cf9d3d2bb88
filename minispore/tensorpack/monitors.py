"""Monitors that remember and print numbers, and those that write files."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import MonitorBase
from minispore.tensorpack.channel import Array, Memory
from minispore.tensorpack.checked import checked
from minispore.tensorpack.states import Kept, Remembering
from minispore.train.summary import Event, Value
from minispore.train.summary._encode import for_tensorboard
from minispore.train.summary._event import TENSORBOARD_VERSION, Content
from minispore.train.summary._files import EventFile, Names, append_events
from minispore.train.summary._graph import Tracer, parts_of
from minispore.train.summary._histogram import histogram
from minispore.train.summary._image import picture


class ScalarHistory(Memory, MonitorBase):
    """Remember all numbers of a run; the channel does so itself, and this is for later.

    Source: tensorpack.callbacks.ScalarHistory.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> history = ScalarHistory()
        >>> train(history)
        >>> history.get_history("learning_rate")
        [(3, 0.5), (6, 0.5)]
    """

    def process_scalar(self, name: str, val: float) -> None:
        """Remember it."""
        self.add(name, self.global_step, val)


@checked
@dataclass(eq=False)
class ScalarPrinter(Remembering, MonitorBase):
    """Print the numbers that were put in since the last time.

    Source: tensorpack.callbacks.ScalarPrinter.

    Args:
        enable_step: Whether to print after each step,
        enable_epoch: and after each epoch.
        whitelist: Regular expressions: only numbers in whose names one is found. None for all.
        blacklist: Regular expressions: no numbers in whose names one is found.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(ScalarPrinter(blacklist=["^loss$"]))
        learning_rate: 0.5
        learning_rate: 0.5
    """

    enable_step: bool = False
    enable_epoch: bool = True
    whitelist: Sequence[str] | None = None
    blacklist: Sequence[str] | None = None
    _values = Kept(dict[str, float])

    def process_scalar(self, name: str, val: float) -> None:
        """Print it the next time."""
        self._values[name] = val

    def _before_train(self) -> None:
        self._print()

    def _trigger_step(self) -> None:
        # What the last step brings is printed with its epoch.
        if self.enable_step and not (self.enable_epoch and self.trainer.is_last_step):
            self._print()

    def _trigger(self) -> None:
        if self.enable_epoch:
            self._print()

    def _print(self) -> None:
        white = ("",) if self.whitelist is None else self.whitelist
        for name, value in sorted(self._values.items()):
            listed = any(re.search(each, name) for each in white)
            if listed and not any(re.search(each, name) for each in self.blacklist or ()):
                logger.info(f"{name}: {value:.5g}")
        self._values = {}


@checked
class FileMonitor(MonitorBase):
    """Base class of monitors that write files.

    Without a folder, or as soon as a file cannot be written, that is told and nothing is written.

    Args:
        directory: The folder; by default the logger's.
    """

    def __init__(self, directory: logger.Path | None = None) -> None:
        self._directory = directory
        self._folder: str | None = None

    def _setup_graph(self) -> None:
        self._folder = None
        try:
            self._folder = logger.folder_for(self._directory, self)
        except ValueError as error:
            logger.warn(f"{error} It writes nothing.")

    def _try(self, write: Callable[[str], None]) -> None:
        """Call what writes into the folder."""
        if self._folder is not None:
            try:
                write(self._folder)
            except OSError as error:
                logger.warn(f"{type(self).__name__} writes no more: {error}")
                self._folder = None


@checked
class TFEventWriter(FileMonitor):
    """Write an event file of all that is put in the channel, at once, and of the network's graph.

    Source: tensorpack.callbacks.TFEventWriter.

    Args:
        logdir: The folder; by default the logger's.
        max_queue: Accepted, and without effect: nothing waits.
        flush_secs: Likewise.
        split_files: Whether to begin another file with each epoch.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(TFEventWriter())
        ['events.out.tfevents...']
    """

    def __init__(
        self,
        logdir: logger.Path | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        split_files: bool = False,
    ) -> None:
        super().__init__(logdir)
        self._split = split_files
        self._file: EventFile | None = None
        self._tracer: Tracer | None = None

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

        def write(folder: str) -> None:
            if self._file is None:
                self._file = EventFile(Names(folder, "events", "").tensorboard)
            append_events(self._file, TENSORBOARD_VERSION, for_tensorboard, [evt])

        self._try(write)

    def _put(self, name: str, content: Content) -> None:
        self.process_event(Event(time.time(), self.global_step, values=(Value(name, content),)))

    def _before_train(self) -> None:
        params = self.trainer.params
        if self._folder is not None:
            self._tracer = Tracer(params.train_network, parts_of(params.network, params.loss_fn))

    def _after_epoch(self) -> None:
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            tracer.stop()
            if tracer.graph() is not None:
                self.process_event(Event(time.time(), graph=tracer.graph()))

    def _trigger(self) -> None:
        if self._split:
            self._close()

    def _after_train(self) -> None:
        self._after_epoch()
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.sync()
            self._file.close()
            self._file = None
