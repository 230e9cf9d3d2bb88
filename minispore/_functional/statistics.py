"""How far elements spread, and how large they are together: variance, deviation and norms."""

from math import inf, prod

from minispore import _dtype
from minispore._array import Axis
from minispore._checks import as_items, check_bool, check_one_of, check_type
from minispore._functional.apply import apply1
from minispore._functional.arithmetic import mul, pow, sub, where
from minispore._functional.axes import as_axes, check_axis, check_elements
from minispore._functional.comparison import equal, not_equal
from minispore._functional.elementwise import sqrt
from minispore._functional.operands import as_float, cast_to, dtype_of, widen
from minispore._functional.variable import T, check_tensor
from minispore._rules import elementwise, reduction, shape
from minispore._warn import warn

# Of a matrix's norms those by its singular values are not supported.
_OF_MATRICES = ("fro", 1, -1, inf, -inf)


def var(input: T, axis: Axis = None, ddof: int | bool = 0, keepdims: bool = False) -> T:
    """The variance over `axis`: the mean square of the distance from the mean.

    >>> from minispore import Tensor, ops
    >>> ops.var(Tensor([1.0, 3.0])), ops.var(Tensor([1.0, 3.0]), ddof=1)
    (Tensor(shape=[], dtype=Float32, value= 1), Tensor(shape=[], dtype=Float32, value= 2))

    Source: MindSpore's `mindspore.ops.var`.

    Args:
        input: The tensor, of floats.
        axis: The axis or axes; None for all.
        ddof: What is taken off the number of elements that the squares are divided by: 1 (or True)
            estimates the variance of what the elements are a sample of.
        keepdims: Whether the axes stay, with length 1.

    Raises:
        TypeError: `input` is no tensor of floats, an axis or `ddof` no int, or `keepdims` no bool.
        ValueError: An axis is out of range or named twice.
    """
    return cast_to(_variance(input, axis, ddof, keepdims, "var"), dtype_of(input))


def std(input: T, axis: Axis = None, ddof: int | bool = 0, keepdims: bool = False) -> T:
    """The standard deviation over `axis`: the square root of `var`. Where it is 0, so is its slope.

    >>> from minispore import Tensor, ops
    >>> ops.std(Tensor([1.0, 3.0]))
    Tensor(shape=[], dtype=Float32, value= 1)

    Source: MindSpore's `mindspore.ops.std`.

    Args:
        input: The tensor, of floats.
        axis: The axis or axes; None for all.
        ddof: As in `var`.
        keepdims: Whether the axes stay, with length 1.

    Raises:
        TypeError: `input` is no tensor of floats, an axis or `ddof` no int, or `keepdims` no bool.
        ValueError: An axis is out of range or named twice.
    """
    return cast_to(_root(_variance(input, axis, ddof, keepdims, "std"), 2), dtype_of(input))


def norm(
    A: T,
    ord: float | str | None = None,
    dim: Axis = None,
    keepdim: bool = False,
    *,
    dtype: _dtype.DTypeLike | None = None,
) -> T:
    """The length of vectors or the size of matrices. Where it is 0, so is its slope.

    >>> from minispore import Tensor, ops
    >>> x = Tensor([[3.0, 4.0], [0.0, -2.0]])
    >>> ops.norm(x, dim=1).tolist(), ops.norm(x, 1, 1).tolist()
    ([5.0, 2.0], [7.0, 2.0])
    >>> ops.norm(x, "fro")
    Tensor(shape=[], dtype=Float32, value= 5.38516)

    Source: MindSpore's `mindspore.ops.norm`.

    Args:
        A: The tensor; integers count as float32.
        ord: For vectors a number p for (Σ |x|ᵖ)¹ᐟᵖ; inf and -inf for the largest and the smallest
            |x|, 0 for the number of elements that are not 0. For matrices "fro" for the root of
            the sum of squares, 1 and inf for the largest sum of |x| in a column and in a row, -1
            and -inf for the smallest. None is 2 for vectors, "fro" for matrices.
        dim: The axis of vectors, or two axes: of the rows and the columns of matrices. None is all
            axes: of more than two only with `ord` None, as if they were one.
        keepdim: Whether the axes stay, with length 1.
        dtype: The type of floats to compute in, that of `A` by default.

    Raises:
        TypeError: `A` is no tensor, an axis no int, `keepdim` no bool, `ord` neither a number nor a
            text or "fro" for vectors, or `dtype` no type of floats.
        ValueError: An axis is out of range or named twice, there are too many of them, or there is
            no such norm here: for matrices 2, -2 and "nuc" want singular values.
    """
    x = as_float(A, "norm", "A")
    check_type(ord, (int, float, str), "ord", "norm", none=True)
    check_bool(keepdim, "keepdim", "norm")
    if dtype is not None:
        x = cast_to(x, _dtype.check_float(_dtype.as_dtype(dtype, "norm"), "norm"))
    axes = _axes(dim, x.ndim, ord)
    if ord is None or len(axes) == 2:
        value = _of_matrix(widen(x), axes, "fro" if ord is None else ord, keepdim)
    elif isinstance(ord, str):
        raise TypeError(
            f"For 'norm', the argument 'ord' must be a number for vectors, but got {ord!r}."
        )
    else:
        value = _of_vector(widen(x), axes, ord, keepdim)
    return cast_to(value, dtype_of(x))


def _variance(x: T, axis: Axis, ddof: int, keepdims: bool, owner: str) -> T:
    check_tensor(x, owner)
    if dtype_of(x).category != _dtype.FLOAT:
        raise TypeError(
            f"For '{owner}', the argument 'input' must be a Tensor of floats, "
            f"but got {dtype_of(x)!r}."
        )
    axes = as_axes(axis, x.ndim, owner)
    check_type(ddof, (int, bool), "ddof", owner)
    check_bool(keepdims, "keepdims", owner)
    x = widen(x)
    squares = apply1(elementwise.square, sub(x, apply1(reduction.mean, x, axes, True)))
    value = apply1(reduction.mean, squares, axes, keepdims)
    if not ddof:
        return value
    count = prod(x.shape) // max(prod(value.shape), 1)
    if count <= ddof:
        warn(
            f"For '{owner}', the argument 'ddof' should be less than the number of elements, "
            f"{count}, but got {ddof}: the result is infinite or NaN."
        )
    return mul(value, count / (count - ddof) if count > ddof else inf)


def _axes(dim: object, ndim: int, ord: object) -> tuple[int, ...]:
    """The axes that a norm goes over: one, two, or all of them as one."""
    if dim is None and (ord is None or ndim == 0):
        return tuple(range(ndim))
    items = range(ndim) if dim is None else as_items(dim)
    axes = tuple(check_axis(i, ndim, "dim", "norm") for i in ((dim,) if items is None else items))
    if len(axes) not in {1, 2} or len(set(axes)) < len(axes):
        raise ValueError(
            f"For 'norm', the argument 'dim' must name one axis or two, but they are {axes}."
        )
    return axes


def _of_vector(x: T, axes: tuple[int, ...], ord: float, keepdim: bool) -> T:
    if ord in (inf, -inf):
        check_elements(x.shape, axes, "norm")
        largest = reduction.max if ord > 0 else reduction.min
        return apply1(largest, apply1(elementwise.absolute, x), axes, keepdim)
    if ord == 0:
        return apply1(reduction.sum, cast_to(not_equal(x, 0), dtype_of(x)), axes, keepdim)
    size = apply1(elementwise.absolute, x)
    total = apply1(reduction.sum, size if ord == 1 else pow(size, float(ord)), axes, keepdim)
    return total if ord == 1 else _root(total, ord)


def _of_matrix(x: T, axes: tuple[int, ...], ord: float | str, keepdim: bool) -> T:
    check_one_of(ord, _OF_MATRICES, "ord", "norm")
    if ord == "fro":
        return _root(apply1(reduction.sum, apply1(elementwise.square, x), axes, keepdim), 2)
    row, column = axes if ord in (1, -1) else axes[::-1]
    check_elements(x.shape, column, "norm")
    sums = apply1(reduction.sum, apply1(elementwise.absolute, x), row, True)
    chosen = reduction.max if ord in (1, inf) else reduction.min
    value = apply1(chosen, sums, column, True)
    return value if keepdim else apply1(shape.squeeze, value, axes)


def _root(x: T, degree: float) -> T:
    """The root of `x`; its slope at 0, which is infinite, is taken for 0."""
    nothing = equal(x, 0)
    some = where(nothing, 1, x)
    root = sqrt(some) if degree == 2 else pow(some, 1 / degree)
    return where(nothing, 0, root)
