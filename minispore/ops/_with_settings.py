"""Operations in MindSpore's older form that have settings: made with them, then called."""

from collections.abc import Sequence

from minispore._array import Axis
from minispore._checks import check_bool, check_int
from minispore._dtype import DTypeLike, int32
from minispore._functional import comparison, elementwise, linalg, reduction, shape
from minispore._functional import softmax as softmaxes
from minispore._functional.indexing import gather, one_hot
from minispore._functional.operands import dtype_of
from minispore._functional.ordering import topk
from minispore.common.tensor import Tensor


class _Primitive:
    """What the operations with settings share."""

    def __repr__(self) -> str:
        return f"Prim[{type(self).__name__}]"


class Softmax(_Primitive):
    """`softmax` along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = check_int(axis, "axis", "Softmax")

    def __call__(self, input: Tensor) -> Tensor:
        """Apply it."""
        return softmaxes.softmax(input, self.axis)


class LogSoftmax(_Primitive):
    """`log_softmax` along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = check_int(axis, "axis", "LogSoftmax")

    def __call__(self, logits: Tensor) -> Tensor:
        """Apply it."""
        return softmaxes.log_softmax(logits, self.axis)


class _Reduction(_Primitive):
    def __init__(self, keep_dims: bool = False) -> None:
        check_bool(keep_dims, "keep_dims", type(self).__name__)
        self.keep_dims = keep_dims


class ReduceSum(_Reduction):
    """`sum`, in the tensor's own type. With `skip_mode` nothing is added up over no axis."""

    def __init__(self, keep_dims: bool = False, skip_mode: bool = False) -> None:
        super().__init__(keep_dims)
        check_bool(skip_mode, "skip_mode", "ReduceSum")
        self.skip_mode = skip_mode

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply it."""
        if self.skip_mode and axis == ():
            return x
        return reduction.sum(x, axis, self.keep_dims, dtype=dtype_of(x))


class ReduceMean(_Reduction):
    """`mean`."""

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply it."""
        return reduction.mean(x, axis, self.keep_dims)


class ReduceMax(_Reduction):
    """`amax`."""

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply it."""
        return reduction.amax(x, axis, self.keep_dims)


class ReduceMin(_Reduction):
    """`amin`."""

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply it."""
        return reduction.amin(x, axis, self.keep_dims)


class ReduceAll(_Reduction):
    """`all`."""

    def __call__(self, input: Tensor, axis: Axis = None) -> Tensor:
        """Apply it."""
        return comparison.all(input, axis, self.keep_dims)


class ReduceAny(_Reduction):
    """`any`."""

    def __call__(self, x: Tensor, axis: Axis = ()) -> Tensor:
        """Apply it."""
        return comparison.any(x, axis, self.keep_dims)


class _Product(_Primitive):
    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        owner = type(self).__name__
        check_bool(transpose_a, "transpose_a", owner)
        check_bool(transpose_b, "transpose_b", owner)
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def __call__(self, input: Tensor, mat2: Tensor) -> Tensor:
        """The product of matrices, or of stacks of them."""
        x = shape.swapaxes(input, -2, -1) if self.transpose_a else input
        y = shape.swapaxes(mat2, -2, -1) if self.transpose_b else mat2
        return linalg.matmul(x, y)


class MatMul(_Product):
    """`matmul`, of matrices that may be transposed before."""


class BatchMatMul(_Product):
    """`matmul` of stacks of matrices."""


class Concat(_Primitive):
    """`concat` along an axis."""

    def __init__(self, axis: int = 0) -> None:
        self.axis: int = check_int(axis, "axis", "Concat")

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Apply it."""
        return shape.concat(tensors, self.axis)


class Stack(_Primitive):
    """`stack` along a new axis."""

    def __init__(self, axis: int = 0) -> None:
        self.axis: int = check_int(axis, "axis", "Stack")

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        """Apply it."""
        return shape.stack(tensors, self.axis)


class Squeeze(_Primitive):
    """`squeeze` of an axis, of several, or of all of length 1."""

    def __init__(self, axis: int | tuple[int, ...] = ()) -> None:
        self.axis = axis

    def __call__(self, input: Tensor) -> Tensor:
        """Apply it."""
        return shape.squeeze(input, None if self.axis == () else self.axis)


class Argmax(_Primitive):
    """`argmax` along an axis, in the type `output_type`."""

    def __init__(self, axis: int = -1, output_type: DTypeLike = int32) -> None:
        self.axis: int = check_int(axis, "axis", "Argmax")
        self.output_type = output_type

    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply it."""
        return elementwise.cast(reduction.argmax(input_x, self.axis), self.output_type)


class OneHot(_Primitive):
    """`one_hot` with the classes along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis: int = check_int(axis, "axis", "OneHot")

    def __call__(self, indices: Tensor, depth: int, on_value: Tensor, off_value: Tensor) -> Tensor:
        """Apply it."""
        return one_hot(indices, depth, on_value, off_value, self.axis)


class Gather(_Primitive):
    """`gather`."""

    def __init__(self, batch_dims: int = 0) -> None:
        self.batch_dims: int = check_int(batch_dims, "batch_dims", "Gather")

    def __call__(self, input_params: Tensor, input_indices: Tensor, axis: int) -> Tensor:
        """Apply it."""
        return gather(input_params, input_indices, axis, self.batch_dims)


class TopK(_Primitive):
    """`topk` along the last axis."""

    def __init__(self, sorted: bool = True) -> None:
        check_bool(sorted, "sorted", "TopK")
        self.sorted = sorted

    def __call__(self, input_x: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Apply it."""
        return topk(input_x, k)


class BroadcastTo(_Primitive):
    """`broadcast_to` a shape."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = shape

    def __call__(self, input: Tensor) -> Tensor:
        """Apply it."""
        return shape.broadcast_to(input, self.shape)
