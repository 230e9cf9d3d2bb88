"""The detection of leaked resources."""

import builtins
import gc
import locale
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack, chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import set_context
from minispore.dataset import config
from minispore.testing import _leaks
from minispore.testing._leaks import ProcessResources


def test_ending_and_library_threads_are_no_leaks() -> None:
    before, end = ProcessResources.capture(), threading.Event()

    class TMonitor(threading.Thread):
        """A thread of the name of tqdm's class."""

    threads = [TMonitor(target=end.wait), threading.Thread(target=end.wait, name="heart")]
    threads.append(threading.Timer(0.05, int))
    for thread in threads:
        thread.start()
    try:
        messages = [change for change in before.leaks() if "thread" in change]
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert messages == ["the thread 'heart' still runs"]


def set_signal(number: int) -> None:
    signal.signal(number, lambda *_: None)


def change_folder() -> None:
    os.mkdir("elsewhere")
    os.chdir("elsewhere")


def change_variable(name: str, value: str | None) -> None:
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def write(name: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("", "utf-8")


HOOKS = [
    *((sys, name) for name in ("stdout", "stderr", "stdin", "excepthook", "displayhook")),
    (sys, "unraisablehook"),
    (threading, "excepthook"),
]
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGUSR1]
NAMES = [".hidden", "x.tmp", "x.temp", "x.part", "folder/x.tmp"]
# What a callback may change without restoring it, and a part of the message.
CHANGES: list[tuple[Callable[[], object], str]] = [
    *(
        (partial(setattr, module, name, object()), f"{module.__name__}.{name} was changed")
        for module, name in HOOKS
    ),
    *((partial(set_signal, n), f"the handler of the signal {int(n)} (") for n in SIGNALS),
    *((partial(write, name), f"there is the temporary file '{name}'") for name in NAMES),
    (partial(change_variable, "MINISPORE_NEW", ""), "the environment variable MINISPORE_NEW was"),
    (partial(change_variable, "MINISPORE_OLD", "2"), "the environment variable MINISPORE_OLD was"),
    (partial(change_variable, "MINISPORE_GONE", None), "variable MINISPORE_GONE was changed"),
    (lambda: logging.getLogger().addHandler(logging.NullHandler()), "the root logger has an add"),
    (
        lambda: logging.getLogger("mine").addHandler(logging.NullHandler()),
        "the 'mine' logger has an additional handler",
    ),
    (lambda: logging.getLogger().setLevel(7), "the level of the root logger was changed"),
    (lambda: logging.disable(10), "the level of disabled logging was changed"),
    (partial(sys.path.append, "nowhere"), "sys.path was changed"),
    (partial(sys.argv.append, "--more"), "sys.argv was changed"),
    (lambda: sys.meta_path.append(sys.meta_path[0]), "sys.meta_path was changed"),
    (partial(sys.setrecursionlimit, 3333), "the recursion limit was changed"),
    (partial(sys.setswitchinterval, 0.125), "the switch interval was changed"),
    (partial(sys.setprofile, lambda *_: None), "the profile function was changed"),
    (partial(np.seterr, over="ignore"), "numpy's handling of errors was changed"),
    (partial(np.seterrcall, lambda *_: None), "numpy's error callback was changed"),
    (partial(np.set_printoptions, precision=2), "numpy's format of arrays was changed"),
    (partial(warnings.filterwarnings, "ignore", "mine"), "the list of warning filters was"),
    (partial(setattr, warnings, "showwarning", print), "warnings.showwarning was changed"),
    (partial(locale.setlocale, locale.LC_NUMERIC, "C.UTF-8"), "the locale was changed"),
    (partial(gc.set_threshold, 12345), "the garbage collector was changed"),
    (partial(os.umask, 0o777), "the file mode mask was changed"),
    (partial(setattr, builtins, "mine", 1), "a builtin was changed"),
    (partial(set_context, save_graphs_path="elsewhere"), "minispore's context was changed"),
    (
        lambda: config.set_prefetch_size(config.get_prefetch_size() + 1),
        "the configuration of datasets was changed",
    ),
    # The last one, since the others write into the folder.
    (change_folder, "the current folder is '"),
]


@given(st.sets(st.integers(0, len(CHANGES) - 1)))
@example(set(range(len(CHANGES))))
def test_each_change_of_the_process_is_one_leak_until_it_is_restored(chosen: set[int]) -> None:
    changes = [CHANGES[i] for i in sorted(chosen)]
    with TemporaryDirectory() as folder, chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINISPORE_OLD", "1")
        patch.setenv("MINISPORE_GONE", "1")
        write("no-leak.ckpt")
        before = ProcessResources.capture()
        try:
            for change, _ in changes:
                change()
            messages = list(before.leaks())
        finally:
            before.restore()
        leaks = list(before.leaks())
    unnoticed = [m for _, m in changes if not any(m in leak for leak in messages)]
    assert (unnoticed, len(messages)) == ([], len(changes))
    for _, message in changes:
        assert len([leak for leak in messages if message in leak]) == 1
    assert all("temporary file" in leak for leak in leaks)  # these are left to the callback
    assert len(leaks) == sum("temporary file" in message for _, message in changes)


@given(st.integers(0, 3))
def test_each_open_file_is_one_leak(number: int) -> None:
    with TemporaryDirectory() as folder, ExitStack() as opened:
        before = ProcessResources.capture()
        for i in range(number):
            opened.enter_context(open(os.path.join(folder, f"{i}.txt"), "w", encoding="utf-8"))
        messages = [leak for leak in before.leaks() if folder in leak]
        assert len(messages) == number
        opened.close()
        assert not [leak for leak in before.leaks() if folder in leak]


def test_every_setting_has_a_change() -> None:
    changed = {name for name in _leaks._SETTINGS if any(name in text for _, text in CHANGES)}
    assert changed == _leaks._SETTINGS.keys()


def test_open_files_are_ignored_where_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_leaks, "_DESCRIPTORS", None)
    before = ProcessResources.capture()
    with (tmp_path / "file").open("w", encoding="utf-8"):
        assert not [change for change in before.leaks() if change.endswith("still open")]
