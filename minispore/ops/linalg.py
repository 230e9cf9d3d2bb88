"""Matrix products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from minispore.engine.dispatch import (
    Number,
    Variable,
    apply2,
    apply3,
    as_float,
    broadcast_error,
    check_numbers,
    check_shape,
    check_tensor,
    dtype_of,
    in_float32,
    promote_operands,
    shape_error,
)
from minispore.engine.rules import linalg as rules
from minispore.ops.arithmetic import add, mul
from minispore.ops.indexing import diagonal
from minispore.ops.manipulation import (
    expand_dims,
    movedim,
    reshape,
    squeeze,
    swapaxes,
)
from minispore.ops.reduction import sum as reduce_sum
from minispore.utils.checks import (
    caller,
    check_type,
)

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "addmm", "addmv", "baddbmm", "bias_add", "bmm", "dense", "dot", "ger", "matmul", "mm",
    "mv", "outer", "trace",
]  # fmt: skip


def matmul(input: Tensor, other: Tensor) -> Tensor:
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
        check_tensor(input)
        check_tensor(other, "other")
    x, y = promote_operands(input, other)
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


def mm(input: Tensor, mat2: Tensor) -> Tensor:
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
    return _product_of_axes(input, mat2, "input", "mat2", 2, 2)


def mv(mat: Tensor, vec: Tensor) -> Tensor:
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
    return _product_of_axes(mat, vec, "mat", "vec", 2, 1)


def _product_of_axes(x: Tensor, y: Tensor, x_name: str, y_name: str, m: int, n: int) -> Tensor:
    check_tensor(x, x_name)
    check_tensor(y, y_name)
    if (x.ndim, y.ndim) != (m, n) or x.shape[-1] != y.shape[0]:
        raise ValueError(
            f"For '{caller()}', '{x_name}' and '{y_name}' must have {m} and {n} axes and the last "
            f"length of '{x_name}' must be the first of '{y_name}', but the shapes are {x.shape} "
            f"and {y.shape}."
        )
    return matmul(*promote_operands(x, y))


def dot(input: Tensor, other: Tensor) -> Tensor:
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
    check_tensor(input)
    check_tensor(other, "other")
    if min(input.ndim, other.ndim) < 2 or input.shape[-1] != other.shape[-2]:
        raise ValueError(
            "For 'dot', the operands must have two axes or more and the last length of 'input' "
            f"must be the last but one of 'other', but the shapes are {input.shape} and "
            f"{other.shape}."
        )
    x, y = promote_operands(input, other)
    length, others = x.shape[-1], (*y.shape[:-2], y.shape[-1])
    rows = reshape(x, (prod(x.shape[:-1]), length))
    columns = reshape(movedim(y, -2, 0), (length, prod(others)))
    return reshape(apply2(rules.matmul, rows, columns), (*x.shape[:-1], *others))


def outer(input: Tensor, vec2: Tensor) -> Tensor:
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
    check_tensor(input)
    check_tensor(vec2, "vec2")
    x, y = promote_operands(input, vec2)
    return mul(reshape(x, (prod(x.shape), 1)), reshape(y, (prod(y.shape),)))


ger = outer


@in_float32
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """Return `beta * input + alpha * (mat1 @ mat2)`.

    Args:
        input: A tensor that broadcasts to (n, m).
        mat1: Of shape (n, k).
        mat2: Of shape (k, m).
        beta: A number; a float makes floats of integers.
        alpha: A number; a float makes floats of integers.

    Returns:
        A tensor of shape (n, m).

    Raises:
        TypeError: A factor of the product is a tensor of bools.
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.addmm(Tensor([5.0]), Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])).tolist()
        [[16.0]]

    Source: MindSpore's `mindspore.ops.addmm`.
    """
    input, x, y = _terms(input, mat1, mat2, "mat1", "mat2", beta, alpha)
    return _weighted_sum(input, _product_of_axes(x, y, "mat1", "mat2", 2, 2), beta, alpha)


@in_float32
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """Return `beta * input + alpha * (mat @ vec)`.

    Args:
        input: A tensor that broadcasts to (n,).
        mat: Of shape (n, k).
        vec: Of shape (k,).
        beta: A number; a float makes floats of integers.
        alpha: A number; a float makes floats of integers.

    Returns:
        A tensor of shape (n,).

    Raises:
        TypeError: A factor of the product is a tensor of bools.
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.addmv(Tensor([5.0]), Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])).tolist()
        [16.0]

    Source: MindSpore's `mindspore.ops.addmv`.
    """
    input, x, y = _terms(input, mat, vec, "mat", "vec", beta, alpha)
    return _weighted_sum(input, _product_of_axes(x, y, "mat", "vec", 2, 1), beta, alpha)


@in_float32
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """Return `beta * input + alpha * bmm(batch1, batch2)`.

    Args:
        input: A tensor that broadcasts to (b, n, m).
        batch1: Of shape (b, n, k).
        batch2: Of shape (b, k, m).
        beta: A number; a float makes floats of integers.
        alpha: A number; a float makes floats of integers.

    Returns:
        A tensor of shape (b, n, m).

    Raises:
        TypeError: A factor of the product is a tensor of bools.
        ValueError: The shapes do not match.

    Examples:
        >>> from minispore import ops
        >>> x = ops.ones((1, 2, 2))
        >>> ops.baddbmm(x, x, x, beta=0.5).tolist()
        [[[2.5, 2.5], [2.5, 2.5]]]

    Source: MindSpore's `mindspore.ops.baddbmm`.
    """
    input, x, y = _terms(input, batch1, batch2, "batch1", "batch2", beta, alpha)
    return _weighted_sum(input, _bmm(x, y, "batch1", "batch2"), beta, alpha)


def _terms(
    input: Tensor, x: Tensor, y: Tensor, x_name: str, y_name: str, beta: Number, alpha: Number
) -> tuple[Tensor, Tensor, Tensor]:
    """Return a summand and the factors of a product, as floats if a number is one."""
    check_tensor(input)
    check_numbers(x, x_name)
    check_numbers(y, y_name)
    if isinstance(beta, float) or isinstance(alpha, float):
        return as_float(input), as_float(x), as_float(y)
    return input, x, y


def _weighted_sum(x: Tensor, y: Tensor, beta: Number, alpha: Number) -> Tensor:
    check_tensor(x)
    check_type(beta, (int, float), "beta")
    check_type(alpha, (int, float), "alpha")
    try:
        return add(mul(x, beta), mul(y, alpha))
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None


def trace(input: Tensor) -> Tensor:
    """Return the sum of the elements on the main diagonal of a matrix.

    Args:
        input: A matrix.

    Returns:
        A tensor without axes, of the same type.

    Raises:
        TypeError: `input` is a tensor of bools.
        ValueError: `input` does not have two axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.trace(Tensor([[1, 2], [3, 4]])).item()
        5

    Source: MindSpore's `mindspore.ops.trace`.
    """
    check_numbers(input)
    if input.ndim != 2:
        raise shape_error(input, "input", "have two axes")
    return reduce_sum(diagonal(input), dtype=dtype_of(input))


def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
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
    return _bmm(input_x, mat2, "input_x", "mat2")


def _bmm(x: Tensor, y: Tensor, x_name: str, y_name: str) -> Tensor:
    check_tensor(x, x_name)
    check_tensor(y, y_name)
    if min(x.ndim, y.ndim) < 2 or x.shape[:-2] != y.shape[:-2]:
        raise ValueError(
            f"For '{caller()}', '{x_name}' and '{y_name}' must be stacks of as many matrices, "
            f"but the shapes are {x.shape} and {y.shape}."
        )
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"For '{caller()}', the last length of '{x_name}' must be the last but one of "
            f"'{y_name}', but the shapes are {x.shape} and {y.shape}."
        )
    return apply2(rules.matmul, *promote_operands(x, y))


def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
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
    _check_dense(input, weight, bias)
    x, w = promote_operands(input, weight)
    if bias is None:
        return matmul(x, swapaxes(w, 0, 1))
    x, b = promote_operands(x, bias)
    if x.ndim == 2:
        return apply3(rules.dense, x, w, b)
    rows = reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    return reshape(apply3(rules.dense, rows, w, b), x.shape[:-1] + w.shape[:1])


def _check_dense(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    lengths, kernel = check_tensor(input).shape, check_tensor(weight, "weight").shape
    if len(kernel) != 2 or not lengths or lengths[-1] != kernel[1]:
        raise ValueError(
            f"For 'dense', the last length of 'input' must be the in_channels of 'weight', but the "
            f"shapes are {lengths} and {kernel}."
        )
    if bias is not None:
        check_shape(bias, kernel[:1], "bias")


def bias_add(input_x: Tensor, bias: Tensor) -> Tensor:
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
    check_tensor(input_x, "input_x")
    check_tensor(bias, "bias")
    if input_x.ndim < 2 or bias.shape != input_x.shape[1:2]:
        raise ValueError(
            "For 'bias_add', the argument 'bias' must have as many elements as 'input_x' has "
            f"channels along its second axis, but the shapes are {bias.shape} and {input_x.shape}."
        )
    return add(input_x, reshape(bias, (-1, *(1,) * (input_x.ndim - 2))))
