"""Matrix products."""

from math import prod

from minispore._functional.primitive import Primitive
from minispore._functional.shape import expand_dims, reshape, squeeze, swapaxes
from minispore.engine.dispatch import T, Variable, apply2, apply3, check_tensor, promote_operands
from minispore.engine.rules import linalg as rules
from minispore.utils.checks import check_bool

__all__ = [
    "MatMul",
    "BatchMatMul",
    "bmm",
    "dense",
    "matmul",
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
    check_tensor(input_x, "bmm", "input_x")
    check_tensor(mat2, "bmm", "mat2")
    if min(input_x.ndim, mat2.ndim) < 2 or input_x.shape[:-2] != mat2.shape[:-2]:
        raise ValueError(
            "For 'bmm', 'input_x' and 'mat2' must be stacks of as many matrices, "
            f"but the shapes are {input_x.shape} and {mat2.shape}."
        )
    if input_x.shape[-1] != mat2.shape[-2]:
        raise ValueError(
            "For 'bmm', the last length of 'input_x' must be the last but one of 'mat2', "
            f"but the shapes are {input_x.shape} and {mat2.shape}."
        )
    x, y = promote_operands(input_x, mat2, "bmm")
    return apply2(rules.matmul, x, y)


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
