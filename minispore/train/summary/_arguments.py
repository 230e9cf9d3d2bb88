"""The checks of a summary record's arguments."""

import os
import re
from typing import Final, cast

from minispore._checks import check_type
from minispore.ops._summary import check_unicode
from minispore.train.summary._lineage import (
    EvaluationLineage,
    Lineage,
    TrainLineage,
    check_custom,
)

OWNER: Final = "SummaryRecord"


def check_folder(value: object, name: str, owner: str) -> str:
    """Return a folder's path without symbolic links; TypeError or ValueError if it is none."""
    if not isinstance(value, str):
        raise TypeError(
            f"For '{owner}', The {name} is invalid, the type should be string, "
            f"but got {value!r} of type {type(value).__name__}."
        )
    if not value.strip():
        raise ValueError(f"For '{owner}', The {name} is invalid, it should be non-blank.")
    return os.path.realpath(value)


def check_name(name: object) -> None:
    """Raise ValueError unless `name` is a text that a file can hold."""
    if not isinstance(name, str) or not name:
        raise ValueError(
            'For "SummaryRecord", the parameter "name" type should be str, '
            f"but got {name!r} of type {type(name).__name__}."
        )
    check_unicode(name, OWNER)


def check_part(text: object, name: str) -> None:
    """Raise TypeError or ValueError unless `text` can be a part of a file's name."""
    check_type(text, str, name, OWNER)
    if not re.fullmatch(r"\w[0-9a-zA-Z_.]*", cast("str", text), re.ASCII):
        raise ValueError(
            f"For '{OWNER}', the argument '{name}' must be made of letters, digits, '_' and '.', "
            f"but got {text!r}."
        )


def check_value(value: object, wanted: type, plugin: str) -> None:
    """Raise TypeError unless `value` is what a value of this kind must be."""
    if not isinstance(value, wanted):
        raise TypeError(
            f'For "SummaryRecord", the parameter "value" expect to be {wanted.__name__} '
            f"for '{plugin}', but got {value!r} of type {type(value).__name__}."
        )


def as_lineage(plugin: str, value: object) -> Lineage:
    """Return `value` as what a lineage of this kind is made of."""
    if plugin == "custom_lineage_data":
        return check_custom(value, plugin)
    if plugin == "dataset_graph":
        raise NotImplementedError(
            "For 'SummaryRecord', graphs of datasets are not written; "
            "'custom_lineage_data' can say in words what a run was trained on."
        )
    wanted = TrainLineage if plugin == "train_lineage" else EvaluationLineage
    check_value(value, wanted, plugin)
    return cast("Lineage", value)
