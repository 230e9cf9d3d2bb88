"""A parameter: a named tensor that belongs to a network and is trained."""

from collections.abc import Iterable
from itertools import count
from typing import Self

from minispore._array import target_of
from minispore._autograd import Node
from minispore._checks import check_type, described
from minispore._dtype import int32
from minispore._functional import indexing, placing
from minispore._functional.values import from_values
from minispore._functional.variable import writable
from minispore.common.initializer import Initializer, initializer
from minispore.common.tensor import Operand, Tensor

_unnamed = count(1)


class Parameter(Tensor):
    """A tensor with a name that an optimiser updates in place.

    >>> import minispore as ms
    >>> ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
    Parameter (name=weight, shape=(2,), dtype=Float32, requires_grad=True)

    Its memory is its own: data given to it are copied. Writing into a parameter changes that memory
    and is never recorded. A single Python int makes int32.

    Source: MindSpore's `mindspore.Parameter`.

    Args:
        default_input: The first values: whatever makes a Tensor.
        name: The name; a cell gives one to a parameter that has none (None or empty).
        requires_grad: Whether it is trained.
        layerwise_parallel: MindSpore's distribution over devices; accepted, there is one device.
        parallel_optimizer: The same.

    Raises:
        TypeError: The values cannot make a Tensor.
        ValueError: `name` is neither a string nor None.
    """

    __slots__ = ("_name", "_named")

    def __init__(
        self,
        default_input: object,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
    ) -> None:
        super().__init__(default_input, int32 if type(default_input) is int else None)
        self._node = None
        self.name = name
        self.requires_grad = requires_grad

    @property
    def name(self) -> str:
        """The name, unique within a network."""
        return self._name

    @name.setter
    def name(self, value: str | None) -> None:
        if value is not None and not isinstance(value, str):
            raise ValueError(
                "For 'Parameter', the argument 'name' must be a string or None, "
                f"but got {described(value)}."
            )
        self._named = bool(value)
        self._name = value or f"Parameter#{next(_unnamed)}"

    @property
    def has_default_name(self) -> bool:
        """Whether it goes by a name of its own making, which its cell may replace."""
        return not self._named

    @property
    def requires_grad(self) -> bool:
        """Whether it is trained: whether operations on it are recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"For 'Parameter', 'requires_grad' must be a bool, but got {described(value)}."
            )
        # A parameter is an input of every graph it occurs in, under one node for all its life.
        self._node = (self._node or Node()) if value else None

    @property
    def data(self) -> Tensor:
        """The values as a plain tensor in the same memory; assigning to it is `set_data`."""
        return self.value()

    @data.setter
    def data(self, value: Tensor) -> None:
        self.set_data(value)

    def value(self) -> Tensor:
        """The values as a plain tensor in the same memory."""
        tensor = object.__new__(Tensor)
        tensor._data, tensor._node = self._data, None
        return tensor

    def set_data(self, data: Tensor | float, slice_shape: bool = False) -> "Parameter":
        """Take a copy of other values, in the parameter's type and place; the shape may change.

        Args:
            data: A tensor or a number.
            slice_shape: Accepted for MindSpore's sake.

        Raises:
            TypeError: `data` is neither a tensor nor a number.
        """
        check_type(data, (Tensor, bool, int, float), "data", "set_data")
        self._data = from_values(data, self.dtype, "set_data", self._data)
        return self

    def clone(self, init: str | float | Initializer | Tensor = "same") -> "Parameter":
        """A parameter of the same name, type and kind in memory of its own.

        >>> from minispore import Parameter, Tensor
        >>> Parameter(Tensor([1.0, 2.0]), name="weight").clone("zeros").tolist()
        [0.0, 0.0]

        Args:
            init: "same" for the same values, or what `initializer` takes: a name such as "zeros",
                a number, a tensor or an Initializer.

        Raises:
            ValueError: There is no initialiser of that name.
        """
        same = isinstance(init, str) and init == "same"
        values = self if same else initializer(init, self.shape, self.dtype)
        values = placing.moved(values, target_of(self._data), "clone")
        clone = Parameter(values, self._name, self.requires_grad)
        clone._named = self._named
        return clone

    def copy(self) -> "Parameter":
        """As `clone`."""
        return self.clone()

    def __copy__(self) -> "Parameter":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> "Parameter":
        # Found again in the memo, a parameter used twice in a network stays one parameter.
        return self.clone()

    def __reduce__(self) -> tuple[object, ...]:
        name = self._name if self._named else None
        return Parameter, (self.asnumpy(), name, self.requires_grad)

    def __setitem__(self, index: object, value: Operand) -> None:
        writable(self)
        indexing.assign_at(self, index, value)

    def _take(self, other: Tensor) -> None:
        self[...] = other

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self._name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__


def parameter_in(tensor: Tensor, name: str) -> Parameter:
    """A parameter in the memory of `tensor`, which its maker gives up: nothing is copied."""
    parameter = object.__new__(Parameter)
    parameter._data = tensor._data
    parameter._node = None
    parameter.name = name
    parameter.requires_grad = True
    return parameter


class ParameterTuple(tuple[Parameter, ...]):
    """Parameters that belong together, no two of one name.

    >>> from minispore import Parameter, ParameterTuple, Tensor
    >>> weights = ParameterTuple([Parameter(Tensor([1.0]), name="weight")])
    >>> weights.clone("moments", init="zeros")[0]
    Parameter (name=moments.weight, shape=(1,), dtype=Float32, requires_grad=True)

    Source: MindSpore's `mindspore.ParameterTuple`.
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Parameter]) -> Self:
        """Check and hold the parameters.

        Args:
            iterable: The parameters.

        Raises:
            TypeError: Something in it is no Parameter.
            ValueError: Two parameters have one name.
        """
        if not isinstance(iterable, Iterable) or isinstance(iterable, Tensor):
            raise TypeError(
                "For 'ParameterTuple', the argument 'iterable' must be a list of Parameters, "
                f"but got {described(iterable)}."
            )
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(
                    "For 'ParameterTuple', each item must be a Parameter, "
                    f"but got {described(item)}."
                )
        names = {item.name: item for item in items}
        for item in items:
            if names[item.name] is not item:
                raise ValueError(
                    f"For 'ParameterTuple', each name must be that of one Parameter only, but "
                    f"there are two of the name '{item.name}'."
                )
        return super().__new__(cls, items)

    def clone(
        self, prefix: str, init: str | float | Initializer | Tensor = "same"
    ) -> "ParameterTuple":
        """Clones of all, their names prefixed with `prefix` and a dot.

        Args:
            prefix: What goes before each name.
            init: As for `Parameter.clone`.

        Raises:
            TypeError: `prefix` is no string.
            ValueError: `prefix` is empty, or there is no initialiser of the name `init`.
        """
        check_type(prefix, str, "prefix", "clone")
        if not prefix:
            raise ValueError("For 'clone', the argument 'prefix' must not be empty.")
        clones: list[Parameter] = []
        for parameter in self:
            clone = parameter.clone(init)
            clone.name = f"{prefix}.{parameter.name}"
            clones.append(clone)
        return ParameterTuple(clones)
