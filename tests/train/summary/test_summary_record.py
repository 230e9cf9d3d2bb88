"""SummaryRecord: added values, written files, and errors."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from minispore import Tensor, nn, ops
from minispore.ops.summary import summary_subscribers
from minispore.train import SummaryRecord
from minispore.train.summary import (
    EvaluationLineage,
    Event,
    Histogram,
    Image,
    TrainLineage,
    deferred_writer,
    read_events,
)
from minispore.train.summary.tfrecord import read_records
from tests.helpers.flush_interval import set_delays

ONE = Tensor(1.0)


def written(record: SummaryRecord) -> list[Event]:
    """Return the events of MindSpore's file but the first; TensorBoard's file has the same."""
    ours = list(read_events(record.log_dir))
    theirs = list(read_events(record.log_dir.replace(".events.summary.", ".tfevents.")))
    assert [e.version for e in (ours[0], theirs[0])] == ["MindSpore.Event:1", "brain.Event:2"]
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        assert (a.step, [v.tag for v in a.values]) == (b.step, [v.tag for v in b.values])
    return ours[1:]


def tags(record: SummaryRecord) -> list[tuple[int, list[str]]]:
    return [(event.step, [value.tag for value in event.values]) for event in written(record)]


@pytest.mark.full
def test_tensorboard_reads_the_folder(tmp_path: Path) -> None:
    module = "tensorboard.backend.event_processing.event_accumulator"
    # Every histogram, not only the last.
    all_of_them = {"histograms": 0}
    accumulator = pytest.importorskip(module).EventAccumulator(str(tmp_path), all_of_them)
    network = nn.Dense(2, 3)
    with SummaryRecord(str(tmp_path), network=network) as record:
        for step in range(3):
            network(Tensor([[1.0, 2.0]]))
            record.add_value("scalar", "loss", Tensor(float(step)))
            record.add_value("histogram", "h", Tensor([0.0, 1.0, 2.0]))
            record.record(step)
    accumulator.Reload()
    assert [(e.step, e.value) for e in accumulator.Scalars("loss")] == [(0, 0), (1, 1), (2, 2)]
    assert [sum(e.histogram_value.bucket) for e in accumulator.Histograms("h")] == [3, 3, 3]
    assert {node.name for node in accumulator.Graph().node} >= {"Dense/dense", "Dense/weight"}


KINDS = st.sampled_from(["scalar", "tensor", "histogram", "image"])
OPERATIONS = {
    "scalar": ops.ScalarSummary(),
    "tensor": ops.TensorSummary(),
    "histogram": ops.HistogramSummary(),
    "image": ops.ImageSummary(),
}


class Recording(RuleBasedStateMachine):
    """Each call of `record` writes the latest values that the filter passes.

    Values of operations in mode "eval" are ignored; a tensor may change after it was added.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.record = SummaryRecord(self.folder.name)
        self.mode = "train"
        self.values: dict[tuple[str, str], float] = {}
        self.events: list[tuple[int, list[tuple[str, str, float]]]] = []

    @rule(
        kind=KINDS,
        name=st.sampled_from(["a", "b"]),
        number=st.integers(0, 9),
        operation=st.booleans(),
    )
    def add(self, kind: str, name: str, number: float, operation: bool) -> None:
        value = Tensor(np.full((1, 1, 1, 1), number, np.float32))
        value = value.reshape(1) if kind == "scalar" else value
        if operation:
            OPERATIONS[kind](name, value)
            if self.mode == "eval":
                return
        else:
            duplicate = (kind, name) in self.values
            message = f"'{name}/{kind}' has duplicate values. Only the newest"
            with pytest.warns(UserWarning, match=message) if duplicate else nullcontext():
                self.record.add_value(kind, name, value)
            value[0] = number + 50
        self.values[kind, name] = number

    @rule(kinds=st.sets(KINDS), everything=st.booleans(), step=st.integers(-3, 2**40))
    def write(self, kinds: set[str], everything: bool, step: int) -> None:
        chosen = {key: n for key, n in self.values.items() if everything or key[0] in kinds}
        assert self.record.record(
            step, plugin_filter=None if everything else lambda kind: kind in kinds
        )
        self.values = {key: n for key, n in self.values.items() if key not in chosen}
        if chosen:
            self.events.append((step, [(kind, name, n) for (kind, name), n in chosen.items()]))

    @rule(mode=st.sampled_from(["train", "eval"]))
    def set_mode(self, mode: str) -> None:
        self.record.set_mode(mode)
        self.mode = mode

    @rule()
    def flush(self) -> None:
        self.record.flush()
        self.check_files()

    def check_files(self) -> None:
        paths = [*Path(self.folder.name).iterdir()]
        assert bool(paths) == bool(self.events)
        assert all(path.is_file() for path in paths)  # nothing is exported
        events = written(self.record) if self.events else []
        for event, (step, values) in zip(events, self.events, strict=True):
            assert event.step == step
            for (tag, content), (kind, name, number) in zip(event.values, values, strict=True):
                assert tag == name
                if kind == "scalar":
                    assert content == number
                elif kind == "tensor":
                    assert isinstance(content, np.ndarray)
                    assert content.tolist() == [[[[number]]]]
                elif kind == "histogram":
                    assert isinstance(content, Histogram)
                    assert (content.min, content.elements) == (number, 1)
                else:
                    assert isinstance(content, Image)

    def teardown(self) -> None:
        for _ in range(2):
            self.record.close()
        self.check_files()
        with pytest.warns(UserWarning, match="The record writer is closed, please check if close"):
            assert not self.record.record(1)
        with pytest.warns(UserWarning, match="the record writer is closed and can not flush"):
            self.record.flush()
        self.folder.cleanup()


Recording.TestCase.settings = settings(stateful_step_count=20)
TestRecording = Recording.TestCase


@given(st.lists(st.integers(0, 99), min_size=1, max_size=3))
def test_event_has_the_time_of_its_latest_value(times: list[int]) -> None:
    with TemporaryDirectory() as folder, SummaryRecord(folder) as record:
        for i, time in enumerate(times):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("time.time", lambda time=time: time)
                record.add_value("scalar", f"s{i}", ONE)
        record.record(1)
        record.close()
        assert [event.wall_time for event in written(record)] == [max(times)]


@given(st.lists(st.integers(0, 2), max_size=6))
@example([1, 0, 1])
def test_open_records_of_one_folder_write_their_own_values(order: list[int]) -> None:
    with TemporaryDirectory() as folder:
        records = [SummaryRecord(folder) for _ in range(3)]
        for name, number in enumerate(order):
            records[number].add_value("scalar", str(name), ONE)
        for number, record in enumerate(records):
            assert record.record(5)
            record.close()
            names = [str(name) for name, other in enumerate(order) if other == number]
            assert not names or tags(record) == [(5, names)]
            assert bool(names) == Path(record.log_dir).exists()


def test_flush_forces_files_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "s", ONE)
        record.record(1)
        monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
        record.flush()
    assert sorted(synced) == sorted(path.stat().st_ino for path in tmp_path.iterdir())
    assert len(synced) == 2


def test_close_unsubscribes_and_restores_the_network(tmp_path: Path) -> None:
    network, others = nn.Dense(2, 3), [*summary_subscribers()]
    before = dict(network.__dict__)
    record = SummaryRecord(str(tmp_path), network=network)
    assert summary_subscribers() != others
    assert network.__dict__ != before
    record.close()
    assert summary_subscribers() == others
    assert network.__dict__ == before


@pytest.mark.parametrize("raises", [True, False])
def test_full_disk_leaves_complete_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raises: bool
) -> None:
    record = SummaryRecord(str(tmp_path), raise_exception=raises)
    record.add_value("scalar", "s", ONE)
    record.record(1)
    record.flush()
    write = os.write

    def half(file: int, data: memoryview) -> int:
        if len(data) > 8:
            return write(file, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        record.add_value("scalar", "s", ONE)
        record.record(2)
        if raises:
            with pytest.raises(OSError, match="No space left on device"):
                record.flush()
        else:
            with pytest.warns(UserWarning, match="a summary was lost: .*No space left"):
                record.flush()
    record.add_value("scalar", "s", ONE)
    record.record(3)
    record.close()
    assert [event.step for event in read_events(record.log_dir)] == [0, 1, 3]


@given(position=st.integers(1, 2), part=st.sampled_from([0.0, 0.5, 1.0]), steps=st.integers(1, 5))
@example(1, 0.5, 5)
@example(2, 1.0, 5)
def test_keyboard_interrupt_loses_nothing(position: int, part: float, steps: int) -> None:
    """Interrupted writes are repeated, so a step may be written twice."""
    write, calls = os.write, iter(range(1, 100))

    def interrupted(file: int, data: memoryview) -> int:
        if next(calls) == position:
            write(file, data[: int(part * len(data))])
            raise KeyboardInterrupt
        return write(file, data)

    with TemporaryDirectory() as folder:
        record = SummaryRecord(folder)
        for step in range(1, steps + 1):
            record.add_value("scalar", "s", ONE)
            record.record(step)
        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "write", interrupted)
            record.flush()
        record.close()
        for path in (record.log_dir, *map(str, Path(folder).glob("*tfevents*"))):
            assert {event.step for event in read_events(path)} == {*range(steps + 1)}


def test_signal_handler_may_flush_during_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = SummaryRecord(str(tmp_path))
    write, signals = os.write, [record.flush]

    def signalled(file: int, data: memoryview) -> int:
        if signals:
            signals.pop()()
        return write(file, data)

    for step in range(1, 6):
        record.add_value("scalar", "s", ONE)
        record.record(step)
    monkeypatch.setattr(os, "write", signalled)
    record.flush()
    record.close()
    assert {event.step for event in read_events(record.log_dir)} == {*range(6)}


def test_large_values_are_not_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_delays(1e6, monkeypatch)
    monkeypatch.setattr(deferred_writer, "_MAX_BYTES", 2**12)
    record = SummaryRecord(str(tmp_path))
    there: list[bool] = []
    for step in range(1, 5):
        record.add_value("tensor", "one KiB", Tensor(np.zeros(2**8, np.float32)))
        record.record(step)
        there.append(Path(record.log_dir).exists())
    record.close()
    assert there == [False, False, False, True]


def test_only_tensors_are_exported(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path), export_options={"tensor_format": "npy"}) as record:
        record.add_value("tensor", "a b/c", Tensor([1, 2]))
        record.add_value("scalar", "s", ONE)
        record.add_value("histogram", "h", Tensor([1.0, 2.0]))
        record.record(5)
    [path] = tmp_path.glob("export_*/tensor/*.npy")
    assert path.name == "a%20b%2Fc_5.npy"
    assert np.load(path).tolist() == [1, 2]


def test_lineage_matches_mindspore_format(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("custom_lineage_data", "c", {"a": -1, "b": 2.5, "c": "x"})
        record.add_value("train_lineage", "t", TrainLineage("Net", "Loss", "SGD", 0.5, 2.0, 3, 4))
        record.add_value("eval_lineage", "e", EvaluationLineage({"accuracy": 0.5}, 8))
        for step in (1, 2):  # they are written once
            record.record(step)
    [path] = tmp_path.glob("*_lineage")
    with path.open("rb") as file:
        result = [data[9:].hex() for data in read_records(file)]
    # The bytes after the nine of wall_time, as MindSpore 2.10's own classes encode them.
    custom, train, evaluation = result
    assert custom == (
        "522c0a101a0e0a016110ffffffffffffffffff010a0e2a0c0a01621100000000000004400a0822060a01"
        "63120178"
    )
    assert train == (
        "32490a230a03534744150000003f1a044c6f737320032a0b7374616e645f616c6f6e6530014004120210"
        "001a0a0a034e6574150000004022121a0e7b22636b7074223a206e756c6c7d2000"
    )
    assert evaluation == "3a1712117b226163637572616379223a20302e357d1a021008"


@pytest.mark.parametrize("size", [0, -1])
def test_non_positive_size_is_no_limit(tmp_path: Path, size: int) -> None:
    messages = pytest.warns(UserWarning, match="should be greater than 0. but got value -1")
    with messages if size else nullcontext():
        record = SummaryRecord(str(tmp_path), max_file_size=size)
    with record:
        record.add_value("tensor", "t", ops.ones(1000))
        record.record(1)
    assert tags(record) == [(1, ["t"])]


def graphs(record: SummaryRecord) -> list[bytes]:
    """Return the values in TensorBoard's files."""
    paths = Path(record.log_dir).parent.glob("*.graph.tfevents.*")
    return [e.graph for path in paths for e in read_events(path) if e.graph is not None]


@pytest.mark.parametrize("how", ["as a value", "at the record", "twice"])
def test_graph_is_written_after_the_first_call(tmp_path: Path, how: str) -> None:
    network, other = nn.Dense(2, 3), nn.ReLU()
    with SummaryRecord(str(tmp_path)) as record:
        if how == "twice":
            record.add_value("graph", "g", other)  # another one replaces it
        if how == "at the record":
            assert record.record(1, network)
        else:
            record.add_value("graph", "g", network)
        with pytest.warns(UserWarning, match="the network has not been called yet"):
            record.record(2)
        other(ops.ones((1, 2)))
        network(ops.ones((1, 2)))
        record.record(3)
        record.record(4)
        record.add_value("graph", "g", b"another program's")
        record.record(5)
    graph, others = graphs(record)
    assert others == b"another program's"
    assert b"Dense/dense" in graph
    assert b"ReLU" not in graph


def test_lineage_defaults_match_mindspore() -> None:
    assert TrainLineage("Net") == (
        "Net", "", "", 0.0, 0.0, 0, 0, 0, '{"ckpt": null}', 0, "stand_alone", 1
    )  # fmt: skip
    assert EvaluationLineage({}) == ({}, 0)
