"""Matrix products."""

from math import prod

from minispore._functional.apply import apply2, apply3
from minispore._functional.operands import pair
from minispore._functional.shape import expand_dims, reshape, squeeze, swapaxes
from minispore._functional.variable import T, Variable, check_tensor
from minispore._rules import linalg as rules


def matmul(input: T, other: T) -> T:
    """The matrix product; stacks of matrices broadcast, a vector counts as a row or a column.

    >>> from minispore import Tensor, ops
    >>> ops.matmul(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0]))
    Tensor(shape=[1], dtype=Float32, value= [ 1.10000000e+01])

    Raises:
        TypeError: An operand is no tensor.
        ValueError: The inner lengths differ, or an operand has no axes.
    """
    if not isinstance(input, Variable) or not isinstance(other, Variable):
        check_tensor(input, "matmul")
        check_tensor(other, "matmul", "other")
    x, y = pair(input, other, "matmul")
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
    """The matrix products of two stacks, pair by pair; nothing broadcasts.

    >>> from minispore import ops
    >>> ops.bmm(ops.ones((5, 2, 3)), ops.ones((5, 3, 4))).shape
    (5, 2, 4)

    Raises:
        TypeError: An operand is no tensor.
        ValueError: They are no stacks of as many matrices, or the inner lengths differ.
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
    x, y = pair(input_x, mat2, "bmm")
    return apply2(rules.matmul, x, y)


def dense(input: T, weight: T, bias: T | None = None) -> T:
    """`input @ weight.T + bias`: the layer of fully connected neurons.

    >>> from minispore import Tensor, ops
    >>> ops.dense(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5]))
    Tensor(shape=[1, 1], dtype=Float32, value=
    [[ 1.15000000e+01]])

    Args:
        input: Of shape (…, in_channels).
        weight: Of shape (out_channels, in_channels).
        bias: Of shape (out_channels,).

    Returns:
        Of shape (…, out_channels).

    Raises:
        TypeError: An argument is no tensor.
        ValueError: The shapes do not fit.
    """
    check_tensor(input, "dense")
    check_tensor(weight, "dense", "weight")
    own, wanted = input.shape, weight.shape
    if len(wanted) != 2 or not own or own[-1] != wanted[1]:
        raise ValueError(
            f"For 'dense', the last length of 'input' must be the in_channels of 'weight', but the "
            f"shapes are {own} and {wanted}."
        )
    x, w = pair(input, weight, "dense")
    if bias is None:
        return matmul(x, swapaxes(w, 0, 1))
    check_tensor(bias, "dense", "bias")
    if bias.shape != wanted[:1]:
        raise ValueError(
            f"For 'dense', 'bias' must be of shape {wanted[:1]}, but got {bias.shape}."
        )
    x, b = pair(x, bias, "dense")
    if len(own) == 2:
        return apply3(rules.dense, x, w, b)
    rows = reshape(x, (prod(own[:-1]), own[-1]))
    return reshape(apply3(rules.dense, rows, w, b), (*own[:-1], wanted[0]))
