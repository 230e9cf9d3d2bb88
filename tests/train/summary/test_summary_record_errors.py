"""SummaryRecord: errors of invalid arguments name the class, the argument and the value."""

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.train import SummaryRecord
from minispore.train.summary.lineage import check_custom
from minispore.train.summary.summary_record import check_export_options, check_folder
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
        result = check_custom(value, "Me")
        assert result == value
        assert result is not value
    else:
        names = "|".join(f"custom_lineage_data.{key}" for key in value) + "|key of custom_lineage"
        with pytest.raises((TypeError, ValueError), match=f"^For 'Me', the .*'({names})") as raised:
            check_custom(value, "Me")
        assert wrong_type or type(raised.value) is ValueError


def test_error_names_the_caller() -> None:
    with pytest.raises(TypeError, match="^For 'Me', the type of 'folder'"):
        check_folder(None, "folder", "Me")
    with pytest.raises(TypeError, match="^For 'Me', the type of 'custom_lineage_data'"):
        check_custom([], "Me")
    unknown = "For 'Me', the keys ['x'] of 'export_options' are unsupported, expect the follow keys"
    with pytest.raises(ValueError, match=re.escape(unknown)):
        check_export_options({"x": "npy", "tensor_format": "npy"}, "Me")
    with pytest.raises(ValueError, match="^For 'Me', the argument 'tensor_format'"):
        check_export_options({"tensor_format": 3}, "Me")
    for options in (None, {}, {"tensor_format": None}):
        assert check_export_options(options, "Me") is None
    assert check_export_options({"tensor_format": "npy"}, "Me") == "npy"


def test_folder_symbolic_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check_folder(str(tmp_path / "link"), "n", "Me") == os.path.realpath(tmp_path / "real")
