"""SummaryRecord: errors of invalid arguments name the class, the argument and the value."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, ops
from minispore.train import SummaryRecord
from minispore.train.summary.lineage import check_custom
from minispore.train.summary.summary_record import check_export_options, check_folder
from minispore.utils.checks import describe_value

ONE = Tensor(1.0)
# By argument: the types that it takes, and values of others.
TYPES: dict[str, tuple[str, list[object]]] = {
    "log_dir": ("str", [None, 5]),
    "file_prefix": ("str", [None, 3]),
    "file_suffix": ("str", [None, 3]),
    "network": ("Cell, None", [3, "a"]),
    "max_file_size": ("int, None", [1.5, True, "a"]),
    "raise_exception": ("bool", [None, 1]),
    "export_options": ("dict, None", [3, "npy"]),
}
VALUES: dict[str, list[tuple[object, str]]] = {
    "log_dir": [(" ", "must not be blank.")],
    **{
        name: [
            (text, f"must be made of letters, digits, '_' and '.', but got {text!r}.")
            for text in ("a/b", "é", "x\n", "")
        ]
        for name in ("file_prefix", "file_suffix")
    },
    "num_process": [(0, "must be at least 1, but got 0.")],
    "tensor_format": [("csv", "must be one of None, 'npy', but got 'csv'.")],
}
PLUGINS = {
    **dict.fromkeys(("scalar", "image", "tensor", "histogram"), "Tensor"),
    "train_lineage": "TrainLineage",
    "eval_lineage": "EvaluationLineage",
    "custom_lineage_data": "dict",
    "graph": "Cell, bytes",
    "landscape": "Landscape",
}


def message_of(error: type[Exception], call: Callable[[], object]) -> str:
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


def construct(folder: Path, **arguments: object) -> SummaryRecord:
    return SummaryRecord(**{"log_dir": str(folder / "never"), **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TYPES)
def test_argument_of_wrong_type_raises(tmp_path: Path, name: str) -> None:
    types, values = TYPES[name]
    for value in values:
        message = message_of(TypeError, lambda v=value: construct(tmp_path, **{name: v}))  # type: ignore[misc]
        start = f"For 'SummaryRecord', the type of '{name}' must be one of {types}, but got "
        assert message == f"{start}{describe_value(value)}."
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", VALUES)
def test_argument_out_of_range_raises(tmp_path: Path, name: str) -> None:
    for value, reason in VALUES[name]:
        arguments = {name: value} if name != "tensor_format" else {"export_options": {name: value}}
        message = message_of(ValueError, lambda a=arguments: construct(tmp_path, **a))  # type: ignore[misc]
        assert message == f"For 'SummaryRecord', the argument '{name}' {reason}"
    assert not any(tmp_path.iterdir())


@given(st.sampled_from([*PLUGINS]), st.sampled_from([1.5, None, "a", (), 3]))
def test_value_of_wrong_type_raises_and_writes_nothing(plugin: str, value: object) -> None:
    with TemporaryDirectory() as folder, SummaryRecord(folder) as record:
        message = message_of(TypeError, lambda: record.add_value(plugin, "x", value))
        start = f"For 'SummaryRecord', the type of '{plugin}' must be one of {PLUGINS[plugin]}, "
        assert message == f"{start}but got {describe_value(value)}."
        record.record(1)
        record.flush()
        assert not any(Path(folder).iterdir())


NO_PLUGIN = (
    'For "SummaryRecord.add_value", no such "plugin" of \'loss\' , expect value is one of ['
    "tensor, scalar, image, histogram, train_lineage, eval_lineage, custom_lineage_data, "
    "dataset_graph, graph, landscape]"
)
NO_NAME = 'For "SummaryRecord", the parameter "name" type should be str, but got \'\' of type str.'
NO_MODE = (
    "For \"SummaryRecord.set_mode\", 'x' is not a recognized mode, "
    'expect the parameter "mode" is "train" or "eval"'
)
NO_TEXT = "For 'SummaryRecord', the name '\\ud800' is no valid Unicode: surrogates not allowed."
NO_GRAPH = (
    "For 'SummaryRecord', graphs of datasets are not written; "
    "'custom_lineage_data' can describe what a run was trained on."
)
NO_IMAGE = (
    "For 'SummaryRecord', the image 'i' must be of shape (n, 1 or 3, height, width), but got (1,)."
)
NO_NETWORK = (
    "For 'SummaryRecord', the type of 'train_network' must be one of Cell, None, "
    "but got 3 of type int."
)
NO_FILTER = (
    "For 'SummaryRecord', the argument 'plugin_filter' must be a function or None, "
    "but got 3 of type int."
)
# The first three are MindSpore's sentences.
CALLS: list[tuple[Callable[[SummaryRecord], object], type[Exception], str]] = [
    (lambda record: record.add_value("loss", "l", ONE), ValueError, NO_PLUGIN),
    (lambda record: record.add_value("scalar", "", ONE), ValueError, NO_NAME),
    (lambda record: record.set_mode("x"), ValueError, NO_MODE),
    (lambda record: record.add_value("scalar", "\ud800", ONE), ValueError, NO_TEXT),
    (lambda record: record.add_value("dataset_graph", "d", ONE), NotImplementedError, NO_GRAPH),
    (lambda record: record.add_value("image", "i", Tensor([1.0])), ValueError, NO_IMAGE),
    (
        lambda record: record.record("a"),  # type: ignore[arg-type]
        TypeError,
        "For 'SummaryRecord', the type of 'step' must be one of int, but got 'a' of type str.",
    ),
    (
        lambda record: record.record(1, train_network=3),  # type: ignore[arg-type]
        TypeError,
        NO_NETWORK,
    ),
    (
        lambda record: record.record(1, plugin_filter=3),  # type: ignore[arg-type]
        TypeError,
        NO_FILTER,
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), CALLS)
def test_method_error_messages(
    tmp_path: Path, call: Callable[[SummaryRecord], object], error: type[Exception], text: str
) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        assert message_of(error, lambda: call(record)) == text
        record.record(1)
    assert not any(tmp_path.iterdir())


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
def test_summary_operation_invalid_values_raise(
    operation: type, name: object, value: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        operation()(name, value)


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
    unknown = "For 'Me', the keys of 'export_options' must be 'tensor_format', but got ['x']."
    with pytest.raises(TypeError, match=re.escape(unknown)):
        check_export_options({"x": "npy", "tensor_format": "npy"}, "Me")
    with pytest.raises(ValueError, match="^For 'Me', the argument 'tensor_format'"):
        check_export_options({"tensor_format": "png"}, "Me")
    with pytest.raises(TypeError, match="^For 'Me', the type of 'tensor_format'"):
        check_export_options({"tensor_format": 3}, "Me")
    for options in (None, {}, {"tensor_format": None}):
        assert check_export_options(options, "Me") is None
    assert check_export_options({"tensor_format": "npy"}, "Me") == "npy"


def test_folder_symbolic_links_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check_folder(str(tmp_path / "link"), "n", "Me") == os.path.realpath(tmp_path / "real")
