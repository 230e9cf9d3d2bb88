"""Matrix products."""

from math import prod

from minispore._functional.arithmetic import add, mul
from minispore._functional.indexing import diagonal
from minispore._functional.primitive import Primitive
from minispore._functional.reduction import sum as reduce_sum
from minispore._functional.shape import expand_dims, movedim, reshape, squeeze, swapaxes
from minispore.engine.dispatch import (
    Number,
    T,
    Variable,
    apply2,
    apply3,
    broadcast_error,
    check_tensor,
    dtype_of,
    promote_operands,
)
from minispore.engine.rules import linalg as rules
from minispore.utils.checks import check_bool, check_one_of, check_type

__all__ = [
    "BatchMatMul",
    "BiasAdd",
    "MatMul",
    "addmm",
    "addmv",
    "baddbmm",
    "bias_add",
    "bmm",
    "dense",
    "dot",
    "ger",
    "matmul",
    "mm",
    "mv",
    "outer",
    "trace",
]


def matmul(input: T, other: T) -> T:
    """Return the matrix product of two tensors.

    Leading axes are stacks of matrices, which broadcast. A vector counts as one row on the left and
    as one column on the right.

    Args:
        input: Of shape (…, n, k) or (k,).
        other: Of shape (…, k, m) or (k,).

    Returns:
        A tensor of shape (…, n, m), without the axis of a vector.

    Raises:
        ValueError: The inner lengths differ, or an operand has no axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.matmul(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [11.0]

    Source: MindSpore's `mindspore.ops.matmul`.
    """
    if not isinstance(input, Variable) or not isinstance(other, Variable):
        check_tensor(input, "matmul")
        check_tensor(other, "matmul", "other")
    x, y = promote_operands(input, other, "matmul")
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        raise ValueError(
            f"For 'matmul', the last length of 'input' must be the last but one of 'other', "
            f"but the shapes are {x.shape} and {y.shape}."
        )
    left = expand_dims(x, 0) if x.ndim == 1 else x
    right = expand_dims(y, 1) if y.ndim == 1 else y
    product = apply2(rules.matmul, left, right)
    if y.ndim == 1:
        product = squeeze(product, -1)
    return squeeze(product, -1 if y.ndim == 1 else -2) if x.ndim == 1 else product


def mm(input: T, mat2: T) -> T:
    """Return the product of two matrices, without broadcasting.

    Args:
        input: Of shape (n, k).
        mat2: Of shape (k, m).

    Returns:
        A tensor of shape (n, m).

    Raises:
        ValueError: An operand is not a matrix, or the inner lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.mm(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])).tolist()
        [[11.0]]

    Source: MindSpore's `mindspore.ops.mm`.
    """
    return _product_of_axes(input, mat2, "mm", "input", "mat2", 2, 2)


def mv(mat: T, vec: T) -> T:
    """Return the product of a matrix and a vector.

    Args:
        mat: Of shape (n, k).
        vec: Of shape (k,).

    Returns:
        A tensor of shape (n,).

    Raises:
        ValueError: The operands have other shapes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.mv(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [11.0]

    Source: MindSpore's `mindspore.ops.mv`.
    """
    return _product_of_axes(mat, vec, "mv", "mat", "vec", 2, 1)


def _product_of_axes(x: T, y: T, caller: str, left: str, right: str, m: int, n: int) -> T:
    check_tensor(x, caller, left)
    check_tensor(y, caller, right)
    if (x.ndim, y.ndim) != (m, n) or x.shape[-1] != y.shape[0]:
        raise ValueError(
            f"For '{caller}', '{left}' and '{right}' must have {m} and {n} axes and the last "
            f"length of '{left}' must be the first of '{right}', but the shapes are {x.shape} and "
            f"{y.shape}."
        )
    return matmul(*promote_operands(x, y, caller))


def dot(input: T, other: T) -> T:
    """Return the sums of products over the last axis of `input` and the last but one of `other`.

    Args:
        input: Of shape (…, k), with two axes or more.
        other: Of shape (…, k, m).

    Returns:
        A tensor whose shape is that of `input` without its last axis, and then that of `other`
        without its last but one.

    Raises:
        ValueError: An operand has fewer than two axes, or the lengths differ.

    Examples:
        >>> from minispore import ops
        >>> ops.dot(ops.ones((2, 3)), ops.ones((4, 3, 5))).shape
        (2, 4, 5)

    Source: MindSpore's `mindspore.ops.dot`.
    """
    check_tensor(input, "dot")
    check_tensor(other, "dot", "other")
    if min(input.ndim, other.ndim) < 2 or input.shape[-1] != other.shape[-2]:
        raise ValueError(
            "For 'dot', the operands must have two axes or more and the last length of 'input' "
            f"must be the last but one of 'other', but the shapes are {input.shape} and "
            f"{other.shape}."
        )
    x, y = promote_operands(input, other, "dot")
    length, others = x.shape[-1], (*y.shape[:-2], y.shape[-1])
    rows = reshape(x, (prod(x.shape[:-1]), length))
    columns = reshape(movedim(y, -2, 0), (length, prod(others)))
    return reshape(apply2(rules.matmul, rows, columns), (*x.shape[:-1], *others))


def outer(input: T, vec2: T) -> T:
    """Return the products of all elements of one tensor with all of another.

    Args:
        input: A tensor with n elements.
        vec2: A tensor with m elements.

    Returns:
        A tensor of shape (n, m).

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.outer(Tensor([1, 2]), Tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]

    Source: MindSpore's `mindspore.ops.outer`.
    """
    check_tensor(input, "outer")
    check_tensor(vec2, "outer", "vec2")
    x, y = promote_operands(input, vec2, "outer")
    return mul(reshape(x, (prod(x.shape), 1)), reshape(y, (prod(y.shape),)))


ger = outer


def addmm(input: T, mat1: T, mat2: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """Return `beta * input + alpha * (mat1 @ mat2)`.

    Args:
        input: A tensor that broadcasts to (n, m).
        mat1: Of shape (n, k).
        mat2: Of shape (k, m).
        beta: A number.
        alpha: A number.

    Returns:
        A tensor of shape (n, m).

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.addmm(Tensor([5.0]), Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])).tolist()
        [[16.0]]

    Source: MindSpore's `mindspore.ops.addmm`.
    """
    product = _product_of_axes(mat1, mat2, "addmm", "mat1", "mat2", 2, 2)
    return _weighted_sum(input, product, beta, alpha, "addmm")


def addmv(input: T, mat: T, vec: T, *, beta: Number = 1, alpha: Number = 1) -> T:
    """Return `beta * input + alpha * (mat @ vec)`.

    Args:
        input: A tensor that broadcasts to (n,).
        mat: Of shape (n, k).
        vec: Of shape (k,).
        beta: A number.
        alpha: A number.

    Returns:
        A tensor of shape (n,).

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.addmv(Tensor([5.0]), Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [16.0]

    Source: MindSpore's `mindspore.ops.addmv`.
    """
    product = _product_of_axes(mat, vec, "addmv", "mat", "vec", 2, 1)
    return _weighted_sum(input, product, beta, alpha, "addmv")


def baddbmm(input: T, batch1: T, batch2: T, beta: Number = 1, alpha: Number = 1) -> T:
    """Return `beta * input + alpha * bmm(batch1, batch2)`.

    Args:
        input: A tensor that broadcasts to (b, n, m).
        batch1: Of shape (b, n, k).
        batch2: Of shape (b, k, m).
        beta: A number.
        alpha: A number.

    Returns:
        A tensor of shape (b, n, m).

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import ops
        >>> x = ops.ones((1, 2, 2))
        >>> ops.baddbmm(x, x, x, beta=0.5).tolist()
        [[[2.5, 2.5], [2.5, 2.5]]]

    Source: MindSpore's `mindspore.ops.baddbmm`.
    """
    return _weighted_sum(
        input, _bmm(batch1, batch2, "baddbmm", "batch1", "batch2"), beta, alpha, "baddbmm"
    )


def _weighted_sum(x: T, y: T, beta: Number, alpha: Number, caller: str) -> T:
    check_tensor(x, caller)
    check_type(beta, (int, float), "beta", caller)
    check_type(alpha, (int, float), "alpha", caller)
    try:
        return add(mul(x, beta), mul(y, alpha))
    except ValueError:
        raise broadcast_error(caller, x.shape, y.shape) from None


def trace(input: T) -> T:
    """Return the sum of the elements on the main diagonal of a matrix.

    Args:
        input: A matrix.

    Returns:
        A tensor without axes, of the same type.

    Raises:
        ValueError: `input` does not have two axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.trace(Tensor([[1, 2], [3, 4]])).item()
        5

    Source: MindSpore's `mindspore.ops.trace`.
    """
    check_tensor(input, "trace")
    if input.ndim != 2:
        raise ValueError(
            f"For 'trace', the argument 'input' must have two axes, but its shape is {input.shape}."
        )
    return reduce_sum(diagonal(input), dtype=dtype_of(input))


def bmm(input_x: T, mat2: T) -> T:
    """Return the matrix products of two stacks of matrices, without broadcasting.

    Args:
        input_x: Of shape (b, n, k).
        mat2: Of shape (b, k, m).

    Returns:
        A tensor of shape (b, n, m).

    Raises:
        ValueError: The operands are not stacks of equally many matrices, or the inner lengths
            differ.

    Examples:
        >>> from minispore import ops
        >>> ops.bmm(ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
        (5, 2, 4)

    Source: MindSpore's `mindspore.ops.bmm`.
    """
    return _bmm(input_x, mat2, "bmm", "input_x", "mat2")


def _bmm(x: T, y: T, caller: str, left: str, right: str) -> T:
    check_tensor(x, caller, left)
    check_tensor(y, caller, right)
    if min(x.ndim, y.ndim) < 2 or x.shape[:-2] != y.shape[:-2]:
        raise ValueError(
            f"For '{caller}', '{left}' and '{right}' must be stacks of as many matrices, "
            f"but the shapes are {x.shape} and {y.shape}."
        )
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"For '{caller}', the last length of '{left}' must be the last but one of '{right}', "
            f"but the shapes are {x.shape} and {y.shape}."
        )
    return apply2(rules.matmul, *promote_operands(x, y, caller))


def dense(input: T, weight: T, bias: T | None = None) -> T:
    """Return `input @ weight.T + bias`: a fully connected layer.

    Args:
        input: Of shape (…, in_channels).
        weight: Of shape (out_channels, in_channels).
        bias: Of shape (out_channels,), or None for no bias.

    Returns:
        A tensor of shape (…, out_channels).

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.dense(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5])).tolist()
        [[11.5]]

    Source: MindSpore's `mindspore.ops.dense`.
    """
    check_tensor(input, "dense")
    check_tensor(weight, "dense", "weight")
    own, kernel = input.shape, weight.shape
    if len(kernel) != 2 or not own or own[-1] != kernel[1]:
        raise ValueError(
            f"For 'dense', the last length of 'input' must be the in_channels of 'weight', but the "
            f"shapes are {own} and {kernel}."
        )
    x, w = promote_operands(input, weight, "dense")
    if bias is None:
        return matmul(x, swapaxes(w, 0, 1))
    check_tensor(bias, "dense", "bias")
    if bias.shape != kernel[:1]:
        raise ValueError(
            f"For 'dense', 'bias' must be of shape {kernel[:1]}, but got {bias.shape}."
        )
    x, b = promote_operands(x, bias, "dense")
    if len(own) == 2:
        return apply3(rules.dense, x, w, b)
    rows = reshape(x, (prod(own[:-1]), own[-1]))
    return reshape(apply3(rules.dense, rows, w, b), (*own[:-1], kernel[0]))


def bias_add(input_x: T, bias: T) -> T:
    """Return `input_x` with a number added to each channel.

    Args:
        input_x: Of shape (n, channels, …).
        bias: Of shape (channels,).

    Returns:
        A tensor of the shape of `input_x`.

    Raises:
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bias_add(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [[4.0, 6.0]]

    Source: MindSpore's `mindspore.ops.bias_add`.
    """
    check_tensor(input_x, "bias_add", "input_x")
    check_tensor(bias, "bias_add", "bias")
    if input_x.ndim < 2 or bias.shape != input_x.shape[1:2]:
        raise ValueError(
            "For 'bias_add', the argument 'bias' must have as many elements as 'input_x' has "
            f"channels along its second axis, but the shapes are {bias.shape} and {input_x.shape}."
        )
    return add(input_x, reshape(bias, (-1, *(1,) * (input_x.ndim - 2))))


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

    def __init__(self, data_format: str = "NCHW") -> None:
        check_one_of(data_format, ("NCHW",), "data_format")
        self.data_format = data_format

    def __call__(self, input_x: T, bias: T) -> T:
        """Apply the operation."""
        return bias_add(input_x, bias)


class _Product(Primitive):
    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        caller = type(self).__name__
        check_bool(transpose_a, "transpose_a", caller)
        check_bool(transpose_b, "transpose_b", caller)
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def __call__(self, input: T, mat2: T) -> T:
        """Apply the operation."""
        x = swapaxes(input, -2, -1) if self.transpose_a else input
        y = swapaxes(mat2, -2, -1) if self.transpose_b else mat2
        return matmul(x, y)


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
