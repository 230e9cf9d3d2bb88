"""Detection of leaked resources: open files, threads, handlers, and changed process state."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

# The folder in which the system lists the open files of the process.
_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)
# Without real-time signals, of which there are many.
_SIGNALS = sorted(number for number in signal.Signals if number < 32)
# The classes of threads that a library starts once per process: tqdm's.
_LIBRARY_THREADS = {"TMonitor"}
_THREAD_EXIT_SECONDS = 0.5  # the time in which a thread may end without being a leak


@dataclass(frozen=True)
class ProcessResources:
    """The resources and the state of the process at some time."""

    files: frozenset[tuple[str, str]]
    threads: frozenset[threading.Thread]
    signals: dict[int, object]
    streams: dict[str, object]
    handlers: tuple[logging.Handler, ...]
    folder: str
    environment: dict[str, str]

    @classmethod
    def capture(cls) -> "ProcessResources":
        """Return the current resources."""
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

    def leaks(self) -> Iterator[str]:
        """Yield a message for each resource that has been leaked since then."""
        yield from self._threads_left()
        now = ProcessResources.capture()
        for _, target in sorted(now.files - self.files):
            yield f"the file '{target}' is still open"
        for number, handler in self.signals.items():
            if now.signals[number] != handler:
                yield f"the handler of the signal {number} ({signal.strsignal(number)}) was changed"
        for name, stream in self.streams.items():
            if now.streams[name] is not stream:
                yield f"{name} was changed"
        for added in set(now.handlers) - set(self.handlers):
            yield f"the root logger has an additional handler, {added!r}"
        if now.folder != self.folder:
            yield f"the current folder is '{now.folder}'"
        for name in sorted(self.environment.keys() | now.environment.keys()):
            if self.environment.get(name) != now.environment.get(name):
                yield f"the environment variable {name} was changed"
        yield from self._temporary_files()

    def _threads_left(self) -> Iterator[str]:
        deadline = time.monotonic() + _THREAD_EXIT_SECONDS
        for thread in sorted(set(threading.enumerate()) - self.threads, key=lambda t: t.name):
            if type(thread).__name__ in _LIBRARY_THREADS:
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
        """Restore what can be restored."""
        os.chdir(self.folder)
        if threading.current_thread() is threading.main_thread():
            for number, handler in self.signals.items():
                if signal.getsignal(number) != handler and handler is not None:
                    signal.signal(number, handler)  # type: ignore[arg-type]  # from signal.getsignal
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
        except OSError:  # the descriptor of the listed folder itself, which is closed again
            continue
        yield number, target
