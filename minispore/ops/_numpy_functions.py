"""The operations that stand for numpy's functions, with numpy's arguments.

One that minispore's operation does not have is left out: a call with it raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import pi, prod

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Axis, Shape, to_host
from minispore.engine.dispatch import Number, as_float, cast_to, check_tensor, promote_operands
from minispore.ops import (
    arithmetic,
    binary,
    comparison,
    creation,
    decompositions,
    diagonals,
    elementwise,
    indexing,
    joining,
    linalg,
    norms,
    order,
    products,
    reduction,
    tolerance,
)
from minispore.ops import manipulation as shapes
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items

Function = Callable[..., object]


def _reduction(reduce: Callable[..., Tensor]) -> Function:
    def over_axis(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        return reduce(a, axis, keepdims)

    return over_axis


def _deviation(reduce: Callable[..., Tensor]) -> Function:
    def over_axis(a: Tensor, axis: Axis = None, *, ddof: int = 0, keepdims: bool = False) -> Tensor:
        return reduce(a, axis, ddof, keepdims)

    return over_axis


def _along(function: Callable[[Tensor, int], Tensor]) -> Function:
    """Return a function along an axis, or of the flattened tensor."""

    def along_axis(a: Tensor, axis: int | None = None) -> Tensor:
        return function(_ravel(a), 0) if axis is None else function(a, axis)

    return along_axis


def _median(a: Tensor, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """Return the mean of the two elements in the middle, where `ops.median` is the lower one."""
    x = _ravel(a) if axis is None else a
    place = shapes.normalize_axis_index(axis or 0, x.ndim, "axis")
    values = reduction.sort(as_float(x), place)[0]
    length = x.shape[place]
    index = (*(slice(None),) * place, slice((length - 1) // 2, length // 2 + 1))
    # NaN is sorted to the end, and is then the median.
    last = (*(slice(None),) * place, slice(-1, None))
    largest = indexing.getitem(values, last)
    lost = arithmetic.where(elementwise.isnan(largest), largest, 0.0)
    value = arithmetic.add(reduction.mean(indexing.getitem(values, index), place, True), lost)
    if keepdims:
        return shapes.reshape(value, (1,) * a.ndim) if axis is None else value
    return shapes.squeeze(value, place)


def _average(a: Tensor, axis: Axis = None, weights: Tensor | None = None) -> Tensor:
    if weights is None:
        return reduction.mean(a, axis)
    check_tensor(weights, "weights")
    if weights.shape != a.shape and isinstance(axis, int):
        weights = shapes.reshape(weights, (-1, *(1,) * (a.ndim - 1 - axis % a.ndim)))
    shares = shapes.broadcast_to(weights, a.shape)
    total = reduction.sum(arithmetic.mul(a, shares), axis)
    return arithmetic.div(total, reduction.sum(shares, axis))


def _ptp(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    highest, lowest = (f(a, axis, keepdims) for f in (reduction.amax, reduction.amin))
    return arithmetic.sub(highest, lowest)


def _shape_of(a: Tensor) -> Shape:
    return a.shape


def _ndim_of(a: Tensor) -> int:
    return a.ndim


def _size_of(a: Tensor, axis: int | None = None) -> int:
    return prod(a.shape) if axis is None else a.shape[axis]


def _ravel(a: Tensor) -> Tensor:
    return shapes.reshape(a, (-1,))


def _transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return shapes.permute(a, range(a.ndim)[::-1] if axes is None else axes)


def _matrix_transpose(x: Tensor) -> Tensor:
    return shapes.swapaxes(x, -1, -2)


def _tile(x: Tensor, reps: int | Sequence[int], /) -> Tensor:
    return shapes.tile(x, (reps,) if isinstance(reps, int) else tuple(reps))


def _repeat(a: Tensor, repeats: int | Sequence[int], axis: int | None = None) -> Tensor:
    return shapes.repeat_interleave(a, repeats, axis)


def _flip(m: Tensor, axis: int | Sequence[int] | None = None) -> Tensor:
    axes = range(m.ndim) if axis is None else axis
    return shapes.flip(m, (axes,) if isinstance(axes, int) else tuple(axes))


def _flipud(m: Tensor) -> Tensor:
    return shapes.flip(m, (0,))


def _fliplr(m: Tensor) -> Tensor:
    return shapes.flip(m, (1,))


def _roll(a: Tensor, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Tensor:
    return shapes.roll(a, shift, axis)


def _at_least(count: int) -> Function:
    """Return a function that adds axes in front, but behind from the third on."""

    def with_axes(*arys: Tensor) -> Tensor | tuple[Tensor, ...]:
        results: list[Tensor] = []
        for x in arys:
            shape = (1,) * (min(count, 2) - x.ndim) + x.shape
            results.append(shapes.reshape(x, shape + (1,) * (count - len(shape))))
        return results[0] if len(results) == 1 else tuple(results)

    return with_axes


def _array_split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0
) -> list[Tensor]:
    length = ary.shape[axis]
    if isinstance(indices_or_sections, int):
        count, larger = divmod(length, indices_or_sections)
        sizes = [count + 1] * larger + [count] * (indices_or_sections - larger)
    else:
        ends = [0, *(slice(end).indices(length)[1] for end in indices_or_sections), length]
        sizes = [max(end - start, 0) for start, end in pairwise(ends)]
        sizes[-1] = length - sum(sizes[:-1])
    return [*shapes.split(ary, sizes, axis)]


def _split(ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("For numpy's 'split', the parts must be of equal lengths.")
    return _array_split(ary, indices_or_sections, axis)


def _splits_along(place: int) -> Function:
    def split_along(ary: Tensor, indices_or_sections: int | Sequence[int]) -> list[Tensor]:
        # A vector is split along its only axis by `hsplit`.
        return _split(ary, indices_or_sections, 0 if ary.ndim == 1 and place == 1 else place)

    return split_along


def _append(arr: Tensor, values: Tensor, axis: int | None = None) -> Tensor:
    if axis is None:
        return shapes.concat([_ravel(arr), _ravel(values)])
    return shapes.concat([arr, values], axis)


def _diff(a: Tensor, n: int = 1, axis: int = -1) -> Tensor:
    place = shapes.normalize_axis_index(axis, a.ndim, "axis")
    before = (slice(None),) * place
    for _ in range(n):
        upper, lower = (
            indexing.getitem(a, (*before, part)) for part in (slice(1, None), slice(-1))
        )
        a = arithmetic.sub(upper, lower)
    return a


def _take(a: Tensor, indices: Tensor | int | Sequence[int], axis: int | None = None) -> Tensor:
    x, place = (_ravel(a), 0) if axis is None else (a, axis)
    place = shapes.normalize_axis_index(place, x.ndim, "axis")
    return indexing.getitem(x, (*(slice(None),) * place, indices))


def _take_along_axis(arr: Tensor, indices: Tensor, axis: int = -1) -> Tensor:
    return indexing.gather_elements(arr, axis, indices)


def _diag(v: Tensor, k: int = 0) -> Tensor:
    return diagonals.diagflat(v, k) if v.ndim == 1 else indexing.diagonal(v, k)


def _diagflat(v: Tensor, k: int = 0) -> Tensor:
    return diagonals.diagflat(v, k)


def _tril(m: Tensor, k: int = 0) -> Tensor:
    return indexing.tril(m, k)


def _triu(m: Tensor, k: int = 0) -> Tensor:
    return indexing.triu(m, k)


def _diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return indexing.diagonal(a, offset, axis1, axis2)


def _trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    return reduction.sum(indexing.diagonal(a, offset, axis1, axis2), -1)


def _sort(a: Tensor, axis: int | None = -1) -> Tensor:
    return reduction.sort(_ravel(a) if axis is None else a, 0 if axis is None else axis)[0]


def _argsort(a: Tensor, axis: int | None = -1) -> Tensor:
    x, place = (_ravel(a), 0) if axis is None else (a, axis)
    return cast_to(reduction.argsort(x, place), dtypes.int64)


def _nonzero(a: Tensor) -> tuple[Tensor, ...]:
    return indexing.nonzero(a, as_tuple=True)


def _searchsorted(a: Tensor, v: Tensor, side: str = "left") -> Tensor:
    return order.searchsorted(a, v, right=side == "right")


def _nan_to_num(
    x: Tensor,
    *,
    nan: Number = 0.0,
    posinf: Number | None = None,
    neginf: Number | None = None,
) -> Tensor:
    return tolerance.nan_to_num(x, nan, posinf, neginf)


def _isclose(
    a: Tensor, b: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    return tolerance.isclose(a, b, rtol, atol, equal_nan)


def _allclose(
    a: Tensor, b: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    return bool(to_host(tolerance.isclose(a, b, rtol, atol, equal_nan)._data).all())


def _dot(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim == 0 or b.ndim == 0:
        return arithmetic.mul(a, b)
    return linalg.matmul(a, b) if a.ndim == 1 or b.ndim <= 2 else linalg.dot(a, b)


def _inner(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim == 0 or b.ndim == 0:
        return arithmetic.mul(a, b)
    return _tensordot(a, b, ((-1,), (-1,)))


def _vdot(a: Tensor, b: Tensor) -> Tensor:
    return linalg.matmul(_ravel(a), _ravel(b))


def _tensordot(a: Tensor, b: Tensor, axes: int | Sequence[int | Sequence[int]] = 2) -> Tensor:
    pairs = (
        (range(a.ndim - axes, a.ndim), range(axes))
        if isinstance(axes, int)
        else tuple(as_items(part) or (part,) for part in axes)
    )
    left, right = (
        [shapes.normalize_axis_index(i, x.ndim, "axes") for i in part]
        for x, part in zip((a, b), pairs, strict=True)
    )
    rows, columns = (
        [i for i in range(x.ndim) if i not in part] for x, part in ((a, left), (b, right))
    )
    lengths = [a.shape[i] for i in rows], [b.shape[i] for i in columns]
    count = prod(a.shape[i] for i in left)
    x = shapes.reshape(shapes.permute(a, (*rows, *left)), (prod(lengths[0]), count))
    y = shapes.reshape(shapes.permute(b, (*right, *columns)), (count, prod(lengths[1])))
    return shapes.reshape(linalg.matmul(x, y), (*lengths[0], *lengths[1]))


def _cross(a: Tensor, b: Tensor, *, axis: int = -1) -> Tensor:
    return products.cross(a, b, axis)


def _norm(
    x: Tensor, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Tensor:
    return norms.norm(x, ord, axis, keepdims)


def _cholesky(a: Tensor, *, upper: bool = False) -> Tensor:
    return decompositions.cholesky(a, upper)


def _svd(
    a: Tensor, full_matrices: bool = True, compute_uv: bool = True
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    if not compute_uv:
        return decompositions.svd(a, compute_uv=False)
    values, u, v = decompositions.svd(a, full_matrices)
    return u, values, shapes.swapaxes(v, -1, -2)


def _scaled(factor: float) -> Function:
    def scaled(x: Tensor, /) -> Tensor:
        return arithmetic.mul(as_float(x), factor)

    return scaled


def _logaddexp(x: Tensor, y: Tensor, /) -> Tensor:
    both = promote_operands(x, y)
    shape = shapes.broadcast_shape(*(z.shape for z in both))
    return reduction.logsumexp(shapes.stack([shapes.broadcast_to(z, shape) for z in both]), 0)


# Called with numpy's arguments; one that the function does not have raises an error.
FUNCTIONS: dict[str, Function] = {
    **{name: getattr(elementwise, name) for name in elementwise.__all__ if hasattr(np, name)},
    **{
        name: getattr(comparison, name)
        for name in ("logical_and", "logical_or", "logical_xor", "logical_not")
    },
    "negative": arithmetic.neg,
    "positive": elementwise.copy,
    "fabs": elementwise.abs,
    "rint": elementwise.round,
    "degrees": _scaled(180.0 / pi),
    "rad2deg": _scaled(180.0 / pi),
    "radians": _scaled(pi / 180.0),
    "deg2rad": _scaled(pi / 180.0),
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "arctan2": binary.atan2,
    "fmod": binary.fmod,
    "logaddexp": _logaddexp,
    "where": arithmetic.where,
    "nan_to_num": _nan_to_num,
    "isclose": _isclose,
    "allclose": _allclose,
    "sum": _reduction(reduction.sum),
    "mean": _reduction(reduction.mean),
    "prod": _reduction(reduction.prod),
    "max": _reduction(reduction.amax),
    "amax": _reduction(reduction.amax),
    "min": _reduction(reduction.amin),
    "amin": _reduction(reduction.amin),
    "ptp": _ptp,
    "any": _reduction(reduction.any),
    "all": _reduction(reduction.all),
    "count_nonzero": _reduction(reduction.count_nonzero),
    "argmax": _reduction(reduction.argmax),
    "argmin": _reduction(reduction.argmin),
    "var": _deviation(reduction.var),
    "std": _deviation(reduction.std),
    "average": _average,
    "median": _median,
    "cumsum": _along(reduction.cumsum),
    "cumprod": _along(reduction.cumprod),
    "diff": _diff,
    "sort": _sort,
    "argsort": _argsort,
    "searchsorted": _searchsorted,
    "reshape": shapes.reshape,
    "ravel": _ravel,
    "transpose": _transpose,
    "matrix_transpose": _matrix_transpose,
    "swapaxes": shapes.swapaxes,
    "moveaxis": shapes.movedim,
    "squeeze": shapes.squeeze,
    "expand_dims": shapes.expand_dims,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "broadcast_to": shapes.broadcast_to,
    "concatenate": shapes.concat,
    "stack": shapes.stack,
    "vstack": joining.vstack,
    "hstack": joining.hstack,
    "dstack": joining.dstack,
    "column_stack": joining.column_stack,
    "append": _append,
    "split": _split,
    "array_split": _array_split,
    "vsplit": _splits_along(0),
    "hsplit": _splits_along(1),
    "dsplit": _splits_along(2),
    "tile": _tile,
    "repeat": _repeat,
    "flip": _flip,
    "flipud": _flipud,
    "fliplr": _fliplr,
    "roll": _roll,
    "take": _take,
    "take_along_axis": _take_along_axis,
    "nonzero": _nonzero,
    "tril": _tril,
    "triu": _triu,
    "diag": _diag,
    "diagflat": _diagflat,
    "diagonal": _diagonal,
    "trace": _trace,
    "shape": _shape_of,
    "ndim": _ndim_of,
    "size": _size_of,
    "copy": elementwise.copy,
    "zeros_like": creation.zeros_like,
    "ones_like": creation.ones_like,
    "full_like": creation.full_like,
    "meshgrid": shapes.meshgrid,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "outer": linalg.outer,
    "tensordot": _tensordot,
    "einsum": products.einsum,
    "kron": products.kron,
    "cross": _cross,
    "linalg.matmul": linalg.matmul,
    "linalg.matrix_transpose": _matrix_transpose,
    "linalg.outer": linalg.outer,
    "linalg.svdvals": decompositions.singular_values,
    "linalg.norm": _norm,
    "linalg.det": decompositions.det,
    "linalg.slogdet": decompositions.slogdet,
    "linalg.inv": decompositions.inverse,
    "linalg.cholesky": _cholesky,
    "linalg.qr": decompositions.qr,
    "linalg.svd": _svd,
}
