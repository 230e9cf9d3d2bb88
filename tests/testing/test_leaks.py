"""The detection of leaked resources."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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
    assert len(messages) == len(changes)
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


def test_open_files_are_ignored_where_unsupported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_leaks, "_DESCRIPTORS", None)
    before = ProcessResources.capture()
    with (tmp_path / "file").open("w", encoding="utf-8"):
        assert not [change for change in before.leaks() if change.endswith("still open")]
