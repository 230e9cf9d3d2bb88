"""MindSpore's operations in the form of 1.x: an object is made with its attributes, then called.

`Exp()(x)` is `exp(x)`, and `Softmax(0)(x)` is `softmax(x, 0)`: first the table of those without
attributes, then a class for each of the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Axis
from minispore.engine.dispatch import (
    as_float,
    cast_to,
    check_category,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
)
from minispore.ops import (
    arithmetic,
    assignment,
    binary,
    comparison,
    composition,
    creation,
    decompositions,
    diagonals,
    elementwise,
    former_names,
    indexing,
    linalg,
    losses,
    manipulation,
    norms,
    pooling,
    properties,
    random,
    reduction,
    scattering,
)
from minispore.ops._primitive import Primitive, primitive
from minispore.ops._windows import WindowGeometry
from minispore.ops.class_losses import Reduction
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import Int64Array
from minispore.utils.checks import (
    INT32_MAX,
    as_items,
    as_pair,
    check_arguments,
    check_int,
    value_error,
)

__all__ = [
    "ACos", "Abs", "Acosh", "Add", "AddN", "ArgMaxWithValue", "ArgMinWithValue", "Argmax",
    "Argmin", "Asin", "Asinh", "Assign", "AssignAdd", "AssignSub", "Atan", "Atan2", "Atanh",
    "AvgPool", "BatchMatMul", "BiasAdd", "BinaryCrossEntropy", "BroadcastTo", "Cast", "Ceil",
    "Concat", "Cos", "Cosh", "CumProd", "CumSum", "DType", "Depend", "Diag", "Div", "Equal",
    "Erf", "Erfc", "Exp", "ExpandDims", "Expm1", "Fill", "Flatten", "Floor", "FloorDiv", "Gather",
    "GatherD", "GatherNd", "GeLU", "Greater", "GreaterEqual", "HSigmoid", "HSwish", "Identity",
    "KLDivLoss", "L2Normalize", "Less", "LessEqual", "Log", "Log1p", "LogMatrixDeterminant",
    "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr", "LpNorm", "MaskedFill", "MatMul",
    "MatrixDeterminant", "MaxPool", "Maximum", "Minimum", "Mish", "Mul", "Neg", "NotEqual",
    "OneHot", "Ones", "OnesLike", "PReLU", "Pad", "Partial", "Pow", "Rank", "ReLU", "ReLU6",
    "RealDiv", "Reciprocal", "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "Reshape", "ResizeNearestNeighbor", "Rsqrt", "ScatterNd", "SeLU",
    "Select", "Shape", "Sigmoid", "SigmoidCrossEntropyWithLogits", "Sign", "Sin", "Sinh", "Size",
    "Softmax", "Softsign", "Sort", "Split", "Sqrt", "Square", "Squeeze", "Stack",
    "StandardNormal", "StopGradient", "StridedSlice", "Sub", "Tan", "Tanh", "TensorAdd",
    "TensorScatterAdd", "Tile", "TopK", "Transpose", "Trunc", "UniformInt", "UniformReal",
    "UnsortedSegmentSum", "Unstack", "Xlogy", "Zeros", "ZerosLike",
]  # fmt: skip

Assign: Final = primitive("Assign", assignment.assign)
AssignAdd: Final = primitive("AssignAdd", assignment.assign_add)
AssignSub: Final = primitive("AssignSub", assignment.assign_sub)
Add: Final = primitive("Add", arithmetic.add)
AddN: Final = primitive("AddN", former_names.addn)
TensorAdd: Final = primitive("TensorAdd", arithmetic.add)
Sub: Final = primitive("Sub", arithmetic.sub)
Mul: Final = primitive("Mul", arithmetic.mul)
Div: Final = primitive("Div", arithmetic.div)
RealDiv: Final = primitive("RealDiv", arithmetic.div)
FloorDiv: Final = primitive("FloorDiv", arithmetic.floor_divide)
Pow: Final = primitive("Pow", arithmetic.pow)
Neg: Final = primitive("Neg", arithmetic.neg)
Maximum: Final = primitive("Maximum", arithmetic.maximum)
Minimum: Final = primitive("Minimum", arithmetic.minimum)
Select: Final = primitive("Select", arithmetic.where)
Shape: Final = primitive("Shape", properties.shape)
Size: Final = primitive("Size", properties.size)
Rank: Final = primitive("Rank", properties.rank)
DType: Final = primitive("DType", properties.dtype)
Zeros: Final = primitive("Zeros", creation.zeros)
Ones: Final = primitive("Ones", creation.ones)
ZerosLike: Final = primitive("ZerosLike", creation.zeros_like)
OnesLike: Final = primitive("OnesLike", creation.ones_like)
Fill: Final = primitive("Fill", creation.fill)
Equal: Final = primitive("Equal", comparison.equal)
NotEqual: Final = primitive("NotEqual", comparison.not_equal)
Less: Final = primitive("Less", comparison.less)
LessEqual: Final = primitive("LessEqual", comparison.less_equal)
Greater: Final = primitive("Greater", comparison.greater)
GreaterEqual: Final = primitive("GreaterEqual", comparison.greater_equal)
LogicalAnd: Final = primitive("LogicalAnd", comparison.logical_and)
LogicalOr: Final = primitive("LogicalOr", comparison.logical_or)
LogicalNot: Final = primitive("LogicalNot", comparison.logical_not)
Exp: Final = primitive("Exp", elementwise.exp)
Log: Final = primitive("Log", elementwise.log)
Log1p: Final = primitive("Log1p", elementwise.log1p)
Reciprocal: Final = primitive("Reciprocal", elementwise.reciprocal)
Rsqrt: Final = primitive("Rsqrt", elementwise.rsqrt)
Sqrt: Final = primitive("Sqrt", elementwise.sqrt)
Square: Final = primitive("Square", elementwise.square)
Abs: Final = primitive("Abs", elementwise.abs)
Sign: Final = primitive("Sign", elementwise.sign)
Tanh: Final = primitive("Tanh", elementwise.tanh)
Sinh: Final = primitive("Sinh", elementwise.sinh)
Cosh: Final = primitive("Cosh", elementwise.cosh)
Sin: Final = primitive("Sin", elementwise.sin)
Cos: Final = primitive("Cos", elementwise.cos)
Tan: Final = primitive("Tan", elementwise.tan)
Asin: Final = primitive("Asin", elementwise.asin)
ACos: Final = primitive("ACos", elementwise.acos)
Atan: Final = primitive("Atan", elementwise.atan)
Asinh: Final = primitive("Asinh", elementwise.asinh)
Acosh: Final = primitive("Acosh", elementwise.acosh)
Atanh: Final = primitive("Atanh", elementwise.atanh)
Sigmoid: Final = primitive("Sigmoid", elementwise.sigmoid)
Erf: Final = primitive("Erf", elementwise.erf)
Erfc: Final = primitive("Erfc", elementwise.erfc)
Expm1: Final = primitive("Expm1", elementwise.expm1)
ReLU: Final = primitive("ReLU", elementwise.relu)
PReLU: Final = primitive("PReLU", elementwise.prelu)
ReLU6: Final = primitive("ReLU6", elementwise.relu6)
SeLU: Final = primitive("SeLU", elementwise.selu)
Mish: Final = primitive("Mish", elementwise.mish)
Softsign: Final = primitive("Softsign", elementwise.softsign)
HSigmoid: Final = primitive("HSigmoid", elementwise.hardsigmoid)
HSwish: Final = primitive("HSwish", elementwise.hardswish)
Floor: Final = primitive("Floor", elementwise.floor)
Ceil: Final = primitive("Ceil", elementwise.ceil)
Trunc: Final = primitive("Trunc", elementwise.trunc)
Cast: Final = primitive("Cast", elementwise.cast)
StopGradient: Final = primitive("StopGradient", elementwise.stop_gradient)
MaskedFill: Final = primitive("MaskedFill", indexing.masked_fill)
GatherD: Final = primitive("GatherD", indexing.gather_elements)
GatherNd: Final = primitive("GatherNd", indexing.gather_nd)
UnsortedSegmentSum: Final = primitive("UnsortedSegmentSum", scattering.unsorted_segment_sum)
Atan2: Final = primitive("Atan2", binary.atan2)
Diag: Final = primitive("Diag", diagonals.diag)
LogMatrixDeterminant: Final = primitive("LogMatrixDeterminant", decompositions.slogdet)
MatrixDeterminant: Final = primitive("MatrixDeterminant", decompositions.det)
ScatterNd: Final = primitive("ScatterNd", scattering.scatter_nd)
TensorScatterAdd: Final = primitive("TensorScatterAdd", scattering.tensor_scatter_add)
Xlogy: Final = primitive("Xlogy", binary.xlogy)
Reshape: Final = primitive("Reshape", manipulation.reshape)
Flatten: Final = primitive("Flatten", manipulation.flatten)
Transpose: Final = primitive("Transpose", manipulation.permute)
ExpandDims: Final = primitive("ExpandDims", manipulation.expand_dims)
Tile: Final = primitive("Tile", manipulation.tile)
Depend: Final = primitive("Depend", composition.depend)
Partial: Final = primitive("Partial", composition.partial)
Identity: Final = primitive("Identity", composition.identity)


class GeLU(Primitive):
    """The primitive of `gelu` with the approximation by tanh.

    Examples:
        >>> from minispore import Tensor, ops
        >>> f"{ops.GeLU()(Tensor(1.0)):.4f}"
        '0.8412'

    Source: MindSpore's `mindspore.ops.GeLU`.
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the operation."""
        check_category(x, dtypes.FLOAT, "x")
        return elementwise.gelu(x, "tanh")


@check_arguments
@dataclass(repr=False, eq=False)
class OneHot(Primitive):
    """The primitive of `one_hot`: the classes along a new axis.

    Args:
        axis: The position of the new axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.OneHot()(Tensor([0, 2]), 3, Tensor(1), Tensor(0)).tolist()
        [[1, 0, 0], [0, 0, 1]]

    Source: MindSpore's `mindspore.ops.OneHot`.
    """

    axis: int = -1

    def __call__(self, indices: Tensor, depth: int, on_value: Tensor, off_value: Tensor) -> Tensor:
        """Apply the operation."""
        return indexing.one_hot(indices, depth, on_value, off_value, self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class Gather(Primitive):
    """The primitive of `gather`: the slices along an axis that indices select.

    Args:
        batch_dims: The number of first axes that both have.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Gather()(Tensor([[1, 2], [3, 4]]), Tensor([1, 1]), 0).tolist()
        [[3, 4], [3, 4]]

    Source: MindSpore's `mindspore.ops.Gather`.
    """

    batch_dims: int = 0

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: int) -> Tensor:
        """Apply the operation."""
        return indexing.gather(input_params, input_indices, axis, self.batch_dims)


@check_arguments
@dataclass(repr=False, eq=False)
class StridedSlice(Primitive):
    """The primitive that returns a part of a tensor: `x[begin:end:stride]` along each axis.

    The bit i of a mask is for the item i of `begin`, `end` and `strides`.

    Args:
        begin_mask: Where the part begins at the first element, whatever `begin` says.
        end_mask: Where it ends with the last one.
        ellipsis_mask: Where all axes stand that are not mentioned.
        new_axis_mask: Where a new axis of length 1 stands.
        shrink_axis_mask: Where the element at `begin` is taken, without the axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.StridedSlice()(Tensor([[1, 2], [3, 4]]), (0, 1), (2, 2), (1, 1)).tolist()
        [[2], [4]]

    Source: MindSpore's `mindspore.ops.StridedSlice`.
    """

    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    def __post_init__(self) -> None:
        for name, mask in vars(self).items():
            check_int(mask, name, low=0)

    def __call__(
        self,
        input_x: Tensor,
        begin: tuple[int, ...],
        end: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> Tensor:
        """Apply the operation."""
        check_tensor(input_x, "input_x")
        if not len(begin) == len(end) == len(strides):
            raise ValueError(
                "For 'StridedSlice', 'begin', 'end' and 'strides' must be of one length, but got "
                f"{begin}, {end} and {strides}."
            )
        items = map(self._item, range(len(begin)), begin, end, strides)
        return indexing.getitem_at(input_x, tuple(items))

    def _item(self, i: int, begin: int, end: int, stride: int) -> object:
        if self.ellipsis_mask >> i & 1:
            return ...
        if self.new_axis_mask >> i & 1:
            return None
        if self.shrink_axis_mask >> i & 1:
            return begin
        first = None if self.begin_mask >> i & 1 else begin
        return slice(first, None if self.end_mask >> i & 1 else end, stride)


@check_arguments
@dataclass(repr=False, eq=False)
class BiasAdd(Primitive):
    """The primitive of `bias_add`: a number added to each channel.

    Args:
        data_format: "NCHW": the channels are along the second axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.BiasAdd()(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [[4.0, 6.0]]

    Source: MindSpore's `mindspore.ops.BiasAdd`.
    """

    data_format: Literal["NCHW"] = "NCHW"

    def __call__(self, input_x: Tensor, bias: Tensor) -> Tensor:
        """Apply the operation."""
        return linalg.bias_add(input_x, bias)


@check_arguments
@dataclass(repr=False, eq=False)
class _Product(Primitive):
    transpose_a: bool = False
    transpose_b: bool = False

    def __call__(self, input: Tensor, mat2: Tensor) -> Tensor:
        """Apply the operation."""
        x = manipulation.swapaxes(input, -2, -1) if self.transpose_a else input
        y = manipulation.swapaxes(mat2, -2, -1) if self.transpose_b else mat2
        return linalg.matmul(x, y)


class MatMul(_Product):
    """The primitive of `matmul`: the product of two matrices.

    Args:
        transpose_a: Whether the last two axes of the first matrix are exchanged before.
        transpose_b: Whether those of the second one are.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.MatMul(transpose_b=True)(Tensor([[1, 2]]), Tensor([[3, 4]])).tolist()
        [[11]]

    Source: MindSpore's `mindspore.ops.MatMul`.
    """


class BatchMatMul(_Product):
    """The primitive of `matmul` for stacks of matrices.

    Args:
        transpose_a: Whether the last two axes of the first matrix are exchanged before.
        transpose_b: Whether those of the second one are.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.BatchMatMul(transpose_b=True)(Tensor([[[1, 2]]]), Tensor([[[3, 4]]])).tolist()
        [[[11]]]

    Source: MindSpore's `mindspore.ops.BatchMatMul`.
    """


class SigmoidCrossEntropyWithLogits(Primitive):
    """The primitive of `binary_cross_entropy_with_logits`, which does not reduce the losses.

    Examples:
        >>> from minispore import Tensor, ops
        >>> loss = ops.SigmoidCrossEntropyWithLogits()(Tensor([0.0, 100.0]), Tensor([1.0, 1.0]))
        >>> [round(x, 4) for x in loss.tolist()]
        [0.6931, 0.0]

    Source: MindSpore's `mindspore.ops.SigmoidCrossEntropyWithLogits`.
    """

    def __call__(self, logits: Tensor, label: Tensor) -> Tensor:
        """Apply the operation."""
        return losses.binary_cross_entropy_with_logits(logits, label, reduction="none")


@check_arguments
@dataclass(repr=False, eq=False)
class BinaryCrossEntropy(Primitive):
    """The primitive of `binary_cross_entropy`.

    Args:
        reduction: "mean", "sum" or "none".

    Examples:
        >>> from minispore import Tensor, ops
        >>> round(ops.BinaryCrossEntropy()(Tensor([0.5]), Tensor([1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.ops.BinaryCrossEntropy`.
    """

    reduction: Reduction = "mean"

    def __call__(self, logits: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
        """Apply the operation."""
        return losses.binary_cross_entropy(logits, labels, weight, self.reduction)


@check_arguments
@dataclass(repr=False, eq=False)
class KLDivLoss(Primitive):
    """The primitive of `kl_div`.

    Args:
        reduction: "mean", "batchmean", "sum" or "none".

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.KLDivLoss("sum")(Tensor([-1.0, -2.0]), Tensor([1.0, 0.0])).item()
        1.0

    Source: MindSpore's `mindspore.ops.KLDivLoss`.
    """

    reduction: losses.DivergenceReduction = "mean"

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Apply the operation."""
        return losses.kl_div(logits, labels, self.reduction)


@check_arguments
@dataclass(repr=False, eq=False)
class Concat(Primitive):
    """The primitive of `concat`: tensors joined along an axis.

    Args:
        axis: The axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Concat(1)([Tensor([[1], [2]]), Tensor([[3], [4]])]).tolist()
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.ops.Concat`.
    """

    axis: int = 0

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Apply the operation."""
        return manipulation.concat(tensors, self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class Split(Primitive):
    """The primitive of `split`: a tensor split along an axis into equally long parts.

    Args:
        axis: The axis.
        output_num: The number of parts.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.Split(0, 2)(Tensor([1, 2, 3, 4]))]
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.Split`.
    """

    axis: int = 0
    output_num: int = 1

    def __post_init__(self) -> None:
        check_int(self.output_num, "output_num", low=1)

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        """Apply the operation."""
        check_tensor(input_x, "input_x")
        place = manipulation.normalize_axis_index(self.axis, input_x.ndim, "axis")
        if input_x.shape[place] % self.output_num:
            raise ValueError(
                f"For 'Split', the length of axis {self.axis} must be a multiple of 'output_num' = "
                f"{self.output_num}, but the shape is {input_x.shape}."
            )
        return manipulation.chunk(input_x, self.output_num, place)


@check_arguments
@dataclass(repr=False, eq=False)
class Stack(Primitive):
    """The primitive of `stack`: tensors joined along a new axis.

    Args:
        axis: The position of the new axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Stack()([Tensor([1, 2]), Tensor([3, 4])]).tolist()
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.Stack`.
    """

    axis: int = 0

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Apply the operation."""
        return manipulation.stack(tensors, self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class Unstack(Primitive):
    """The primitive of `unstack`: the slices along an axis, which they no longer have.

    Args:
        axis: The axis.
        num: Accepted for compatibility with MindSpore, without effect.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.Unstack(1)(Tensor([[1, 2], [3, 4]]))]
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.ops.Unstack`.
    """

    axis: int = 0
    num: int | None = None

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        """Apply the operation."""
        return manipulation.unstack(input_x, self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class Squeeze(Primitive):
    """The primitive of `squeeze`: a tensor without axes of length 1.

    Args:
        axis: The axis or axes to remove; () for all of length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Squeeze()(Tensor([[1, 2]])).tolist()
        [1, 2]

    Source: MindSpore's `mindspore.ops.Squeeze`.
    """

    axis: int | tuple[int, ...] = ()

    def __call__(self, input: Tensor) -> Tensor:
        """Apply the operation."""
        return manipulation.squeeze(input, None if self.axis == () else self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class BroadcastTo(Primitive):
    """The primitive of `broadcast_to`: a tensor broadcast to another shape.

    Args:
        shape: The shape; -1 keeps the length of an axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.BroadcastTo((2, 2))(Tensor([1, 2])).tolist()
        [[1, 2], [1, 2]]

    Source: MindSpore's `mindspore.ops.BroadcastTo`.
    """

    shape: Sequence[int]

    def __call__(self, input: Tensor) -> Tensor:
        """Apply the operation."""
        return manipulation.broadcast_to(input, self.shape)


@check_arguments
@dataclass(repr=False, eq=False)
class _Reduction(Primitive):
    keep_dims: bool = False


@check_arguments
@dataclass(repr=False, eq=False)
class ReduceSum(_Reduction):
    """The primitive of `sum`: the sum over axes, in the data type of the tensor.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.
        skip_mode: Whether the tensor itself is returned if no axis is given.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceSum(keep_dims=True)(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [[4.0], [6.0]]

    Source: MindSpore's `mindspore.ops.ReduceSum`.
    """

    skip_mode: bool = False

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        if self.skip_mode and axis == ():
            return x
        return reduction.sum(x, axis, self.keep_dims, dtype=dtype_of(x))


class ReduceProd(_Reduction):
    """The primitive of `prod`: the product over axes, in the data type of the tensor.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceProd(keep_dims=True)(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [[3.0], [8.0]]

    Source: MindSpore's `mindspore.ops.ReduceProd`.
    """

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        return reduction.prod(x, axis, self.keep_dims, dtype_of(x))


@check_arguments
@dataclass(repr=False, eq=False)
class _Accumulation(Primitive):
    exclusive: bool = False
    reverse: bool = False

    def _accumulate(
        self, function: Callable[..., Tensor], x: Tensor, axis: int, start: int
    ) -> Tensor:
        """Return the results of a cumulative function, in the data type of the tensor."""
        check_numbers(x, "x")
        place = manipulation.normalize_axis_index(axis, x.ndim, "axis")
        if self.reverse:
            x = manipulation.flip(x, (place,))
        if self.exclusive:
            before = (slice(None),) * place
            first = indexing.getitem(x, (*before, slice(1)))
            others = indexing.getitem(x, (*before, slice(-1)))
            x = manipulation.concat([creation.full_like(first, start), others], place)
        result = function(x, place, dtype_of(x))
        return manipulation.flip(result, (place,)) if self.reverse else result


class CumSum(_Accumulation):
    """The primitive of `cumsum`: the cumulative sum along an axis.

    Args:
        exclusive: Whether an element is not in its own sum, so that the first sum is 0.
        reverse: Whether the last element is the first one.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.CumSum(reverse=True)(Tensor([1, 2, 3]), 0).tolist()
        [6, 5, 3]

    Source: MindSpore's `mindspore.ops.CumSum`.
    """

    def __call__(self, input: Tensor, axis: int) -> Tensor:
        """Apply the operation."""
        return self._accumulate(reduction.cumsum, input, axis, 0)


class CumProd(_Accumulation):
    """The primitive of `cumprod`: the cumulative product along an axis.

    Args:
        exclusive: Whether an element is not in its own product, so that the first product is 1.
        reverse: Whether the last element is the first one.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.CumProd(exclusive=True)(Tensor([2, 3, 4]), 0).tolist()
        [1, 2, 6]

    Source: MindSpore's `mindspore.ops.CumProd`.
    """

    def __call__(self, x: Tensor, axis: int) -> Tensor:
        """Apply the operation."""
        return self._accumulate(reduction.cumprod, x, axis, 1)


@check_arguments
@dataclass(repr=False, eq=False)
class Pad(Primitive):
    """The primitive that adds zeros before and after the elements of each axis.

    Args:
        paddings: A pair of numbers for each axis, the first axis first: how many zeros are before
            and after it.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Pad(((0, 0), (1, 2)))(Tensor([[1], [2]])).tolist()
        [[0, 1, 0, 0], [0, 2, 0, 0]]

    Source: MindSpore's `mindspore.ops.Pad`.
    """

    paddings: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        """Check the pairs."""
        for pair in self.paddings:
            numbers = as_items(pair) or ()
            if len(numbers) != 2:
                raise value_error(self.paddings, "paddings", "be of pairs")
            for number in numbers:
                check_int(number, "paddings", low=0, high=INT32_MAX)

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the operation."""
        check_tensor(x, "x")
        if len(self.paddings) != x.ndim:
            raise value_error(self.paddings, "paddings", f"have a pair for each of {x.ndim} axes")
        return manipulation.pad(x, [n for pair in self.paddings[::-1] for n in pair])


@check_arguments
@dataclass(repr=False, eq=False)
class LpNorm(Primitive):
    """The primitive of a norm of vectors: (Σ |x|ᵖ)¹ᐟᵖ, and at least `epsilon`.

    Args:
        axis: The axis or axes of a vector.
        p: The order, at least 0; of order 0 is the number of elements other than 0.
        keep_dims: Whether the axes stay, with length 1.
        epsilon: The least value.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.LpNorm(1)(Tensor([[3.0, 4.0], [0.0, 2.0]])).tolist()
        [5.0, 2.0]

    Source: MindSpore's `mindspore.ops.LpNorm`.
    """

    axis: int | list[int] | tuple[int, ...]
    p: int = 2
    keep_dims: bool = False
    epsilon: float = 1e-12

    def __post_init__(self) -> None:
        """Check the order."""
        check_int(self.p, "p", low=0)

    @in_float32
    def __call__(self, input: Tensor) -> Tensor:
        """Apply the operation."""
        check_category(input, dtypes.FLOAT, "input")
        axes = manipulation.normalize_axis_tuple(self.axis, input.ndim)
        places = (axes,) if isinstance(axes, int) else axes or ()
        others = tuple([i for i in range(input.ndim) if i not in places])
        shape = (*(input.shape[i] for i in others), prod(input.shape[i] for i in places))
        rows = manipulation.reshape(manipulation.permute(input, (*others, *places)), shape)
        value = arithmetic.maximum(norms.norm(rows, self.p, -1), self.epsilon)
        if not self.keep_dims:
            return value
        kept = [1 if i in places else n for i, n in enumerate(input.shape)]
        return manipulation.reshape(value, tuple(kept))


class ReduceMean(_Reduction):
    """The primitive of `mean`: the mean over axes.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceMean(keep_dims=True)(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [[2.0], [3.0]]

    Source: MindSpore's `mindspore.ops.ReduceMean`.
    """

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        return reduction.mean(x, axis, self.keep_dims)


class ReduceMax(_Reduction):
    """The primitive of `amax`: the maximum over axes.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceMax(keep_dims=True)(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [[3.0], [4.0]]

    Source: MindSpore's `mindspore.ops.ReduceMax`.
    """

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        return reduction.amax(x, axis, self.keep_dims)


class ReduceMin(_Reduction):
    """The primitive of `amin`: the minimum over axes.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceMin(keep_dims=True)(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [[1.0], [2.0]]

    Source: MindSpore's `mindspore.ops.ReduceMin`.
    """

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        return reduction.amin(x, axis, self.keep_dims)


@check_arguments
@dataclass(repr=False, eq=False)
class Argmax(Primitive):
    """The primitive of `argmax`: the index of the first maximum along an axis.

    Args:
        axis: The axis.
        output_type: The data type of the indices.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Argmax(1)(Tensor([[1.0, 3.0], [4.0, 2.0]])).tolist()
        [1, 0]

    Source: MindSpore's `mindspore.ops.Argmax`.
    """

    axis: int = -1
    output_type: dtypes.DTypeLike = dtypes.int32

    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply the operation."""
        return cast_to(reduction.argmax(input_x, self.axis), dtypes.as_dtype(self.output_type))


class Argmin(Argmax):
    """The primitive of `argmin`: the index of the first minimum along an axis.

    Args:
        axis: The axis.
        output_type: The data type of the indices.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Argmin(1)(Tensor([[1.0, 3.0], [4.0, 2.0]])).tolist()
        [0, 1]

    Source: MindSpore's `mindspore.ops.Argmin`.
    """

    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply the operation."""
        return cast_to(reduction.argmin(input_x, self.axis), dtypes.as_dtype(self.output_type))


@check_arguments
@dataclass(repr=False, eq=False)
class ArgMaxWithValue(Primitive):
    """The primitive of `max`, which returns the index before the maximum.

    Args:
        axis: The axis.
        keep_dims: Whether the axis stays, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.ArgMaxWithValue(1)(Tensor([[1.0, 3.0], [4.0, 2.0]]))]
        [[1, 0], [3.0, 4.0]]

    Source: MindSpore's `mindspore.ops.ArgMaxWithValue`.
    """

    axis: int = 0
    keep_dims: bool = False

    def __call__(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the operation."""
        value, index = reduction.max(input, self.axis, self.keep_dims)
        return index, value


class ArgMinWithValue(ArgMaxWithValue):
    """The primitive of `min`, which returns the index before the minimum.

    Args:
        axis: The axis.
        keep_dims: Whether the axis stays, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.ArgMinWithValue(1)(Tensor([[1.0, 3.0], [4.0, 2.0]]))]
        [[0, 1], [1.0, 2.0]]

    Source: MindSpore's `mindspore.ops.ArgMinWithValue`.
    """

    def __call__(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the operation."""
        value, index = reduction.min(input, self.axis, self.keep_dims)
        return index, value


@check_arguments
@dataclass(repr=False, eq=False)
class L2Normalize(Primitive):
    """The primitive that divides vectors along an axis by their lengths.

    Args:
        axis: The axis.
        epsilon: The least square of a length to divide by, above 0.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [round(x, 4) for x in ops.L2Normalize()(Tensor([3.0, 4.0])).tolist()]
        [0.6, 0.8]

    Source: MindSpore's `mindspore.ops.L2Normalize`.
    """

    axis: int = 0
    epsilon: float = 1e-4

    @in_float32
    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply the operation."""
        x = as_float(input_x, "input_x")
        squares = reduction.sum(elementwise.square(x), self.axis, True)
        return arithmetic.div(x, elementwise.sqrt(arithmetic.maximum(squares, self.epsilon)))


@check_arguments
@dataclass(repr=False, eq=False)
class Softmax(Primitive):
    """The primitive of `softmax` along an axis.

    Args:
        axis: The axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.Softmax(0)(Tensor([1.0, 1.0])).tolist()
        [0.5, 0.5]

    Source: MindSpore's `mindspore.ops.Softmax`.
    """

    axis: int = -1

    def __call__(self, input: Tensor) -> Tensor:
        """Apply the operation."""
        return reduction.softmax(input, self.axis)


@check_arguments
@dataclass(repr=False, eq=False)
class LogSoftmax(Primitive):
    """The primitive of `log_softmax` along an axis.

    Args:
        axis: The axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.LogSoftmax()(Tensor([3.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.ops.LogSoftmax`.
    """

    axis: int = -1

    def __call__(self, logits: Tensor) -> Tensor:
        """Apply the operation."""
        return reduction.log_softmax(logits, self.axis)


class ReduceAll(_Reduction):
    """The primitive of `all`: whether all elements along axes are true.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceAll(keep_dims=True)(Tensor([[True, False], [True, True]]), 1).tolist()
        [[False], [True]]

    Source: MindSpore's `mindspore.ops.ReduceAll`.
    """

    def __call__(self, input: Tensor, axis: Axis = None) -> Tensor:
        """Apply the operation."""
        return reduction.all(input, axis, self.keep_dims)


class ReduceAny(_Reduction):
    """The primitive of `any`: whether any element along axes is true.

    Args:
        keep_dims: Whether the reduced axes stay, with length 1.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ReduceAny(keep_dims=True)(Tensor([[True, False], [True, True]]), 1).tolist()
        [[True], [True]]

    Source: MindSpore's `mindspore.ops.ReduceAny`.
    """

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply the operation."""
        return reduction.any(x, axis, self.keep_dims)


@check_arguments
@dataclass(repr=False, eq=False)
class Sort(Primitive):
    """The primitive of `sort`: the sorted elements along an axis and their indices.

    Args:
        axis: The axis.
        descending: Whether the largest come first.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.Sort()(Tensor([3, 1, 2]))]
        [[1, 2, 3], [1, 2, 0]]

    Source: MindSpore's `mindspore.ops.Sort`.
    """

    axis: int = -1
    descending: bool = False

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the operation."""
        return reduction.sort(x, self.axis, self.descending)


@check_arguments
@dataclass(repr=False, eq=False)
class TopK(Primitive):
    """The primitive of `topk` along the last axis.

    Args:
        sorted: Accepted and ignored: the elements are always in order.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.TopK()(Tensor([3, 1, 2]), 2)]
        [[3, 2], [0, 2]]

    Source: MindSpore's `mindspore.ops.TopK`.
    """

    sorted: bool = True

    def __call__(self, input_x: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Apply the operation."""
        return reduction.topk(input_x, k)


@check_arguments
@dataclass(repr=False, eq=False)
class _Pool(Primitive):
    kernel_size: pooling.Pair = 1
    strides: pooling.Pair = 1
    pad_mode: Literal["valid", "same", "VALID", "SAME"] = "valid"
    data_format: Literal["NCHW"] = "NCHW"

    def __post_init__(self) -> None:
        self.pad_mode = "same" if self.pad_mode.lower() == "same" else "valid"
        size = as_pair(self.kernel_size, "kernel_size")
        step = as_pair(self.strides, "strides")
        self._rows, self._columns = map(WindowGeometry, size, step)

    def _geometry(self, x: Tensor) -> tuple[WindowGeometry, WindowGeometry]:
        pooling.check_images(x, "x")
        rows, columns = self._rows, self._columns
        if self.pad_mode == "same":
            rows = rows.with_same_padding(x.shape[2])
            columns = columns.with_same_padding(x.shape[3])
        return pooling.resolve_geometry(x, rows, columns, False)


class MaxPool(_Pool):
    """The maximum of each window of an image.

    Args:
        kernel_size: The size of a window, one int or (rows, columns).
        strides: The distance between windows.
        pad_mode: "valid" for windows inside of the image only, "same" to pad it so that the output
            is as long as the image divided by `strides`, rounded up.
        data_format: "NCHW".

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.MaxPool(2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
        [[[[4.0]]]]

    Source: MindSpore's `mindspore.ops.MaxPool`.
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the operation."""
        return pooling.max_pool(x, *self._geometry(x))


class AvgPool(_Pool):
    """The mean of each window of an image, without its padding.

    Args:
        kernel_size: The size of a window, one int or (rows, columns).
        strides: The distance between windows.
        pad_mode: "valid" for windows inside of the image only, "same" to pad it so that the output
            is as long as the image divided by `strides`, rounded up.
        data_format: "NCHW".

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.AvgPool(2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
        [[[[2.5]]]]

    Source: MindSpore's `mindspore.ops.AvgPool`.
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the operation."""
        rows, columns = self._geometry(x)
        return pooling.avg_pool(as_float(x, "x"), rows, columns, False, False, 0)


@check_arguments
@dataclass(repr=False, eq=False)
class ResizeNearestNeighbor(Primitive):
    """Images of another size, whose pixels are the nearest ones.

    Args:
        size: The height and the width.
        align_corners: Whether the corner pixels of both images are at the same positions.
        half_pixel_centers: Only False is supported.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ResizeNearestNeighbor((1, 4))(Tensor([[[[1, 2]]]])).tolist()
        [[[[1, 1, 2, 2]]]]

    Source: MindSpore's `mindspore.ops.ResizeNearestNeighbor`.
    """

    size: tuple[int, int] | list[int]
    align_corners: bool = False
    half_pixel_centers: Literal[False] = False

    def __post_init__(self) -> None:
        self.size = as_pair(tuple(self.size), "size")

    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply the operation."""
        pooling.check_images(input_x, "input_x")
        x = input_x
        for axis, new in zip((2, 3), self.size, strict=True):
            x = manipulation.take_places(x, axis, self._places(x.shape[axis], new))
        return x

    def _places(self, old: int, new: int) -> Int64Array:
        if self.align_corners and new > 1:
            return (2 * np.arange(new) * (old - 1) + new - 1) // (2 * (new - 1))
        return np.arange(new) * old // new


@check_arguments
@dataclass(repr=False, eq=False)
class _Draw(Primitive):
    """Base class of the primitives that draw random numbers.

    Args:
        seed: The seed of a separate random stream; 0 for the program's stream "ops".
        seed2: Accepted for compatibility with MindSpore, without effect.
    """

    seed: int = 0
    seed2: int = 0

    def __post_init__(self) -> None:
        self._seed: int | None = check_int(self.seed, "seed", low=0) or None
        check_int(self.seed2, "seed2", low=0)


class StandardNormal(_Draw):
    """The primitive of `standard_normal`: random numbers from the standard normal distribution.

    Args:
        seed: The seed of a separate random stream; 0 for the program's stream "ops".
        seed2: Accepted for compatibility with MindSpore, without effect.

    Examples:
        >>> from minispore import ops
        >>> ops.StandardNormal()((2, 3)).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.StandardNormal`.
    """

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Apply the operation."""
        return random.standard_normal(shape, self._seed)


class UniformReal(_Draw):
    """Random numbers from the uniform distribution on [0, 1).

    Args:
        seed: The seed of a separate random stream; 0 for the program's stream "ops".
        seed2: Accepted for compatibility with MindSpore, without effect.

    Examples:
        >>> from minispore import ops
        >>> ops.UniformReal()((2, 3)).shape
        (2, 3)

    Source: MindSpore's `mindspore.ops.UniformReal`.
    """

    def __call__(self, shape: tuple[int, ...]) -> Tensor:
        """Apply the operation."""
        return random.rand(creation.parse_shape(shape, "shape"), seed=self._seed)


class UniformInt(_Draw):
    """Random int32 numbers from the uniform distribution on [minval, maxval).

    Args:
        seed: The seed of a separate random stream; 0 for the program's stream "ops".
        seed2: Accepted for compatibility with MindSpore, without effect.

    Examples:
        >>> from minispore import Tensor, int32, ops
        >>> ops.UniformInt()((2,), Tensor(7, int32), Tensor(8, int32)).tolist()
        [7, 7]

    Source: MindSpore's `mindspore.ops.UniformInt`.
    """

    def __call__(self, shape: tuple[int, ...], minval: Tensor, maxval: Tensor) -> Tensor:
        """Apply the operation."""
        for name, value in (("minval", minval), ("maxval", maxval)):
            check_category(value, dtypes.INTEGER, name)
        return random.uniform(shape, minval, maxval, self._seed, dtypes.int32)
