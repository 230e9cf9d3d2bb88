"""The checkpoint that a training can be resumed from."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from minispore.common import Parameter
from minispore.train.checkpoint.loading import load_checkpoint
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.train.protocol.training_state import ENTRY, TrainingState

_MAX_MESSAGE: Final = 5000  # characters


class TrainingValues(StatefulMixin):
    """The values of a training state, as `Boundary` saves them."""

    initial_epoch: StateField[int] = StateField(int)
    batch_num: StateField[int] = StateField(int)
    epoch: StateField[int] = StateField(int)
    closed: StateField[bool] = StateField(bool)
    step: StateField[int] = StateField(int)
    finished: StateField[bool] = StateField(bool)
    net_outputs: StateField[list[object]] = StateField(list[object])
    parameters: StateField[list[str]] = StateField(list[str])
    callbacks: StateField[list[str]] = StateField(list[str])
    states: StateField[dict[str, object]] = StateField(
        dict[str, object]
    )  # of each callback a dict, or None
    savers: StateField[list[int]] = StateField(list[int])
    data: StateField[dict[str, object]] = StateField(dict[str, object])
    random: StateField[dict[str, object]] = StateField(dict[str, object])
    fingerprint: StateField[dict[str, str]] = StateField(
        dict[str, str]
    )  # {} if an older version has saved none


@dataclass(frozen=True)
class TrainingCheckpoint:
    """The content of a checkpoint that a training can be resumed from.

    Attributes:
        path: The file.
        state: The training state.
        values: The decoded values of the training state, which `check_compatible` checks.
        parameters: All other values of the file by name.
    """

    path: str
    state: TrainingState
    values: Mapping[str, object]
    parameters: Mapping[str, Parameter]


def read_training_checkpoint(path: str | os.PathLike[str]) -> TrainingCheckpoint:
    """Read a checkpoint that was saved with a training state.

    Args:
        path: The file; a name that ends with ".safetensors" is of that format.

    Returns:
        The training state, and the parameters that the file also holds.

    Raises:
        TypeError: `path` is not a path.
        ValueError: The file does not exist, is damaged, or holds no training state.

    Examples:
        >>> import tempfile
        >>> from minispore import nn
        >>> from minispore.train import save_checkpoint
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = folder.name + "/net.ckpt"
        >>> state = TrainingState.of({"step": 7})
        >>> save_checkpoint(nn.Dense(3, 2), path, append_dict=state.entries())
        >>> checkpoint = read_training_checkpoint(path)
        >>> checkpoint.values, list(checkpoint.parameters)
        ({'version': 1, 'step': 7}, ['weight', 'bias'])
        >>> folder.cleanup()
    """
    file = os.fspath(path)
    loaded = load_checkpoint(
        file, format="safetensors" if file.endswith(".safetensors") else "ckpt"
    )
    text = loaded.pop(ENTRY, None)
    if isinstance(text, Parameter):
        text = text.asnumpy().tobytes().decode(errors="replace")
    if text is None:
        raise ValueError(
            f"The checkpoint file '{file}' holds no training state to resume from. Files that do "
            "are saved by ModelCheckpoint with CheckpointConfig(append_info=['training_state']), "
            "by BackupAndRestore and by OnRequestExit."
        )
    parameters = {name: item for name, item in loaded.items() if isinstance(item, Parameter)}
    names = [name for name in parameters if name.startswith(f"{ENTRY}.")]
    state = TrainingState(text, {name: parameters.pop(name).asnumpy() for name in names})
    try:
        return TrainingCheckpoint(file, state, state.values(), parameters)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"The training state in '{file}' is damaged: {truncate_for_message(str(error))}."
        ) from error


def truncate_for_message(text: str) -> str:
    """Return `text`, which may hold parts of a damaged file, in a form that can be printed."""
    if len(text) > _MAX_MESSAGE:
        text = f"{text[:_MAX_MESSAGE]} …"
    return text.encode(errors="backslashreplace").decode()
