"""A parameter: a named tensor that belongs to a network and is trained."""

from collections.abc import Iterable
from itertools import count
from typing import Self

from minispore._autograd import Node
from minispore._functional import indexing
from minispore.common.tensor import Operand, Tensor

_unnamed = count(1)


class Parameter(Tensor):
    """A tensor with a name that an optimiser updates in place.

    >>> import minispore as ms
    >>> ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
    Parameter (name=weight, shape=(2,), dtype=Float32, requires_grad=True)

    Its memory is its own: data given to it are copied. Writing into a parameter changes that memory
    and is never recorded.

    Source: MindSpore's `mindspore.Parameter`.

    Args:
        default_input: The first values: whatever makes a Tensor.
        name: The name; a cell gives one to a parameter that has none.
        requires_grad: Whether it is trained.

    Raises:
        TypeError: The values cannot make a Tensor.
        ValueError: `name` is neither a string nor None.
    """

    __slots__ = ("_name", "_named")

    def __init__(
        self, default_input: object, name: str | None = None, requires_grad: bool = True
    ) -> None:
        super().__init__(default_input)
        self._named = name is not None
        self._name = _checked(f"Parameter#{next(_unnamed)}" if name is None else name)
        self.requires_grad = requires_grad

    @property
    def name(self) -> str:
        """The name, unique within a network."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = _checked(value)
        self._named = True

    @property
    def has_default_name(self) -> bool:
        """Whether nobody has given it a name yet."""
        return not self._named

    @property
    def requires_grad(self) -> bool:
        """Whether it is trained: whether operations on it are recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"For 'Parameter', 'requires_grad' must be a bool, but got {value!r}."
            )
        # A parameter is an input of every graph it occurs in, under one node for all its life.
        self._node = (self._node or Node()) if value else None

    @property
    def data(self) -> Tensor:
        """The values as a plain tensor in the same memory."""
        return self.value()

    def value(self) -> Tensor:
        """The values as a plain tensor in the same memory."""
        tensor = object.__new__(Tensor)
        tensor._data, tensor._node = self._data, None
        return tensor

    def set_data(self, data: object, slice_shape: bool = False) -> "Parameter":
        """Take other values, in the parameter's type; the shape may change.

        Args:
            data: Whatever makes a Tensor.
            slice_shape: Accepted for MindSpore's sake.

        Raises:
            TypeError: The values cannot make a Tensor.
        """
        self._data = Tensor(data).astype(self.dtype)._data
        return self

    def clone(self, init: str = "same") -> "Parameter":
        """A parameter of the same values, name and kind in memory of its own.

        Raises:
            ValueError: `init` is not "same".
        """
        if init != "same":
            raise ValueError(f"For 'clone', the argument 'init' must be 'same', but got {init!r}.")
        return Parameter(self, self._name, self.requires_grad)

    def copy(self) -> "Parameter":
        """As `clone`."""
        return self.clone()

    def __copy__(self) -> "Parameter":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> "Parameter":
        # Found again in the memo, a parameter used twice in a network stays one parameter.
        return self.clone()

    def __reduce__(self) -> tuple[object, ...]:
        return Parameter, (self.asnumpy(), self._name, self.requires_grad)

    def __setitem__(self, index: object, value: Operand) -> None:
        indexing.assign_at(self, index, value)

    def _assign(self, other: Tensor) -> "Parameter":
        indexing.assign_at(self, ..., other)
        return self

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self._name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__


class ParameterTuple(tuple[Parameter, ...]):
    """Parameters that belong together; each may be in it once only by name.

    Raises:
        TypeError: Something in it is no Parameter.
        ValueError: Two parameters have one name.
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Parameter]) -> Self:
        """Check and hold the parameters."""
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(
                    "For 'ParameterTuple', each item must be a Parameter, "
                    f"but got {item!r} of type {type(item).__name__}."
                )
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: str = "same") -> "ParameterTuple":
        """Clones of all, their names prefixed with `prefix` and a dot.

        Args:
            prefix: What goes before each name.
            init: "same" for the same values, or an initialiser's name such as "zeros".
        """
        clones: list[Parameter] = []
        for parameter in self:
            clone = parameter.clone(init)
            clone.name = f"{prefix}.{parameter.name}"
            clones.append(clone)
        return ParameterTuple(clones)


def _checked(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(
            "For 'Parameter', the argument 'name' must be a string that is not empty, or None, "
            f"but got {name!r}."
        )
    return name
