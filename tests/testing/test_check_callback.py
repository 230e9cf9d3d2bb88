"""The laws of callbacks: the package's own keep them, and who breaks one is found out."""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Literal, Never, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tqdm import tqdm

import minispore.dataset
import minispore.train
from minispore import nn
from minispore.common.seed import random_state
from minispore.dataset import WaitedDSCallback
from minispore.testing import LAWS, CallbackError, Schedule, _leaks, check_callback
from minispore.testing._judging import _unpaired, expected_of
from minispore.testing._leaks import Surroundings
from minispore.train import (
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    LambdaCallback,
    Model,
    RunContext,
)
from minispore.train import callback as cb
from minispore.train._protocol.callback import EVENTS

from .bad_callbacks import BAD, OPENED, Late
from .runs import ROWS


class Louder(WaitedDSCallback):
    """One that remembers something, as it is meant to be used."""

    def __init__(self) -> None:
        super().__init__()
        self.volume = 1.0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.volume /= 2

    def on_train_begin(self, run_context: RunContext) -> None:
        super().on_train_begin(run_context)
        self.volume = 1.0

    def state_dict(self) -> dict[str, object]:
        return {"volume": self.volume}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        volume = state["volume"]
        assert isinstance(volume, float)
        self.volume = volume


Case = tuple[Callable[[], Callback], dict[str, list[str]]]

FIT = {"modes": ["fit"]}
# Every callback of the package, and options of check_callback. A new one that is missing here
# fails a test: put it in.
OURS: dict[str, list[Case]] = {
    "BackupAndRestore": [
        (lambda: cb.BackupAndRestore("backup"), {}),
        (lambda: cb.BackupAndRestore("backup", 2), {}),
    ],
    "BestCheckpoint": [(lambda: cb.BestCheckpoint(top_k=2), FIT)],
    "Callback": [(Callback, {})],
    "EarlyStopping": [
        (lambda: cb.EarlyStopping(patience=1), FIT),
        # It is asked to change the weights.
        (
            lambda: cb.EarlyStopping("accuracy", restore_best_weights=True),
            {**FIT, "ignore": ["parameters"]},
        ),
    ],
    "FlopsUtilizationCollector": [(lambda: cb.FlopsUtilizationCollector(2, 10**9), {})],
    "History": [(cb.History, {})],
    "LambdaCallback": [(lambda: LambdaCallback(on_train_epoch_end=lambda _: print("done")), {})],
    "LearningRateScheduler": [
        (lambda: cb.LearningRateScheduler(lambda rate, step: rate * 0.9), {})
    ],
    "LossMonitor": [(lambda: cb.LossMonitor(2), {})],
    "ModelCheckpoint": [
        (lambda: cb.ModelCheckpoint("net"), {}),
        (lambda: cb.ModelCheckpoint("net", "files", CheckpointConfig(1, None, 2)), {}),
        (lambda: cb.ModelCheckpoint("net", config=CheckpointConfig(async_save=True)), {}),
    ],
    "OnRequestExit": [(cb.OnRequestExit, {})],
    "ReduceLROnPlateau": [(lambda: cb.ReduceLROnPlateau(patience=1), FIT)],
    "SummaryCollector": [(lambda: cb.SummaryCollector("summary"), {})],
    "TimeMonitor": [(cb.TimeMonitor, {})],
    "WaitedDSCallback": [(Louder, {})],
}


def public_callbacks() -> set[str]:
    """The names of all callbacks in the package's public modules."""
    found: set[str] = set()
    for module in (cb, minispore.train, minispore.dataset):
        for name in module.__all__:
            what: object = getattr(module, name)
            if isinstance(what, type) and issubclass(what, Callback) and name[0] != "_":
                found.add(name)
    return found


def test_every_public_callback_is_in_the_table() -> None:
    assert public_callbacks() == OURS.keys()


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        # By day each in one form, at night in all.
        pytest.param(*case, id=f"{name}-{i}", marks=[pytest.mark.slow] if i else [])
        for name, cases in OURS.items()
        for i, case in enumerate(cases)
    ],
)
def test_the_packages_own_keep_every_law(
    factory: Callable[[], Callback], options: dict[str, list[str]]
) -> None:
    check_callback(factory, **options)  # type: ignore[arg-type]


def mode_of(factory: Callable[[], Callback]) -> Literal["train", "eval"]:
    """The kind of run in which a bad callback shows what it does."""
    return "eval" if any(name.startswith("on_eval") for name in vars(factory)) else "train"


def surroundings() -> list[object]:
    """What a check must leave as it was."""
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    return [repr(random_state()), os.getcwd(), dict(os.environ), sys.stdout, handlers]


@cache
def found_out(factory: Callable[[], Callback]) -> CallbackError:
    """The report on a bad callback; the program must be as it was before."""
    before = surroundings()
    with pytest.raises(CallbackError) as raised:
        check_callback(factory, modes=[mode_of(factory)])
    while OPENED:
        OPENED.pop().close()
    gc.collect()  # Some print when they are collected: not during another test.
    assert surroundings() == before
    return raised.value


@pytest.mark.parametrize(
    ("factory", "law", "words"), BAD, ids=[f"{b[1]}-{b[0].__name__}" for b in BAD]
)
def test_who_breaks_a_law_is_found_out(
    factory: Callable[[], Callback], law: str, words: str
) -> None:
    error = found_out(factory)
    assert law in {each.law for each in error.broken}
    assert any(each.law == law and words in each.message for each in error.broken), error
    assert LAWS[law] in str(error)


def test_the_garbage_of_other_code_is_not_the_callbacks() -> None:
    gc.disable()  # only the check itself collects
    try:
        Late()
        check_callback(Callback, modes=["eval"])
    finally:
        gc.enable()


def test_there_is_somebody_who_breaks_each_law() -> None:
    assert {law for _, law, _ in BAD} == LAWS.keys()


class Evaluates(Callback):
    """It has a run of its own within the run."""

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        model = Model(run_context.original_args().network, nn.CrossEntropyLoss(), metrics={"loss"})
        print(model.eval(ROWS, callbacks=History()))


class Writes(Callback):
    """It holds a file open during the run, and tells the time."""

    def __enter__(self) -> Self:
        self.file = open("log.txt", "a", encoding="utf-8")
        return self

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.file.write(f"{run_context.original_args().net_outputs}\n")

    def on_eval_step_end(self, run_context: RunContext) -> None:
        print(f"{time.perf_counter():.3f} s")

    def __exit__(self, *error: object) -> None:
        self.file.close()


class TakesTurns(Callback):
    """It says on its own what its state is, and keeps to itself what is not a part of it."""

    def __init__(self) -> None:
        self._calls = 0
        self._on = False

    def on_train_begin(self, run_context: RunContext) -> None:
        self._on = False

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._calls += 1
        self._on = not self._on
        print("on" if self._on else "off")

    def state_dict(self) -> dict[str, object]:
        return {"on": self._on}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self._on = bool(state["on"])


class Lazy(Callback):
    """It makes something where it first needs it."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._names = ["loss"]


class Bar(Callback):
    """A progress bar for each epoch."""

    def __init__(self) -> None:
        self.bar: tqdm[Never] | None = None

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.bar = tqdm(total=run_context.original_args().batch_num, mininterval=0)

    def on_train_step_end(self, run_context: RunContext) -> None:
        if self.bar is not None:
            self.bar.update()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.__exit__()

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = None


@pytest.mark.parametrize("factory", [Bar, Evaluates, Lazy, Writes, TakesTurns])
def test_who_breaks_none_passes(factory: Callable[[], Callback]) -> None:
    check_callback(factory)


class Interrupts(Callback):
    """The user presses Ctrl-C."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_of_the_users_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule("train", epochs=1, batches=1)
    before = surroundings()
    for check in (lambda: check_callback(Interrupts), lambda: schedule.run([Interrupts()])):
        with pytest.raises(KeyboardInterrupt):
            check()
        assert surroundings() == before
    monkeypatch.setattr(Schedule, "go", lambda *_: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        expected_of.__wrapped__(schedule)


def test_a_check_may_be_in_a_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(check_callback, History, modes=["eval"]).result()


def naively_paired(events: list[str]) -> bool:
    """Whether nothing is left after a beginning that its end follows is removed, and so on."""
    for i, event in enumerate(events[:-1]):
        if event.endswith("_begin") and events[i + 1] == event.replace("begin", "end"):
            return naively_paired(events[:i] + events[i + 2 :])
    return not events


@given(st.lists(st.sampled_from(list(EVENTS)), max_size=6))
@example(["on_train_begin", "on_eval_begin", "on_eval_end", "on_train_end"])
@example(["on_train_begin", "on_eval_begin", "on_train_end", "on_eval_end"])
def test_each_beginning_has_its_end(events: list[str]) -> None:
    assert (_unpaired([f"{event} in epoch 1" for event in events]) is None) == naively_paired(
        events
    )


def test_a_thread_that_ends_or_is_a_librarys_is_not_left_behind() -> None:
    before, end = Surroundings.now(), threading.Event()
    threads = [threading.Thread(target=end.wait, name=name) for name in ("tqdm_monitor", "heart")]
    threads.append(threading.Timer(0.05, int))
    for thread in threads:
        thread.start()
    try:
        told = [change for change in before.changes() if "thread" in change]
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert told == ["the thread 'heart' still runs"]


def test_where_the_system_does_not_show_open_files_none_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_leaks, "_DESCRIPTORS", None)
    before = Surroundings.now()
    with (tmp_path / "file").open("w", encoding="utf-8"):
        assert not [change for change in before.changes() if change.endswith("still open")]


def test_what_breaks_a_law_on_purpose_may() -> None:
    broken = next(factory for factory, law, _ in BAD if law == "parameters")
    check_callback(broken, modes=["train"], ignore=["parameters"])


def test_a_callback_may_not_refuse_what_it_is_meant_for() -> None:
    with pytest.raises(CallbackError, match="errors: .*\n  In train with 2 epochs of 2 steps:"):
        check_callback(lambda: EarlyStopping(patience=1), modes=["train"])


def test_the_report_shows_the_simplest_run_of_each_law() -> None:
    with pytest.raises(CallbackError) as raised:
        check_callback(BAD[0][0])
    assert str(raised.value).splitlines()[:4] == [
        "The callback NeedsEvaluation breaks 1 of 10 laws.",
        "",
        "errors: It raises nothing in a run in which nothing else is wrong.",
        "  In train with 2 epochs of 2 steps (and 10 more runs):",
    ]
    assert raised.value.broken[0].where == "train with 2 epochs of 2 steps"


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match="'factory' must make a Callback, but it made 3"):
        check_callback(lambda: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="'modes' must be one of .* but got 'predict'"):
        check_callback(Callback, modes=["predict"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'modes' must name at least one"):
        check_callback(Callback, modes=[])
    with pytest.raises(ValueError, match="'ignore' must be one of .* but got 'gravity'"):
        check_callback(Callback, ignore=["gravity"])
