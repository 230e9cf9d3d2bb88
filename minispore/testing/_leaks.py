"""What a run may leave behind: open files, threads, handlers, and a program that was changed."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

# Where the system shows a process its open files.
_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)
# Without those for real-time programs, of which there are many.
_SIGNALS = sorted(number for number in signal.Signals if number < 32)
# Threads that a library has once for the whole program.
_OF_LIBRARIES = {"tqdm_monitor"}
_PATIENCE = 0.5  # seconds that a thread is given to end by itself


@dataclass(frozen=True)
class Surroundings:
    """The state of the program around a run."""

    files: frozenset[tuple[str, str]]
    threads: frozenset[threading.Thread]
    signals: dict[int, object]
    streams: dict[str, object]
    handlers: tuple[logging.Handler, ...]
    folder: str
    environment: dict[str, str]

    @classmethod
    def now(cls) -> "Surroundings":
        """What it is at this moment."""
        names = ("stdout", "stderr", "stdin", "excepthook", "displayhook", "unraisablehook")
        streams: dict[str, object] = {f"sys.{name}": getattr(sys, name) for name in names}
        return cls(
            frozenset(_open_files()),
            frozenset(threading.enumerate()),
            {number: signal.getsignal(number) for number in _SIGNALS},
            streams | {"threading.excepthook": threading.excepthook},
            tuple(logging.getLogger().handlers),
            os.getcwd(),
            dict(os.environ),
        )

    def changes(self) -> Iterator[str]:
        """What has been left behind since then, in words."""
        yield from self._threads_left()
        now = Surroundings.now()
        for _, target in sorted(now.files - self.files):
            yield f"the file '{target}' is still open"
        for number, handler in self.signals.items():
            if now.signals[number] != handler:
                yield f"the handler of the signal {number} ({signal.strsignal(number)}) is another"
        for name, stream in self.streams.items():
            if now.streams[name] is not stream:
                yield f"{name} is another"
        for added in set(now.handlers) - set(self.handlers):
            yield f"the root logger has a handler more, {added!r}"
        if now.folder != self.folder:
            yield f"the current folder is '{now.folder}'"
        for name in sorted(self.environment.keys() | now.environment.keys()):
            if self.environment.get(name) != now.environment.get(name):
                yield f"the environment variable {name} is another"
        yield from self._temporary_files()

    def _threads_left(self) -> Iterator[str]:
        deadline = time.monotonic() + _PATIENCE
        for thread in sorted(set(threading.enumerate()) - self.threads, key=lambda t: t.name):
            if thread.name in _OF_LIBRARIES:
                continue
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                yield f"the thread '{thread.name}' still runs"

    def _temporary_files(self) -> Iterator[str]:
        for folder, _, names in os.walk(self.folder):
            for name in sorted(names):
                if name.startswith(".") or name.endswith((".tmp", ".temp", ".part")):
                    path = os.path.relpath(os.path.join(folder, name), self.folder)
                    yield f"there is the temporary file '{path}'"

    def restore(self) -> None:
        """Put back what can be put back."""
        os.chdir(self.folder)
        if threading.current_thread() is threading.main_thread():
            for number, handler in self.signals.items():
                if signal.getsignal(number) != handler and handler is not None:
                    signal.signal(number, handler)  # type: ignore[arg-type]  # as it was got
        for name, stream in self.streams.items():
            module, _, attribute = name.partition(".")
            setattr(sys.modules[module], attribute, stream)
        for handler in logging.getLogger().handlers[:]:
            if handler not in self.handlers:
                logging.getLogger().removeHandler(handler)
        os.environ.clear()
        os.environ.update(self.environment)


def _open_files() -> Iterator[tuple[str, str]]:
    if _DESCRIPTORS is None:
        return
    for number in os.listdir(_DESCRIPTORS):
        try:
            target = os.readlink(f"{_DESCRIPTORS}/{number}")
        except OSError:  # that of the folder itself, which is closed again
            continue
        yield number, target
