"""The training state: everything besides the parameters that a training is resumed from.

A checkpoint holds it as one JSON text, and the arrays that the text refers to, so other programs,
MindSpore among them, read an ordinary checkpoint with some more values.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

import numpy as np

from minispore.engine.array import is_ndarray
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import is_dict, is_list, is_mapping, is_sequence

# The name of the text in a checkpoint; the names of the arrays begin with it.
ENTRY: Final = "training_state"
_VERSION: Final = 1
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


def _checksum(text: str, arrays: Mapping[str, AnyArray]) -> int:
    total = zlib.crc32(text.encode(errors="replace"))
    for name in sorted(arrays):
        total = zlib.crc32(np.ascontiguousarray(arrays[name]).tobytes(), total)
    return total


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
