"""Event files while they grow: what is there is whole, and where it was."""

import errno
import os
import re
import socket
import time
from pathlib import Path

import numpy as np
import pytest

from minispore.train.summary import Event, Landscape, Value, _files, read_events
from minispore.train.summary._event import MINDSPORE_VERSION, TENSORBOARD_VERSION
from minispore.train.summary._files import EventFile, Files, Names
from minispore.train.summary._records import framed

FILES = ("mindspore", "tensorboard", "graph")


def test_a_file_that_somebody_has_removed_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "events"
    file = EventFile(str(path))
    file.append(b"one")
    assert path.read_bytes() == framed(b"one")
    path.unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError, match="The file has been removed") as raised:
            file.append(b"two")
        assert raised.value.filename == str(path)
        assert raised.value.strerror == "The file has been removed"
    file.close()
    assert not path.exists()


@pytest.mark.parametrize("together", [1, 2, 4, 9])
@pytest.mark.parametrize(("limit", "fit"), [(None, 9), (60, 3), (59, 2), (40, 2), (19, 0)])
def test_whole_records_up_to_the_limit(
    tmp_path: Path, limit: int | None, fit: int, together: int
) -> None:
    path = tmp_path / "events"
    file = EventFile(str(path), limit)
    messages = [b"four"] * 9  # of 20 bytes each
    told = [file.append(*messages[i : i + together]) for i in range(0, 9, together)]
    file.close()
    if limit is None:
        assert not any(told)
    else:
        text = f"There are {limit - 20 * fit} bytes remaining, but the '{path}' requires to write"
        warning = f"'max_file_size' reached: {text} 20 bytes."
        # It is told once.
        assert told == [[warning] if i == fit // together else [] for i in range(len(told))]
    assert path.exists() == bool(fit)
    if fit:
        assert path.read_bytes() == framed(b"four") * fit


def test_a_file_is_made_with_its_first_record_and_cannot_be_run(tmp_path: Path) -> None:
    path = tmp_path / "events"
    file = EventFile(str(path))
    file.sync()
    file.close()
    assert not path.exists()
    assert file.is_empty
    file.append(b"one")
    file.sync()
    assert not file.is_empty
    assert not path.stat().st_mode & 0o111
    file.close()
    file.close()
    with pytest.raises(FileExistsError):
        EventFile(str(path)).append(b"another's")
    assert path.read_bytes() == framed(b"one")


@pytest.mark.parametrize("gone", [False, True])
def test_a_disk_that_is_full_from_the_first_leaves_no_file(
    tmp_path: Path, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, "No space left")

    path = tmp_path / "events"
    file = EventFile(str(path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as raised:
            file.append(b"one")
    assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(path))
    if gone:  # somebody else has removed it
        path.unlink()
    file.close()
    assert not path.exists()


@pytest.mark.parametrize("failing", range(3))
def test_an_event_that_fails_keeps_no_other_back(
    tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(file: int, data: memoryview) -> int:
        if f"value {failing}".encode() in bytes(data):
            write(file, data[:20])
            raise OSError(errno.ENOSPC, "No space left")
        return write(file, data)

    names = Names(str(tmp_path), "run", "_x")
    files = Files(names, None)
    events = [Event(float(i), i, values=(Value(f"value {i}", i / 2),)) for i in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            files.write(events)
    files.close()
    for path, version in (
        (names.mindspore, MINDSPORE_VERSION),
        (names.tensorboard, TENSORBOARD_VERSION),
    ):
        first, *rest = read_events(path)
        assert first.version == version
        assert rest == [event for event in events if event.step != failing]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_disk_that_fails_once_loses_nothing(
    tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = os.write, iter(range(1, 100))

    def once_full(file: int, data: memoryview) -> int:
        if next(calls) == failing:
            raise OSError(errno.ENOSPC, "No space left")
        return write(file, data)

    names = Names(str(tmp_path), "run", "_x")
    files = Files(names, None)
    events = [Event(float(i), i, values=(Value("s", i / 2),)) for i in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", once_full)
        assert files.write(events) == []
    files.close()
    for path in (names.mindspore, names.tensorboard):
        assert list(read_events(path))[1:] == events


@pytest.mark.parametrize("wrong", range(3))
def test_an_event_that_no_file_can_hold_keeps_no_other_back(tmp_path: Path, wrong: int) -> None:
    names = Names(str(tmp_path), "run", "_x")
    files = Files(names, None)
    tags = ["\ud800" if i == wrong else "s" for i in range(3)]
    with pytest.raises(ValueError, match="is no valid Unicode"):
        files.write([Event(1.0, i, values=(Value(tag, 0.5),)) for i, tag in enumerate(tags)])
    files.close()
    for path in (names.mindspore, names.tensorboard):
        assert [e.step for e in read_events(path)][1:] == [i for i in range(3) if i != wrong]


def test_names_are_new_one_after_the_other(tmp_path: Path) -> None:
    names = [Names(str(tmp_path), "run", "_x") for _ in range(2)]
    numbers: list[int] = []
    for each in names:
        parts = re.fullmatch(r"(.*)\.out\.events\.summary\.(\d+)\.(\d+)\.(.*)_x", each.mindspore)
        assert parts is not None
        start, seconds, number, rest = parts.groups()
        assert (start, rest) == (str(tmp_path / "run"), socket.gethostname())
        assert abs(time.time() - int(seconds)) < 60
        numbers.append(int(number))
        stem = f"{seconds}.{number}.{rest}"
        assert each.tensorboard == f"{start}.out.tfevents.{stem}_x"
        assert each.graph == f"{start}.out.graph.tfevents.{stem}_x"
        assert each.lineage == f"{start}.out.events.summary.{stem}_lineage"
        assert each.export == str(tmp_path / f"export_{seconds}.{number}")
    assert numbers[0] >= os.getpid()
    assert numbers[1] in {numbers[0] + 1, os.getpid()}  # the second has begun anew


@pytest.mark.parametrize("which", ["mindspore", "tensorboard", "graph", "lineage"])
def test_a_name_that_any_file_has_is_not_given(
    tmp_path: Path, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1.5)
    first = Names(str(tmp_path), "run", "_x")
    monkeypatch.setattr(_files, "_given", set[str]())
    again = Names(str(tmp_path), "run", "_x")
    assert vars(again) == vars(first)
    monkeypatch.setattr(_files, "_given", set[str]())
    Path(getattr(first, which)).touch()
    other = Names(str(tmp_path), "run", "_x")
    assert not vars(other).items() & vars(first).items()


def test_a_record_of_events_that_both_read_and_one_that_one_reads(tmp_path: Path) -> None:
    names = Names(str(tmp_path), "run", "_x")
    files = Files(names, 400)
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
    assert Path(names.lineage).read_bytes() == framed(b"lineage")
