"""Monitors that store, print and write logged values, and the JSON files of logged numbers."""

import json
import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.tensorpack import (
    Callback,
    Every,
    JSONLWriter,
    JSONWriter,
    MonitorBase,
    ScalarHistory,
    ScalarPrinter,
    StopTraining,
    TFEventWriter,
    logger,
    monitors,
)
from minispore.train import Callback as TrainCallback
from minispore.train import RunContext
from minispore.train.summary import Event, Value, read_events
from minispore.train.summary.image import make_grid
from minispore.utils.atomic import atomic_write
from tests.helpers.stub_models import Rows, make
from tests.tensorpack.small_trainings import Logs, train_constant

WRITERS = [JSONWriter, JSONLWriter]


@pytest.mark.parametrize("writer", [*WRITERS, TFEventWriter])
def test_failing_writes_do_not_end_the_training(
    writer: Callable[[Path], MonitorBase], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Remove(Callback):
        def _before_train(self) -> None:
            (tmp_path / "log").rmdir()

    history = ScalarHistory()
    train_constant(Remove(), writer(tmp_path / "log"), history, epochs=3)
    assert len(history.get_history("loss")) == 3
    assert caplog.text.count("stops writing") == 1


@pytest.mark.parametrize("writer", [*WRITERS, TFEventWriter])
def test_without_a_folder_no_file_is_written(
    writer: type[MonitorBase],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    train_constant(writer())
    assert not list(tmp_path.iterdir())
    assert f"{writer.__name__} has no output folder" in caplog.text


class Everything(Callback):
    def _trigger(self) -> None:
        monitors = self.trainer.monitors
        monitors.put_image("picture", np.full((2, 3), 255.0))
        monitors.put_histogram("weights", Tensor([1.0, 2.0, 2.0]))
        monitors.put_event(Event(1.5, 77, values=(Value("event", 0.25),)))


def test_event_file_contains_all_values(tmp_path: Path) -> None:
    train_constant(Everything(), TFEventWriter(tmp_path), epochs=1)
    (path,) = tmp_path.glob("*tfevents*")
    events = list(read_events(str(path)))
    assert events[0].version == "brain.Event:2"
    values = {value.tag: (event.step, value.content) for event in events for value in event.values}
    assert values["loss"] == (3, 0.5)
    assert values["event"] == (77, 0.25)
    assert set(values) == {"loss", "picture", "weights", "event"}


@pytest.mark.parametrize("stop", [None, StopTraining])
def test_event_file_contains_the_graph_once(stop: type[Exception] | None, tmp_path: Path) -> None:
    class Stop(Callback):
        def _trigger_step(self) -> None:
            if stop is not None:
                raise stop

    model = make()
    model.train(2, Rows(), [TFEventWriter(tmp_path), Stop()])
    (path,) = tmp_path.iterdir()
    (graph,) = [event.graph for event in read_events(str(path)) if event.graph is not None]
    assert b"Dense/weight" in graph
    assert b"CrossEntropyLoss/" in graph
    assert "construct" not in vars(model.train_network)


def test_tensorboard_reads_event_files(tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train_constant(Logs({2: 1.5}), Everything(), TFEventWriter(tmp_path), epochs=2)
    make().train(1, Rows(), [TFEventWriter(tmp_path / "graph")])
    graph = accumulators.EventAccumulator(str(tmp_path / "graph")).Reload().Graph()
    assert {"Dense/weight", "Dense/bias"} <= {node.name for node in graph.node}
    read = accumulators.EventAccumulator(str(tmp_path), {"histograms": 0}).Reload()
    assert [(e.step, e.value) for e in read.Scalars("loss")] == [(3, 0.5), (6, 0.5)]
    assert [(e.step, e.value) for e in read.Scalars("step")] == [(2, 1.5)]
    assert [(e.step, e.width, e.height) for e in read.Images("picture")] == [(3, 3, 2), (6, 3, 2)]
    assert [e.histogram_value.num for e in read.Histograms("weights")] == [3.0, 3.0]


PIXELS = {-1.0: 0, 0.4: 0, 0.6: 1, 254.6: 255, 255.0: 255, 300.0: 255, math.nan: 0, math.inf: 255}


@given(st.lists(st.sampled_from([*PIXELS]), min_size=4, max_size=4))
def test_images_are_rounded_and_clipped_and_stand_side_by_side(values: list[float]) -> None:
    class Puts(Callback):
        def _trigger(self) -> None:
            self.trainer.monitors.put_image("x", np.array(values).reshape(2, 1, 2, 1))

    with TemporaryDirectory() as folder:
        train_constant(Puts(), TFEventWriter(folder), epochs=1)
        (path,) = Path(folder).iterdir()
        (image,) = [
            value.content
            for event in read_events(str(path))
            for value in event.values
            if value.tag == "x"
        ]
    assert image == make_grid(np.array([PIXELS[x] for x in values], np.uint8).reshape(2, 1, 1, 2))


def test_split_files_starts_a_file_each_epoch(tmp_path: Path) -> None:
    train_constant(TFEventWriter(tmp_path, split_files=True), epochs=3)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("printer", "lines"),
    [
        (ScalarPrinter(), ["epoch: 2.5", "loss: 0.5", "step: 3", "epoch: 2.5", "loss: 0.5"]),
        (ScalarPrinter(whitelist=["^l"]), ["loss: 0.5"] * 2),
        (ScalarPrinter(blacklist=["s"]), ["epoch: 2.5"] * 2),
        (ScalarPrinter(True, False), ["step: 1.2346", "loss: 0.5", "step: 3", "loss: 0.5"]),
        (ScalarPrinter(True, True, ["step"]), ["step: 1.2346", "step: 3"]),
        (ScalarPrinter(enable_epoch=False), []),
    ],
)
def test_scalar_printer_filters_names_and_times(
    printer: ScalarPrinter, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    each_epoch = 2.5 if "epoch: 2.5" in lines else None
    train_constant(Logs({1: 1.23456, 3: 3.0}, each_epoch), printer)
    assert [record.message for record in caplog.records] == lines


settings_of_printers = st.builds(
    ScalarPrinter, st.booleans(), st.booleans(), st.sampled_from([None, ["^l"], ["s"]])
)


@given(st.lists(settings_of_printers, min_size=1, max_size=3), st.booleans())
@example([ScalarPrinter(), ScalarPrinter()], False)
@example([ScalarPrinter(True), ScalarPrinter()], True)
def test_several_printers_print_each_number_once(
    printers: list[ScalarPrinter], wrapped: bool
) -> None:
    """Together they print what one of them prints alone."""

    def lines(shown: list[ScalarPrinter]) -> list[str]:
        with pytest.MonkeyPatch.context() as patch:
            printed = list[str]()
            patch.setattr(logger, "info", printed.append)
            copies = [replace(printer) for printer in shown]
            callbacks = [Every(steps=1)(printer) if wrapped else printer for printer in copies]
            train_constant(Logs({1: 1.23456, 3: 3.0}, 2.5), *callbacks)
            return printed

    alone = [Counter(lines([printer])) for printer in printers]
    together = lines(printers)
    assert set(together) == set().union(*alone)
    assert all(together.count(line) <= max(counter[line] for counter in alone) for line in together)


def test_monitors_restore_their_state(tmp_path: Path) -> None:
    for old, new in (
        (ScalarHistory(), ScalarHistory()),
        (ScalarPrinter(), ScalarPrinter()),
        (JSONWriter(tmp_path), JSONWriter(tmp_path)),
    ):
        train_constant(old, epochs=1)
        old.process_scalar("x", 1.5)
        new.load_state_dict(old.state_dict())
        assert new.state_dict() == old.state_dict()
        with pytest.raises(ValueError, match="state"):
            new.load_state_dict({})


def test_no_graph_is_written_without_a_step(tmp_path: Path) -> None:
    class Ends(TrainCallback):
        def on_train_epoch_begin(self, run_context: RunContext) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().train(1, Rows(), [TFEventWriter(tmp_path), Ends()])
    assert not list(tmp_path.iterdir())


def rows_of(path: Path) -> list[dict[str, float]]:
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))  # type: ignore[no-any-return]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


Writer = type[JSONWriter] | type[JSONLWriter]


@pytest.mark.parametrize("writer", WRITERS)
@given(
    values=st.dictionaries(st.integers(1, 9), st.sampled_from([1.5, math.nan])),
    each_epoch=st.none() | st.just(2.5),
    runs=st.lists(st.integers(1, 2), min_size=1, max_size=3),
    first=st.booleans(),
)
def test_rows_contain_the_numbers_of_each_step(
    writer: Writer, values: dict[int, float], each_epoch: float | None, runs: list[int], first: bool
) -> None:
    """A writer before the callback that logs writes the epoch's numbers in a row of their own."""
    expected: list[dict[str, float | None]] = []
    for n in range(1, 3 * sum(runs) + 1):
        row: dict[str, float | None] = {} if n % 3 else {"loss": 0.5}
        if n in values:
            row["step"] = None if math.isnan(values[n]) else values[n]
        of_epoch: dict[str, float | None] = (
            {} if each_epoch is None or n % 3 else {"epoch": each_epoch}
        )
        at: dict[str, float | None] = {"epoch_num": (n + 2) // 3, "global_step": n}
        expected += [x | at for x in ([row, of_epoch] if first else [row | of_epoch]) if x]
    with TemporaryDirectory() as folder:
        for i, epochs in enumerate(runs):
            callbacks: list[TrainCallback] = [Logs(values, each_epoch), writer(folder)]
            train_constant(*callbacks[:: -1 if first else 1], epochs=epochs, initial=sum(runs[:i]))
        assert os.listdir(folder) == [writer.FILENAME]
        assert rows_of(Path(folder, writer.FILENAME)) == expected


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "its last epoch is 2, and this run starts with epoch 1"),
        ("[{", "cannot be read: "),
        ("[1]", "cannot be read: it is no list of objects"),
        ("1", "cannot be read: it is no list of objects"),
        ("\0", "cannot be read: "),
    ],
)
def test_unrelated_files_are_renamed(
    writer: Writer,
    content: str | None,
    reason: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if content is None:
        train_constant(writer(tmp_path), epochs=2)
        content = (tmp_path / writer.FILENAME).read_text("utf-8")
    else:
        content += "\n"
        (tmp_path / writer.FILENAME).write_text(content, "utf-8")
    train_constant(writer(tmp_path), epochs=1)
    rows = rows_of(tmp_path / writer.FILENAME)
    assert rows == [{"loss": 0.5, "epoch_num": 1, "global_step": 3}]
    (aside,) = [path for path in tmp_path.iterdir() if path.name != writer.FILENAME]
    assert aside.read_text("utf-8") == content
    (message,) = caplog.messages
    assert message.startswith(f"'{tmp_path / writer.FILENAME}' is renamed to '{aside}': ")
    assert reason in message


@pytest.mark.parametrize("writer", WRITERS)
def test_renamed_files_do_not_overwrite_each_other(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime(2020, 1, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(monitors, "datetime", SimpleNamespace(now=lambda: noon))
    for content in ("first\n", "second\n", "third\n"):
        (tmp_path / writer.FILENAME).write_text(content, "utf-8")
        train_constant(writer(tmp_path), epochs=1)
    aside = sorted(path for path in tmp_path.iterdir() if path.name != writer.FILENAME)
    assert [path.read_text("utf-8") for path in aside] == ["first\n", "second\n", "third\n"]


def test_an_incomplete_last_line_is_removed(tmp_path: Path) -> None:
    train_constant(JSONLWriter(tmp_path), epochs=1)
    with (tmp_path / "stats.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"loss": 0.')
    train_constant(JSONLWriter(tmp_path), epochs=1, initial=1)
    assert [row["epoch_num"] for row in rows_of(tmp_path / "stats.jsonl")] == [1, 2]


def test_load_existing_json_returns_the_rows(tmp_path: Path) -> None:
    assert JSONWriter.load_existing_json(tmp_path) is None
    assert JSONWriter.load_existing_epoch_number(tmp_path) is None
    logger.set_logger_dir(tmp_path)
    train_constant(JSONWriter(), epochs=2)
    assert JSONWriter.load_existing_epoch_number() == 2
    assert JSONWriter.load_existing_json() == rows_of(tmp_path / "stats.json")


def test_stats_json_is_rewritten_when_grown_by_a_tenth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[str] = []

    def counted(path: str) -> AbstractContextManager[BinaryIO]:
        writes.append(path)
        return atomic_write(path)

    monkeypatch.setattr(monitors, "atomic_write", counted)
    values = {step: float(step) for step in range(1, 1000)}
    train_constant(Logs(values), JSONWriter(tmp_path), epochs=1, steps=1000)
    assert len(rows_of(tmp_path / "stats.json")) == 1000
    assert len(writes) < 80
