"""The operations of `ops` as methods: the same functions, bound to the tensor."""

from collections.abc import Sequence
from typing import Self, TypeAlias, cast

from minispore import _dtype
from minispore._array import Axis
from minispore._functional import (
    arithmetic,
    comparison,
    elementwise,
    indexing,
    linalg,
    reduction,
    shape,
)
from minispore._functional import softmax as softmaxes
from minispore._functional.operands import dtype_of
from minispore._functional.variable import Variable
from minispore.common._host import Host

# Some methods are named like Python's types and hide them in the class body.
Int: TypeAlias = int
Bool: TypeAlias = bool


class Methods(Host):
    """What can be done with a tensor by name."""

    __slots__ = ()

    # Operations that go by other argument names here than in `ops`.

    def sum(
        self,
        axis: Axis = None,
        dtype: _dtype.DTypeLike | None = None,
        keepdims: Bool = False,
    ) -> Self:
        """The sum over `axis`; of integers and bools in int64."""
        return reduction.sum(self, axis, keepdims, dtype=dtype)

    def argmax(self, axis: Int | None = None, keepdims: Bool = False) -> Self:
        """The index of the first largest element along `axis`, or in the flattened tensor."""
        return reduction.argmax(self, axis, keepdims)

    def flatten(self, start_dim: Int = 0, end_dim: Int = -1) -> Self:
        """The axes from `start_dim` to `end_dim` as one."""
        return shape.flatten(self, start_dim=start_dim, end_dim=end_dim)

    def reshape(self, *shape_: Int | Sequence[Int]) -> Self:
        """The elements in another shape, given as one sequence or as several ints.

        >>> from minispore import Tensor
        >>> Tensor([1, 2, 3, 4]).reshape(2, -1).tolist()
        [[1, 2], [3, 4]]
        """
        return shape.reshape(self, _lengths(shape_))

    def permute(self, *axis: Int | Sequence[Int]) -> Self:
        """The axes in another order."""
        return shape.permute(self, _lengths(axis))

    def transpose(self, *axes: Int | Sequence[Int]) -> Self:
        """The axes in another order, in reverse if none are named; two ints swap two axes."""
        if len(axes) == 2:
            first, second = _lengths(axes)
            return shape.swapaxes(self, first, second)
        return shape.permute(self, _lengths(axes) or range(self.ndim)[::-1])

    def broadcast_to(self, *shape_: Int | Sequence[Int]) -> Self:
        """Repeated to another shape."""
        return shape.broadcast_to(self, _lengths(shape_))

    view = reshape

    # Operations that are the same here as in `ops`.

    add = arithmetic.add
    sub = subtract = arithmetic.sub
    mul = multiply = arithmetic.mul
    div = divide = arithmetic.div
    floor_divide = arithmetic.floor_divide
    remainder = arithmetic.remainder
    neg = negative = arithmetic.neg
    pow = arithmetic.pow
    maximum = arithmetic.maximum
    minimum = arithmetic.minimum
    abs = absolute = elementwise.abs
    exp = elementwise.exp
    log = elementwise.log
    sqrt = elementwise.sqrt
    square = elementwise.square
    sign = elementwise.sign
    tanh = elementwise.tanh
    sigmoid = elementwise.sigmoid
    relu = elementwise.relu
    clip = clamp = elementwise.clip
    floor = elementwise.floor
    round = elementwise.round
    isnan = elementwise.isnan
    isinf = elementwise.isinf
    isfinite = elementwise.isfinite
    copy = clone = elementwise.copy
    eq = comparison.equal
    ne = not_equal = comparison.not_equal
    lt = less = comparison.less
    le = less_equal = comparison.less_equal
    gt = greater = comparison.greater
    ge = greater_equal = comparison.greater_equal
    logical_and = comparison.logical_and
    logical_or = comparison.logical_or
    logical_xor = comparison.logical_xor
    logical_not = comparison.logical_not
    all = comparison.all
    any = comparison.any
    mean = reduction.mean
    max = amax = reduction.amax
    min = amin = reduction.amin
    logsumexp = reduction.logsumexp
    argmin = reduction.argmin
    swapaxes = shape.swapaxes
    expand_dims = unsqueeze = shape.expand_dims
    squeeze = shape.squeeze
    split = shape.split
    gather = indexing.gather
    gather_elements = indexing.gather_elements
    matmul = linalg.matmul
    softmax = softmaxes.softmax
    log_softmax = softmaxes.log_softmax

    def astype(self, dtype: _dtype.DTypeLike, copy: Bool = True) -> Self:
        """The elements in another type; differentiable between float types."""
        other = elementwise.cast(self, dtype)
        return elementwise.copy(self) if copy and other is self else other

    def to(self, dtype: _dtype.DTypeLike) -> Self:
        """The elements in another type."""
        return elementwise.cast(self, dtype)

    def type_as(self, other: Variable) -> Self:
        """The elements in the type of `other`."""
        return elementwise.cast(self, dtype_of(other))

    def float(self) -> Self:
        """The elements as float32."""
        return elementwise.cast(self, _dtype.float32)

    def half(self) -> Self:
        """The elements as float16."""
        return elementwise.cast(self, _dtype.float16)

    def double(self) -> Self:
        """The elements as float64."""
        return elementwise.cast(self, _dtype.float64)

    def int(self) -> Self:
        """The elements as int32."""
        return elementwise.cast(self, _dtype.int32)

    def long(self) -> Self:
        """The elements as int64."""
        return elementwise.cast(self, _dtype.int64)

    def bool(self) -> Self:
        """The elements as bool."""
        return elementwise.cast(self, _dtype.bool_)


def _lengths(given: tuple[int | Sequence[int], ...]) -> tuple[int, ...]:
    """One sequence or several ints, as a tuple of ints."""
    if len(given) == 1 and isinstance(given[0], list | tuple):
        return tuple(given[0])
    return cast("tuple[int, ...]", given)
