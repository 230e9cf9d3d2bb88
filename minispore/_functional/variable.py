"""A value with its place in the graph."""

from typing import Any, ClassVar, TypeVar, cast

from numpy import asarray, generic

from minispore._array import Array, Shape, own
from minispore._autograd import Node, in_record_block, is_recording
from minispore._checks import described


class Variable:
    """An array, and the node that made it if it was recorded. `Tensor` is its public form."""

    __slots__ = ("__weakref__", "_data", "_node")

    _data: Array
    _node: Node | None
    # What operations on this class return: the sum of two Parameters is a Tensor.
    _result: ClassVar[type[Any]]

    @property
    def shape(self) -> Shape:
        """The lengths of the axes."""
        return self._data.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim


T = TypeVar("T", bound=Variable)


def check_tensor(x: object, owner: str, name: str = "input") -> None:
    """Raise TypeError unless `x`, the argument `name` of the function `owner`, is a variable."""
    if not isinstance(x, Variable):
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be a Tensor, but got {described(x)}."
        )


# Every operation passes through here: no look-up is made twice.
_new = object.__new__


def wrap(data: Array, like: T, node: Node | None = None) -> T:
    """`data` as a value of the kind that operations on `like` return."""
    value: T = _new(like._result)
    # numpy answers with a scalar where a result has no axes.
    value._data = cast("Array", asarray(data)) if isinstance(data, generic) else data
    value._node = node
    return value


def is_recorded(x: Variable) -> bool:
    """Return whether operations on `x` are recorded now."""
    return x._node is not None and is_recording()


def writable(x: Variable) -> Array:
    """Return the memory of `x` to write to; while a gradient is being computed it is a new copy.

    The graph keeps arrays that the pullbacks need, and they must stay what they were.
    """
    if in_record_block():
        x._data = own(x._data, copy=True)
    return x._data
