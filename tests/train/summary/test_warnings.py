"""What a SummaryRecord warns of, word for word and at the caller's line, and what it listens to."""

import re
from collections.abc import Callable
from linecache import getline
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from warnings import WarningMessage

import numpy as np
import pytest

from minispore import Tensor, nn, ops
from minispore._threads import _AtOnce
from minispore.ops._summary import listeners
from minispore.train import SummaryRecord
from minispore.train.summary import Landscape, _behind

ONE = Tensor(1.0)


def warned(text: str, call: Callable[[], object]) -> WarningMessage:
    """It is warned of once, in these words."""
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as told:
        call()
    [warning] = told
    return warning


def all_but_full(folder: Path) -> list[WarningMessage]:
    """Whatever is warned of, but for a file that is full."""
    record = SummaryRecord(str(folder))

    def again() -> None:
        record.add_value("scalar", "s", ONE)

    def too_early() -> None:
        record.add_value("graph", "g", nn.ReLU())
        record.record(1)

    def too_late() -> None:
        record.close()
        record.record(1)

    again()
    return [
        warned(
            "For 'SummaryRecord', the 'max_file_size' should be greater than 0. but got value -1.",
            lambda: SummaryRecord(str(folder), max_file_size=-1).close(),
        ),
        warned(
            "For \"SummaryRecord.add_value\", 's/scalar' has duplicate values. "
            "Only the newest one will be recorded.",
            again,
        ),
        warned(
            "Failed to get proto for graph: the network has not been called yet.",
            too_early,
        ),
        warned(
            "For 'SummaryRecord', The record writer is closed, "
            "please check if close() method is called",
            too_late,
        ),
        warned(
            "For 'SummaryRecord', the record writer is closed and can not flush, "
            "please check if close() method is called",
            lambda: record.flush(),
        ),
    ]


def full(folder: Path, way: str) -> list[WarningMessage]:
    """The warnings of two files that are full, which come in one way or another."""
    record = SummaryRecord(str(folder), max_file_size=1000)

    def write() -> None:
        record.add_value("tensor", "t", Tensor(np.zeros(300)))
        if way == "with":
            with record:
                record.record(1)
        else:
            record.record(1)
            record.flush() if way == "flush" else record.close()

    with pytest.warns(UserWarning, match="reached: There are 9") as told:
        write()
    record.close()
    return [*told]


def test_warnings_word_for_word(tmp_path: Path) -> None:
    all_but_full(tmp_path)
    for warning, file in zip(full(tmp_path, "with"), ("events.summary", "tfevents"), strict=True):
        kind = re.escape(file)
        text = (
            rf"'max_file_size' reached: There are 9\d\d bytes remaining, but the '\S*{kind}\S*' "
            r"requires to write [12]\d\d\d bytes."
        )
        assert re.fullmatch(text, str(warning.message))


@pytest.mark.parametrize("way", ["record", "flush", "close", "with"])
@pytest.mark.parametrize("threads", [True, False])
def test_each_warning_is_at_the_line_that_called(
    tmp_path: Path, threads: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not threads:  # each record has been written when it returns
        monkeypatch.setattr(_behind, "executor", lambda name: _AtOnce())
    if way == "record":  # nothing waits for others
        monkeypatch.setattr(_behind, "_ENOUGH", 1)
    for warning in (*all_but_full(tmp_path), *full(tmp_path, way)):
        assert warning.filename == __file__
        assert "record" in getline(__file__, warning.lineno).lower()


@pytest.mark.parametrize("kind", ["scalar", "image", "tensor", "histogram"])
def test_a_kind_is_listened_to_or_not(tmp_path: Path, kind: str) -> None:
    value = ops.ones((1, 1, 1, 1))
    operations = {
        "scalar": (ops.ScalarSummary(), ops.ones(1)),
        "image": (ops.ImageSummary(), value),
        "tensor": (ops.TensorSummary(), value),
        "histogram": (ops.HistogramSummary(), value),
    }
    seen: list[str] = []
    others = [*listeners()]  # records that another test has left open
    with SummaryRecord(str(tmp_path)) as record:
        for kinds in ((kind,), ()):
            for _ in range(2):  # twice is not more than once
                record.listen(kinds)
            for operation, given in operations.values():
                operation("n", given)
            record.record(1, plugin_filter=lambda plugin: not seen.append(plugin))  # type: ignore[func-returns-value]
    assert seen == [kind]
    assert listeners() == others


def test_the_names_and_kinds_by_default(tmp_path: Path) -> None:
    x = np.zeros(0)
    surface = Landscape(x, x, np.zeros((0, 0)), x, x, x, (), (0.0, 0.0, 0.0), "PCA", "step", 1)
    with SummaryRecord(str(tmp_path)) as record:
        assert re.fullmatch(
            r"events\.out\.events\.summary\.\d+\.\d+\..*_MS", Path(record.log_dir).name
        )
        record.add_value("landscape", "l", surface)
        record.add_value("scalar", "s", ONE)
        seen: list[str] = []
        record.record(1, plugin_filter=lambda kind: not seen.append(kind))  # type: ignore[func-returns-value]
    assert seen == ["landscape", "scalar"]


def test_a_folder_is_made_for_its_owner_and_a_lost_summary_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "new"
    record = SummaryRecord(str(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    rmtree(folder)
    record.add_value("scalar", "s", ONE)
    record.record(1)
    with pytest.warns(
        UserWarning, match="^For 'SummaryRecord', a summary was lost: .*No such file"
    ):
        record.close()


def test_a_limit_of_one_byte_is_one() -> None:
    with TemporaryDirectory() as folder:
        record = SummaryRecord(folder, max_file_size=1)
        record.add_value("scalar", "s", ONE)
        record.record(1)
        with pytest.warns(UserWarning, match="There are 1 bytes remaining"):
            record.close()
