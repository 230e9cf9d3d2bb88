"""The tensor: an array with operators, methods, and a node of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    NoReturn,
    ParamSpec,
    Self,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    overload,
)

import numpy as np
from numpy.typing import NDArray

from minispore import ops
from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    Axis,
    HostArray,
    Namespace,
    SupportsDLPack,
    device_namespace,
    dlpack_device,
    from_dlpack,
    from_host,
    is_host,
    register_namespace,
    to_dlpack,
    to_host,
)
from minispore.engine.dispatch import (
    ALONE,
    Number,
    Values,
    Variable,
    apply_rule,
    array_from_values,
    cast_exactly,
    check_fits,
    check_tensor,
    dtype_of,
    is_recorded,
    share,
    wrap,
)
from minispore.engine.dtypes import DType
from minispore.engine.graph import in_record_block
from minispore.ops import (
    _namespace,
    arithmetic,
    comparison,
    elementwise,
    indexing,
    linalg,
    reduction,
)
from minispore.ops import manipulation as shapes
from minispore.ops._writes import check_writable, write_at
from minispore.ops.manipulation import as_shape
from minispore.utils.checks import (
    caller,
    check_one_of,
    check_type,
    check_unmasked,
    describe_value,
    type_error,
    value_error,
)
from minispore.utils.unsupported import missing_attribute

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F")
V = TypeVar("V")
Operand: TypeAlias = "Tensor | Values"
Matrix: TypeAlias = "Tensor | NDArray[np.generic]"
Scalar: TypeAlias = bool | int | float
TensorHook: TypeAlias = "Callable[[Tensor], Tensor | None]"
# Some methods have the names of Python's types, which they hide in the class body.
Int: TypeAlias = int
Float: TypeAlias = float
Bool: TypeAlias = bool


def method(
    function: Callable[Concatenate[Tensor, P], R],
) -> Callable[Concatenate[Tensor, P], R]:
    """Return `function`, with the type of a method of `Tensor`."""
    return function


def typed_as(_: F) -> Callable[[Any], F]:
    """Return a decorator that gives a method the type of another one, for its overloads."""
    return lambda function: function


class LazyMethod(Generic[P, R]):
    """A method that is a function of a module that is imported when the method is first used."""

    def __init__(self, get: Callable[[], Callable[Concatenate[Tensor, P], R]]) -> None:
        self._get = get

    @overload
    def __get__(self, tensor: None, owner: object) -> Callable[Concatenate[Tensor, P], R]: ...
    @overload
    def __get__(self, tensor: Tensor, owner: object) -> Callable[P, R]: ...
    def __get__(self, tensor: Tensor | None, owner: object) -> Callable[..., R]:
        return self._get() if tensor is None else MethodType(self._get(), tensor)


class Tensor(Variable):
    """An n-dimensional array whose operations are recorded while a gradient is being computed.

    Python floats become float32 and ints int64; a numpy array keeps its type and is copied
    (`Tensor.from_numpy` shares its memory). Operands of two types are promoted to the wider type,
    and a float type is wider than any integer type: int32 with float32 gives float32.

    Slices and reshaped tensors share memory with the tensor, as in numpy, and assigning to items
    and methods in place, such as `add_`, write into it. While a gradient is being computed, the
    tensor and all that share its memory get new memory with the same elements, and gradients flow
    through what is written. An array of numpy that shared the former memory keeps its elements.

    Args:
        input_data: A number, nested lists or tuples of numbers, a numpy array, or a Tensor.
        dtype: The data type; None for that of the data.
        shape: The shape of a tensor of zeros, if there are no data.
        init: With `shape`, an initializer, which fills a numpy array in place.

    Raises:
        TypeError: The data are ragged, not numbers, or of a type that is not supported.
        ValueError: Data and a shape are given together, or `init` without a shape; or elements of
            the data are masked.

    Examples:
        >>> (Tensor([[1, 2], [3, 4]]) * 0.5).tolist()
        [[0.5, 1.0], [1.5, 2.0]]
        >>> x = Tensor([1.0, 2.0])
        >>> x[0:1][0] = 5
        >>> x.tolist()
        [5.0, 2.0]

    Source: MindSpore's `mindspore.Tensor`.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # type checkers take it for a definition of every attribute
        __getattr__ = missing_attribute

    def __init__(
        self,
        input_data: object = None,
        dtype: DType | None = None,
        shape: Sequence[Int] | Int | None = None,
        init: object = None,
    ) -> None:
        if dtype is not None and not isinstance(dtype, DType):
            raise type_error(dtype, "dtype", "be a data type such as minispore.float32")
        if init is not None and shape is None:
            raise ValueError("For 'Tensor', the argument 'init' needs a 'shape', but got none.")
        if shape is not None:
            if input_data is not None:
                raise value_error(shape, "shape", "be None when 'input_data' is given")
            if dtype is None:
                raise TypeError("For 'Tensor', the argument 'dtype' must be given with 'shape'.")
            input_data = _initial(shape, dtype, init)
        self._data = array_from_values(input_data, dtype)
        self._node, self._aliases = None, ALONE
        if isinstance(input_data, Tensor) and is_recorded(input_data):
            # A copy that gradients flow through, as through `ops.cast`.
            self._node = elementwise.cast(input_data, self.dtype)._node

    def init_data(self) -> Self:
        """Return the tensor itself: an initializer fills it when it is created."""
        return self

    @staticmethod
    def from_numpy(array: NDArray[np.generic]) -> Tensor:
        """Return a tensor that shares the memory of a numpy array.

        Args:
            array: The array.

        Returns:
            A tensor of its shape and type.

        Raises:
            TypeError: `array` is not a numpy array, or its type is not supported.
            ValueError: Elements of `array` are masked.

        Examples:
            >>> array = np.array([1, 2])
            >>> Tensor.from_numpy(array).fill_(7).shape, array
            ((2,), array([7, 7]))

        Source: MindSpore's `mindspore.Tensor.from_numpy`.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError(
                "For 'from_numpy', the argument 'array' must be a numpy array, but got "
                f"{type(array).__name__}."
            )
        check_unmasked(array, "For 'from_numpy', the argument 'array'")
        if array.dtype not in dtypes.BY_NUMPY:
            dtypes.from_array_dtype(array.dtype)
        # As a base-class array: numpy.matrix has a multiplication of its own.
        return tensor_of(from_host(np.asarray(array)))

    @staticmethod
    def from_dlpack(array: SupportsDLPack) -> Tensor:
        """Return a tensor that shares the memory of another library's array.

        Args:
            array: An array with the methods of the DLPack protocol, such as a tensor of PyTorch or
                an array of JAX or CuPy.

        Returns:
            A tensor of its shape and type, on its device.

        Raises:
            TypeError: `array` has no `__dlpack__`, or its type is not supported.
            BufferError: `array` does not share its memory, for example since it requires a
                gradient.
            RuntimeError: `array` is on a GPU, and CuPy is not installed.

        Examples:
            >>> array = np.array([1, 2])
            >>> Tensor.from_dlpack(array).fill_(7).shape, array
            ((2,), array([7, 7]))

        Source: MindSpore's `mindspore.Tensor.from_dlpack`, which takes a capsule.
        """
        if not hasattr(array, "__dlpack__"):
            raise type_error(array, "array", "be an array with the method '__dlpack__'")
        data = from_dlpack(array)
        dtypes.from_array_dtype(data.dtype)
        return tensor_of(data)

    @property
    def dtype(self) -> DType:
        """The data type."""
        return dtypes.from_array_dtype(self._data.dtype)

    @property
    def device(self) -> str:
        """The device of the elements: "CPU" or "GPU:0"."""
        return "CPU" if is_host(self._data) else "GPU:0"

    @property
    def size(self) -> Int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def itemsize(self) -> Int:
        """The size of one element in bytes."""
        return self.dtype.numpy_dtype.itemsize

    @property
    def nbytes(self) -> Int:
        """The size of all elements in bytes."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[Int, ...]:
        """The distance in bytes between neighbouring elements along each axis."""
        return to_host(self._data).strides

    def asnumpy(self) -> NDArray[Any]:
        """Return the elements as a numpy array, through which no gradient flows.

        The array shares the tensor's memory, unless the tensor is on a GPU. Writing into it changes
        gradients that are computed later from the tensor's elements. While a gradient is being
        computed, it does not show what is written to the tensor.
        """
        return to_host(self._data)

    def numpy(self) -> NDArray[Any]:
        """Return `self.asnumpy()`."""
        return to_host(self._data)

    def item(self) -> Scalar:
        """Return the only element as a Python number, through which no gradient flows.

        Raises:
            ValueError: The tensor does not have exactly one element.

        Examples:
            >>> Tensor([[0.5]]).item()
            0.5
        """
        if self.size != 1:
            raise ValueError(
                f"Only a tensor of one element is a number, but the shape is {self.shape}."
            )
        number: Scalar = to_host(self._data).item()
        return number

    def tolist(self) -> object:
        """Return the elements as nested lists of Python numbers."""
        return to_host(self._data).tolist()

    def numel(self) -> Int:
        """Return the number of elements."""
        return self.size

    def dim(self) -> Int:
        """Return the number of axes."""
        return self.ndim

    def __repr__(self) -> str:
        return ops._printing.tensor_repr(to_host(self._data))

    def __str__(self) -> str:
        return str(to_host(self._data))

    def _repr_html_(self) -> str:
        return ops._printing.tensor_html(
            to_host(self._data), type(self).__name__, getattr(self, "name", "")
        )

    def __format__(self, spec: str) -> str:
        # With a format, the only element is formatted.
        return format(self.item(), spec) if spec else str(self)

    def __bool__(self) -> Bool:
        return bool(self.item())

    def __int__(self) -> Int:
        return int(self.item())

    def __float__(self) -> Float:
        return float(self.item())

    def __index__(self) -> Int:
        value = self.item()
        if isinstance(value, float):
            kind = "Only a tensor of an integer can be used as an index"
            raise TypeError(f"{kind}, but got {self!r}.")
        return value

    def __len__(self) -> Int:
        if self.ndim == 0:
            raise TypeError("A tensor without axes has no length.")
        return self.shape[0]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> object:
        return ops._numpy_protocol.apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        return ops._numpy_protocol.apply_function(func, args, kwargs)

    def __array__(
        self, dtype: np.dtype[np.generic] | None = None, copy: Bool | None = None
    ) -> NDArray[Any]:
        ops._numpy_protocol.check_not_differentiated(self)
        return np.array(to_host(self._data), dtype=dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Int | None = None,
        max_version: tuple[Int, Int] | None = None,
        dl_device: tuple[Int, Int] | None = None,
        copy: Bool | None = None,
    ) -> CapsuleType:
        ops._numpy_protocol.check_not_differentiated(self)
        return to_dlpack(
            self._data, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[Int, Int]:
        return dlpack_device(self._data)

    @property
    def T(self) -> Tensor:  # noqa: N802 (MindSpore's name)
        """The tensor with its axes in reverse order."""
        return shapes.permute(self, range(self.ndim)[::-1])

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The tensor with its last two axes exchanged."""
        return shapes.swapaxes(self, -1, -2)

    # Protocols of Python.

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TypeError("A tensor without axes cannot be iterated over.")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item: object) -> Bool:
        return _is_operand(item) and bool(reduction.any(comparison.equal(self, item)))

    def __copy__(self) -> Tensor:
        return Tensor(self)

    def __deepcopy__(self, memo: dict[Int, object]) -> Tensor:
        return Tensor(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Without the graph, which belongs to one process and one backward pass.
        return Tensor, (to_host(self._data),)

    # Operators.

    def __neg__(self) -> Tensor:
        return arithmetic.neg(self)

    def __invert__(self) -> Tensor:
        return comparison.bitwise_not(self)

    def __abs__(self) -> Tensor:
        return elementwise.abs(self)

    def __round__(self) -> Tensor:
        return elementwise.round(self)

    def __add__(self, other: Operand) -> Tensor:
        return arithmetic.add(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return arithmetic.add(other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return arithmetic.sub(self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return arithmetic.sub(other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return arithmetic.mul(self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return arithmetic.mul(other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return arithmetic.div(self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return arithmetic.div(other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return arithmetic.floor_divide(self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return arithmetic.floor_divide(other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return arithmetic.remainder(self, other)

    def __rmod__(self, other: Operand) -> Tensor:
        return arithmetic.remainder(other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return arithmetic.pow(self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return arithmetic.pow(other, self)

    def __and__(self, other: Operand) -> Tensor:
        return comparison.bitwise_and(self, other)

    def __rand__(self, other: Operand) -> Tensor:
        return comparison.bitwise_and(other, self)

    def __or__(self, other: Operand) -> Tensor:
        return comparison.bitwise_or(self, other)

    def __ror__(self, other: Operand) -> Tensor:
        return comparison.bitwise_or(other, self)

    def __xor__(self, other: Operand) -> Tensor:
        return comparison.bitwise_xor(self, other)

    def __rxor__(self, other: Operand) -> Tensor:
        return comparison.bitwise_xor(other, self)

    def __lt__(self, other: Operand) -> Tensor:
        return comparison.less(self, other)

    def __le__(self, other: Operand) -> Tensor:
        return comparison.less_equal(self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return comparison.greater(self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return comparison.greater_equal(self, other)

    def __pos__(self) -> Tensor:
        return self

    def __matmul__(self, other: Matrix) -> Tensor:
        return linalg.matmul(self, _tensor(other)) if _is_matrix(other) else NotImplemented

    def __rmatmul__(self, other: Matrix) -> Tensor:
        return linalg.matmul(_tensor(other), self) if _is_matrix(other) else NotImplemented

    # By identity, since `==` returns a tensor.
    def __hash__(self) -> Int:
        return object.__hash__(self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return comparison.equal(self, other) if _is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return comparison.not_equal(self, other) if _is_operand(other) else NotImplemented

    def __getitem__(self, index: object) -> Tensor:
        return indexing.getitem(self, index)

    def __setitem__(self, index: object, value: Operand) -> None:
        if self._is_rebound(value):
            write_at(self, index, value)
        else:
            indexing.assign_at(self, index, value)

    # In place: while a gradient is being computed the tensor becomes another node of the graph;
    # otherwise its memory is written to.

    def _is_rebound(self, value: object) -> Bool:
        recorded = isinstance(value, Tensor) and is_recorded(value)
        return recorded or is_recorded(self) or in_record_block()

    def _assign(self, other: Tensor) -> Tensor:
        other = cast_exactly(other, self.dtype)
        try:
            self[...] = other
        except ValueError:
            check_writable(self)
            raise ValueError(
                f"For '{caller()}', the elements of a tensor of shape {self.shape} cannot become "
                f"those of one of shape {other.shape}."
            ) from None
        return self

    def add_(self, other: Operand, *, alpha: Number = 1) -> Tensor:
        """Add `alpha * other` in place."""
        return self._assign(arithmetic.add(*arithmetic.scale_other(self, other, alpha)))

    def sub_(self, other: Operand, *, alpha: Number = 1) -> Tensor:
        """Subtract `alpha * other` in place."""
        return self._assign(arithmetic.sub(*arithmetic.scale_other(self, other, alpha)))

    def mul_(self, other: Operand) -> Tensor:
        """Multiply by `other` in place."""
        return self._assign(arithmetic.mul(self, other))

    def div_(self, other: Operand) -> Tensor:
        """Divide by `other` in place."""
        return self._assign(arithmetic.div(self, other))

    def copy_(self, src: Tensor) -> Tensor:
        """Replace the elements by those of `src`, which are broadcast."""
        check_tensor(src, "src")
        return self._assign(src)

    def set_dtype(self, dtype: dtypes.DTypeLike, /) -> DType:
        """Convert the elements to another data type, and return it; views keep the former one.

        Raises:
            RuntimeError: The tensor is being differentiated.

        Examples:
            >>> x = Tensor([1.5, 2.5])
            >>> x.set_dtype(int), x.tolist()
            (minispore.int64, [1, 2])
        """
        if is_recorded(self):
            raise RuntimeError(
                "For 'set_dtype', the tensor must not be an operand of a function that is being "
                "differentiated: use astype, which returns another tensor."
            )
        self._data = elementwise.cast(self, dtype)._data
        return self.dtype

    def fill_(self, value: Tensor | Number) -> Tensor:
        """Replace every element by `value`.

        Raises:
            ValueError: The type is one of integers, and cannot hold it. Fractions are cut off.
        """
        check_type(value, (Tensor, int, float, bool), "value")
        data = array_from_values(value, self.dtype, self._data, exactly=True)
        return self._assign(wrap(data, self))

    def zero_(self) -> Tensor:
        """Replace every element by 0."""
        return self.fill_(0)

    # Operations of `minispore.ops`: the same functions, with the tensor as their first argument.

    subtract: Final = method(arithmetic.subtract)
    mul: Final = method(arithmetic.mul)
    multiply: Final = method(arithmetic.mul)
    div: Final = method(arithmetic.div)
    divide: Final = method(arithmetic.div)
    floor_divide: Final = method(arithmetic.floor_divide)
    pow: Final = method(arithmetic.pow)
    maximum: Final = method(arithmetic.maximum)
    minimum: Final = method(arithmetic.minimum)
    neg: Final = method(arithmetic.neg)
    negative: Final = method(arithmetic.neg)
    abs: Final = method(elementwise.abs)
    absolute: Final = method(elementwise.abs)
    exp: Final = method(elementwise.exp)
    log: Final = method(elementwise.log)
    sqrt: Final = method(elementwise.sqrt)
    square: Final = method(elementwise.square)
    sign: Final = method(elementwise.sign)
    tanh: Final = method(elementwise.tanh)
    sin: Final = method(elementwise.sin)
    cos: Final = method(elementwise.cos)
    tan: Final = method(elementwise.tan)
    asin: Final = method(elementwise.asin)
    arcsin: Final = method(elementwise.asin)
    acos: Final = method(elementwise.acos)
    arccos: Final = method(elementwise.acos)
    atan: Final = method(elementwise.atan)
    arctan: Final = method(elementwise.atan)
    asinh: Final = method(elementwise.asinh)
    arcsinh: Final = method(elementwise.asinh)
    acosh: Final = method(elementwise.acosh)
    arccosh: Final = method(elementwise.acosh)
    atanh: Final = method(elementwise.atanh)
    arctanh: Final = method(elementwise.atanh)
    erf: Final = method(elementwise.erf)
    erfc: Final = method(elementwise.erfc)
    expm1: Final = method(elementwise.expm1)
    log1p: Final = method(elementwise.log1p)
    log2: Final = method(elementwise.log2)
    log10: Final = method(elementwise.log10)
    reciprocal: Final = method(elementwise.reciprocal)
    rsqrt: Final = method(elementwise.rsqrt)
    sinh: Final = method(elementwise.sinh)
    cosh: Final = method(elementwise.cosh)
    ceil: Final = method(elementwise.ceil)
    trunc: Final = method(elementwise.trunc)
    frac: Final = method(elementwise.frac)
    hardshrink: Final = method(elementwise.hardshrink)
    sigmoid: Final = method(elementwise.sigmoid)
    relu: Final = method(elementwise.relu)
    floor: Final = method(elementwise.floor)
    round: Final = method(elementwise.round)
    isnan: Final = method(elementwise.isnan)
    isinf: Final = method(elementwise.isinf)
    isfinite: Final = method(elementwise.isfinite)
    clip: Final = method(elementwise.clip)
    clamp: Final = method(elementwise.clip)
    eq: Final = method(comparison.equal)
    ne: Final = method(comparison.not_equal)
    not_equal: Final = method(comparison.not_equal)
    lt: Final = method(comparison.less)
    less: Final = method(comparison.less)
    le: Final = method(comparison.less_equal)
    less_equal: Final = method(comparison.less_equal)
    gt: Final = method(comparison.greater)
    greater: Final = method(comparison.greater)
    ge: Final = method(comparison.greater_equal)
    greater_equal: Final = method(comparison.greater_equal)
    logical_and: Final = method(comparison.logical_and)
    logical_or: Final = method(comparison.logical_or)
    logical_xor: Final = method(comparison.logical_xor)
    logical_not: Final = method(comparison.logical_not)
    amax: Final = method(reduction.amax)
    amin: Final = method(reduction.amin)
    logsumexp: Final = method(reduction.logsumexp)
    cumprod: Final = method(reduction.cumprod)
    topk: Final = method(reduction.topk)
    nonzero: Final = method(indexing.nonzero)
    masked_select: Final = method(indexing.masked_select)
    masked_fill: Final = method(indexing.masked_fill)
    tril: Final = method(indexing.tril)
    triu: Final = method(indexing.triu)
    tile: Final = method(shapes.tile)
    flip: Final = method(shapes.flip)
    softmax: Final = method(reduction.softmax)
    log_softmax: Final = method(reduction.log_softmax)
    swapaxes: Final = method(shapes.swapaxes)
    expand_dims: Final = method(shapes.expand_dims)
    unsqueeze: Final = method(shapes.unsqueeze)
    squeeze: Final = method(shapes.squeeze)
    unbind: Final = method(shapes.unbind)
    roll: Final = method(shapes.roll)
    movedim: Final = method(shapes.movedim)
    moveaxis: Final = method(shapes.movedim)
    swapdims: Final = method(shapes.swapaxes)
    gather_elements: Final = method(indexing.gather_elements)
    matmul: Final = method(linalg.matmul)
    mm: Final = method(linalg.mm)
    bmm: Final = method(linalg.bmm)
    dot: Final = method(linalg.dot)
    outer: Final = method(linalg.outer)
    ger: Final = method(linalg.outer)
    addmm: Final = method(linalg.addmm)
    addmv: Final = method(linalg.addmv)
    baddbmm: Final = method(linalg.baddbmm)
    arctan2: Final = LazyMethod(lambda: ops.atan2)
    atan2: Final = LazyMethod(lambda: ops.atan2)
    bincount: Final = LazyMethod(lambda: ops.bincount)
    cholesky: Final = LazyMethod(lambda: ops.cholesky)
    cross: Final = LazyMethod(lambda: ops.cross)
    cummax: Final = LazyMethod(lambda: ops.cummax)
    cummin: Final = LazyMethod(lambda: ops.cummin)
    det: Final = LazyMethod(lambda: ops.det)
    diag: Final = LazyMethod(lambda: ops.diag)
    diagflat: Final = LazyMethod(lambda: ops.diagflat)
    fmod: Final = LazyMethod(lambda: ops.fmod)
    fold: Final = LazyMethod(lambda: ops.fold)
    index_add: Final = LazyMethod(lambda: ops.index_add)
    inverse: Final = LazyMethod(lambda: ops.inverse)
    isclose: Final = LazyMethod(lambda: ops.isclose)
    log_matrix_determinant: Final = LazyMethod(lambda: ops.slogdet)
    logdet: Final = LazyMethod(lambda: ops.logdet)
    matrix_determinant: Final = LazyMethod(lambda: ops.det)
    median: Final = LazyMethod(lambda: ops.median)
    multinomial: Final = LazyMethod(lambda: ops.multinomial)
    nan_to_num: Final = LazyMethod(lambda: ops.nan_to_num)
    norm: Final = LazyMethod(lambda: ops.norm)
    slogdet: Final = LazyMethod(lambda: ops.slogdet)
    svd: Final = LazyMethod(lambda: ops.svd)
    unfold: Final = LazyMethod(lambda: ops.unfold)
    xlogy: Final = LazyMethod(lambda: ops.xlogy)

    def remainder(
        self, other: Tensor | Values | None = None, *, divisor: Tensor | Values | None = None
    ) -> Tensor:
        """Return the remainder of the division by `other`, also called `divisor`, with its sign."""
        right = _resolve_alias(other, divisor)
        if right is None:
            raise TypeError("For 'remainder', the argument 'other' is missing.")
        return arithmetic.remainder(self, right)

    # Methods whose arguments have two names. `dim` is `axis`, `keepdim` is `keepdims`, and the
    # forms with `dim` are those of PyTorch.

    def add(self, other: Operand, *, alpha: Number = 1) -> Tensor:
        """Return `self + alpha * other`."""
        return arithmetic.add(*arithmetic.scale_other(self, other, alpha))

    def sub(self, other: Operand, *, alpha: Number = 1) -> Tensor:
        """Return `self - alpha * other`."""
        return arithmetic.sub(*arithmetic.scale_other(self, other, alpha))

    def sum(
        self,
        axis: Axis = None,
        dtype: dtypes.DTypeLike | Bool | None = None,
        keepdims: Bool = False,
        *,
        dim: Axis = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return the sum over axes; of integers and bools in int64.

        The second argument is the data type, or a bool `keepdim`.

        Examples:
            >>> x = Tensor([[1, 2], [3, 4]])
            >>> x.sum(0).tolist(), x.sum(dim=1, keepdim=True).tolist()
            ([4, 6], [[3], [7]])
        """
        keep = _resolve_alias(keepdims, keepdim, False)
        axes = _resolve_alias(axis, dim)
        if isinstance(dtype, Bool):
            return reduction.sum(self, axes, dtype)
        return reduction.sum(self, axes, keep, dtype=dtype)

    def mean(
        self,
        axis: Axis = None,
        keep_dims: Bool = False,
        *,
        dim: Axis = None,
        keepdim: Bool | None = None,
        dtype: dtypes.DTypeLike | None = None,
    ) -> Tensor:
        """Return the mean over axes, computed in `dtype`."""
        keep = _resolve_alias(keep_dims, keepdim, False)
        x = self if dtype is None else elementwise.cast(self, dtype)
        return reduction.mean(x, _resolve_alias(axis, dim), keep)

    def prod(
        self,
        dim: Axis = None,
        keepdim: Bool = False,
        dtype: dtypes.DTypeLike | None = None,
    ) -> Tensor:
        """Return the product over axes; of integers and bools in int64."""
        return reduction.prod(self, dim, keepdim, dtype)

    def all(
        self,
        axis: Axis = None,
        keep_dims: Bool = False,
        *,
        dim: Axis = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return whether all elements along axes are true."""
        keep = _resolve_alias(keep_dims, keepdim, False)
        return reduction.all(self, _resolve_alias(axis, dim), keep)

    def any(
        self,
        axis: Axis = None,
        keep_dims: Bool = False,
        *,
        dim: Axis = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return whether at least one element along axes is true."""
        keep = _resolve_alias(keep_dims, keepdim, False)
        return reduction.any(self, _resolve_alias(axis, dim), keep)

    def argmax(
        self,
        axis: Int | None = None,
        keepdims: Bool = False,
        *,
        dim: Int | None = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return the index of the first maximum along an axis, or of the flattened tensor."""
        keep = _resolve_alias(keepdims, keepdim, False)
        return reduction.argmax(self, _resolve_alias(axis, dim), keep)

    def argmin(
        self,
        axis: Int | None = None,
        keepdims: Bool = False,
        *,
        dim: Int | None = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return the index of the first minimum along an axis, or of the flattened tensor."""
        keep = _resolve_alias(keepdims, keepdim, False)
        return reduction.argmin(self, _resolve_alias(axis, dim), keep)

    @overload
    def max(self, dim: Int, keepdim: Bool = False) -> tuple[Tensor, Tensor]: ...
    @overload
    def max(
        self,
        axis: Sequence[Int] | None = None,
        keepdims: Bool = False,
        *,
        initial: Number | None = None,
        where: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def max(
        self,
        *,
        axis: Int,
        keepdims: Bool = False,
        initial: Number | None = None,
        where: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def max(self, axis: Int, /, *, keepdims: Bool) -> Tensor: ...
    @overload
    def max(
        self, axis: Int | None = None, keepdims: Bool = False, *, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def max(
        self, axis: Sequence[Int], keepdims: Bool = False, *, return_indices: Literal[True]
    ) -> Tensor: ...
    def max(self, *args: Any, **kwargs: Any) -> Tensor | tuple[Tensor, Tensor]:
        """Return the maximum over axes; `max(dim)` returns the maxima and their indices.

        So does `max(axis, keepdims, return_indices=True)` for one axis or all.

        Examples:
            >>> x = Tensor([[1, 2], [4, 3]])
            >>> x.max().item(), x.max(axis=1).tolist(), [y.tolist() for y in x.max(1)]
            (4, [2, 4], [[2, 4], [1, 0]])
        """
        if kwargs.pop("return_indices", False):
            return self._extrema(reduction.max, reduction.amax, *args, **kwargs)
        if _returns_indices(args, kwargs):
            return reduction.max(self, *_dim_arguments(*args, **kwargs))
        return reduction.amax(self, *args, **kwargs)

    @typed_as(max)
    def min(self, *args: Any, **kwargs: Any) -> Tensor | tuple[Tensor, Tensor]:  # noqa: ANN401
        """Return the minimum over axes; `min(dim)` returns the minima and their indices."""
        if kwargs.pop("return_indices", False):
            return self._extrema(reduction.min, reduction.amin, *args, **kwargs)
        if _returns_indices(args, kwargs):
            return reduction.min(self, *_dim_arguments(*args, **kwargs))
        return reduction.amin(self, *args, **kwargs)

    def _extrema(
        self,
        with_indices: Callable[..., tuple[Tensor, Tensor]],
        values: Callable[..., Tensor],
        axis: Axis = None,
        keepdims: Bool = False,
        **settings: Any,  # noqa: ANN401
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return extrema with their indices; of several axes without, as in MindSpore."""
        if isinstance(axis, tuple | list):
            return values(self, axis, keepdims, **settings)
        return with_indices(self, axis, keepdims, **settings)

    def std(
        self,
        axis: Axis = None,
        ddof: Int = 0,
        keepdims: Bool = False,
        *,
        dim: Axis = None,
        correction: Int | None = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return the standard deviation over axes; `correction` is `ddof`."""
        keep = _resolve_alias(keepdims, keepdim, False)
        axes = _resolve_alias(axis, dim)
        return reduction.std(self, axes, _resolve_alias(ddof, correction, 0), keep)

    def var(
        self,
        axis: Axis = None,
        ddof: Int = 0,
        keepdims: Bool = False,
        *,
        dim: Axis = None,
        correction: Int | None = None,
        keepdim: Bool | None = None,
    ) -> Tensor:
        """Return the variance over axes; `correction` is `ddof`."""
        keep = _resolve_alias(keepdims, keepdim, False)
        axes = _resolve_alias(axis, dim)
        return reduction.var(self, axes, _resolve_alias(ddof, correction, 0), keep)

    def sort(
        self,
        axis: Int = -1,
        descending: Bool = False,
        *,
        dim: Int | None = None,
        stable: Bool = True,
    ) -> tuple[Tensor, Tensor]:
        """Return the sorted elements along an axis and their indices; the sort is stable."""
        return reduction.sort(self, _resolve_alias(axis, dim, -1), descending)

    def argsort(
        self,
        axis: Int = -1,
        descending: Bool = False,
        *,
        dim: Int | None = None,
        stable: Bool = True,
    ) -> Tensor:
        """Return the indices that sort the elements along an axis; the sort is stable."""
        return reduction.argsort(self, _resolve_alias(axis, dim, -1), descending)

    def split(
        self,
        split_size_or_sections: Int | Sequence[Int],
        axis: Int = 0,
        *,
        dim: Int | None = None,
    ) -> tuple[Tensor, ...]:
        """Return the tensor split into parts along an axis."""
        return shapes.split(self, split_size_or_sections, _resolve_alias(axis, dim, 0))

    def chunk(self, chunks: Int, axis: Int = 0, *, dim: Int | None = None) -> tuple[Tensor, ...]:
        """Return the tensor split into `chunks` parts along an axis."""
        return shapes.chunk(self, chunks, _resolve_alias(axis, dim, 0))

    @overload
    def index_select(self, axis: Int, index: Variable) -> Tensor: ...
    @overload
    def index_select(self, *, dim: Int, index: Variable) -> Tensor: ...
    def index_select(self, axis: Any = None, index: Any = None, dim: Any = None) -> Tensor:
        """Return the slices along an axis that a tensor of indices selects."""
        return indexing.index_select(self, _resolve_alias(axis, dim), index)

    @overload
    def gather(self, dim: Int, index: Variable) -> Tensor: ...
    @overload
    def gather(self, input_indices: Tensor, axis: Int, batch_dims: Int = 0) -> Tensor: ...
    def gather(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return elements that indices select along an axis.

        `gather(dim, index)` is `gather_elements(dim, index)`, and `gather(input_indices, axis)`
        returns slices, as `ops.gather` does.

        Examples:
            >>> x = Tensor([[1, 2], [3, 4]])
            >>> x.gather(1, Tensor([[0], [1]])).tolist(), x.gather(Tensor([1]), 0).tolist()
            ([[1], [4]], [[3, 4]])
        """
        if len(args) + len(kwargs) < 2:
            raise TypeError("For 'gather', an axis and a Tensor of indices must be given.")
        by_slices = "input_indices" in kwargs or isinstance((*args, None)[0], Variable)
        function = indexing.gather if by_slices else indexing.gather_elements
        return function(self, *args, **kwargs)

    @overload
    def scatter(
        self, axis: Int, index: Tensor, src: Tensor | Number, reduce: str = "none"
    ) -> Tensor: ...
    @overload
    def scatter(
        self, *, dim: Int, index: Tensor, src: Tensor | Number, reduce: str = "none"
    ) -> Tensor: ...
    def scatter(
        self,
        axis: Any = None,
        index: Any = None,
        src: Any = None,
        reduce: str = "none",
        *,
        dim: Any = None,
    ) -> Tensor:
        """Return the tensor with `src` at indices along an axis; `reduce="add"` adds it there."""
        check_one_of(reduce, ("none", "add"), "reduce")
        source: Tensor | Number = src
        place = _resolve_alias(axis, dim)
        put = ops.scatter if reduce == "none" else ops.scattering.add_along_axis
        return put(self, place, index, source)

    def scatter_add(self, dim: Int, index: Tensor, src: Tensor) -> Tensor:
        """Return the tensor with `src` added at indices along an axis."""
        check_tensor(src, "src")
        return ops.scattering.add_along_axis(self, dim, index, src)

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return the tensor with the first elements of `source` where `mask` is true, in order.

        Examples:
            >>> x = Tensor([1, 2, 3])
            >>> x.masked_scatter(Tensor([True, False, True]), Tensor([7, 8, 9])).tolist()
            [7, 2, 8]
        """
        return ops.scattering.put_where(self, mask, source)

    def searchsorted(
        self,
        v: Tensor,
        side: Literal["left", "right"] = "left",
        sorter: Tensor | None = None,
    ) -> Tensor:
        """Return where values are to be inserted into the sorted tensor: int32 indices."""
        return ops.searchsorted(self, v, out_int32=True, side=side, sorter=sorter)

    def qr(self, some: Bool = True) -> tuple[Tensor, Tensor]:
        """Return the QR decomposition: `some` is False for square Q."""
        return ops.qr(self, "reduced" if check_type(some, Bool, "some") else "complete")

    def diagonal(self, offset: Int = 0, axis1: Int = 0, axis2: Int = 1) -> Tensor:
        """Return the diagonals of the matrices along two axes."""
        return indexing.diagonal(self, offset, axis1, axis2)

    def trace(
        self,
        offset: Int = 0,
        axis1: Int = 0,
        axis2: Int = 1,
        dtype: dtypes.DTypeLike | None = None,
    ) -> Tensor:
        """Return the sums of the diagonals; of integers in int64."""
        return reduction.sum(self.diagonal(offset, axis1, axis2), -1, dtype=dtype)

    def count_nonzero(
        self,
        axis: Axis = (),
        keep_dims: Bool = False,
        dtype: dtypes.DTypeLike | None = None,
        *,
        dim: Axis = None,
    ) -> Tensor:
        """Return the number of elements over axes that are not 0."""
        axes = _resolve_alias(axis, dim, ())
        return reduction.count_nonzero(self, axes, keep_dims, dtype or dtypes.int32)

    def fill(self, value: Tensor | Number) -> Tensor:
        """Return a tensor of the same shape and type in which every element is `value`."""
        return elementwise.stop_gradient(elementwise.copy(self)).fill_(value)

    def new_zeros(self, size: Int | Sequence[Int], dtype: dtypes.DTypeLike | None = None) -> Tensor:
        """Return zeros of another shape, on the same device and, without `dtype`, of this type."""
        return self._new(size, 0, dtype)

    def new_ones(self, size: Int | Sequence[Int], dtype: dtypes.DTypeLike | None = None) -> Tensor:
        """Return ones of another shape, on the same device and, without `dtype`, of this type."""
        return self._new(size, 1, dtype)

    def new_full(
        self,
        size: Int | Sequence[Int],
        fill_value: Number,
        dtype: dtypes.DTypeLike | None = None,
    ) -> Tensor:
        """Return a number in another shape, on the same device, without `dtype` of this type."""
        check_type(fill_value, (int, float), "fill_value")
        return self._new(size, fill_value, dtype)

    def _new(self, size: object, value: Number, dtype: dtypes.DTypeLike | None) -> Tensor:
        chosen = self.dtype if dtype is None else dtypes.as_dtype(dtype)
        lengths = as_shape(size, "size")
        check_fits(value, chosen)
        try:
            data = device_namespace(self._data).full(lengths, value, chosen.numpy_dtype)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"For '{caller()}', no such tensor can be made: {error}.") from None
        return wrap(data, self)

    def expand_as(self, other: Variable | None = None, *, x: Variable | None = None) -> Tensor:
        """Return the tensor broadcast to the shape of `other`, also called `x`."""
        return shapes.broadcast_to(self, check_tensor(_resolve_alias(other, x), "other").shape)

    def expand(self, *size: Int | Sequence[Int]) -> Tensor:
        """Return `self.broadcast_to(*size)`."""
        return self.broadcast_to(*size)

    def view_as(self, other: Variable) -> Tensor:
        """Return the elements in the shape of `other`."""
        return shapes.reshape(self, check_tensor(other, "other").shape)

    def reshape_as(self, other: Variable) -> Tensor:
        """Return the elements in the shape of `other`."""
        return shapes.reshape(self, check_tensor(other, "other").shape)

    def ravel(self) -> Tensor:
        """Return the elements along one axis."""
        return shapes.reshape(self, (-1,))

    def t(self) -> Tensor:
        """Return the transposed matrix, and any tensor of other than two axes itself."""
        return self.T if self.ndim == 2 else self

    @property
    def data(self) -> Tensor:
        """The elements as a tensor that shares the memory, through which no gradient flows."""
        return elementwise.stop_gradient(self)

    def register_hook(self, hook: TensorHook) -> TensorHookHandle:
        """Call a function with the gradient of this tensor in the backward pass.

        For a parameter it is called whenever the gradient by it is computed. For another tensor it
        is called for the uses that follow, in a function that is being differentiated.

        Args:
            hook: A function that returns None, or a gradient of its shape and type that replaces
                it.

        Returns:
            A handle with a method `remove`.

        Raises:
            TypeError: `hook` is not callable.

        Examples:
            >>> from minispore import grad
            >>> def function(x):
            ...     y = x * x
            ...     y.register_hook(lambda gradient: gradient * 10)
            ...     return y
            >>> grad(function)(Tensor(3.0)).item()
            60.0

        Source: MindSpore's `mindspore.Tensor.register_hook`.
        """
        if not callable(hook):
            raise type_error(hook, "hook", "be callable")
        node = self._node
        rule = getattr(node, "rule", None)
        owner = getattr(getattr(rule, "__wrapped__", rule), "__self__", None)
        if not isinstance(owner, _GradientHooks):
            owner = _GradientHooks(self)
            if node is not None and not node.parents:
                # An input of the graph, such as a parameter: its node lives longer than the graph.
                node.rule = owner.rule
            else:
                self._node = apply_rule(owner.rule, self)._node
        return TensorHookHandle(owner.handles, hook)

    def bfloat16(self) -> NoReturn:
        """Raise a NotImplementedError: numpy has no type bfloat16. Use `half` or `float`."""
        raise NotImplementedError("For 'bfloat16', numpy has no such type: use 'half' or 'float'.")

    def contiguous(self) -> Tensor:
        """Return the tensor, in which the last axis varies fastest in memory."""
        return self if self.is_contiguous() else elementwise.copy(self)

    def is_contiguous(self) -> Bool:
        """Return whether the last axis varies fastest in memory."""
        return bool(to_host(self._data).flags.c_contiguous)

    def is_floating_point(self) -> Bool:
        """Return whether the elements are floats."""
        return self.dtype.category == dtypes.FLOAT

    @overload
    def flatten(self, start_dim: Int = 0, end_dim: Int = -1) -> Tensor: ...
    @overload
    def flatten(
        self, order: Literal["C", "F"], *, start_dim: Int = 0, end_dim: Int = -1
    ) -> Tensor: ...
    def flatten(self, *args: Any, **kwargs: Any) -> Tensor:
        """Return the tensor with the axes from `start_dim` to `end_dim` merged into one.

        With `order="F"`, the axes are reversed first.

        Examples:
            >>> x = Tensor([[1, 2], [3, 4]])
            >>> x.flatten().tolist(), x.flatten(order="F").tolist()
            ([1, 2, 3, 4], [1, 3, 2, 4])
        """
        if args and isinstance(args[0], str):
            kwargs, args = {"order": args[0]} | kwargs, args[1:]
        if len(args) > 2:
            raise TypeError(f"For 'flatten', at most two axes can be given, but got {len(args)}.")
        named: dict[str, Any] = dict(zip(("start_dim", "end_dim"), args, strict=False))
        settings: dict[str, Any] = {"start_dim": 0, **kwargs, **named}
        return shapes.flatten(self, **settings)

    def reshape(self, *shape_: Int | Sequence[Int]) -> Tensor:
        """Return the elements in another shape, which is one sequence or several ints.

        Examples:
            >>> Tensor([1, 2, 3, 4]).reshape(2, -1).tolist()
            [[1, 2], [3, 4]]
        """
        return shapes.reshape(self, _lengths(shape_))

    def permute(self, *axis: Int | Sequence[Int]) -> Tensor:
        """Return the tensor with its axes in another order."""
        return shapes.permute(self, _lengths(axis))

    def transpose(self, *axes: Int | Sequence[Int]) -> Tensor:
        """Return the tensor with permuted axes, by default reversed; two ints exchange two axes."""
        if len(axes) == 2:
            first, second = _lengths(axes)
            return shapes.swapaxes(self, first, second)
        return shapes.permute(self, _lengths(axes) or range(self.ndim)[::-1])

    def broadcast_to(self, *shape_: Int | Sequence[Int]) -> Tensor:
        """Return the tensor broadcast to another shape."""
        return shapes.broadcast_to(self, _lengths(shape_))

    def view(self, *shape_: Int | Sequence[Int] | DType) -> Tensor:
        """Return `self.reshape(*shape_)`; with a data type, the same memory read as that type.

        Gradients do not flow to the memory.

        Examples:
            >>> Tensor([1.0]).view(dtypes.int32).tolist()
            [1065353216]
        """
        if len(shape_) == 1 and isinstance(shape_[0], DType):
            try:
                view = Tensor.from_numpy(self.asnumpy().view(shape_[0].numpy_dtype))
                share(view, self, is_constant=True)
                return view
            except ValueError as error:
                raise ValueError(f"For 'view', {error}") from None
        return self.reshape(*cast("tuple[Int | Sequence[Int], ...]", shape_))

    def repeat(self, *repeats: Int | Sequence[Int]) -> Tensor:
        """Return the tensor repeated as a whole along each axis, as `tile` does.

        Raises:
            ValueError: There are fewer numbers than axes.

        Examples:
            >>> Tensor([[1, 2]]).repeat(2, 2).tolist()
            [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
        counts = as_shape(_lengths(repeats), "repeats")
        if len(counts) < self.ndim:
            raise ValueError(
                f"For 'repeat', there must be a number for each of the {self.ndim} axes, "
                f"but got {counts}."
            )
        return shapes.tile(self, counts)

    def cumsum(
        self,
        axis: Int | None = None,
        dtype: dtypes.DTypeLike | None = None,
        *,
        dim: Int | None = None,
    ) -> Tensor:
        """Return the cumulative sum along an axis, or of the flattened tensor.

        As in MindSpore, bools and integers below int32, except for uint16, are summed in int32.
        """
        place = _resolve_alias(axis, dim)
        if dtype is None and self.dtype in _SUMMED_IN_INT32:
            dtype = dtypes.int32
        x = self if dtype is None else self.astype(dtype)
        if place is None:
            return reduction.cumsum(shapes.reshape(x, (-1,)), 0)
        return reduction.cumsum(x, place)

    def repeat_interleave(
        self, repeats: Int | Sequence[Int] | Tensor, dim: Int | None = None
    ) -> Tensor:
        """Return the tensor with each element repeated along an axis, or flattened."""
        return shapes.repeat_interleave(self, repeats, dim)

    def copy(self) -> Tensor:
        """Return a copy in memory of its own; gradients flow through it."""
        return elementwise.copy(self)

    def clone(self) -> Tensor:
        """Return `self.copy()`."""
        return elementwise.copy(self)

    def astype(self, dtype: dtypes.DTypeLike, copy: Bool = True) -> Tensor:
        """Return the elements in another data type; differentiable between float types."""
        other = elementwise.cast(self, dtype)
        return elementwise.copy(self) if copy and other is self else other

    @overload
    def to(
        self,
        device: str | None = None,
        dtype: dtypes.DTypeLike | None = None,
        non_blocking: Bool = False,
        copy: Bool = False,
    ) -> Tensor: ...
    @overload
    def to(
        self, dtype: dtypes.DTypeLike, non_blocking: Bool = False, copy: Bool = False
    ) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: Bool = False, copy: Bool = False) -> Tensor: ...
    def to(self, *args: object, **kwargs: object) -> Tensor:
        """Return the tensor on another device, "CPU" or "GPU", and in another data type.

        The forms are `to(device, dtype)`, `to(dtype)`, and `to(other)` for the device and type of
        another tensor. Gradients are moved back.

        Args:
            *args: The device, the data type or the other tensor; None keeps the present one. Then
                `non_blocking`, which has no effect, and `copy`: whether to copy in any case.
            **kwargs: The same by name.

        Returns:
            A tensor; `self` if nothing changes.

        Raises:
            TypeError: The arguments have none of the forms.
            RuntimeError: A GPU is requested, and there is none or CuPy is missing.

        Examples:
            >>> from minispore import float16
            >>> print(Tensor([1.0, 2.0]).to("CPU", float16).dtype)
            Float16

        Source: MindSpore's `mindspore.Tensor.to`.
        """
        return ops._device_transfer.to(self, ops._device_transfer.parse_to_arguments(args, kwargs))

    def move_to(self, to: str, blocking: Bool = True) -> Tensor:
        """Return the tensor on the device "CPU" or "GPU"; `blocking` has no effect.

        Raises:
            ValueError: `blocking` is not a bool, or there is no device of that name.
            RuntimeError: A GPU is requested, and there is none or CuPy is missing.

        Source: MindSpore's `mindspore.Tensor.move_to`.
        """
        if not isinstance(blocking, Bool):
            raise type_error(blocking, "blocking", "be a bool", ValueError)
        check_one_of(to, ("CPU", "GPU"), "to")
        return ops._device_transfer.to_device(self, "GPU" if to == "GPU" else "CPU")

    def type_as(self, other: Variable) -> Tensor:
        """Return the elements in the data type of `other`."""
        return elementwise.cast(self, dtype_of(check_tensor(other, "other")))

    def float(self) -> Tensor:
        """Return the elements as float32."""
        return elementwise.cast(self, dtypes.float32)

    def half(self) -> Tensor:
        """Return the elements as float16."""
        return elementwise.cast(self, dtypes.float16)

    def double(self) -> Tensor:
        """Return the elements as float64."""
        return elementwise.cast(self, dtypes.float64)

    def byte(self) -> Tensor:
        """Return the elements as uint8."""
        return elementwise.cast(self, dtypes.uint8)

    def short(self) -> Tensor:
        """Return the elements as int16."""
        return elementwise.cast(self, dtypes.int16)

    def int(self) -> Tensor:
        """Return the elements as int32."""
        return elementwise.cast(self, dtypes.int32)

    def long(self) -> Tensor:
        """Return the elements as int64."""
        return elementwise.cast(self, dtypes.int64)

    def bool(self) -> Tensor:
        """Return the elements as bool."""
        return elementwise.cast(self, dtypes.bool_)


_SUMMED_IN_INT32 = {dtypes.bool_, dtypes.int8, dtypes.uint8, dtypes.int16}


class TensorHookHandle:
    """What `Tensor.register_hook` returns."""

    def __init__(self, handles: list[TensorHookHandle], hook: TensorHook) -> None:
        self._handles = handles
        self.hook = hook
        handles.append(self)

    def remove(self) -> None:
        """Remove the hook if it is still registered."""
        # By identity: the same function may be registered twice.
        if self in self._handles:
            self._handles.remove(self)


def gradient_hooks(tensor: Tensor) -> list[TensorHook]:
    """Return the hooks that `Tensor.register_hook` has registered; a new list if there are none."""
    owner = getattr(tensor._node and tensor._node.rule, "__self__", None)
    return [x.hook for x in owner.handles] if isinstance(owner, _GradientHooks) else []


class _GradientHooks:
    """The hooks of a tensor, in the order of their calls, and the rule that calls them."""

    def __init__(self, like: Tensor) -> None:
        self.handles: list[TensorHookHandle] = []
        self._like = wrap(like._data, like)

    def rule(self, x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        """Return `x`, and the pullback that calls the hooks."""
        return x, (self._pullback,)

    def _pullback(self, g: Array) -> Array:
        # If the backward pass is recorded, the gradient is a tensor already.
        gradient = g if isinstance(g, Tensor) else wrap(g, self._like)
        for handle in tuple(self.handles):
            result = handle.hook(gradient)
            name = getattr(handle.hook, "__name__", type(handle.hook).__name__)
            what = f"For 'register_hook', what the hook '{name}' returns"
            # A copy, since hooks may keep what they get and return.
            gradient = elementwise.copy(checked_gradient(result, gradient, what))
        return cast("Array", gradient) if isinstance(g, Tensor) else gradient._data


def checked_gradient(result: object, gradient: Tensor, what: str) -> Tensor:
    """Return the result of a hook, or the gradient that it was given if that is None.

    Args:
        result: The result.
        gradient: The gradient.
        what: How errors call the result.

    Raises:
        TypeError: The result is no Tensor.
        ValueError: It has another shape or data type than the gradient.
    """
    if result is None:
        return gradient
    must = f"{what} must be None or a Tensor of shape {gradient.shape} and type {gradient.dtype!r}"
    if not isinstance(result, Tensor):
        raise TypeError(f"{must}, but got {describe_value(result)}.")
    if (result.shape, result.dtype) != (gradient.shape, gradient.dtype):
        raise ValueError(f"{must}, but got shape {result.shape} and type {result.dtype!r}.")
    return result


def _resolve_alias(axis: V, dim: V | None, default: object = None) -> V:
    """Return the one of an argument's two names that is given.

    Raises:
        TypeError: Both are given.
    """
    if dim is None:
        return axis
    if axis != default:
        raise TypeError(
            f"For '{caller()}', an argument was given by both of its names: {axis!r} and {dim!r}."
        )
    return dim


def _returns_indices(args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
    """Return whether `max` or `min` is called in the form that returns indices, too."""
    if not kwargs.keys().isdisjoint({"axis", "keepdims", "initial", "where"}):
        return False
    return bool(kwargs) or (bool(args) and isinstance(args[0], int))


def _dim_arguments(dim: int, keepdim: bool = False) -> tuple[int, bool]:
    return dim, keepdim


def _lengths(values: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """Return several ints, or the items of one sequence of ints, as a tuple."""
    if len(values) == 1 and isinstance(values[0], list | tuple):
        return tuple(values[0])
    return cast("tuple[int, ...]", values)


Tensor._result = Tensor
register_namespace(Tensor, cast("Namespace[Tensor]", _namespace))


def tensor(
    input_data: object = None,
    dtype: DType | None = None,
    shape: Sequence[int] | int | None = None,
    init: object = None,
) -> Tensor:
    """Return `Tensor(input_data, dtype, shape, init)`.

    Args:
        input_data: As in `Tensor`.
        dtype: As in `Tensor`.
        shape: As in `Tensor`.
        init: As in `Tensor`.

    Returns:
        A tensor.

    Examples:
        >>> tensor([True, False])
        Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Source: MindSpore's `mindspore.tensor`.
    """
    return Tensor(input_data, dtype, shape, init)


def tensor_of(data: Array | HostArray) -> Tensor:
    """Return a tensor that shares the memory of an array, on its device."""
    tensor = object.__new__(Tensor)
    tensor._data, tensor._node, tensor._aliases = data, None, ALONE
    return tensor


from_numpy: Callable[[NDArray[np.generic]], Tensor] = Tensor.from_numpy


def _is_operand(x: object) -> TypeGuard[Tensor | Number]:
    return isinstance(x, Tensor | int | float | np.generic | np.ndarray)


def _is_matrix(x: object) -> bool:
    return isinstance(x, Tensor | np.ndarray)


def _tensor(x: Matrix) -> Tensor:
    return x if isinstance(x, Tensor) else Tensor(x)


def _initial(shape_: Sequence[int] | int, dtype: DType, init: object) -> NDArray[np.generic]:
    """Return an array of zeros, filled in place by `init` if there is one."""
    lengths = as_shape(shape_)
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
        raise type_error(init, "init", "be an Initializer, for example Normal()")
    return values


# The operations below `Tensor` are annotated with it: tools evaluate the annotations.
for _module in (arithmetic, comparison, elementwise, indexing, linalg, reduction, shapes):
    vars(_module)["Tensor"] = Tensor
