"""The training state: everything besides the parameters that a training is resumed from.

A checkpoint holds it as one JSON text, and the arrays that the text refers to, so other programs,
MindSpore among them, read an ordinary checkpoint with some more values.
"""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NotRequired, TypedDict, TypeVar, cast, get_origin

import numpy as np

from minispore.common import Parameter, Tensor
from minispore.common.tensor import tensor_of
from minispore.engine.array import is_ndarray
from minispore.train.checkpoint.loading import load_checkpoint
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import caller, is_dict, is_list, is_mapping, is_sequence

T = TypeVar("T")

# The name of the text in a checkpoint; the names of the arrays begin with it.
ENTRY: Final = "training_state"
_VERSION: Final = 1
_MAX_MESSAGE: Final = 5000  # characters
# JSON objects with one of these keys stand for something else than a dict.
_ARRAY, _TENSOR, _TUPLE, _DICT = "$array", "$tensor", "$tuple", "$dict"


@dataclass(frozen=True)
class TrainingState:
    """Everything besides the parameters that a training is resumed from, encoded for a file.

    Attributes:
        text: The state as JSON, after a checksum of the JSON and the arrays.
        arrays: The arrays that the text refers to, by name.

    Examples:
        >>> state = TrainingState.of({"epoch": 2})
        >>> state.text
        '345f2b37 {"version": 1, "epoch": 2}'
        >>> state.values()
        {'version': 1, 'epoch': 2}
    """

    text: str
    arrays: Mapping[str, AnyArray]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> "TrainingState":
        """Return the state that consists of the current values.

        Raises:
            TypeError: A value cannot be saved; the message contains its path.
        """
        try:
            text, arrays = encode({"version": _VERSION, **values}, ENTRY)
        except TypeError as error:
            raise TypeError(f"The training state cannot be saved: {error}.") from None
        return cls(f"{_checksum(text, arrays):08x} {text}", arrays)

    def values(self) -> dict[str, object]:
        """Return the decoded values.

        Raises:
            ValueError: The state is damaged, or of a later version.
        """
        head, _, text = self.text.partition(" ")
        if head != f"{_checksum(text, self.arrays):08x}":
            raise ValueError("its checksum does not match its content")
        values = cast("dict[str, object]", decode(text, ENTRY, self.arrays))
        if values["version"] != _VERSION:
            raise ValueError(f"it is of version {values['version']}, and only {_VERSION} is known")
        return values

    def entries(self, format: str = "ckpt") -> dict[str, object]:
        """Return the values to write besides the parameters: `save_checkpoint`'s `append_dict`."""
        text: object = self.text
        if format == "safetensors":  # which holds no texts
            text = tensor_of(np.frombuffer(self.text.encode(), np.uint8).copy())
        return {ENTRY: text, **{name: tensor_of(array) for name, array in self.arrays.items()}}


class TrainingValues(TypedDict):
    """The values of a training state, as `Boundary` saves them.

    Those of a file have these types only after `check_compatible`.
    """

    initial_epoch: int
    batch_num: int
    epoch: int
    closed: bool
    step: int
    finished: bool
    net_outputs: list[object]
    parameters: list[str]
    callbacks: list[str]
    states: dict[str, object]  # of each callback a dict, or None
    savers: list[int]
    data: dict[str, object]
    random: dict[str, object]
    # Older versions have saved none.
    fingerprint: NotRequired[dict[str, str]]


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
    values: TrainingValues
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
        values = cast("TrainingValues", state.values())
        return TrainingCheckpoint(file, state, values, parameters)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"The training state in '{file}' is damaged: {truncate_for_message(str(error))}."
        ) from error


def truncate_for_message(text: str) -> str:
    """Return `text`, which may hold parts of a damaged file, in a form that can be printed."""
    if len(text) > _MAX_MESSAGE:
        text = f"{text[:_MAX_MESSAGE]} …"
    return text.encode(errors="backslashreplace").decode()


def _checksum(text: str, arrays: Mapping[str, AnyArray]) -> int:
    total = zlib.crc32(text.encode(errors="replace"))
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), total)
    return total


# Encoding.


def encode(value: object, name: str) -> tuple[str, dict[str, AnyArray]]:
    """Encode a tree of values as JSON.

    Args:
        value: None, a bool, int, float, str, `Tensor` or numpy array, or a list, tuple or dict of
            such values with str as keys.
        name: The prefix of the arrays' names.

    Returns:
        The JSON text, and the arrays and tensors in `value`, named ``name.0``, ``name.1`` and so
        on.

    Raises:
        TypeError: A value is of another type; the message contains its path.

    Examples:
        >>> encode({"wait": 2, "best": [0.5, (1,)]}, "state")
        ('{"wait": 2, "best": [0.5, {"$tuple": [1]}]}', {})
    """
    import json

    arrays: dict[str, AnyArray] = {}
    return json.dumps(_encode_item(value, "", name, arrays)), arrays


def decode(text: str, name: str, arrays: Mapping[str, AnyArray]) -> object:
    """Return the tree of values that `encode` encoded.

    Args:
        text: The JSON text.
        name: The prefix of the arrays' names.
        arrays: The arrays by name.

    Returns:
        A tree that is equal to the encoded one, with new containers.

    Raises:
        ValueError: The text is not such a text, or an array is missing or of another size.

    Examples:
        >>> decode('{"wait": 2, "best": [0.5, {"$tuple": [1]}]}', "state", {})
        {'wait': 2, 'best': [0.5, (1,)]}
    """
    import json

    return _decode_item(json.loads(text), name, arrays)


def _encode_item(value: object, path: str, name: str, arrays: dict[str, AnyArray]) -> object:
    # Of int and float not their subclasses, such as an enumeration's: they would be decoded as int.
    if value is None or isinstance(value, bool | str) or type(value) in {int, float}:
        return value
    if isinstance(value, Tensor) or is_ndarray(value):
        array = value.asnumpy() if isinstance(value, Tensor) else value
        number = len(arrays)
        arrays[f"{name}.{number}"] = array
        # The shape is in the text, since a checksum covers an array's bytes only.
        return {_TENSOR if isinstance(value, Tensor) else _ARRAY: [number, *array.shape]}
    if is_sequence(value):
        items = [_encode_item(x, f"{path}[{i}]", name, arrays) for i, x in enumerate(value)]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if is_mapping(value):
        encoded: dict[str, object] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} at '{path}' is not a str")
            encoded[key] = _encode_item(item, f"{path}.{key}" if path else key, name, arrays)
        ambiguous = any(key.startswith("$") for key in encoded)
        return {_DICT: list(encoded.items())} if ambiguous else encoded
    raise TypeError(f"{value!r} at '{path}' is of type {type(value).__name__}")


def _decode_item(value: object, name: str, arrays: Mapping[str, AnyArray]) -> object:
    if is_list(value):
        return [_decode_item(item, name, arrays) for item in value]
    if not is_dict(value):
        return value
    key, content = next(iter(value.items())) if len(value) == 1 else ("", None)
    if key not in {_ARRAY, _TENSOR, _TUPLE, _DICT}:
        return {key: _decode_item(item, name, arrays) for key, item in value.items()}
    if not is_list(content):
        raise ValueError(f"{key} without its list")
    if key == _TUPLE:
        return tuple(_decode_item(item, name, arrays) for item in content)
    if key == _DICT:
        pairs = cast("list[tuple[str, object]]", content)
        return {key: _decode_item(item, name, arrays) for key, item in pairs}
    number, *shape = cast("list[int]", content)
    array = arrays.get(f"{name}.{number}")
    if array is None:
        raise ValueError(f"there is no '{name}.{number}'")
    array = array.reshape(shape)
    return array if key == _ARRAY else Tensor.from_numpy(array)


# Reading the states of callbacks.


def read_field(state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None) -> T:
    """Return `state[key]`, which must be of type `kind`; an int is accepted for a float.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type. Of `list[int]`, only the class is checked.
        owner: The name in the error; by default that of the callback.

    Returns:
        The value, as a float if `kind` is float.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_field({"wait": 2}, "wait", int, "EarlyStopping")
        2
        >>> read_field({"wait": "long"}, "wait", int, "EarlyStopping")
        Traceback (most recent call last):
        ValueError: For 'EarlyStopping', the state's 'wait' must be of type int, but got 'long'.
    """
    cls: type[T] = get_origin(kind) or kind
    if key not in state:
        raise ValueError(f"For '{owner or caller()}', the state holds no '{key}'.")
    value = state[key]
    if kind is float and type(value) is int:
        return read_field({key: float(value)}, key, kind, owner)
    if not isinstance(value, cls) or (isinstance(value, bool) and kind is int):
        raise ValueError(
            f"For '{owner or caller()}', the state's '{key}' must be of type {cls.__name__}, "
            f"but got {value!r}."
        )
    return value


def read_dict_field(
    state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None
) -> dict[str, T]:
    """Return a copy of `state[key]`, which must be a dict with values of type `kind`.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type of the values.
        owner: The name in the error; by default that of the callback.

    Returns:
        A new dict of the values, converted as by `read_field`.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_dict_field({"best": {"loss": 0.5}}, "best", float, "BestCheckpoint")
        {'loss': 0.5}
    """
    values = read_field(state, key, dict[str, object], owner)
    path = f"{owner or caller()}.{key}"
    return {name: read_field(values, name, kind, path) for name in values}


def read_list_field(
    state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None
) -> list[T]:
    """Return a copy of `state[key]`, which must be a list with items of type `kind`.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type of the items.
        owner: The name in the error; by default that of the callback.

    Returns:
        A new list of the items, converted as by `read_field`.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_list_field({"epoch": [1, 2]}, "epoch", int, "History")
        [1, 2]
    """
    items = read_field(state, key, list[object], owner)
    indexed = {key: {str(i): item for i, item in enumerate(items)}}
    return list(read_dict_field(indexed, key, kind, owner).values())
