"""What a SummaryRecord refuses, word for word."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from minispore import Tensor
from minispore.train import SummaryRecord
from minispore.train.summary._arguments import check_folder
from minispore.train.summary._export import check_options, export
from minispore.train.summary._lineage import EvaluationLineage, TrainLineage, check_custom

ONE = Tensor(1.0)
PLUGINS = (
    "tensor, scalar, image, histogram, train_lineage, eval_lineage, custom_lineage_data, "
    "dataset_graph, graph, landscape"
)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (
            {"log_dir": 5},
            TypeError,
            (
                "For 'SummaryRecord', The log_dir is invalid, the type should be string, "
                "but got 5 of type int."
            ),
        ),
        (
            {"log_dir": " "},
            ValueError,
            "For 'SummaryRecord', The log_dir is invalid, it should be non-blank.",
        ),
        (
            {"file_prefix": 3},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'file_prefix' must be one of str, "
                "but got 3 of type int."
            ),
        ),
        (
            {"file_prefix": "a/b"},
            ValueError,
            (
                "For 'SummaryRecord', the argument 'file_prefix' must be made of letters, digits, "
                "'_' and '.', but got 'a/b'."
            ),
        ),
        (
            {"file_suffix": None},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'file_suffix' must be one of str, "
                "but got None of type NoneType."
            ),
        ),
        (
            {"file_suffix": "é"},
            ValueError,
            (
                "For 'SummaryRecord', the argument 'file_suffix' must be made of letters, digits, "
                "'_' and '.', but got 'é'."
            ),
        ),
        (
            {"num_process": 0},
            ValueError,
            "For 'SummaryRecord', the argument 'num_process' must be at least 1, but got 0.",
        ),
        (
            {"network": 3},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'network' must be one of Cell, None, "
                "but got 3 of type int."
            ),
        ),
        (
            {"max_file_size": 1.5},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'max_file_size' must be one of int, None, "
                "but got 1.5 of type float."
            ),
        ),
        (
            {"raise_exception": 1},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'raise_exception' must be one of bool, "
                "but got 1 of type int."
            ),
        ),
        (
            {"export_options": 3},
            TypeError,
            (
                "For 'SummaryRecord', the type of 'export_options' must be one of dict, None, "
                "but got 3 of type int."
            ),
        ),
        (
            {"export_options": {"x": "npy", "tensor_format": "npy"}},
            ValueError,
            (
                "For 'SummaryRecord', the keys ['x'] of 'export_options' are unsupported, "
                "expect the follow keys: ['tensor_format']"
            ),
        ),
        (
            {"export_options": {"tensor_format": "csv"}},
            ValueError,
            (
                "For 'SummaryRecord', the 'tensor_format' of 'export_options' must be one of "
                "[None, 'npy'], but got 'csv'."
            ),
        ),
    ],
)
def test_arguments_by_name(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception], text: str
) -> None:
    given: dict[str, object] = {"log_dir": str(tmp_path / "never"), **arguments}
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        SummaryRecord(**given)  # type: ignore[arg-type]
    assert not (tmp_path / "never").exists()


Call: TypeAlias = Callable[[SummaryRecord], object]


def no_value(plugin: str, wanted: str) -> tuple[Call, type[Exception], str]:
    return (
        lambda record: record.add_value(plugin, "x", 1.5),
        TypeError,
        (
            f'For "SummaryRecord", the parameter "value" expect to be {wanted} for \'{plugin}\', '
            "but got 1.5 of type float."
        ),
    )


CALLS: list[tuple[Call, type[Exception], str]] = [
    no_value("scalar", "Tensor"),
    no_value("image", "Tensor"),
    no_value("tensor", "Tensor"),
    no_value("histogram", "Tensor"),
    no_value("landscape", "Landscape"),
    no_value("train_lineage", "TrainLineage"),
    no_value("eval_lineage", "EvaluationLineage"),
    (
        lambda record: record.add_value("graph", "x", 1.5),
        TypeError,
        (
            "For 'SummaryRecord', a graph must be a Cell or the bytes of a GraphDef, "
            "but got 1.5 of type float."
        ),
    ),
    (
        lambda record: record.add_value("image", "i", Tensor([1.0])),
        ValueError,
        (
            "For 'SummaryRecord', the image 'i' must be of shape (n, 1 or 3, height, width), "
            "but got (1,)."
        ),
    ),
    (
        lambda record: record.add_value("dataset_graph", "d", ONE),
        NotImplementedError,
        (
            "For 'SummaryRecord', graphs of datasets are not written; "
            "'custom_lineage_data' can say in words what a run was trained on."
        ),
    ),
    (
        lambda record: record.add_value("custom_lineage_data", "c", []),
        TypeError,
        (
            "For `custom_lineage_data` the type should be a valid type of "
            "['dict', 'NoneType'], but got list."
        ),
    ),
    (
        lambda record: record.add_value("loss", "l", ONE),
        ValueError,
        (
            'For "SummaryRecord.add_value", no such "plugin" of \'loss\' , '
            f"expect value is one of [{PLUGINS}]"
        ),
    ),
    (
        lambda record: record.add_value("scalar", "", ONE),
        ValueError,
        ('For "SummaryRecord", the parameter "name" type should be str, but got \'\' of type str.'),
    ),
    (
        lambda record: record.add_value("scalar", "\ud800", ONE),
        ValueError,
        "For 'SummaryRecord', the name '\\ud800' is no valid Unicode: surrogates not allowed.",
    ),
    (
        lambda record: record.set_mode("x"),
        ValueError,
        (
            "For \"SummaryRecord.set_mode\", 'x' is not a recognized mode, "
            'expect the parameter "mode" is "train" or "eval"'
        ),
    ),
    (
        lambda record: record.record(1.0),  # type: ignore[arg-type]
        TypeError,
        ("For 'SummaryRecord', the type of 'step' must be one of int, but got 1.0 of type float."),
    ),
    (
        lambda record: record.record(1, train_network=3),  # type: ignore[arg-type]
        TypeError,
        (
            "For 'SummaryRecord', the type of 'train_network' must be one of Cell, None, "
            "but got 3 of type int."
        ),
    ),
    (
        lambda record: record.record(1, plugin_filter=3),  # type: ignore[arg-type]
        TypeError,
        (
            "For 'SummaryRecord', the argument 'plugin_filter' must be a function or None, "
            "but got 3 of type int."
        ),
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), CALLS)
def test_what_a_record_refuses(
    tmp_path: Path, call: Call, error: type[Exception], text: str
) -> None:
    with SummaryRecord(str(tmp_path)) as record:
        with pytest.raises(error, match=f"^{re.escape(text)}$"):
            call(record)
        record.record(1)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (
            [],
            TypeError,
            "For `n` the type should be a valid type of ['dict', 'NoneType'], but got list.",
        ),
        ({3: 1}, TypeError, "For `n -> 3` the type should be a valid type of ['str']."),
        (
            {"a": True},
            TypeError,
            (
                "For `the value of n -> a` the type should be a valid type of "
                "['int', 'str', 'float'], but got bool."
            ),
        ),
        (
            {"a": None},
            TypeError,
            (
                "For `the value of n -> a` the type should be a valid type of "
                "['int', 'str', 'float'], but got NoneType."
            ),
        ),
        *(
            (
                {"a": number},
                ValueError,
                f"For `the value of n -> a`, an int must fit in 32 bits, but got {number}.",
            )
            for number in (2**31, -(2**31) - 1)
        ),
    ],
)
def test_a_custom_lineage_that_cannot_be_written(
    value: object, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        check_custom(value, "n")


def test_a_custom_lineage_of_all_that_can_be_written() -> None:
    good = {"a": 2**31 - 1, "b": -(2**31), "c": 0.5, "d": "x"}
    assert check_custom(good, "n") == good


def test_who_asks_is_named() -> None:
    with pytest.raises(TypeError, match="^For 'Me', The folder is invalid"):
        check_folder(None, "folder", "Me")
    with pytest.raises(ValueError, match="^For 'Me', the 'tensor_format'"):
        check_options({"tensor_format": 3}, "Me")
    assert check_options(None, "Me") == check_options({"tensor_format": None}, "Me") == {}
    assert check_options({"tensor_format": "npy"}, "Me") == {"tensor_format": "npy"}


def test_a_folder_is_where_its_links_lead(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert check_folder(str(tmp_path / "link"), "n", "Me") == os.path.realpath(tmp_path / "real")


def test_what_is_exported_again_replaces_the_first(tmp_path: Path) -> None:
    for number in (1, 2):
        export(str(tmp_path), "a", 3, np.array([number]))
    assert np.load(tmp_path / "tensor" / "a_3.npy").tolist() == [2]


def test_lineages_have_mindspores_defaults() -> None:
    assert TrainLineage("Net") == (
        "Net", "", "", 0.0, 0.0, 0, 0, 0, '{"ckpt": null}', 0, "stand_alone", 1
    )  # fmt: skip
    assert EvaluationLineage({}) == ({}, 0)
