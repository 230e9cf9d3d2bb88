"""SummaryRecord: errors of invalid arguments name the class, the argument and the value."""

import os
import re
from collections.abc import Callable
from linecache import getline
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from warnings import WarningMessage

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops
from minispore.ops.summary import summary_subscribers
from minispore.train import SummaryRecord
from minispore.train.summary import Landscape, deferred_writer
from minispore.train.summary.lineage import check_custom
from minispore.train.summary.summary_record import check_export_options, check_folder
from minispore.utils.threads import SynchronousExecutor
from tests.helpers.refusals import Refusal, assert_refused, refusals, type_message

TABLE = Path(__file__).with_name("refusals.txt").read_text("utf-8")
PLUGINS = {
    **dict.fromkeys(("scalar", "image", "tensor", "histogram"), "Tensor"),
    "train_lineage": "TrainLineage",
    "eval_lineage": "EvaluationLineage",
    "custom_lineage_data": "dict",
    "graph": "Cell, bytes",
    "landscape": "Landscape",
}


@pytest.mark.parametrize("refusal", refusals(TABLE))
def test_refused_call_names_the_argument_and_writes_nothing(
    tmp_path: Path, refusal: Refusal
) -> None:
    """Of the constructor, of the methods of a record `r`, and of the summary operations."""

    def construct(**arguments: object) -> SummaryRecord:
        return SummaryRecord(**{"log_dir": str(tmp_path / "never")} | arguments)  # type: ignore[arg-type]

    with SummaryRecord(str(tmp_path)) as record:
        names = {"SummaryRecord": construct, "r": record, "Tensor": Tensor, "ops": ops}
        message = refusal.check(names)
        if not refusal.call.startswith("ops."):
            assert message.startswith(("For 'SummaryRecord', ", 'For "SummaryRecord'))
        record.record(1)
    assert not any(tmp_path.iterdir())


@given(st.sampled_from([*PLUGINS]), st.sampled_from([1.5, None, "a", (), 3]))
def test_value_of_wrong_type_raises_and_writes_nothing(plugin: str, value: object) -> None:
    with TemporaryDirectory() as folder, SummaryRecord(folder) as record:
        message = type_message("SummaryRecord", plugin, PLUGINS[plugin], value)
        assert_refused(TypeError, message, record.add_value, plugin, "x", value)
        record.record(1)
        record.flush()
        assert not any(Path(folder).iterdir())


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", 3]),
        st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 0.5, "x", True, None]),
        max_size=2,
    )
)
def test_custom_lineage_contains_small_numbers_and_texts(value: dict[object, object]) -> None:
    wrong_type = any(key == 3 or item in (True, None) for key, item in value.items())
    large = any(isinstance(item, int) and not -(2**31) <= item < 2**31 for item in value.values())
    if not wrong_type and not large:
        result = check_custom(value)
        assert result == value
        assert result is not value
    else:
        names = "|".join(f"custom_lineage_data.{key}" for key in value) + "|key of custom_lineage"
        with pytest.raises(
            (TypeError, ValueError), match=rf"^For '\w+', the .*'({names})"
        ) as raised:
            check_custom(value)
        assert wrong_type or type(raised.value) is ValueError


def test_error_names_the_function() -> None:
    start = "For 'test_error_names_the_function', the"
    with pytest.raises(TypeError, match=f"^{start} type of 'folder'"):
        check_folder(None, "folder")
    with pytest.raises(TypeError, match=f"^{start} type of 'custom_lineage_data'"):
        check_custom([])
    unknown = f"{start} keys of 'export_options' must be 'tensor_format', but got ['x']."
    with pytest.raises(TypeError, match=re.escape(unknown)):
        check_export_options({"x": "npy", "tensor_format": "npy"})
    with pytest.raises(ValueError, match=f"^{start} argument 'tensor_format'"):
        check_export_options({"tensor_format": "png"})
    with pytest.raises(TypeError, match=f"^{start} type of 'tensor_format'"):
        check_export_options({"tensor_format": 3})
    for options in (None, {}, {"tensor_format": None}):
        assert check_export_options(options) is None
    assert check_export_options({"tensor_format": "npy"}) == "npy"


def test_folder_symbolic_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check_folder(str(tmp_path / "link"), "n") == os.path.realpath(tmp_path / "real")


ONE = Tensor(1.0)


def warned(text: str, call: Callable[[], object]) -> WarningMessage:
    """Check that one warning with this message is issued."""
    with pytest.warns(UserWarning, match=f"^{re.escape(text)}$") as messages:
        call()
    [warning] = messages
    return warning


def all_but_full(folder: Path) -> list[WarningMessage]:
    """Return the warnings of all cases except full files."""
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


def full(folder: Path, method: str) -> list[WarningMessage]:
    """Return the warnings of two full files, which a method issues."""
    record = SummaryRecord(str(folder), max_file_size=1000)

    def write() -> None:
        record.add_value("tensor", "t", Tensor(np.zeros(300)))
        if method == "with":
            with record:
                record.record(1)
        else:
            record.record(1)
            record.flush() if method == "flush" else record.close()

    with pytest.warns(UserWarning, match="reached: There are 9") as messages:
        write()
    record.close()
    return [*messages]


def test_warning_messages(tmp_path: Path) -> None:
    all_but_full(tmp_path)
    for warning, file in zip(full(tmp_path, "with"), ("events.summary", "tfevents"), strict=True):
        kind = re.escape(file)
        text = (
            rf"'max_file_size' reached: There are 9\d\d bytes remaining, but the '\S*{kind}\S*' "
            r"requires to write [12]\d\d\d bytes."
        )
        assert re.fullmatch(text, str(warning.message))


@pytest.mark.parametrize("method", ["record", "flush", "close", "with"])
@pytest.mark.parametrize("threads", [True, False])
def test_warning_points_at_the_calling_line(
    tmp_path: Path, threads: bool, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not threads:  # each record is written when the call returns
        monkeypatch.setattr(deferred_writer, "make_executor", lambda name: SynchronousExecutor())
    if method == "record":  # no record is deferred
        monkeypatch.setattr(deferred_writer, "_MAX_TASKS", 1)
    for warning in (*all_but_full(tmp_path), *full(tmp_path, method)):
        assert warning.filename == __file__
        assert "record" in getline(__file__, warning.lineno).lower()


@pytest.mark.parametrize("kind", ["scalar", "image", "tensor", "histogram"])
def test_only_subscribed_kinds_are_recorded(tmp_path: Path, kind: str) -> None:
    value = ops.ones((1, 1, 1, 1))
    operations = {
        "scalar": (ops.ScalarSummary(), ops.ones(1)),
        "image": (ops.ImageSummary(), value),
        "tensor": (ops.TensorSummary(), value),
        "histogram": (ops.HistogramSummary(), value),
    }
    observed: list[str] = []
    others = [*summary_subscribers()]  # records that another test did not close
    with SummaryRecord(str(tmp_path)) as record:
        for kinds in ((kind,), ()):
            for _ in range(2):  # a second call has no effect
                record.subscribe(kinds)
            for operation, given in operations.values():
                operation("n", given)
            record.record(1, plugin_filter=lambda plugin: not observed.append(plugin))  # type: ignore[func-returns-value]
    assert observed == [kind]
    assert summary_subscribers() == others


def test_default_names_and_kinds(tmp_path: Path) -> None:
    x = np.zeros(0)
    surface = Landscape(x, x, np.zeros((0, 0)), x, x, x, (), (0.0, 0.0, 0.0), "PCA", "step", 1)
    with SummaryRecord(str(tmp_path)) as record:
        assert re.fullmatch(
            r"events\.out\.events\.summary\.\d+\.\d+\..*_MS", Path(record.log_dir).name
        )
        record.add_value("landscape", "l", surface)
        record.add_value("scalar", "s", ONE)
        observed: list[str] = []
        record.record(1, plugin_filter=lambda kind: not observed.append(kind))  # type: ignore[func-returns-value]
    assert observed == ["landscape", "scalar"]


def test_folder_is_private_and_lost_summary_warns(tmp_path: Path) -> None:
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
