"""A run of a callback in a place of its own, and what is left to see of it."""

import gc
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import zip_longest

from minispore.testing._leaks import Surroundings
from minispore.testing._observing import Observer, memory
from minispore.testing._schedule import Schedule, repeatable, small_model
from minispore.testing._watching import watching
from minispore.train._protocol.callback import Callback

Factory = Callable[[], Callback]

# Of numbers that are printed, such as times, often no two are alike.
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


@dataclass(frozen=True)
class Observed:
    """What was seen of a run.

    Attributes:
        schedule: The run.
        observer: What was seen while it ran.
        error: What the caller got.
        text: What was printed until it ended.
        late: What was printed afterwards.
        leaks: What it left behind, in words.
        parameters: The bytes of each parameter at its end.
        memory: What the callback remembered then.
        files: What there was in the current folder.
    """

    schedule: Schedule
    observer: Observer
    error: BaseException | None
    text: str
    late: str
    leaks: tuple[str, ...]
    parameters: dict[str, bytes]
    memory: dict[str, object]
    files: tuple[str, ...]

    @property
    def texts(self) -> list[str]:
        """What each call printed."""
        return [call.text for call in self.observer.calls]

    def shown(self, *, exact: bool) -> list[str]:
        """Each call and what it printed, in words; without its numbers unless it must be exact."""
        return [
            f"{f'printed {text!r}' if text else 'was silent'} at {call}"
            for call in self.observer.calls
            for text in [call.text if exact else _NUMBER.sub("#", call.text)]
        ]


def differing(then: Sequence[str], now: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Where two lists differ: the items of both.

    >>> list(differing(["a", "b"], ["a", "c", "d"]))
    [('b', 'c'), ('the end', 'd')]
    """
    for old, new in zip_longest(then, now, fillvalue="the end"):
        if old != new:
            yield old, new


class Place:
    """An empty folder that is the current one while runs take place in it.

    Args:
        folder: The folder; what is in it is removed.
        content: A folder that it is a copy of, None for an empty one.
    """

    def __init__(self, folder: str, content: str | None = None) -> None:
        os.makedirs(folder, exist_ok=True)
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            else:
                os.unlink(entry)
        if content is not None:
            shutil.copytree(content, folder, dirs_exist_ok=True)
        self._folder = folder

    def make(self, factory: Factory) -> Callback:
        """The callback that `factory` makes here."""
        with chdir(self._folder):
            return factory()

    def run(
        self,
        schedule: Schedule,
        subject: Callback,
        beside: Callable[[Observer], Sequence[Callback]] = lambda _: (),
        *,
        resume: str | None = None,
        thorough: bool = False,
    ) -> Observed:
        """Run the schedule.

        Args:
            schedule: The run.
            subject: The callback that is watched.
            beside: What gives the callbacks that come after it.
            resume: The file to go on from.
            thorough: Whether to look at what takes longer to see.
        """
        output = io.StringIO()
        observer = Observer(subject, output, thorough=thorough)
        error: BaseException | None = None
        planned = schedule.trouble is not None and schedule.trouble.kind == "interrupt"
        with chdir(self._folder), redirect_stdout(output), redirect_stderr(output):
            before = Surroundings.now()
            try:
                with repeatable():
                    model = small_model()
                    with watching(observer):
                        try:
                            schedule.go([subject, *beside(observer)], model, resume)
                        except BaseException as raised:
                            if isinstance(raised, KeyboardInterrupt) and not planned:
                                raise
                            error = raised
                text = output.getvalue()
                leaks = tuple(before.changes())
            finally:
                before.restore()
            if thorough:
                gc.collect()
            return Observed(
                schedule,
                observer,
                error,
                text,
                output.getvalue()[len(text) :],
                leaks,
                {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()},
                memory(subject),
                tuple(sorted(os.listdir())),
            )
