"""SummaryRecord: what it takes, what it writes, what it says when it cannot."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, ops
from minispore.train import SummaryRecord
from minispore.train.summary import (
    EvaluationLineage,
    Event,
    Histogram,
    Image,
    TrainLineage,
    read_events,
)
from minispore.train.summary._records import records
from tests.train.summary.waiting import pauses

ONE = Tensor(1.0)


def written(record: SummaryRecord) -> list[Event]:
    """The events of MindSpore's file but the first; TensorBoard's has the same."""
    ours = list(read_events(record.log_dir))
    theirs = list(read_events(record.log_dir.replace(".events.summary.", ".tfevents.")))
    assert [e.version for e in (ours[0], theirs[0])] == ["MindSpore.Event:1", "brain.Event:2"]
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        assert (a.step, [v.tag for v in a.values]) == (b.step, [v.tag for v in b.values])
    return ours[1:]


def tags(record: SummaryRecord) -> list[tuple[int, list[str]]]:
    return [(event.step, [value.tag for value in event.values]) for event in written(record)]


def test_each_kind_of_value_is_written(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "s", Tensor([2.5]))
        record.add_value("image", "i", Tensor(np.zeros((3, 1, 2, 2), np.float32)))
        record.add_value("tensor", "t", Tensor([[1, 2]]))
        record.add_value("histogram", "h", Tensor([1.0, 2.0]))
        assert record.record(7)
    [event] = written(record)
    assert event.step == 7
    found = {value.tag: value.content for value in event.values}
    assert found["s"] == 2.5
    assert isinstance(found["i"], Image)
    assert np.array_equal(found["t"], [[1, 2]])  # type: ignore[arg-type]
    assert isinstance(found["h"], Histogram)


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


def test_a_copy_is_taken_at_once(tmp_path: Path) -> None:
    value = Tensor([1.0, 2.0])
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("tensor", "t", value)
        value[0] = 9.0
        record.record(1)
    assert np.array_equal(written(record)[0].values[0].content, [1, 2])  # type: ignore[arg-type]


def test_the_newest_of_two_values_counts(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "s", ONE)
        with pytest.warns(UserWarning, match="'s/scalar' has duplicate values. Only the newest"):
            record.add_value("scalar", "s", Tensor(2.0))
        record.record(1)
    assert [v.content for v in written(record)[0].values] == [2.0]


def test_a_filter_leaves_kinds_for_later(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "s", ONE)
        record.add_value("tensor", "t", Tensor([1]))
        record.record(1, plugin_filter=lambda kind: kind == "tensor")
        record.record(2)
        record.record(3)
    assert tags(record) == [(1, ["t"]), (2, ["s"])]


def test_summaries_inside_a_network_are_written_in_mode_train(tmp_path: Path) -> None:
    summary = ops.ScalarSummary()
    summary("nobody listens", ONE)
    with SummaryRecord(str(tmp_path)) as record:
        summary("a", ONE)
        record.record(1)
        record.set_mode("eval")
        summary("b", ONE)
        record.record(2)
        record.set_mode("train")
        summary("c", ONE)
        record.record(3)
    summary("nobody listens any more", ONE)
    assert tags(record) == [(1, ["a"]), (3, ["c"])]


@pytest.mark.parametrize(
    ("operation", "name", "value", "error", "text"),
    [
        (ops.ScalarSummary, "n", Tensor([1, 2]), ValueError, r"must be of shape \(\) or \(1,\)"),
        (ops.ImageSummary, "n", Tensor([1, 2]), ValueError, "1 or 3, height, width"),
        (ops.TensorSummary, "n", ONE, ValueError, "at least one axis"),
        (ops.HistogramSummary, "n", ONE, ValueError, "at least one axis"),
        (ops.ScalarSummary, "", ONE, ValueError, "valid string"),
        (ops.ScalarSummary, "\ud800", ONE, ValueError, "'ScalarSummary', the name .* is no valid"),
        (ops.ScalarSummary, 3, ONE, TypeError, "'name'"),
        (ops.ScalarSummary, "n", 1.0, TypeError, "'value'"),
    ],
)
def test_what_a_summary_operation_refuses(
    operation: type, name: object, value: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        operation()(name, value)


def test_nothing_recorded_makes_no_file(tmp_path: Path) -> None:
    SummaryRecord(str(tmp_path / "new")).close()
    assert list((tmp_path / "new").iterdir()) == []


def test_the_names_are_mindspores_and_new(tmp_path: Path) -> None:
    first = SummaryRecord(str(tmp_path), file_prefix="run", file_suffix="_x")
    second = SummaryRecord(str(tmp_path), file_prefix="run", file_suffix="_x")
    assert first.log_dir != second.log_dir
    name = Path(first.log_dir).name.split(".")
    assert name[:4] == ["run", "out", "events", "summary"]
    assert name[4].isdigit()
    assert first.log_dir.endswith("_x")
    first.close()
    second.close()


def test_a_full_file_is_told_once_and_whole(tmp_path: Path) -> None:
    def train() -> None:
        with SummaryRecord(str(tmp_path), max_file_size=1000) as record:
            for step in range(100):
                record.add_value("tensor", "t", Tensor(np.zeros(20, np.float32)))
                assert record.record(step)

    with pytest.warns(UserWarning, match="'max_file_size' reached: There are") as told:
        train()
    assert len(told) == 2  # of two files
    for path in tmp_path.iterdir():
        assert path.stat().st_size <= 1000
        assert len(list(read_events(path))) > 3


@pytest.mark.parametrize("raises", [True, False])
def test_a_full_disk_leaves_whole_records(
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


@pytest.mark.parametrize("place", [1, 2])
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_ctrl_c_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int, part: float
) -> None:
    """What is being written then is written again: a step may be there twice."""
    record = SummaryRecord(str(tmp_path))
    write, calls = os.write, iter(range(1, 100))

    def interrupted(file: int, data: memoryview) -> int:
        if next(calls) == place:
            write(file, data[: int(part * len(data))])
            raise KeyboardInterrupt
        return write(file, data)

    for step in range(1, 6):
        record.add_value("scalar", "s", ONE)
        record.record(step)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "write", interrupted)
        record.flush()
    record.close()
    for path in (record.log_dir, *map(str, tmp_path.glob("*tfevents*"))):
        assert {event.step for event in read_events(path)} == {*range(6)}


def test_a_signal_that_comes_while_it_writes_may_flush(
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
    pauses(1e6, monkeypatch)
    record = SummaryRecord(str(tmp_path))
    there: list[bool] = []
    for step in range(1, 5):
        record.add_value("tensor", "four MiB", Tensor(np.zeros(2**20, np.float32)))
        record.record(step)
        there.append(Path(record.log_dir).exists())
    record.close()
    assert there == [False, False, False, True]


def test_a_closed_record_says_so(tmp_path: Path) -> None:
    record = SummaryRecord(str(tmp_path))
    record.close()
    record.close()
    with pytest.warns(UserWarning, match="The record writer is closed, please check if close"):
        assert not record.record(1)
    with pytest.warns(UserWarning, match="the record writer is closed and can not flush"):
        record.flush()


def test_tensors_are_exported_and_nothing_else(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path), export_options={"tensor_format": "npy"}) as record:
        record.add_value("tensor", "a b/c", Tensor([1, 2]))
        record.add_value("scalar", "s", ONE)
        record.add_value("histogram", "h", Tensor([1.0, 2.0]))
        record.record(5)
    [path] = tmp_path.glob("export_*/tensor/*.npy")
    assert path.name == "a%20b%2Fc_5.npy"
    assert np.load(path).tolist() == [1, 2]


def test_lineage_is_what_mindspore_writes(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        record.add_value("custom_lineage_data", "c", {"a": -1, "b": 2.5, "c": "x"})
        record.add_value("train_lineage", "t", TrainLineage("Net", "Loss", "SGD", 0.5, 2.0, 3, 4))
        record.add_value("eval_lineage", "e", EvaluationLineage({"accuracy": 0.5}, 8))
        record.record(1)
    [path] = tmp_path.glob("*_lineage")
    with path.open("rb") as file:
        found = [data[9:].hex() for data in records(file)]
    # After wall_time's nine bytes; the fields as MindSpore 2.10's own classes wrote them.
    custom, train, evaluation = found
    assert custom == (
        "522c0a101a0e0a016110ffffffffffffffffff010a0e2a0c0a01621100000000000004400a0822060a01"
        "63120178"
    )
    assert train == (
        "32490a230a03534744150000003f1a044c6f737320032a0b7374616e645f616c6f6e6530014004120210"
        "001a0a0a034e6574150000004022121a0e7b22636b7074223a206e756c6c7d2000"
    )
    assert evaluation == "3a1712117b226163637572616379223a20302e357d1a021008"


def test_what_is_not_written_is_refused(tmp_path: Path) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        with pytest.raises(NotImplementedError, match="graphs of datasets are not written"):
            record.add_value("dataset_graph", "d", ONE)
        with pytest.raises(ValueError, match="no such \"plugin\" of 'loss'"):
            record.add_value("loss", "l", ONE)
        with pytest.raises(ValueError, match='parameter "name" type should be str'):
            record.add_value("scalar", "", ONE)
        with pytest.raises(ValueError, match="is no valid Unicode"):
            record.add_value("scalar", "\ud800", ONE)
        for plugin in ("scalar", "train_lineage", "landscape", "graph"):
            with pytest.raises(TypeError):
                record.add_value(plugin, "x", 1.0)
        with pytest.raises(ValueError, match="1 or 3, height, width"):
            record.add_value("image", "i", Tensor(np.zeros((1, 2, 4, 4), np.float32)))
        with pytest.raises(ValueError, match="'x' is not a recognized mode"):
            record.set_mode("x")
        for step in (1.0, "a", True, None):
            with pytest.raises(TypeError):
                record.record(step)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            record.record(1, train_network=3)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            record.record(1, plugin_filter=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"log_dir": 5}, TypeError),
        ({"log_dir": " "}, ValueError),
        ({"max_file_size": 1.5}, TypeError),
        ({"raise_exception": 1}, TypeError),
        ({"file_prefix": 3}, TypeError),
        ({"file_prefix": "a/b"}, ValueError),
        ({"file_suffix": "x\n"}, ValueError),
        ({"num_process": 0}, ValueError),
        ({"network": 3}, TypeError),
        ({"export_options": 3}, TypeError),
        ({"export_options": {"x": "npy"}}, ValueError),
        ({"export_options": {"tensor_format": "csv"}}, ValueError),
    ],
)
def test_wrong_arguments(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception]
) -> None:
    given: dict[str, object] = {"log_dir": str(tmp_path / "never"), **arguments}
    with pytest.raises(error):
        SummaryRecord(**given)  # type: ignore[arg-type]
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_that_is_none_is_no_limit(tmp_path: Path, size: int) -> None:
    told = pytest.warns(UserWarning, match="should be greater than 0. but got value -1")
    with told if size else nullcontext():
        record = SummaryRecord(str(tmp_path), max_file_size=size)
    with record:
        record.add_value("tensor", "t", ops.ones(1000))
        record.record(1)
    assert tags(record) == [(1, ["t"])]


def graphs(record: SummaryRecord) -> list[bytes]:
    """Those in TensorBoard's files."""
    paths = Path(record.log_dir).parent.glob("*.graph.tfevents.*")
    return [e.graph for path in paths for e in read_events(path) if e.graph is not None]


@pytest.mark.parametrize("how", ["as a value", "at the record", "twice"])
def test_a_graph_is_written_once_its_network_was_called(tmp_path: Path, how: str) -> None:
    network, other = nn.Dense(2, 3), nn.ReLU()
    with SummaryRecord(str(tmp_path)) as record:
        if how == "twice":
            record.add_value("graph", "g", other)  # another one takes its place
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
