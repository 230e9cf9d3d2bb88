"""The tensor: an array with a data type, operators, and a place in the graph."""

from collections.abc import Callable, Iterator, Sequence
from typing import Self, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import Array, Namespace, from_host, register, to_host
from minispore._autograd import in_record_block
from minispore._checks import check_type, described
from minispore._dtype import DType
from minispore._functional import (
    arithmetic,
    comparison,
    elementwise,
    indexing,
    linalg,
    namespace,
    shape,
)
from minispore._functional.axes import as_shape
from minispore._functional.operands import Number, Values
from minispore._functional.values import from_values
from minispore._functional.variable import check_tensor, is_recorded
from minispore.common._methods import Methods

Operand: TypeAlias = "Tensor | Values"
Matrix: TypeAlias = "Tensor | NDArray[np.generic]"


class Tensor(Methods):
    """An n-dimensional array whose operations are recorded while a gradient is being computed.

    >>> Tensor([[1, 2], [3, 4]]) * 0.5
    Tensor(shape=[2, 2], dtype=Float32, value=
    [[ 5.00000000e-01,  1.00000000e+00],
     [ 1.50000000e+00,  2.00000000e+00]])

    Python's floats make float32 and its ints int64; a numpy array keeps its type and is copied
    (`Tensor.from_numpy` shares its memory). Between types the wider wins, and a float always beats
    an integer: int32 with float32 gives float32.

    Slices and other shapes of a tensor share its memory, and assigning to items writes into it:

    >>> x = Tensor([1.0, 2.0])
    >>> x[0:1][0] = 5
    >>> x.tolist()
    [5.0, 2.0]

    While a gradient is being computed, assigning to items, as every form in place, gives this
    tensor other elements instead: that can be differentiated, and other tensors keep what they had.

    Source: MindSpore's `mindspore.Tensor`.

    Args:
        input_data: A number, nested lists or tuples of numbers, a numpy array, or a Tensor.
        dtype: The type of the elements; that of the data if None.
        shape: Of a tensor to be filled with zeros, where there are no data.
        init: With `shape`, an initialiser: called with a numpy array, it fills it in place.

    Raises:
        TypeError: The data are no numbers, ragged, or of a type that MindSpore has not.
        ValueError: Data and a shape are given together, or `init` without a shape.
    """

    __slots__ = ()

    def __init__(
        self,
        input_data: object = None,
        dtype: DType | None = None,
        shape: Sequence[int] | int | None = None,
        init: object = None,
    ) -> None:
        if dtype is not None and not isinstance(dtype, DType):
            raise TypeError(
                "For 'Tensor', the argument 'dtype' must be a data type such as "
                f"minispore.float32, but got {described(dtype)}."
            )
        if init is not None and shape is None:
            raise ValueError("For 'Tensor', the argument 'init' needs a 'shape', but got none.")
        if shape is not None:
            if input_data is not None:
                raise ValueError(
                    "For 'Tensor', the argument 'shape' must be None when 'input_data' is given, "
                    f"but got {shape!r}."
                )
            if dtype is None:
                raise TypeError("For 'Tensor', the argument 'dtype' must be given with 'shape'.")
            input_data = _initial(shape, dtype, init)
        self._data = from_values(input_data, dtype, "Tensor")
        self._node = None
        if isinstance(input_data, Tensor) and is_recorded(input_data):
            # A copy that gradients flow through, as through `ops.cast`.
            self._node = elementwise.cast(input_data, self.dtype)._node

    def init_data(self) -> Self:
        """The tensor itself: unlike MindSpore's, one with an initialiser has its values at once."""
        return self

    @staticmethod
    def from_numpy(array: NDArray[np.generic]) -> "Tensor":
        """A tensor in the memory of `array`: what is written to one is seen in the other.

        >>> array = np.array([1, 2])
        >>> Tensor.from_numpy(array).fill_(7).shape, array
        ((2,), array([7, 7]))

        Raises:
            TypeError: `array` is no numpy array, or of a type that MindSpore has not.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(
                "For 'from_numpy', the argument 'array' must be a numpy array, but got "
                f"{type(array).__name__}."
            )
        _dtype.of(array.dtype)
        tensor = object.__new__(Tensor)
        # Of a subclass only the elements: a matrix would bring its own multiplication along.
        tensor._data = from_host(np.asarray(array))
        tensor._node = None
        return tensor

    @property
    def T(self) -> "Tensor":  # noqa: N802 (MindSpore's name)
        """The axes in reverse order."""
        return shape.permute(self, range(self.ndim)[::-1])

    @property
    def mT(self) -> "Tensor":  # noqa: N802
        """The last two axes in each other's place."""
        return shape.swapaxes(self, -1, -2)

    # What Python's protocols ask for.

    def __iter__(self) -> "Iterator[Tensor]":
        if self.ndim == 0:
            raise TypeError("A tensor without axes cannot be iterated over.")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item: object) -> bool:
        return _is_operand(item) and bool(comparison.any(comparison.equal(self, item)))

    def __copy__(self) -> "Tensor":
        return Tensor(self)

    def __deepcopy__(self, memo: dict[int, object]) -> "Tensor":
        return Tensor(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Values only: a graph is a thing of one process and one moment.
        return Tensor, (to_host(self._data),)

    # Operators.

    def __neg__(self) -> "Tensor":
        return arithmetic.neg(self)

    def __pos__(self) -> "Tensor":
        return self

    def __invert__(self) -> "Tensor":
        return comparison.bitwise_not(self)

    def __abs__(self) -> "Tensor":
        return elementwise.abs(self)

    def __round__(self) -> "Tensor":
        return elementwise.round(self)

    def __add__(self, other: Operand) -> "Tensor":
        return arithmetic.add(self, other)

    def __radd__(self, other: Operand) -> "Tensor":
        return arithmetic.add(other, self)

    def __sub__(self, other: Operand) -> "Tensor":
        return arithmetic.sub(self, other)

    def __rsub__(self, other: Operand) -> "Tensor":
        return arithmetic.sub(other, self)

    def __mul__(self, other: Operand) -> "Tensor":
        return arithmetic.mul(self, other)

    def __rmul__(self, other: Operand) -> "Tensor":
        return arithmetic.mul(other, self)

    def __truediv__(self, other: Operand) -> "Tensor":
        return arithmetic.div(self, other)

    def __rtruediv__(self, other: Operand) -> "Tensor":
        return arithmetic.div(other, self)

    def __floordiv__(self, other: Operand) -> "Tensor":
        return arithmetic.floor_divide(self, other)

    def __rfloordiv__(self, other: Operand) -> "Tensor":
        return arithmetic.floor_divide(other, self)

    def __mod__(self, other: Operand) -> "Tensor":
        return arithmetic.remainder(self, other)

    def __rmod__(self, other: Operand) -> "Tensor":
        return arithmetic.remainder(other, self)

    def __pow__(self, other: Operand) -> "Tensor":
        return arithmetic.pow(self, other)

    def __rpow__(self, other: Operand) -> "Tensor":
        return arithmetic.pow(other, self)

    def __and__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_and(self, other)

    def __rand__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_and(other, self)

    def __or__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_or(self, other)

    def __ror__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_or(other, self)

    def __xor__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_xor(self, other)

    def __rxor__(self, other: Operand) -> "Tensor":
        return comparison.bitwise_xor(other, self)

    def __matmul__(self, other: "Matrix") -> "Tensor":
        return linalg.matmul(self, _tensor(other)) if _is_matrix(other) else NotImplemented

    def __rmatmul__(self, other: "Matrix") -> "Tensor":
        return linalg.matmul(_tensor(other), self) if _is_matrix(other) else NotImplemented

    # Comparing gives a tensor, not a bool, so identity is what a dictionary goes by.
    def __hash__(self) -> int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> "Tensor":  # type: ignore[override]
        return comparison.equal(self, other) if _is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> "Tensor":  # type: ignore[override]
        return comparison.not_equal(self, other) if _is_operand(other) else NotImplemented

    def __lt__(self, other: Operand) -> "Tensor":
        return comparison.less(self, other)

    def __le__(self, other: Operand) -> "Tensor":
        return comparison.less_equal(self, other)

    def __gt__(self, other: Operand) -> "Tensor":
        return comparison.greater(self, other)

    def __ge__(self, other: Operand) -> "Tensor":
        return comparison.greater_equal(self, other)

    def __getitem__(self, index: object) -> "Tensor":
        return indexing.getitem(self, index)

    def __setitem__(self, index: object, value: Operand) -> None:
        if self._is_rebound(value):
            self._become(indexing.setitem(self, index, value))
        else:
            indexing.assign_at(self, index, value)

    # In place: in a differentiation the tensor takes a new place in the graph, else a new content.

    def _is_rebound(self, value: object) -> bool:
        recorded = isinstance(value, Tensor) and is_recorded(value)
        return recorded or is_recorded(self) or in_record_block()

    def _become(self, other: "Tensor") -> None:
        self._data, self._node = other._data, other._node

    def _take(self, other: "Tensor") -> None:
        if self._is_rebound(other):
            self._become(shape.broadcast_to(elementwise.cast(other, self.dtype), self.shape))
        else:
            indexing.assign_at(self, ..., other)

    def _assign(self, other: "Tensor", owner: str) -> "Tensor":
        try:
            self._take(other)
        except ValueError:
            raise ValueError(
                f"For '{owner}', the elements of a tensor of shape {self.shape} cannot become "
                f"those of one of shape {other.shape}."
            ) from None
        return self

    def add_(self, other: Operand) -> "Tensor":
        """Add `other` in place."""
        return self._assign(arithmetic.add(self, other), "add_")

    def sub_(self, other: Operand) -> "Tensor":
        """Subtract `other` in place."""
        return self._assign(arithmetic.sub(self, other), "sub_")

    def mul_(self, other: Operand) -> "Tensor":
        """Multiply by `other` in place."""
        return self._assign(arithmetic.mul(self, other), "mul_")

    def div_(self, other: Operand) -> "Tensor":
        """Divide by `other` in place."""
        return self._assign(arithmetic.div(self, other), "div_")

    def copy_(self, src: "Tensor") -> "Tensor":
        """Take the elements of `src`, which may be broadcast."""
        check_tensor(src, "copy_", "src")
        return self._assign(src, "copy_")

    def fill_(self, value: "Tensor | Number") -> "Tensor":
        """Make every element `value`."""
        check_type(value, (Tensor, int, float, bool), "value", "fill_")
        filling = object.__new__(Tensor)
        filling._data, filling._node = from_values(value, None, "fill_", self._data), None
        return self._assign(filling, "fill_")

    def zero_(self) -> "Tensor":
        """Make every element 0."""
        return self.fill_(0)


Tensor._result = Tensor
register(Tensor, cast("Namespace[Tensor]", namespace))


def tensor(
    input_data: object = None,
    dtype: DType | None = None,
    shape: Sequence[int] | int | None = None,
    init: object = None,
) -> Tensor:
    """A tensor, by the arguments of `Tensor`.

    >>> tensor([True, False])
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Source: MindSpore's `mindspore.tensor`.
    """
    return Tensor(input_data, dtype, shape, init)


def host_tensor(array: NDArray[np.generic]) -> Tensor:
    """A tensor in the memory of `array`, on whatever device others are made: the host reads it."""
    tensor = object.__new__(Tensor)
    tensor._data, tensor._node = cast("Array", array), None
    return tensor


from_numpy: Callable[[NDArray[np.generic]], Tensor] = Tensor.from_numpy


def _is_operand(x: object) -> TypeGuard[Tensor | Number]:
    return isinstance(x, Tensor | int | float | np.generic | np.ndarray)


def _is_matrix(x: object) -> bool:
    return isinstance(x, Tensor | np.ndarray)


def _tensor(x: Matrix) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def _initial(shape_: Sequence[int] | int, dtype: DType, init: object) -> NDArray[np.generic]:
    """Zeros, or what an initialiser object makes of them in place."""
    lengths = as_shape(shape_, "Tensor")
    try:
        values = np.zeros(lengths, dtype.numpy_dtype)
    except ValueError as error:
        reason = str(error).removesuffix(".")
        raise ValueError(
            f"For 'Tensor', there is no tensor of shape {lengths}: {reason}."
        ) from None
    if callable(init):
        init(values)
    elif init is not None:
        raise TypeError(
            "For 'Tensor', the argument 'init' must be an Initializer, for example Normal(), "
            f"but got {described(init)}."
        )
    return values
