"""The newest checkpoint in a folder that a training can be resumed from."""

import json
import os
from typing import Final, NamedTuple, cast

from minispore.train.checkpoint.loading import open_checkpoint
from minispore.train.checkpoint.storage import load
from minispore.train.protocol.state_fields import read_field
from minispore.train.protocol.training_state import ENTRY
from minispore.train.resume.training_checkpoint import (
    TrainingCheckpoint,
    read_training_checkpoint,
    truncate_for_message,
)
from minispore.utils.checks import is_mapping
from minispore.utils.warn import warn_at_caller

_MAX_NAMES: Final = 20  # in a message


class _Position(NamedTuple):
    """The position of a checkpoint in its run.

    Attributes:
        step: The number of the step.
        closed: Whether its epoch is at its end.
        path: The file.
        run: The prefixes of the files that the run writes, which differ from those of other runs.
    """

    step: int
    closed: bool
    path: str
    run: tuple[str, ...]


def read_newest_checkpoint(folder: str | os.PathLike[str]) -> TrainingCheckpoint:
    """Read the checkpoint of the latest step in a folder, whatever the times of the files.

    Files without a training state are ignored, and damaged ones left out with a warning.

    Args:
        folder: The folder; its subfolders are not searched.

    Returns:
        The training state, and the parameters that the file also holds.

    Raises:
        ValueError: No file in the folder can be resumed from, or there are files of several runs.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import CheckpointConfig, Model, ModelCheckpoint
        >>> net = nn.Dense(1, 1)
        >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))
        >>> config = CheckpointConfig(append_info=["training_state"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data = [([[1.0]], [[1.0]])] * 3
        ...     model.train(4, data, ModelCheckpoint("net", folder, config))
        ...     os.path.basename(read_newest_checkpoint(folder).path)
        'net-4_3.ckpt'
    """
    positions: list[_Position] = []
    unusable: list[str] = []
    others: list[str] = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.startswith("."):  # a temporary file
            continue
        if not name.endswith((".ckpt", ".safetensors")) or not os.path.isfile(path):
            others.append(f"'{name}'")
            continue
        try:
            position = _position(path)
        except ValueError as error:
            _warn(error)
            unusable.append(f"'{name}' (damaged)")
            continue
        if position is None:
            unusable.append(f"'{name}' (without a training state)")
        else:
            positions.append(position)
    newest = {position.run: position.path for position in sorted(positions)}
    if len(newest) > 1:
        raise ValueError(
            f"The argument 'resume' is the folder '{os.fspath(folder)}', which "
            "has checkpoints of several runs. Name one of their newest: "
            f"{', '.join(repr(path) for path in newest.values())}."
        )
    for position in sorted(positions, reverse=True):
        try:
            return read_training_checkpoint(position.path)
        except ValueError as error:
            _warn(error)
            unusable.append(f"'{os.path.basename(position.path)}' (damaged)")
    found = [*unusable, *others]
    more = f" and {len(found) - _MAX_NAMES} more" if len(found) > _MAX_NAMES else ""
    raise ValueError(
        f"The argument 'resume' is the folder '{os.fspath(folder)}', which has "
        "no checkpoint to resume from. It has "
        f"{', '.join(found[:_MAX_NAMES]) or 'no files'}{more}."
    )


def _position(path: str) -> _Position | None:
    """Return the position of a checkpoint; None if it has no training state."""
    format_ = "safetensors" if path.endswith(".safetensors") else "ckpt"
    with open_checkpoint(path, format_) as (file, locations, _):
        if ENTRY not in locations:
            return None
        entry = load(file, ENTRY, locations[ENTRY])
    text = entry if isinstance(entry, str) else entry.tobytes().decode(errors="replace")
    try:
        values = cast("dict[str, object]", json.loads(text.partition(" ")[2]))
        states = read_field(values, "states", dict[str, object], "resume")
        step, closed = (
            read_field(values, "step", int, "resume"),
            read_field(values, "closed", bool, "resume"),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"The training state in '{path}' is damaged: {truncate_for_message(str(error))}."
        ) from error
    run = tuple(str(state.get("prefix", "")) for state in states.values() if is_mapping(state))
    return _Position(step, closed, path, run)


def _warn(error: ValueError) -> None:
    warn_at_caller(f"A file in the folder 'resume' is left out. {error}")
