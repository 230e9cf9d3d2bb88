"""Products that name the axes of their operands, and products of vectors and of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_letters
from typing import TypeAlias

from minispore.engine.array import Shape
from minispore.engine.dispatch import (
    apply2,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    promote_operands,
)
from minispore.engine.rules import linalg as rules
from minispore.ops.arithmetic import mul, sub
from minispore.ops.indexing import diagonal
from minispore.ops.manipulation import (
    broadcast_shape,
    broadcast_to,
    cast_to_common_type,
    normalize_axis_index,
    permute,
    reshape,
    roll,
)
from minispore.ops.reduction import sum as reduce_sum
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, check_int, describe_value, value_error

__all__ = ["cross", "einsum", "kron"]


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


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Return the cross products of vectors of three numbers.

    Args:
        input: A tensor of numbers with an axis of length 3.
        other: A tensor of numbers, whose shape broadcasts with that of `input`.
        dim: The axis of the vectors; None for the first one of length 3.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: An operand is a tensor of bools.
        ValueError: The shapes do not broadcast, or the axis is not of length 3.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.cross(Tensor([1, 2, 3]), Tensor([4, 5, 6])).tolist()
        [-3, 6, -3]

    Source: MindSpore's `mindspore.ops.cross`.
    """
    check_numbers(input)
    check_numbers(other, "other")
    x, y = promote_operands(input, other)
    shape = broadcast_shape(x.shape, y.shape)
    if dim is None and 3 not in shape:
        raise ValueError(
            f"For 'cross', an axis of the operands must be of length 3, but the shape is {shape}."
        )
    axis = shape.index(3) if dim is None else normalize_axis_index(dim, len(shape), "dim")
    if shape[axis] != 3:
        raise ValueError(
            f"For 'cross', the axis {axis} must be of length 3, but the shape is {shape}."
        )
    return _cross(broadcast_to(x, shape), broadcast_to(y, shape), axis)


@in_float32
def _cross(x: Tensor, y: Tensor, axis: int) -> Tensor:
    def ahead(vectors: Tensor, by: int) -> Tensor:
        return roll(vectors, -by, axis)

    return sub(mul(ahead(x, 1), ahead(y, 2)), mul(ahead(x, 2), ahead(y, 1)))


def kron(input: Tensor, other: Tensor) -> Tensor:
    """Return the Kronecker product: `other` in the place of each element of `input`, times it.

    Args:
        input: A tensor of any shape.
        other: A tensor of any shape; the one with fewer axes gets more of length 1 in front.

    Returns:
        A tensor of the promoted type, whose lengths are the products of those of the operands.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.kron(Tensor([[1, 2]]), Tensor([[3], [4]])).tolist()
        [[3, 6], [4, 8]]

    Source: MindSpore's `mindspore.ops.kron`.
    """
    check_tensor(input)
    check_tensor(other, "other")
    x, y = promote_operands(input, other)
    ndim = max(x.ndim, y.ndim)
    rows, columns = ((1,) * (ndim - z.ndim) + z.shape for z in (x, y))
    # Each axis of one operand is followed by that of the other.
    outer = reshape(x, tuple(n for length in rows for n in (length, 1)))
    inner = reshape(y, tuple(n for length in columns for n in (1, length)))
    lengths = tuple(m * n for m, n in zip(rows, columns, strict=True))
    return reshape(mul(outer, inner), lengths)
