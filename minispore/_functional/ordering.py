"""What depends on the order along an axis: running sums, and the elements by their size."""

from minispore import _dtype
from minispore._array import device_namespace
from minispore._checks import check_bool, check_int
from minispore._functional.apply import apply1
from minispore._functional.axes import check_axis
from minispore._functional.indexing import gather_elements
from minispore._functional.operands import cast_to, check_numbers, dtype_of, widen
from minispore._functional.variable import T, check_tensor, wrap
from minispore._rules import reduction as rules


def cumsum(x: T, axis: int, dtype: _dtype.DTypeLike | None = None) -> T:
    """The sums of the elements up to each one along `axis`, in the type `dtype` if there is one.

    >>> from minispore import Tensor, ops
    >>> ops.cumsum(Tensor([1, 2, 3]), 0)
    Tensor(shape=[3], dtype=Int64, value= [1, 3, 6])

    Source: MindSpore's `mindspore.ops.cumsum`.

    Raises:
        TypeError: `x` is no tensor or of bools, `axis` no int, or `dtype` no data type.
        ValueError: `axis` is out of range.
    """
    check_tensor(x, "cumsum", "x")
    check_numbers(x, "cumsum")
    place = check_axis(axis, x.ndim, "axis", "cumsum")
    wanted = dtype_of(x) if dtype is None else _dtype.as_dtype(dtype, "cumsum")
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.cumsum, widen(cast_to(x, wanted)), place), wanted)


def sort(input_x: T, axis: int = -1, descending: bool = False) -> tuple[T, T]:
    """The elements along `axis` by their size, and where each was (int32).

    Equal elements stay in their order; what is no number counts as the largest.

    >>> from minispore import Tensor, ops
    >>> [found.tolist() for found in ops.sort(Tensor([3, 1, 2]))]
    [[1, 2, 3], [1, 2, 0]]

    Source: MindSpore's `mindspore.ops.sort`.

    Raises:
        TypeError: `input_x` is no tensor or of bools, `axis` no int, or `descending` no bool.
        ValueError: `axis` is out of range.
    """
    check_tensor(input_x, "sort", "input_x")
    check_numbers(input_x, "sort")
    place = check_axis(axis, input_x.ndim, "axis", "sort")
    check_bool(descending, "descending", "sort")
    indices = _order(input_x, place, descending)
    return gather_elements(input_x, place, indices), indices


def topk(
    input: T, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[T, T]:
    """The `k` largest elements along `dim`, the largest first, and where each was (int32).

    >>> from minispore import Tensor, ops
    >>> [found.tolist() for found in ops.topk(Tensor([3, 1, 2]), 2)]
    [[3, 2], [0, 2]]

    Source: MindSpore's `mindspore.ops.topk`.

    Args:
        input: The tensor.
        k: How many.
        dim: The axis; None for the last one.
        largest: False for the smallest ones, the smallest first.
        sorted: Has no effect: they are in order in any case.

    Raises:
        TypeError: `input` is no tensor or of bools, `k` or `dim` no int, or another argument no
            bool.
        ValueError: `dim` is out of range, or `k` not from 1 to its length.
    """
    check_tensor(input, "topk")
    check_numbers(input, "topk")
    place = check_axis(-1 if dim is None else dim, input.ndim, "dim", "topk")
    check_int(k, "k", "topk", low=1, high=input.shape[place])
    check_bool(largest, "largest", "topk")
    check_bool(sorted, "sorted", "topk")
    order = _order(input, place, largest)
    first = wrap(order._data[(slice(None),) * place + (slice(k),)], input)
    return gather_elements(input, place, first), first


def _order(x: T, axis: int, descending: bool) -> T:
    """Where the elements by their size are to be found along an axis; equal ones in their order."""
    xp = device_namespace(x._data)
    if not descending:
        found = xp.argsort(x._data, axis=axis, kind="stable")
    else:
        # Both ways turned round: so equal ones stay in their order.
        turned = (slice(None),) * axis + (slice(None, None, -1),)
        found = xp.argsort(x._data[turned], axis=axis, kind="stable")[turned]
        found = (x.shape[axis] - 1) - found
    return wrap(xp.astype(found, _dtype.int32.numpy_dtype), x)
