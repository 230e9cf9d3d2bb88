"""A wall clock that is set forward and back during a training: only dates are read from it."""

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
from minispore import tensorpack, train
from minispore.train.summary import read_events
from tests.faults.kill_harness import check_files
from tests.faults.test_disks import run_training

PACKAGE = Path(minispore.__file__).parent
# The modules that write dates: into event files and their names, and into names of folders.
DATES = {
    "_cli/training.py",
    "tensorpack/monitors.py",
    "train/summary/event_writer.py",
    "train/summary/summary_record.py",
}
WALL = {("time", "time"), ("time", "time_ns"), ("time", "localtime"), ("datetime", "now")}
STEADY = {"sleep", "monotonic", "perf_counter", "perf_counter_ns"}


def jumps() -> Iterator[float]:
    """Yield times years forward and back, also before 1970."""
    rng = random.Random(1)
    while True:
        yield rng.uniform(-1e9, 4e9)


def reads_wall_clock(path: Path) -> bool:
    """Return whether a module reads a wall clock, or imports a function of `time` by its name."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            module = node.func.value
            if isinstance(module, ast.Name) and (module.id, node.func.attr) in WALL:
                return True
        names = node.names if isinstance(node, ast.ImportFrom) and node.module == "time" else []
        if {alias.name for alias in names} - STEADY:
            return True
    return False


def test_wall_clock_is_read_for_dates_only() -> None:
    modules = {
        str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if reads_wall_clock(path)
    }
    assert modules == DATES


def policies(folder: Path) -> list[train.Callback]:
    """Return callbacks that measure time, or act after a time."""
    by_seconds = train.CheckpointConfig(0, save_checkpoint_seconds=1, keep_checkpoint_max=9)
    by_minutes = train.CheckpointConfig(1, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1)
    return [
        train.ModelCheckpoint("seconds", folder, by_seconds),
        train.ModelCheckpoint("minutes", folder, by_minutes),
        tensorpack.ModelSaver(2, 0.01, folder),
        tensorpack.Every(seconds=30)(
            train.LambdaCallback(on_train_step_end=lambda _: print("half a minute"))
        ),
        train.TimeMonitor(data_time=True),
    ]


def test_time_policies_ignore_clock_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(folder: Path) -> tuple[set[str], int]:
        """Train with a monotonic clock that advances by a second at each reading."""
        ticks = itertools.count(1000.0)
        modules = [m for name, m in sys.modules.items() if name.startswith("minispore")]
        for module in (time, *modules):
            for name in {"monotonic", "perf_counter"} & vars(module).keys():
                monkeypatch.setattr(module, name, lambda: next(ticks))
        run_training(policies(folder), 20)
        return {path.name for path in folder.iterdir()}, capsys.readouterr().out.count("half")

    expected = run(tmp_path / "steady")
    clock = jumps()
    monkeypatch.setattr(time, "time", lambda: next(clock))
    assert run(tmp_path / "jumping") == expected
    files, printed = expected
    assert printed > 1
    assert len([name for name in files if name.startswith("seconds")]) > 2
    assert len([name for name in files if name.startswith("minutes")]) > 3


def test_clock_jump_gives_no_negative_durations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = jumps()
    monkeypatch.setattr(time, "time", lambda: next(clock))
    history = tensorpack.ScalarHistory()
    run_training(
        [
            train.TimeMonitor(data_time=True),
            tensorpack.ThroughputTracker(4),
            tensorpack.EstimatedTimeLeft(),
            history,
            train.SummaryCollector(str(tmp_path), 1),
            tensorpack.TFEventWriter(tmp_path),
            tensorpack.JSONWriter(tmp_path),
        ]
    )
    printed = re.findall(r"(-?[\d.]+) ms", capsys.readouterr().out)
    assert len(printed) == 2 * 3 * 3
    assert min(map(float, printed)) >= 0
    for name in ("Throughput (samples/sec)", "time/eta"):
        values = [value for _, value in history.trainer.monitors.get_history(name)]
        assert len(values) == 3
        assert min(values) >= 0
    assert check_files(tmp_path) == (0, 0)
    steps = [event.step for path in tmp_path.glob("*summary*_MS") for event in read_events(path)]
    assert steps[1:] == sorted(steps[1:])
    assert set(steps) >= set(range(1, 10))


def test_files_of_the_same_second_have_different_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is restarted in the same second overwrites no file."""
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    for _ in range(3):
        monkeypatch.setattr("minispore.train.summary.event_writer._used_names", set())
        run_training([tensorpack.TFEventWriter(tmp_path)], 1)
        with train.SummaryRecord(str(tmp_path)) as record:
            record.add_value("graph", "graph", b"")
            record.record(1)
    assert len(list(tmp_path.iterdir())) == 6
