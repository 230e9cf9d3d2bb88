"""What is put in the channel, and what each monitor makes of it."""

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from minispore._atomic import replacing
from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    Every,
    JSONLWriter,
    JSONWriter,
    MonitorBase,
    ScalarHistory,
    ScalarPrinter,
    StopTraining,
    TFEventWriter,
    UnknownMetricError,
    json_writers,
    logger,
)
from minispore.train import Callback as TrainCallback
from minispore.train import Model, RunContext
from minispore.train.summary import Event, Value, read_events

from ..train.standins import Batches, ConstantLoss, Rows, make


class Puts(Callback):
    """Put numbers in, after some steps and after each epoch."""

    def __init__(self, values: dict[int, float], each_epoch: float | None = None) -> None:
        self.values = values
        self.each_epoch = each_epoch

    def produces(self) -> list[str]:
        return ["step", "epoch"]

    def _trigger_step(self) -> None:
        if self.global_step in self.values:
            self.trainer.monitors.put_scalar("step", self.values[self.global_step])

    def _trigger(self) -> None:
        if self.each_epoch is not None:
            self.trainer.monitors.put_scalar("epoch", self.each_epoch)


def run(callbacks: list[TrainCallback], epochs: int = 2, steps: int = 3, initial: int = 0) -> None:
    model = Model(ConstantLoss())
    model.train(initial + epochs, Batches(steps), callbacks, initial_epoch=initial)


def test_the_loop_puts_in_loss_learning_rate_and_metrics() -> None:
    history = ScalarHistory()
    make({"accuracy"}).fit(2, Rows(), Rows(), 2, callbacks=[history])
    assert history.names() == ["loss", "learning_rate", "accuracy", "eval_loss"]
    assert [step for step, _ in history.get_history("loss")] == [3, 6]
    assert history.get_history("learning_rate") == [(3, 0.1), (6, 0.1)]
    assert [step for step, _ in history.get_history("accuracy")] == [6]
    assert 0 <= history.get_latest("accuracy") <= 1


def test_a_schedule_that_ends_with_the_training() -> None:
    net = nn.Dense(4, 3)
    optimizer = nn.SGD(net.trainable_params(), [0.1, 0.2, 0.3])
    history = ScalarHistory()
    Model(net, nn.CrossEntropyLoss(), optimizer).train(1, Rows(), [history])
    assert history.names() == ["loss"]


def test_a_callback_of_mindspores_puts_in_too() -> None:
    class Own(TrainCallback):
        def on_train_begin(self, run_context: RunContext) -> None:
            run_context.original_args().trainer.monitors.put_scalar("own", 1)

    history = ScalarHistory()
    run([Own(), history])
    assert history.get_history("own") == [(0, 1.0)]


@pytest.mark.parametrize(
    "value", [1, True, 0.5, np.float32(0.5), np.ones((1, 1)), Tensor(0.5), Tensor([0.5])]
)
def test_what_is_a_number(value: float) -> None:
    history = ScalarHistory()
    put = CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_scalar("x", value))
    run([put, history], epochs=1)
    assert history.get_latest("x") in {0.5, 1.0}


def test_digits_are_those_of_the_dtype() -> None:
    history = ScalarHistory()
    put = CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_scalar("x", np.float32(0.1)))
    run([put, history], epochs=1)
    assert history.get_latest("x") == 0.1


@pytest.mark.parametrize("value", ["1", None, [1.0], np.ones(2), 1j, Tensor([1.0, 2.0])])
def test_what_is_none(value: object) -> None:
    put = CallbackFactory(trigger=lambda cb: cb.trainer.monitors.put_scalar("x", value))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="'x' must be a single number"):
        run([put], epochs=1)


def test_a_missing_name_is_told_with_the_nearest() -> None:
    def read(cb: Callback) -> None:
        with pytest.raises(KeyError, match="did you mean 'learning_rate'"):
            cb.trainer.monitors.get_latest("lerning_rate")
        assert cb.trainer.monitors.get_history("lerning_rate") == []

    make().train(1, Rows(), [CallbackFactory(trigger=read)])


# Names are checked before the first step.


class Reads(Callback):
    def __init__(self, name: str) -> None:
        self.name = name

    def consumes(self) -> list[str]:
        return [self.name]


@pytest.mark.parametrize("wrap", [lambda cb: cb, Every(epochs=2)])
@pytest.mark.parametrize("name", ["loss", "accuracy", "eval_loss", "epoch"])
def test_names_that_are_written(name: str, wrap: Callable[[Callback], Callback]) -> None:
    make({"accuracy"}).fit(1, Rows(), Rows(), callbacks=[Puts({}, 1.0), wrap(Reads(name))])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("acuracy", "Reads reads 'acuracy', and no callback puts it in; did you mean 'accuracy'"),
        ("x", "there is 'loss', 'learning_rate', 'accuracy', 'eval_loss', 'step', 'epoch'"),
        ("epoch", "Reads reads 'epoch' before Puts puts it in: put Puts before it"),
    ],
)
def test_names_that_are_not(name: str, message: str) -> None:
    begun: list[str] = []
    begin = CallbackFactory(before_train=lambda cb: begun.append("begun"))
    with pytest.raises(UnknownMetricError, match=message):
        make({"accuracy"}).fit(1, Rows(), Rows(), callbacks=[begin, Reads(name), Puts({}, 1.0)])
    assert not begun


# Files.


def rows_of(path: Path) -> list[dict[str, float]]:
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))  # type: ignore[no-any-return]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


WRITERS = [JSONWriter, JSONLWriter]
Writer = type[JSONWriter] | type[JSONLWriter]


@pytest.mark.parametrize("writer", WRITERS)
def test_rows(writer: Writer, tmp_path: Path) -> None:
    run([Puts({1: 1.5, 3: math.nan}, 2.5), writer(tmp_path)])
    assert rows_of(tmp_path / writer.FILENAME) == [
        {"step": 1.5, "epoch_num": 1, "global_step": 1},
        {"loss": 0.5, "step": None, "epoch": 2.5, "epoch_num": 1, "global_step": 3},
        {"loss": 0.5, "epoch": 2.5, "epoch_num": 2, "global_step": 6},
    ]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_run_that_follows_appends(writer: Writer, tmp_path: Path) -> None:
    run([writer(tmp_path)], 2)
    run([writer(tmp_path)], 1, initial=2)
    rows = rows_of(tmp_path / writer.FILENAME)
    assert [(row["epoch_num"], row["global_step"]) for row in rows] == [(1, 3), (2, 6), (3, 9)]
    assert [path.name for path in tmp_path.iterdir()] == [writer.FILENAME]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("content", [None, "[{", "[1]", "1", "\0"])
def test_another_file_is_moved_aside(writer: Writer, content: str | None, tmp_path: Path) -> None:
    if content is None:
        run([writer(tmp_path)], 2)
        content = (tmp_path / writer.FILENAME).read_text("utf-8")
    else:
        content += "\n"
        (tmp_path / writer.FILENAME).write_text(content, "utf-8")
    run([writer(tmp_path)], 1)
    rows = rows_of(tmp_path / writer.FILENAME)
    assert rows == [{"loss": 0.5, "epoch_num": 1, "global_step": 3}]
    (aside,) = [path for path in tmp_path.iterdir() if path.name != writer.FILENAME]
    assert aside.read_text("utf-8") == content


@pytest.mark.parametrize("writer", WRITERS)
def test_files_moved_aside_at_the_same_time_are_all_kept(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime(2020, 1, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(json_writers, "datetime", SimpleNamespace(now=lambda: noon))
    for content in ("first\n", "second\n", "third\n"):
        (tmp_path / writer.FILENAME).write_text(content, "utf-8")
        run([writer(tmp_path)], 1)
    aside = sorted(path for path in tmp_path.iterdir() if path.name != writer.FILENAME)
    assert [path.read_text("utf-8") for path in aside] == ["first\n", "second\n", "third\n"]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_monitor_before_the_others_gives_the_steps_their_own_rows(
    writer: Writer, tmp_path: Path
) -> None:
    run([writer(tmp_path), Puts({2: 1.5}, 2.5)])
    assert rows_of(tmp_path / writer.FILENAME) == [
        {"step": 1.5, "epoch_num": 1, "global_step": 2},
        {"loss": 0.5, "epoch_num": 1, "global_step": 3},
        {"epoch": 2.5, "epoch_num": 1, "global_step": 3},
        {"loss": 0.5, "epoch_num": 2, "global_step": 6},
        {"epoch": 2.5, "epoch_num": 2, "global_step": 6},
    ]


@pytest.mark.parametrize("writer", [*WRITERS, TFEventWriter])
def test_a_disk_that_fails_does_not_end_the_training(
    writer: Callable[[Path], MonitorBase], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Remove(Callback):
        def _before_train(self) -> None:
            (tmp_path / "log").rmdir()

    history = ScalarHistory()
    run([Remove(), writer(tmp_path / "log"), history], 3)
    assert len(history.get_history("loss")) == 3
    assert caplog.text.count("writes no more") == 1


def test_an_unfinished_line_is_removed(tmp_path: Path) -> None:
    run([JSONLWriter(tmp_path)], 1)
    with (tmp_path / "stats.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"loss": 0.')
    run([JSONLWriter(tmp_path)], 1, initial=1)
    assert [row["epoch_num"] for row in rows_of(tmp_path / "stats.jsonl")] == [1, 2]


def test_existing_rows_can_be_read(tmp_path: Path) -> None:
    assert JSONWriter.load_existing_json(tmp_path) is None
    assert JSONWriter.load_existing_epoch_number(tmp_path) is None
    logger.set_logger_dir(tmp_path)
    run([JSONWriter()], 2)
    assert JSONWriter.load_existing_epoch_number() == 2
    assert JSONWriter.load_existing_json() == rows_of(tmp_path / "stats.json")


def test_many_rows_are_not_written_again_with_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[str] = []

    def counted(path: str) -> AbstractContextManager[BinaryIO]:
        writes.append(path)
        return replacing(path)

    monkeypatch.setattr(json_writers, "replacing", counted)
    values = {step: float(step) for step in range(1, 1000)}
    run([Puts(values), JSONWriter(tmp_path)], 1, 1000)
    assert len(rows_of(tmp_path / "stats.json")) == 1000
    assert len(writes) < 80


@pytest.mark.parametrize("writer", [*WRITERS, TFEventWriter])
def test_without_a_folder_nothing_is_written(
    writer: type[MonitorBase],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    run([writer()])
    assert not list(tmp_path.iterdir())
    assert f"{writer.__name__} has no folder" in caplog.text


class Everything(Callback):
    def _trigger(self) -> None:
        monitors = self.trainer.monitors
        monitors.put_image("picture", np.full((2, 3), 255.0))
        monitors.put_histogram("weights", Tensor([1.0, 2.0, 2.0]))
        monitors.put_event(Event(1.5, 77, values=(Value("event", 0.25),)))


def test_event_files(tmp_path: Path) -> None:
    run([Everything(), TFEventWriter(tmp_path)], 1)
    (path,) = tmp_path.glob("*tfevents*")
    events = list(read_events(str(path)))
    assert events[0].version == "brain.Event:2"
    values = {value.tag: (event.step, value.content) for event in events for value in event.values}
    assert values["loss"] == (3, 0.5)
    assert values["event"] == (77, 0.25)
    assert set(values) == {"loss", "picture", "weights", "event"}


@pytest.mark.parametrize("stop", [None, StopTraining])
def test_the_graph_is_in_the_event_file_once(stop: type[Exception] | None, tmp_path: Path) -> None:
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
    run([Puts({2: 1.5}), Everything(), TFEventWriter(tmp_path)], 2)
    make().train(1, Rows(), [TFEventWriter(tmp_path / "graph")])
    graph = accumulators.EventAccumulator(str(tmp_path / "graph")).Reload().Graph()
    assert {"Dense/weight", "Dense/bias"} <= {node.name for node in graph.node}
    read = accumulators.EventAccumulator(str(tmp_path), {"histograms": 0}).Reload()
    assert [(e.step, e.value) for e in read.Scalars("loss")] == [(3, 0.5), (6, 0.5)]
    assert [(e.step, e.value) for e in read.Scalars("step")] == [(2, 1.5)]
    assert [(e.step, e.width, e.height) for e in read.Images("picture")] == [(3, 3, 2), (6, 3, 2)]
    assert [e.histogram_value.num for e in read.Histograms("weights")] == [3.0, 3.0]


def test_a_file_for_each_epoch(tmp_path: Path) -> None:
    run([TFEventWriter(tmp_path, split_files=True)], 3)
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
def test_scalar_printer(
    printer: ScalarPrinter, lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    each_epoch = 2.5 if "epoch: 2.5" in lines else None
    run([Puts({1: 1.23456, 3: 3.0}, each_epoch), printer])
    assert [record.message for record in caplog.records] == lines


def test_the_state_of_monitors_is_kept(tmp_path: Path) -> None:
    for old, new in (
        (ScalarHistory(), ScalarHistory()),
        (ScalarPrinter(), ScalarPrinter()),
        (JSONWriter(tmp_path), JSONWriter(tmp_path)),
    ):
        run([old], 1)
        old.process_scalar("x", 1.5)
        new.load_state_dict(old.state_dict())
        assert new.state_dict() == old.state_dict()
        with pytest.raises(ValueError, match="state"):
            new.load_state_dict({})


@given(st.dictionaries(st.text(), st.lists(st.integers(0, 9)), max_size=2), st.booleans())
def test_a_history_has_a_step_for_each_value(steps: dict[str, list[int]], fits: bool) -> None:
    values = {name: [0.5] * (len(each) + (not fits)) for name, each in steps.items()}
    history = ScalarHistory()
    with nullcontext() if fits or not steps else pytest.raises(ValueError, match="must fit"):
        history.load_state_dict({"steps": steps, "values": values})
        assert history.names() == list(steps)
        assert [len(history.get_history(name)) for name in steps] == list(map(len, values.values()))
