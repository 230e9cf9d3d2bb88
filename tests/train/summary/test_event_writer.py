"""Event files while they grow: records are complete, files have unique names."""

import errno
import os
import re
import socket
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train.summary import Event, Landscape, Value, event_writer, read_events
from minispore.train.summary.event import MINDSPORE_VERSION, TENSORBOARD_VERSION
from minispore.train.summary.event_writer import (
    EventFileNames,
    EventFileWriter,
    RecordWriter,
    export_tensor,
)
from minispore.train.summary.tfrecord import encode_record

FILES = ("mindspore", "tensorboard", "graph")


def test_removed_file_raises(tmp_path: Path) -> None:
    path = tmp_path / "events"
    file = RecordWriter(str(path))
    file.append(b"one")
    assert path.read_bytes() == encode_record(b"one")
    path.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="The file has been removed") as raised:
            file.append(b"two")
        assert raised.value.filename == str(path)
        assert raised.value.strerror == "The file has been removed"
    file.close()
    assert not path.exists()


@given(
    st.lists(st.lists(st.binary(max_size=9), max_size=3), max_size=5),
    st.none() | st.integers(1, 150),
)
@example([[b"four"] * 3], 60)
@example([[b"four"] * 3], 59)
def test_limit_keeps_complete_records(calls: list[list[bytes]], limit: int | None) -> None:
    """One warning is issued for the first record that would exceed the limit."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "events")
        file = RecordWriter(str(path), limit)
        content, full = b"", False
        for messages in calls:
            expected: list[str] = []
            for record in map(encode_record, messages):
                free = 1000 if limit is None else limit - len(content)
                if not full and len(record) > free:
                    full = True
                    text = f"There are {free} bytes remaining, but the '{path}' requires to write"
                    expected = [f"'max_file_size' reached: {text} {len(record)} bytes."]
                if not full:
                    content += record
            assert file.append(*messages) == expected
        file.close()
        assert (path.read_bytes() if path.exists() else b"") == content
        assert path.exists() == bool(content)


@given(
    count=st.integers(1, 4),
    lost=st.sets(st.integers(0, 3)),
    unencodable=st.sets(st.integers(0, 3)),
    part=st.integers(0, 30),
)
def test_failing_event_does_not_affect_others(
    count: int, lost: set[int], unencodable: set[int], part: int
) -> None:
    """The disk is full for some events, and the names of others cannot be encoded."""
    write = os.write

    def full(file: int, data: memoryview) -> int:
        if any(f"value {i}".encode() in bytes(data) for i in lost):
            write(file, data[: min(part, len(data) - 1)])
            raise OSError(errno.ENOSPC, "No space left")
        return write(file, data)

    tags = [f"value {i}" + "\ud800" * (i in unencodable) for i in range(count)]
    events = [Event(float(i), i, values=(Value(tag, i / 2),)) for i, tag in enumerate(tags)]
    written = [event for event in events if event.step not in lost | unencodable]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        names = EventFileNames(folder, "run", "_x")
        files = EventFileWriter(names, None)
        patch.setattr(os, "write", full)
        if written == events:
            assert files.write(events) == []
        else:
            with pytest.raises((OSError, ValueError), match="No space left|is not valid Unicode"):
                files.write(events)
        files.close()
        paths = [names.mindspore, names.tensorboard]
        assert [os.path.exists(path) for path in paths] == [bool(written)] * 2
        for path, version in zip(paths, (MINDSPORE_VERSION, TENSORBOARD_VERSION), strict=True):
            if written:
                first, *others = read_events(path)
                assert (first.version, others) == (version, written)


@given(st.integers(2, 4), st.integers(1, 2))
def test_single_write_failure_loses_nothing(count: int, failing: int) -> None:
    write, calls = os.write, iter(range(1, 100))

    def once_full(file: int, data: memoryview) -> int:
        if next(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left")
        return write(file, data)

    events = [Event(float(i), i, values=(Value("s", i / 2),)) for i in range(count)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        names = EventFileNames(folder, "run", "_x")
        files = EventFileWriter(names, None)
        patch.setattr(os, "write", once_full)
        assert files.write(events) == []
        files.close()
        for path in (names.mindspore, names.tensorboard):
            assert list(read_events(path))[1:] == events


def test_file_is_created_with_first_record(tmp_path: Path) -> None:
    path = tmp_path / "events"
    file = RecordWriter(str(path))
    file.sync()
    file.close()
    assert not path.exists()
    assert file.is_empty
    file.append(b"one")
    file.sync()
    assert not file.is_empty
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    file.close()
    file.close()
    with pytest.raises(FileExistsError):
        RecordWriter(str(path)).append(b"another's")
    assert path.read_bytes() == encode_record(b"one")


@pytest.mark.parametrize("gone", [False, True])
def test_full_disk_leaves_no_empty_file(
    tmp_path: Path, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left")

    path = tmp_path / "events"
    file = RecordWriter(str(path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as raised:
            file.append(b"one")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    if gone:  # another process has removed it
        path.unlink()
    file.close()
    assert not path.exists()


def test_file_names_are_unique(tmp_path: Path) -> None:
    names = [EventFileNames(str(tmp_path), "run", "_x") for _ in range(2)]
    numbers: list[int] = []
    for files in names:
        parts = re.fullmatch(r"(.*)\.out\.events\.summary\.(\d+)\.(\d+)\.(.*)_x", files.mindspore)
        assert parts is not None
        start, seconds, number, host = parts.groups()
        assert (start, host) == (str(tmp_path / "run"), socket.gethostname())
        assert abs(time.time() - int(seconds)) < 60
        numbers.append(int(number))
        stem = f"{seconds}.{number}.{host}"
        assert files.tensorboard == f"{start}.out.tfevents.{stem}_x"
        assert files.graph == f"{start}.out.graph.tfevents.{stem}_x"
        assert files.lineage == f"{start}.out.events.summary.{stem}_lineage"
        assert files.export == str(tmp_path / f"export_{seconds}.{number}")
    assert numbers[0] >= os.getpid()
    assert numbers[1] in {numbers[0] + 1, os.getpid()}  # in another second


@given(st.sampled_from(["mindspore", "tensorboard", "graph", "lineage"]))
def test_existing_file_names_are_not_reused(which: str) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: 1.5)

        def begin() -> EventFileNames:
            patch.setattr(event_writer, "_used_names", set[str]())  # of another process
            return EventFileNames(folder, "run", "_x")

        first = begin()
        assert vars(begin()) == vars(first)
        Path(getattr(first, which)).touch()
        assert not vars(begin()).items() & vars(first).items()


def test_each_file_receives_only_its_events(tmp_path: Path) -> None:
    names = EventFileNames(str(tmp_path), "run", "_x")
    files = EventFileWriter(names, 400)
    x = np.zeros(0)
    surface = Landscape(x, x, np.zeros((0, 0)), x, x, x, (), (0.0, 0.0, 0.0), "PCA", "step", 1)
    only = Event(2.0, 1, values=(Value("l", surface),))
    both = Event(3.0, 2, values=(Value("s", 0.5),))
    assert files.write([only]) == []
    assert not Path(names.tensorboard).exists()
    assert files.write([both]) == []
    graph = Event(4.0, graph=b"graph")
    assert files.write_graph(graph) == []
    assert files.write_graph(Event(4.0, graph=bytes(500)))[0].startswith("'max_file_size' reached")
    assert files.write_lineage(b"lineage") == []
    assert files.write_lineage(bytes(500))[0].startswith("'max_file_size' reached")
    files.sync()
    files.close()
    events = {name: list(read_events(path)) for name, path in vars(names).items() if name in FILES}
    mindspore, tensorboard = MINDSPORE_VERSION, TENSORBOARD_VERSION
    assert [e[:3] for e in events["mindspore"]] == [(2.0, 0, mindspore), (2.0, 1, None), both[:3]]
    assert events["tensorboard"] == [Event(3.0, version=tensorboard), both]
    assert events["graph"][:2] == [Event(4.0, version=tensorboard), graph]
    assert Path(names.lineage).read_bytes() == encode_record(b"lineage")


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3))
def test_export_replaces_existing_file(numbers: list[int]) -> None:
    with TemporaryDirectory() as folder:
        for number in numbers:
            export_tensor(folder, "a", 3, np.array([number]))
        assert np.load(Path(folder, "tensor", "a_3.npy")).tolist() == numbers[-1:]
