"""Which library does an array belong to? One table from array type to namespace."""

from typing import Any, cast

import numpy as np

from minispore._array import _numpy
from minispore._array.protocol import A, Array, DeviceNamespace, Namespace

NUMPY = cast("DeviceNamespace[Array]", _numpy)

# numpy's scalars are what its reductions return; they take the same functions.
_NAMESPACES: dict[type, Any] = {np.ndarray: NUMPY, np.generic: NUMPY}


def register(array_type: type[A], names: Namespace[A]) -> None:
    """Let arrays of `array_type` be computed with the functions of `names`."""
    _NAMESPACES[array_type] = names


def namespace(x: A) -> Namespace[A]:
    """The functions that compute with arrays of `x`'s kind.

    >>> namespace(np.zeros(2)).exp(np.zeros(2))
    array([1., 1.])
    """
    # Every operation passes here: nothing is called that need not be, not even `cast`.
    try:
        names: Namespace[A] = _NAMESPACES[type(x)]
    except KeyError:
        names = _inherited(type(x))
    return names


def device_namespace(x: A) -> DeviceNamespace[A]:
    """As `namespace`, for an array known to hold memory (not a Tensor)."""
    try:
        names: DeviceNamespace[A] = _NAMESPACES[type(x)]
    except KeyError:
        names = _inherited(type(x))
    return names


def _inherited(kind: type) -> Any:  # noqa: ANN401 (a namespace of arrays of that type)
    for base in kind.__mro__:
        if base in _NAMESPACES:
            _NAMESPACES[kind] = _NAMESPACES[base]
            return _NAMESPACES[base]
    raise TypeError(f"No array namespace is registered for objects of type {kind.__name__}.")
