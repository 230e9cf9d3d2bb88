"""Plain values as text and arrays: what a training state is made of, on its way into a file.

A tree of None, bool, int, float, str, lists, tuples and dicts becomes JSON. Arrays and tensors go
beside it, each under a name of its own, and the text refers to them.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore.common import Tensor

Array = npt.NDArray[np.generic]

# Keys of the text's objects that stand for something else than a dict.
_ARRAY, _TENSOR, _TUPLE, _DICT = "$array", "$tensor", "$tuple", "$dict"


def encode(value: object, name: str) -> tuple[str, dict[str, Array]]:
    """The tree as a text, and the arrays to be kept beside it, named `name.0` and so on.

    Raises:
        TypeError: Some value is of another type; the message says where it is.

    Examples:
        >>> encode({"wait": 2, "best": [0.5, (1,)]}, "state")
        ('{"wait": 2, "best": [0.5, {"$tuple": [1]}]}', {})
    """
    import json

    arrays: dict[str, Array] = {}
    return json.dumps(_told(value, "", name, arrays)), arrays


def decode(text: str, name: str, arrays: Mapping[str, Array]) -> object:
    """The tree that `encode` was given.

    Raises:
        ValueError: The text is no such text, or an array is missing or of another size.

    Examples:
        >>> decode('{"wait": 2, "best": [0.5, {"$tuple": [1]}]}', "state", {})
        {'wait': 2, 'best': [0.5, (1,)]}
    """
    import json

    return _read(json.loads(text), name, arrays)


def _told(value: object, where: str, name: str, arrays: dict[str, Array]) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    # A subclass, such as an enumeration's or numpy's, would come back as another type.
    if type(value) in {int, float}:
        return value
    if isinstance(value, Tensor | np.ndarray):
        array = value.asnumpy() if isinstance(value, Tensor) else cast("Array", value)
        kind = _TENSOR if isinstance(value, Tensor) else _ARRAY
        number = len(arrays)
        arrays[f"{name}.{number}"] = array
        # A check sum is of bytes only.
        return {kind: [number, *array.shape]}
    if isinstance(value, list | tuple):
        items = [
            _told(item, f"{where}[{i}]", name, arrays)
            for i, item in enumerate(cast("Sequence[object]", value))
        ]
        return {_TUPLE: items} if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        told: dict[str, object] = {}
        for key, item in cast("Mapping[object, object]", value).items():
            if not isinstance(key, str):
                raise TypeError(f"the key {key!r} at '{where}' is no str")
            told[key] = _told(item, f"{where}.{key}" if where else key, name, arrays)
        return {_DICT: list(told.items())} if any(key.startswith("$") for key in told) else told
    raise TypeError(f"{value!r} at '{where}' is of type {type(value).__name__}")


def _read(value: object, name: str, arrays: Mapping[str, Array]) -> object:
    if isinstance(value, list):
        return [_read(item, name, arrays) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    told = cast("dict[str, object]", value)
    if len(told) == 1:
        ((key, content),) = told.items()
        if key in {_ARRAY, _TENSOR, _TUPLE, _DICT} and not isinstance(content, list):
            raise ValueError(f"{key} without its list")
        if key in {_ARRAY, _TENSOR}:
            number, *shape = cast("list[int]", content)
            array = arrays.get(f"{name}.{number}")
            if array is None:
                raise ValueError(f"there is no '{name}.{number}'")
            array = array.reshape(shape)
            return array if key == _ARRAY else Tensor.from_numpy(array)
        if key == _TUPLE:
            return tuple(_read(item, name, arrays) for item in cast("list[object]", content))
        if key == _DICT:
            pairs = cast("list[tuple[str, object]]", content)
            return {key: _read(item, name, arrays) for key, item in pairs}
    return {key: _read(item, name, arrays) for key, item in told.items()}
