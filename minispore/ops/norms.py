"""Norms of vectors and matrices."""

from __future__ import annotations

from math import inf
from types import NoneType

from minispore.engine import dtypes
from minispore.engine.array import Axis
from minispore.engine.dispatch import apply1, as_float, cast_to, dtype_of, in_float32
from minispore.engine.rules import elementwise
from minispore.engine.rules import reduction as rules
from minispore.engine.rules import shape as shape_rules
from minispore.ops.arithmetic import pow
from minispore.ops.comparison import not_equal
from minispore.ops.decompositions import singular_values
from minispore.ops.manipulation import check_nonempty, normalize_axis_index, permute, reshape
from minispore.ops.reduction import root
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, check_bool, check_one_of, check_type

__all__ = ["norm"]

_MATRIX_NORMS = ("fro", "nuc", 1, -1, 2, -2, inf, -inf)


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Axis = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.DTypeLike | None = None,
) -> Tensor:
    """Return a norm of vectors or matrices; its derivative where it is 0 is 0.

    Args:
        A: A tensor of any shape; integers and bools are computed as float32.
        ord: Of vectors a number p for (Σ |x|ᵖ)¹ᐟᵖ, inf and -inf for the largest and the smallest
            |x|, 0 for the number of nonzero elements. Of matrices "fro" for the root of the sum of
            squares, 1 and inf for the largest sum of |x| in a column and in a row, -1 and -inf for
            the smallest, 2 and -2 for the largest and the smallest singular value, and "nuc" for
            their sum. None is 2 for vectors and "fro" for matrices.
        dim: The axis of vectors, or the two axes of matrices. None is all axes: more than two only
            with `ord` None, as one vector.
        keepdim: Whether the reduced axes stay, with length 1.
        dtype: The float type to compute in; None for that of `A`.

    Returns:
        A tensor of the remaining shape, of a float type.

    Raises:
        ValueError: There are too many axes, or there is no such norm.

    Examples:
        >>> from minispore import Tensor, ops
        >>> x = Tensor([[3.0, 4.0], [0.0, -2.0]])
        >>> ops.norm(x, dim=1).tolist(), ops.norm(x, 1, 1).tolist()
        ([5.0, 2.0], [7.0, 2.0])

    Source: MindSpore's `mindspore.ops.norm`.
    """
    x = as_float(A, "A")
    check_type(ord, (int, float, str, NoneType), "ord")
    check_bool(keepdim, "keepdim")
    if dtype is not None:
        x = cast_to(x, dtypes.check_float(dtypes.as_dtype(dtype)))
    axes = _axes_of_norm(dim, x.ndim, ord)
    if ord is None or len(axes) == 2:
        return _matrix_norm(x, axes, "fro" if ord is None else ord, keepdim)
    if isinstance(ord, str):
        raise TypeError(
            f"For 'norm', the argument 'ord' must be a number for vectors, but got {ord!r}."
        )
    return _vector_norm(x, axes, ord, keepdim)


def _axes_of_norm(dim: object, ndim: int, ord: object) -> tuple[int, ...]:
    """Return the axes of a norm: one, two, or all of them as one vector."""
    if dim is None and (ord is None or ndim == 0):
        return tuple(range(ndim))
    items = range(ndim) if dim is None else as_items(dim)
    named = (dim,) if items is None else items
    axes = tuple(normalize_axis_index(i, ndim or 1, "dim") for i in named)
    if len(axes) not in {1, 2} or len(set(axes)) < len(axes):
        raise ValueError(
            f"For 'norm', the argument 'dim' must name one axis or two, but they are {axes}."
        )
    return axes[:ndim]


@in_float32
def _vector_norm(x: Tensor, axes: tuple[int, ...], ord: float, keepdim: bool) -> Tensor:
    if ord in (inf, -inf):
        check_nonempty(x.shape, axes)
        largest = rules.max if ord > 0 else rules.min
        return apply1(largest, apply1(elementwise.absolute, x), axes, keepdim)
    if ord == 0:
        return apply1(rules.sum, cast_to(not_equal(x, 0), dtype_of(x)), axes, keepdim)
    size = apply1(elementwise.absolute, x)
    total = apply1(rules.sum, size if ord == 1 else pow(size, float(ord)), axes, keepdim)
    return total if ord == 1 else root(total, ord)


@in_float32
def _matrix_norm(x: Tensor, axes: tuple[int, ...], ord: float | str, keepdim: bool) -> Tensor:
    check_one_of(ord, _MATRIX_NORMS, "ord")
    if ord in (2, -2, "nuc"):
        check_nonempty(x.shape, () if ord == "nuc" else axes)
        others = tuple(i for i in range(x.ndim) if i not in axes)
        values = singular_values(permute(x, (*others, *axes)))
        total = rules.sum if ord == "nuc" else rules.max if ord == 2 else rules.min
        value = apply1(total, values, -1, False)
        lengths = [1 if i in axes else n for i, n in enumerate(x.shape)]
        return reshape(value, lengths) if keepdim else value
    if ord == "fro":
        return root(apply1(rules.sum, apply1(elementwise.square, x), axes, keepdim), 2)
    row, column = axes if ord in (1, -1) else axes[::-1]
    check_nonempty(x.shape, column)
    sums = apply1(rules.sum, apply1(elementwise.absolute, x), row, True)
    chosen = rules.max if ord in (1, inf) else rules.min
    value = apply1(chosen, sums, column, True)
    return value if keepdim else apply1(shape_rules.squeeze, value, axes)
