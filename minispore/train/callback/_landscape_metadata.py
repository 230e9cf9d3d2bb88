"""What `SummaryCollector` leaves for `SummaryLandscape` beside the parameters, read and checked."""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from minispore._atomic import regular
from minispore.train.callback._summary_options import LandscapeOptions, read_landscape

_OWNER: Final = "SummaryLandscape"
_MOST: Final = 2**63 - 1  # what an event file holds


class LandscapeMetadata(NamedTuple):
    """What is known of the parameters that were saved.

    Attributes:
        intervals: The steps or epochs of each landscape.
        files: The checkpoints by step or epoch.
        step_per_epoch: The steps of an epoch.
        collected: What was asked for.
        options: The same, completed.
    """

    intervals: list[list[int]]
    files: dict[int, str]
    step_per_epoch: int
    collected: Mapping[str, object]
    options: LandscapeOptions


def read_metadata(path: str, owner: str) -> LandscapeMetadata:
    """Read `train_metadata.json`.

    Args:
        path: The file.
        owner: How an error's text begins.

    Raises:
        OSError: There is no such file.
        ValueError: It is not as it was written.
    """
    import json

    with open(path, "rb", opener=regular) as file:
        text = file.read()
    try:
        return _checked(json.loads(text.decode()))
    except (ValueError, TypeError, RecursionError) as error:
        # A value that is wrong may be of any length.
        why = str(error)[:500]
        raise ValueError(f"{owner}, the file '{path}' is not as it was written: {why}.") from error


def _checked(metadata: object) -> LandscapeMetadata:
    items = _object(metadata, "the whole")
    groups = _object(items.get("epoch_group"), "epoch_group")
    files = _object(items.get("model_params_file_map"), "model_params_file_map")
    keys = ("landscape_size", "unit", "num_samples", "create_landscape")
    collected = {key: items[key] for key in keys if key in items}
    return LandscapeMetadata(
        [_numbers(group) for group in groups.values()],
        {_number_of(name): _file(file) for name, file in files.items()},
        _number(items.get("step_per_epoch")),
        collected,
        read_landscape(collected, _OWNER),
    )


def _object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} is no object")
    return cast("dict[str, object]", value)


def _numbers(value: object) -> list[int]:
    if not isinstance(value, list):
        raise ValueError("a group is no list")
    return [_number(item) for item in cast("list[object]", value)]


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is no number of a step or epoch")
    return value


def _number_of(name: str) -> int:
    number = int(name) if name.isdecimal() else -1
    if str(number) != name:
        raise ValueError(f"{name!r} is no number of a step or epoch")
    return _number(number)


def _file(value: object) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is no file's name")
    return value
