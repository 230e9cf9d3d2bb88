"""A clock that is set forward and back while a training goes on: only dates are read from it."""

import ast
import itertools
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import minispore
from minispore.tensorpack import (
    EstimatedTimeLeft,
    Every,
    JSONWriter,
    ModelSaver,
    ScalarHistory,
    TFEventWriter,
    ThroughputTracker,
)
from minispore.train import (
    Callback,
    CheckpointConfig,
    LambdaCallback,
    ModelCheckpoint,
    SummaryCollector,
    SummaryRecord,
    TimeMonitor,
)
from minispore.train.summary import read_events

from .killing import look_at
from .test_disks import train

PACKAGE = Path(minispore.__file__).parent
# Where the time of day is told to people: in event files and their names, in names of folders.
DATES = {
    "_cli/training.py",
    "tensorpack/json_writers.py",
    "tensorpack/monitors.py",
    "train/summary/_files.py",
    "train/summary/summary_record.py",
}
WALL = {("time", "time"), ("time", "time_ns"), ("time", "localtime"), ("datetime", "now")}
STEADY = {"sleep", "monotonic", "perf_counter", "perf_counter_ns"}


def jumps() -> Iterator[float]:
    """Years forward and back, before 1970 as well."""
    chance = random.Random(1)
    while True:
        yield chance.uniform(-1e9, 4e9)


def asks_for_the_time_of_day(path: Path) -> bool:
    """Whether a module calls `time.time` or `datetime.now`, or imports what is neither clock."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            whose = node.func.value
            if isinstance(whose, ast.Name) and (whose.id, node.func.attr) in WALL:
                return True
        names = node.names if isinstance(node, ast.ImportFrom) and node.module == "time" else []
        if {alias.name for alias in names} - STEADY:
            return True
    return False


def test_the_time_of_day_is_read_for_dates_only() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if asks_for_the_time_of_day(path)
    }
    assert found == DATES


def policies(folder: Path) -> list[Callback]:
    """Callbacks that measure time, or act when some has passed."""
    by_seconds = CheckpointConfig(0, save_checkpoint_seconds=1, keep_checkpoint_max=9)
    by_minutes = CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    return [
        ModelCheckpoint("seconds", folder, by_seconds),
        ModelCheckpoint("minutes", folder, by_minutes),
        ModelSaver(2, 0.01, folder),
        Every(seconds=30)(LambdaCallback(on_train_step_end=lambda _: print("half a minute"))),
        TimeMonitor(data_time=True),
    ]


def test_policies_of_time_do_not_see_the_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: Path) -> tuple[set[str], int]:
        """Each look at a steady clock is a second later than the one before."""
        ticks = itertools.count(1000.0)
        modules = [m for name, m in sys.modules.items() if name.startswith("minispore")]
        for module in (time, *modules):
            for name in {"monotonic", "perf_counter"} & vars(module).keys():
                monkeypatch.setattr(module, name, lambda: next(ticks))
        train(policies(folder), 20)
        return {path.name for path in folder.iterdir()}, capsys.readouterr().out.count("half")

    calm = run(tmp_path / "calm")
    clock = jumps()
    monkeypatch.setattr(time, "time", lambda: next(clock))
    assert run(tmp_path / "jumping") == calm
    files, printed = calm
    assert printed > 1
    assert len([name for name in files if name.startswith("seconds")]) > 2
    assert len([name for name in files if name.startswith("minutes")]) > 3


def test_nothing_takes_a_negative_time_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = jumps()
    monkeypatch.setattr(time, "time", lambda: next(clock))
    history = ScalarHistory()
    train(
        [
            TimeMonitor(data_time=True),
            ThroughputTracker(4),
            EstimatedTimeLeft(),
            history,
            SummaryCollector(str(tmp_path), 1),
            TFEventWriter(tmp_path),
            JSONWriter(tmp_path),
        ]
    )
    printed = re.findall(r"(-?[\d.]+) ms", capsys.readouterr().out)
    assert len(printed) == 2 * 3 * 3
    assert min(map(float, printed)) >= 0
    for name in ("Throughput (samples/sec)", "time/eta"):
        values = [value for _, value in history.trainer.monitors.get_history(name)]
        assert len(values) == 3
        assert min(values) >= 0
    assert look_at(tmp_path) == (0, 0)
    steps = [event.step for path in tmp_path.glob("*summary*_MS") for event in read_events(path)]
    assert steps[1:] == sorted(steps[1:])
    assert set(steps) >= set(range(1, 10))


def test_files_of_the_same_second_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is begun again at once, or after the clock was set back, loses nothing."""
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    for _ in range(3):
        monkeypatch.setattr("minispore.train.summary._files._given", set())
        train([TFEventWriter(tmp_path)], 1)
        with SummaryRecord(str(tmp_path)) as record:
            record.add_value("graph", "graph", b"")
            record.record(1)
    assert len(list(tmp_path.iterdir())) == 6
