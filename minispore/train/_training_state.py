"""The state of a training beside its parameters: in a checkpoint one text, and arrays beside it.

Other programs, real MindSpore among them, see an ordinary checkpoint with some more values.
"""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore.common import Parameter
from minispore.common.tensor import host_tensor
from minispore.train._state_values import decode, encode
from minispore.train.serialization import load_checkpoint

Array = npt.NDArray[np.generic]

# The name of the text; the arrays' names begin with it.
ENTRY = "training_state"
_VERSION = 1
_LONGEST = 5000  # characters of a message


@dataclass(frozen=True)
class TrainingState:
    """Everything that a training goes on from, except its parameters.

    Attributes:
        text: The state, with a check sum of it and of the arrays.
        arrays: What the text refers to.
    """

    text: str
    arrays: Mapping[str, Array]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "TrainingState":
        """The state that consists of these values, as they are now.

        Raises:
            TypeError: One of them cannot be saved; the message says where it is.
        """
        try:
            text, arrays = encode({"version": _VERSION, **values}, ENTRY)
        except TypeError as error:
            raise TypeError(f"The training state cannot be saved: {error}.") from None
        return cls(f"{_check_sum(text, arrays):08x} {text}", arrays)

    def values(self) -> dict[str, object]:
        """The values that the state consists of.

        Raises:
            ValueError: It is damaged, or of a later version.
        """
        head, _, text = self.text.partition(" ")
        if head != f"{_check_sum(text, self.arrays):08x}":
            raise ValueError("its check sum is not that of its content")
        values = cast("dict[str, object]", decode(text, ENTRY, self.arrays))
        if values["version"] != _VERSION:
            raise ValueError(f"it is of version {values['version']}, and only {_VERSION} is known")
        return values

    def entries(self, format: str = "ckpt") -> dict[str, object]:
        """What is written beside the parameters: an `append_dict` for `save_checkpoint`."""
        entries: dict[str, object] = {
            name: host_tensor(array) for name, array in self.arrays.items()
        }
        text: object = self.text
        if format == "safetensors":  # which holds no texts
            text = host_tensor(np.frombuffer(self.text.encode(), np.uint8).copy())
        return {ENTRY: text} | entries


@dataclass(frozen=True)
class TrainingCheckpoint:
    """What a file holds to go on from.

    Attributes:
        path: The file.
        state: The training state, and its values.
        values: The same, decoded.
        parameters: Everything else in the file, by name.
    """

    path: str
    state: TrainingState
    values: Mapping[str, object]
    parameters: Mapping[str, Parameter]


def read_training_checkpoint(path: str | os.PathLike[str]) -> TrainingCheckpoint:
    """Read a file that was saved with a training state.

    Raises:
        TypeError: `path` is no path.
        ValueError: There is no such file, or it is damaged or holds no training state.
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
    own = [name for name in parameters if name.startswith(f"{ENTRY}.")]
    state = TrainingState(text, {name: parameters.pop(name).asnumpy() for name in own})
    try:
        return TrainingCheckpoint(file, state, state.values(), parameters)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"The training state in '{file}' is damaged: {printable(str(error))}."
        ) from error


def printable(text: str) -> str:
    """A text with parts of a file, of which damage may have made what no screen can show."""
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} …"
    return text.encode(errors="backslashreplace").decode()


def _check_sum(text: str, arrays: Mapping[str, Array]) -> int:
    total = zlib.crc32(text.encode(errors="replace"))
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), total)
    return total
