"""Detection of leaked resources: open files, threads, handlers, and changed process state."""

import builtins
import gc
import locale
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, MutableSequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from minispore.common.context import get_context, set_context
from minispore.dataset import config

T = TypeVar("T")

# The folder in which the system lists the open files of the process.
_DESCRIPTORS = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)
# Without real-time signals, of which there are many.
_SIGNALS = sorted(number for number in signal.Signals if number < 32)
# The classes of threads that a library starts once per process: tqdm's.
_LIBRARY_THREADS = {"TMonitor"}
_THREAD_EXIT_SECONDS = 0.5  # the time in which a thread may end without being a leak


# The value of a setting, and a function that restores it.
_Saved = tuple[object, Callable[[], object]]


def _setting(get: Callable[[], T], restore: Callable[[T], object]) -> Callable[[], _Saved]:
    """Return a function that saves a setting."""

    def save() -> _Saved:
        value = get()
        return value, lambda: restore(value)

    return save


def _attribute(owner: object, name: str) -> Callable[[], _Saved]:
    return _setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


def _items(items: MutableSequence[T]) -> Callable[[], _Saved]:
    def restore(saved: list[T]) -> None:
        items[:] = saved

    return _setting(lambda: [*items], restore)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _restore_gc(saved: tuple[bool, tuple[int, int, int], int]) -> None:
    (gc.enable if saved[0] else gc.disable)()
    gc.set_threshold(*saved[1])
    gc.set_debug(saved[2])


def _restore_builtins(saved: dict[str, object]) -> None:
    for name in _builtins().keys() - saved.keys():
        delattr(builtins, name)
    for name, value in saved.items():
        setattr(builtins, name, value)


def _builtins() -> dict[str, object]:
    """Return the builtins; an interactive session sets those that begin with an underscore."""
    return {name: value for name, value in vars(builtins).items() if not name.startswith("_")}


def _restore_data_settings(saved: tuple[int, int]) -> None:
    config.set_num_parallel_workers(saved[0])
    config.set_prefetch_size(saved[1])


_CONTEXT = ("mode", "device_target", "deterministic", "save_graphs", "save_graphs_path")
_HOOKS = ("stdout", "stderr", "stdin", "excepthook", "displayhook", "unraisablehook")
# The settings of the process, by the words of a message.
_SETTINGS: dict[str, Callable[[], _Saved]] = {
    **{f"sys.{name}": _attribute(sys, name) for name in _HOOKS},
    "threading.excepthook": _attribute(threading, "excepthook"),
    "sys.path": _items(sys.path),
    "sys.argv": _items(sys.argv),
    "sys.meta_path": _items(sys.meta_path),
    "the recursion limit": _setting(sys.getrecursionlimit, sys.setrecursionlimit),
    "the switch interval": _setting(sys.getswitchinterval, sys.setswitchinterval),
    "the profile function": _setting(sys.getprofile, sys.setprofile),
    "numpy's handling of errors": _setting(np.geterr, lambda saved: np.seterr(**saved)),
    "numpy's error callback": _setting(np.geterrcall, np.seterrcall),
    "numpy's format of arrays": _setting(
        np.get_printoptions, lambda saved: np.set_printoptions(**saved)
    ),
    "the list of warning filters": _setting(
        lambda: [*warnings.filters], lambda saved: setattr(warnings, "filters", saved)
    ),
    "warnings.showwarning": _attribute(warnings, "showwarning"),
    "the locale": _setting(
        lambda: locale.setlocale(locale.LC_ALL),
        lambda saved: locale.setlocale(locale.LC_ALL, saved),
    ),
    "the garbage collector": _setting(
        lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug()), _restore_gc
    ),
    "the level of the root logger": _attribute(logging.getLogger(), "level"),
    "the level of disabled logging": _attribute(logging.getLogger().manager, "disable"),
    "the file mode mask": _setting(_umask, os.umask),
    "a builtin": _setting(_builtins, _restore_builtins),
    "minispore's context": _setting(
        lambda: {name: get_context(name) for name in _CONTEXT}, lambda saved: set_context(**saved)
    ),
    "the configuration of datasets": _setting(
        lambda: (config.get_num_parallel_workers(), config.get_prefetch_size()),
        _restore_data_settings,
    ),
}


@dataclass(frozen=True)
class ProcessResources:
    """The resources and the state of the process at some time."""

    files: frozenset[tuple[str, str]]
    threads: frozenset[threading.Thread]
    signals: dict[int, object]
    settings: dict[str, _Saved]
    handlers: dict[str, list[logging.Handler]]
    folder: str
    environment: dict[str, str]

    @classmethod
    def capture(cls) -> "ProcessResources":
        """Return the current resources."""
        return cls(
            frozenset(_open_files()),
            frozenset(threading.enumerate()),
            {number: signal.getsignal(number) for number in _SIGNALS},
            {name: save() for name, save in _SETTINGS.items()},
            {name: [*logger.handlers] for name, logger in _loggers()},
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
        for name, (value, _) in self.settings.items():
            if now.settings[name][0] != value:
                yield f"{name} was changed"
        for name, handlers in now.handlers.items():
            for added in handlers:
                if added not in self.handlers.get(name, ()):
                    yield f"the {name} logger has an additional handler, {added!r}"
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
        for name, (value, restore) in self.settings.items():
            if _SETTINGS[name]()[0] != value:
                restore()
        for name, logger in _loggers():
            for handler in logger.handlers[:]:
                if handler not in self.handlers.get(name, ()):
                    logger.removeHandler(handler)
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


def _loggers() -> Iterator[tuple[str, logging.Logger]]:
    yield "root", logging.getLogger()
    for name, logger in list(logging.getLogger().manager.loggerDict.items()):
        if isinstance(logger, logging.Logger):
            yield repr(name), logger
