"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING, TypeAlias

from minispore.engine.array import Shape
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
from minispore.ops._primitive import Primitive
from minispore.ops.arithmetic import add, mul
from minispore.ops.indexing import diagonal
from minispore.ops.manipulation import (
    broadcast_to,
    cast_to_common_type,
    expand_dims,
    movedim,
    permute,
    reshape,
    squeeze,
    swapaxes,
)
from minispore.ops.reduction import sum as reduce_sum
from minispore.utils.checks import (
    as_items,
    caller,
    check_bool,
    check_int,
    check_one_of,
    check_type,
    describe_value,
    value_error,
)

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "BatchMatMul", "BiasAdd", "MatMul", "addmm", "addmv", "baddbmm", "bias_add", "bmm", "dense",
    "dot", "einsum", "ger", "matmul", "mm", "mv", "outer", "trace",
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


@in_float32
def einsum(equation: str | Tensor, *operands: Tensor | Sequence[object]) -> Tensor:
    """Return sums of products of elements, by the Einstein summation convention.

    A letter names an axis in each operand. Elements with equal indices are multiplied, and the
    products are summed over the axes that are not in the result. An ellipsis stands for any number
    of axes, which broadcast.

    Args:
        equation: The letters of each operand, separated by commas, and after "->" those of the
            result; without "->", it has the ellipsis and then the letters that occur once, in
            alphabetical order. Or the first operand, if each is followed by the list of its axes,
            which are ints in [0, 52) and `...`, with the list of the result at the end.
        operands: Tensors of numbers.

    Returns:
        A tensor of the axes of the result.

    Raises:
        TypeError: An operand is not a tensor of numbers.
        ValueError: The equation is malformed, or does not fit the shapes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> ops.einsum("ij,kj->ik", x, x).tolist()
        [[5.0, 11.0], [11.0, 25.0]]
        >>> ops.einsum("ii", x).item()
        5.0

    Source: MindSpore's `mindspore.ops.einsum`.
    """
    text, tensors = _equation_and_operands(equation, operands)
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(tensors):
        raise ValueError(
            f"For 'einsum', the argument 'equation' must have as many terms as there are operands, "
            f"but got {text!r} for {len(tensors)}."
        )
    for term in (*terms, right):
        if set(term.replace("...", "", 1)) - set(ascii_letters):
            must = "have letters, one ellipsis at most in a term, commas and one '->'"
            raise value_error(text, "equation", must)
    labels = [_axis_labels(term, x.shape, text) for term, x in zip(terms, tensors, strict=True)]
    # The axes of an ellipsis, counted from its end, are named by ints.
    count = max(sum(isinstance(label, int) for label in operand) for operand in labels)
    letters = left.replace(",", "").replace(".", "")
    if not arrow:
        right = "..." + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    size = len(right.replace("...", "")) + (count if "..." in right else 0)
    result = _axis_labels(right, (1,) * size, text)
    known = {label for operand in labels for label in operand}
    if len(set(result)) < len(result) or not set(result) <= known:
        raise ValueError(
            f"For 'einsum', the result must name axes of the operands, each once, but got {text!r}."
        )
    lengths = _lengths_of_axes(labels, tensors, text)
    value, remaining = _with_different_axes(tensors[0], labels[0])
    for i in range(1, len(tensors)):
        needed = set(result).union(*labels[i + 1 :])
        value, remaining = _contract(
            value, remaining, *_with_different_axes(tensors[i], labels[i]), needed, lengths
        )
    value, remaining = _sum_axes(value, remaining, set(result))
    return permute(value, tuple(remaining.index(label) for label in result)) if result else value


_Labels: TypeAlias = list[str | int]
_Lengths: TypeAlias = dict[str | int, int]


def _equation_and_operands(
    equation: str | Tensor, operands: Sequence[Tensor | Sequence[object]]
) -> tuple[str, list[Tensor]]:
    """Return the equation and the operands of `einsum`, of which each may be followed by axes."""
    items: list[Tensor | Sequence[object]] = [*operands]
    text = equation if isinstance(equation, str) else ""
    if not isinstance(equation, str):
        items.insert(0, equation)
        lists = [as_items(x) for x in (*items[1::2], items[-1])]
        if len(items) % 2 == 0 or any(axes is None for axes in lists):
            raise TypeError(
                "For 'einsum', the argument 'equation' must be a str, or each operand must be "
                "followed by a list of its axes, and a list of those of the result be the last, "
                f"but got {len(items)} arguments that begin with {describe_value(equation)}."
            )
        names = ["".join(_axis_name(item) for item in axes or ()) for axes in lists]
        text = f"{','.join(names[:-1])}->{names[-1]}"
        items = items[:-1:2]
    tensors: list[Tensor] = []
    for i, x in enumerate(items):
        check_tensor(x, f"operands[{i}]")
        if not isinstance(x, Sequence):
            check_numbers(x)
            tensors.append(x)
    if not tensors:
        raise ValueError("For 'einsum', the argument 'operands' must have a tensor, but got none.")
    return text, cast_to_common_type(tensors)


def _axis_name(item: object) -> str:
    if item is Ellipsis:
        return "..."
    return ascii_letters[check_int(item, "operands", low=0, high=51)]


def _axis_labels(term: str, shape: Shape, equation: str) -> _Labels:
    """Return the name of each axis of an operand; those of an ellipsis are -1 for the last one."""
    first, ellipsis, last = term.partition("...")
    count = len(shape) - len(first) - len(last)
    if count < 0 or (count and not ellipsis):
        raise ValueError(
            "For 'einsum', each term of the argument 'equation' must name all axes of its operand, "
            f"but got {term!r} in {equation!r} for the shape {shape}."
        )
    return [*first, *range(-count, 0), *last]


def _lengths_of_axes(labels: Sequence[_Labels], tensors: Sequence[Tensor], text: str) -> _Lengths:
    lengths: _Lengths = {}
    for names, x in zip(labels, tensors, strict=True):
        for label, n in zip(names, x.shape, strict=True):
            known = lengths.setdefault(label, n)
            if 1 not in (known, n) and known != n:
                shapes = ", ".join(str(x.shape) for x in tensors)
                raise ValueError(
                    "For 'einsum', axes of the same name must have the same length, or 1, but got "
                    f"{text!r} for the shapes {shapes}."
                )
            lengths[label] = n if known == 1 else known
    return lengths


def _with_different_axes(x: Tensor, labels: _Labels) -> tuple[Tensor, _Labels]:
    """Return the diagonal of axes that have the same name."""
    labels = list(labels)
    for label in [label for i, label in enumerate(labels) if label in labels[:i]]:
        first = labels.index(label)
        second = labels.index(label, first + 1)
        if x.shape[first] != x.shape[second]:
            raise ValueError(
                f"For 'einsum', axes of one operand with the same name, {label!r}, must have the "
                f"same length, but its shape is {x.shape}."
            )
        x = diagonal(x, 0, first, second)
        labels = [name for i, name in enumerate(labels) if i not in (first, second)] + [label]
    return x, labels


def _sum_axes(x: Tensor, labels: _Labels, needed: set[str | int]) -> tuple[Tensor, _Labels]:
    """Return the sum over the axes that are not needed."""
    axes = tuple(i for i, label in enumerate(labels) if label not in needed)
    if axes:
        x = reduce_sum(x, axes, dtype=dtype_of(x))
    return x, [label for label in labels if label in needed]


def _contract(
    x: Tensor, left: _Labels, y: Tensor, right: _Labels, needed: set[str | int], lengths: _Lengths
) -> tuple[Tensor, _Labels]:
    """Return the product of two operands, summed over their axes that are not needed, by matmul."""
    x, left = _sum_axes(x, left, needed.union(right))
    y, right = _sum_axes(y, right, needed.union(left))
    both = [label for label in left if label in right]
    batch = [label for label in both if label in needed]
    summed = [label for label in both if label not in needed]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    sizes = [prod(lengths[label] for label in names) for names in (rows, summed, columns)]
    outer = tuple(lengths[label] for label in batch)

    def matrices(tensor: Tensor, axes: _Labels, order: _Labels, shape: tuple[int, int]) -> Tensor:
        tensor = permute(tensor, tuple(axes.index(label) for label in order))
        tensor = broadcast_to(tensor, tuple(lengths[label] for label in order))
        return reshape(tensor, (*outer, *shape))

    one = matrices(x, left, [*batch, *rows, *summed], (sizes[0], sizes[1]))
    other = matrices(y, right, [*batch, *summed, *columns], (sizes[1], sizes[2]))
    labels = [*batch, *rows, *columns]
    product = apply2(rules.matmul, one, other)
    return reshape(product, tuple(lengths[label] for label in labels)), labels


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
    check_tensor(input)
    check_tensor(weight, "weight")
    lengths, kernel = input.shape, weight.shape
    if len(kernel) != 2 or not lengths or lengths[-1] != kernel[1]:
        raise ValueError(
            f"For 'dense', the last length of 'input' must be the in_channels of 'weight', but the "
            f"shapes are {lengths} and {kernel}."
        )
    x, w = promote_operands(input, weight)
    if bias is None:
        return matmul(x, swapaxes(w, 0, 1))
    check_shape(bias, kernel[:1], "bias")
    x, b = promote_operands(x, bias)
    if len(lengths) == 2:
        return apply3(rules.dense, x, w, b)
    rows = reshape(x, (prod(lengths[:-1]), lengths[-1]))
    return reshape(apply3(rules.dense, rows, w, b), (*lengths[:-1], kernel[0]))


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

    def __call__(self, input_x: Tensor, bias: Tensor) -> Tensor:
        """Apply the operation."""
        return bias_add(input_x, bias)


class _Product(Primitive):
    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        check_bool(transpose_a, "transpose_a")
        check_bool(transpose_b, "transpose_b")
        self.transpose_a = transpose_a
        self.transpose_b = transpose_b

    def __call__(self, input: Tensor, mat2: Tensor) -> Tensor:
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
