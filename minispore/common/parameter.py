"""Parameters: the named tensors of a network that are trained."""

from collections.abc import Iterable
from itertools import count
from typing import ClassVar, Self

from minispore.engine.array import device_of
from minispore.engine.dispatch import ALONE, array_from_values, share, wrap
from minispore.engine.dtypes import int32
from minispore.engine.graph import Node, in_record_block
from minispore.ops import _device_transfer, elementwise, indexing
from minispore.ops._writes import write_at
from minispore.ops.initializer import Initializer, initializer
from minispore.ops.tensors import Operand, Tensor
from minispore.utils.checks import check_type, describe_value, type_error

_unnamed = count(1)


class Parameter(Tensor):
    """A tensor with a name that an optimizer updates in place.

    A parameter owns its memory: values are copied. Assignments change this memory and are not
    recorded. A single Python int is converted to int32.

    Args:
        default_input: The initial values: any argument of Tensor.
        name: The name. If it is None or empty, the cell that contains the parameter sets it.
        requires_grad: Whether the parameter is trained.
        layerwise_parallel: Accepted for compatibility with MindSpore, without effect.
        parallel_optimizer: Accepted for compatibility with MindSpore, without effect.

    Raises:
        TypeError: The values are not those of a Tensor.
        ValueError: `name` is neither a string nor None.

    Examples:
        >>> import minispore as ms
        >>> ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        Parameter (name=weight, shape=(2,), dtype=Float32, requires_grad=True)

    Source: MindSpore's `mindspore.Parameter`.
    """

    __slots__ = ("_name", "_named")
    _is_input: ClassVar[bool] = True

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
            raise type_error(value, "name", "be a string or None", ValueError, function="Parameter")
        self._named = bool(value)
        self._name = value or f"Parameter#{next(_unnamed)}"

    @property
    def has_default_name(self) -> bool:
        """Whether the name was generated, so that a cell may replace it."""
        return not self._named

    @property
    def requires_grad(self) -> bool:
        """Whether the parameter is trained: operations on it are then recorded."""
        return self._node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"For 'Parameter', 'requires_grad' must be a bool, but got {describe_value(value)}."
            )
        # A parameter has one node, which is an input of every graph that contains it.
        self._node = (self._node or Node()) if value else None

    @property
    def data(self) -> Tensor:
        """The values as a constant that shares the memory; an assignment calls `set_data`.

        `set_data` gives the parameter other memory; in-place updates are seen in both.
        """
        data = wrap(self._data, self)
        share(data, self, is_constant=True)
        return data

    @data.setter
    def data(self, value: Tensor) -> None:
        self.set_data(value)

    def value(self) -> Tensor:
        """Return a copy of the values, through which gradients flow.

        Examples:
            >>> from minispore import Parameter, Tensor
            >>> weight = Parameter(Tensor([1.0, 2.0]))
            >>> average = weight.value()
            >>> _ = weight.add_(1.0)
            >>> average.tolist(), weight.tolist()
            ([1.0, 2.0], [2.0, 3.0])
        """
        return elementwise.copy(self)

    def set_data(self, data: Tensor | float, slice_shape: bool = False) -> "Parameter":
        """Copy other values, in the parameter's data type and device; the shape may change.

        Args:
            data: A tensor or a number.
            slice_shape: Accepted for compatibility with MindSpore, without effect.

        Raises:
            TypeError: `data` is neither a tensor nor a number.
            ValueError: The type of the parameter is one of integers, and cannot hold a value.
        """
        check_type(data, (Tensor, bool, int, float), "data")
        self._data = array_from_values(data, self.dtype, self._data, exactly=True)
        return self

    def clone(self, init: str | float | Initializer | Tensor = "same") -> "Parameter":
        """Return a new parameter with the same name, data type and `requires_grad`.

        Args:
            init: "same" for the same values, or an argument of `initializer`: a name such as
                "zeros", a number, a tensor or an Initializer.

        Raises:
            ValueError: There is no initializer of this name.

        Examples:
            >>> from minispore import Parameter, Tensor
            >>> Parameter(Tensor([1.0, 2.0]), name="weight").clone("zeros").tolist()
            [0.0, 0.0]
        """
        same = isinstance(init, str) and init == "same"
        values = self if same else initializer(init, self.shape, self.dtype)
        values = _device_transfer.to_device(values, device_of(self._data))
        clone = Parameter(values, self._name, self.requires_grad)
        clone._named = self._named
        return clone

    def copy(self) -> "Parameter":
        """Return `clone()`."""
        return self.clone()

    def __copy__(self) -> "Parameter":
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> "Parameter":
        # `copy` looks in its memo first: a parameter that is used twice is copied once.
        return self.clone()

    def __reduce__(self) -> tuple[object, ...]:
        name = self._name if self._named else None
        return Parameter, (self.asnumpy(), name, self.requires_grad)

    def __setitem__(self, index: object, value: Operand) -> None:
        (write_at if in_record_block() else indexing.assign_at)(self, index, value)

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self._name}, shape={self.shape}, dtype={self.dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    __str__ = __repr__


def parameter_from_memory(tensor: Tensor, name: str) -> Parameter:
    """Return a parameter that takes over the memory of `tensor` without a copy."""
    parameter = object.__new__(Parameter)
    parameter._data = tensor._data
    parameter._node, parameter._aliases = None, ALONE
    parameter.name = name
    parameter.requires_grad = True
    return parameter


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of parameters with different names, made from an iterable of them.

    Raises:
        TypeError: An item is not a Parameter.
        ValueError: Two parameters have the same name.

    Examples:
        >>> from minispore import Parameter, ParameterTuple, Tensor
        >>> weights = ParameterTuple([Parameter(Tensor([1.0]), name="weight")])
        >>> weights.clone("moments", init="zeros")[0]
        Parameter (name=moments.weight, shape=(1,), dtype=Float32, requires_grad=True)

    Source: MindSpore's `mindspore.ParameterTuple`.
    """

    __slots__ = ()

    def __new__(cls, iterable: Iterable[Parameter]) -> Self:
        """Check the parameters."""
        if not isinstance(iterable, Iterable) or isinstance(iterable, Tensor):
            raise type_error(iterable, "iterable", "be a list of Parameters")
        items = tuple(iterable)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(
                    "For 'ParameterTuple', each item must be a Parameter, "
                    f"but got {describe_value(item)}."
                )
        names = {item.name: item for item in items}
        for item in items:
            if names[item.name] is not item:
                raise ValueError(
                    f"For 'ParameterTuple', the names must differ, but two Parameters have the "
                    f"name '{item.name}'."
                )
        return super().__new__(cls, items)

    def clone(
        self, prefix: str, init: str | float | Initializer | Tensor = "same"
    ) -> "ParameterTuple":
        """Return clones of all parameters, with `prefix` and a dot before their names.

        Args:
            prefix: The prefix.
            init: The argument of `Parameter.clone`.

        Raises:
            TypeError: `prefix` is not a string.
            ValueError: `prefix` is empty, or there is no initializer with the name `init`.
        """
        check_type(prefix, str, "prefix")
        if not prefix:
            raise ValueError("For 'clone', the argument 'prefix' must not be empty.")
        clones: list[Parameter] = []
        for parameter in self:
            clone = parameter.clone(init)
            clone.name = f"{prefix}.{parameter.name}"
            clones.append(clone)
        return ParameterTuple(clones)
