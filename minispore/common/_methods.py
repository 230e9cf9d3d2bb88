"""The operations of `ops` as methods: the same functions, bound to the tensor."""

from collections.abc import Sequence
from typing import Self, TypeAlias, cast, overload

from minispore import _dtype
from minispore._array import Axis
from minispore._checks import check_one_of, described
from minispore._functional import (
    comparison,
    elementwise,
    indexing,
    linalg,
    masking,
    ordering,
    placing,
    reduction,
    repeating,
    shape,
    statistics,
)
from minispore._functional import softmax as softmaxes
from minispore._functional.operands import Number, dtype_of
from minispore._functional.variable import T, Variable, check_tensor
from minispore.common._elementwise import Elementwise

# Some methods are named like Python's types and hide them in the class body.
Int: TypeAlias = int
Bool: TypeAlias = bool
_PYTHONS_BOOL = bool
_PythonsFloat: TypeAlias = float


class Methods(Elementwise):
    """What can be done with a tensor by name."""

    __slots__ = ()

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

    def view(self, *shape_: Int | Sequence[Int]) -> Self:
        """As `reshape`."""
        return self.reshape(*shape_)

    def all(self, axis: Axis = None, keep_dims: Bool = False) -> Self:
        """Whether all elements hold, over `axis`."""
        return comparison.all(self, axis, keep_dims)

    def any(self, axis: Axis = None, keep_dims: Bool = False) -> Self:
        """Whether any element holds, over `axis`."""
        return comparison.any(self, axis, keep_dims)

    def mean(self, axis: Axis = None, keep_dims: Bool = False) -> Self:
        """The mean over `axis`, in the tensor's own type."""
        return reduction.mean(self, axis, keep_dims)

    def max(self, axis: Axis = None, keepdims: Bool = False) -> Self:
        """The largest element over `axis`; equal ones share the gradient equally."""
        return reduction.amax(self, axis, keepdims)

    def amax(self, axis: Axis = None, keepdims: Bool = False) -> Self:
        """As `max`."""
        return reduction.amax(self, axis, keepdims)

    def min(self, axis: Axis = None, keepdims: Bool = False) -> Self:
        """The smallest element over `axis`; equal ones share the gradient equally."""
        return reduction.amin(self, axis, keepdims)

    def amin(self, axis: Axis = None, keepdims: Bool = False) -> Self:
        """As `min`."""
        return reduction.amin(self, axis, keepdims)

    def logsumexp(self, axis: Axis, keep_dims: Bool = False) -> Self:
        """log Σ exp(self) over `axis`, without overflow."""
        return reduction.logsumexp(self, axis, keep_dims)

    def argmin(self, axis: Int | None = None, keepdims: Bool = False) -> Self:
        """The index of the first smallest element along `axis`, or in the flattened tensor."""
        return reduction.argmin(self, axis, keepdims)

    def var(self, axis: Axis = None, ddof: Int | Bool = 0, keepdims: Bool = False) -> Self:
        """The mean square of the distance from the mean over `axis`; see `ops.var`."""
        return statistics.var(self, axis, ddof, keepdims)

    def std(self, axis: Axis = None, ddof: Int | Bool = 0, keepdims: Bool = False) -> Self:
        """The square root of `var`."""
        return statistics.std(self, axis, ddof, keepdims)

    def norm(
        self,
        ord: _PythonsFloat | str | None = None,
        dim: Axis = None,
        keepdim: Bool = False,
        *,
        dtype: _dtype.DTypeLike | None = None,
    ) -> Self:
        """The length of vectors or the size of matrices; see `ops.norm`."""
        return statistics.norm(self, ord, dim, keepdim, dtype=dtype)

    def cumsum(self, axis: Int | None = None, dtype: _dtype.DTypeLike | None = None) -> Self:
        """The sums up to each element along `axis`, or in the flattened tensor."""
        if axis is None:
            return ordering.cumsum(shape.reshape(self, (-1,)), 0, dtype)
        return ordering.cumsum(self, axis, dtype)

    def sort(self, axis: Int = -1, descending: Bool = False) -> tuple[Self, Self]:
        """The elements along `axis` by their size, and where each was."""
        return ordering.sort(self, axis, descending)

    def topk(
        self, k: Int, dim: Int | None = None, largest: Bool = True, sorted: Bool = True
    ) -> tuple[Self, Self]:
        """The `k` largest elements along `dim` (the last axis if None), and where each was."""
        return ordering.topk(self, k, dim, largest, sorted)

    def masked_fill(self: T, mask: Variable, value: T | Number) -> T:
        """`value` where `mask` holds."""
        return masking.masked_fill(self, mask, value)

    def tril(self, diagonal: Int = 0) -> Self:
        """Zeros above the diagonal of each matrix."""
        return masking.tril(self, diagonal)

    def triu(self, diagonal: Int = 0) -> Self:
        """Zeros below the diagonal of each matrix."""
        return masking.triu(self, diagonal)

    def tile(self, dims: tuple[Int, ...]) -> Self:
        """Side by side with itself, as many times along each axis as `dims` says."""
        return repeating.tile(self, dims)

    def repeat_interleave(
        self, repeats: Int | Sequence[Int] | Variable, dim: Int | None = None
    ) -> Self:
        """Each element several times, one behind the other; along `dim`, or flattened."""
        return repeating.repeat_interleave(self, repeats, dim)

    def flip(self, dims: Sequence[Int]) -> Self:
        """In reverse order along the axes `dims`."""
        return repeating.flip(self, dims)

    def softmax(self, axis: Int = -1, *, dtype: _dtype.DTypeLike | None = None) -> Self:
        """exp(self) / Σ exp(self) along `axis`, computed in the type `dtype` if there is one."""
        return softmaxes.softmax(self, axis, dtype=dtype)

    def log_softmax(self, axis: Int = -1) -> Self:
        """The logarithm of `softmax`, without its overflow."""
        return softmaxes.log_softmax(self, axis)

    def swapaxes(self, axis0: Int, axis1: Int) -> Self:
        """The two axes in each other's place."""
        return shape.swapaxes(self, axis0, axis1)

    def expand_dims(self, axis: Int) -> Self:
        """A new axis of length 1 at `axis`."""
        return shape.expand_dims(self, axis)

    def unsqueeze(self, dim: Int) -> Self:
        """As `expand_dims`."""
        return shape.expand_dims(self, dim)

    def squeeze(self, axis: Int | tuple[Int, ...] | None = None) -> Self:
        """Without the axes of length 1 that `axis` names, or without any such axis."""
        return shape.squeeze(self, axis)

    def split(self, split_size_or_sections: Int | Sequence[Int], axis: Int = 0) -> tuple[Self, ...]:
        """Parts along `axis`: of a given length (the last may be shorter), or of several."""
        return shape.split(self, split_size_or_sections, axis)

    def gather(self, input_indices: Variable, axis: Int, batch_dims: Int = 0) -> Self:
        """The parts along `axis` that `input_indices` names, in its shape."""
        return indexing.gather(self, input_indices, axis, batch_dims)

    def gather_elements(self, dim: Int, index: Variable) -> Self:
        """For each place of `index` the element at that place, but at `index` in `dim`."""
        return indexing.gather_elements(self, dim, index)

    def matmul(self: T, other: T) -> T:
        """The matrix product; stacks of matrices broadcast, a vector is a row or a column."""
        return linalg.matmul(self, other)

    def astype(self, dtype: _dtype.DTypeLike, copy: Bool = True) -> Self:
        """The elements in another type; differentiable between float types."""
        other = elementwise.cast(self, dtype)
        return elementwise.copy(self) if copy and other is self else other

    @overload
    def to(
        self,
        device: str | None = None,
        dtype: _dtype.DTypeLike | None = None,
        non_blocking: Bool = False,
        copy: Bool = False,
    ) -> Self: ...
    @overload
    def to(
        self, dtype: _dtype.DTypeLike, non_blocking: Bool = False, copy: Bool = False
    ) -> Self: ...
    @overload
    def to(self, other: Variable, non_blocking: Bool = False, copy: Bool = False) -> Self: ...
    def to(self, *args: object, **kwargs: object) -> Self:
        """The elements on another device, "CPU" or "GPU", and in another type.

        The forms are `to(device, dtype)`, `to(dtype)` and `to(other)` for where and what another
        tensor is. A gradient moves back.

        >>> from minispore import Tensor, float16
        >>> Tensor([1.0, 2.0]).to("CPU", float16)
        Tensor(shape=[2], dtype=Float16, value= [ 1.0000e+00,  2.0000e+00])

        Args:
            *args: The device, the type or the other tensor; None is where and what it is. Then
                `non_blocking`, which has no effect, and `copy`: whether to copy what is there.
            **kwargs: The same by name.

        Raises:
            TypeError: The arguments are of none of the forms.
            ValueError: There is no device of that name.
            RuntimeError: A GPU is asked for where there is none, or no CuPy.
        """
        return placing.to(self, placing.destination(args, kwargs, "to"), "to")

    def move_to(self, to: str, blocking: Bool = True) -> Self:
        """The elements on the device "CPU" or "GPU"; `blocking` has no effect.

        Source: MindSpore's `mindspore.Tensor.move_to`, which is deprecated there for `to`.

        Raises:
            ValueError: `blocking` is no bool, or there is no device of that name.
            RuntimeError: A GPU is asked for where there is none, or no CuPy.
        """
        if not isinstance(blocking, _PYTHONS_BOOL):
            raise ValueError(
                f"For 'move_to', the argument 'blocking' must be a bool, "
                f"but got {described(blocking)}."
            )
        check_one_of(to, ("CPU", "GPU"), "to", "move_to")
        return placing.moved(self, "GPU" if to == "GPU" else "CPU", "move_to")

    def type_as(self, other: Variable) -> Self:
        """The elements in the type of `other`."""
        check_tensor(other, "type_as", "other")
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
