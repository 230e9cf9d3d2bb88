"""A value with its place in the graph."""

from typing import ClassVar, TypeVar, cast

import numpy as np

from minispore._array import Array, Shape
from minispore._autograd import Node


class Variable:
    """An array, and the node that made it if it was recorded. `Tensor` is its public form."""

    __slots__ = ("__weakref__", "_data", "_node")

    _data: Array
    _node: Node | None
    # What operations on this class return: the sum of two Parameters is a Tensor.
    _result: ClassVar[type["Variable"]]

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self._data.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim


T = TypeVar("T", bound=Variable)


def wrap(data: Array, like: T, node: Node | None = None) -> T:
    """`data` as a value of the kind that operations on `like` return."""
    value = object.__new__(like._result)
    if isinstance(data, np.generic):
        # numpy answers with a scalar where a result has no axes.
        data = cast("Array", np.asarray(data))
    value._data = data
    value._node = node
    return cast("T", value)
