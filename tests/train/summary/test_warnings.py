"""What a SummaryRecord warns of, word for word and at the caller's line, and what it listens to."""

import re
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from minispore import Tensor, nn, ops
from minispore._threads import _AtOnce
from minispore.ops._summary import listeners
from minispore.train import SummaryRecord
from minispore.train.summary import Landscape, _behind

ONE = Tensor(1.0)


def warned(text: str, call: Callable[[], object]) -> str:
    """It is warned of once, in these words; return the file of the line."""
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as told:
        call()
    [warning] = told
    return warning.filename


@pytest.mark.parametrize("line", [False, True])
def test_warnings_word_for_word_and_at_the_line_of_the_caller(tmp_path: Path, line: bool) -> None:
    def again() -> None:
        record.add_value("scalar", "s", ONE)

    files: list[str] = []

    files.append(
        warned(
            "For 'SummaryRecord', the 'max_file_size' should be greater than 0. but got value -1.",
            lambda: SummaryRecord(str(tmp_path), max_file_size=-1).close(),
        )
    )
    record = SummaryRecord(str(tmp_path))
    again()
    files.append(
        warned(
            "For \"SummaryRecord.add_value\", 's/scalar' has duplicate values. "
            "Only the newest one will be recorded.",
            again,
        )
    )
    record.add_value("graph", "g", nn.ReLU())
    files.append(
        warned(
            "Failed to get proto for graph: the network has not been called yet.",
            lambda: record.record(1),
        )
    )
    record.close()
    files.append(
        warned(
            "For 'SummaryRecord', The record writer is closed, "
            "please check if close() method is called",
            lambda: record.record(1),
        )
    )
    files.append(
        warned(
            "For 'SummaryRecord', the record writer is closed and can not flush, "
            "please check if close() method is called",
            lambda: record.flush(),
        )
    )
    assert not line or set(files) == {__file__}


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("threads", [True, False])
def test_warnings_of_the_thread_are_at_the_line_of_the_caller(
    tmp_path: Path, threads: bool, line: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not threads:  # each record has been written when it returns
        monkeypatch.setattr(_behind, "executor", lambda name: _AtOnce())

    def train() -> None:
        with SummaryRecord(str(tmp_path), max_file_size=1000) as record:
            record.add_value("tensor", "t", Tensor(np.zeros(300)))
            record.record(1)

    with pytest.warns(UserWarning, match="reached: There are 9") as told:
        train()
    files = ["events.summary", "tfevents"]
    for warning, file in zip(told, files, strict=True):
        assert not line or warning.filename == __file__
        kind = re.escape(file)
        text = (
            rf"'max_file_size' reached: There are 9\d\d bytes remaining, but the '\S*{kind}\S*' "
            r"requires to write [12]\d\d\d bytes."
        )
        assert re.fullmatch(text, str(warning.message))


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
    with SummaryRecord(str(tmp_path)) as record:
        for kinds in ((kind,), ()):
            for _ in range(2):  # twice is not more than once
                record.listen(kinds)
            for operation, given in operations.values():
                operation("n", given)
            record.record(1, plugin_filter=lambda plugin: not seen.append(plugin))  # type: ignore[func-returns-value]
    assert seen == [kind]
    assert listeners() == []


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
