"""Softmax and its logarithm, and the loss between softmax and a distribution."""

from minispore import _dtype
from minispore._functional.apply import apply1, apply2
from minispore._functional.axes import check_axis, check_elements
from minispore._functional.operands import as_float, cast_to, dtype_of, pair, widen
from minispore._functional.variable import T, Variable
from minispore._rules import softmax as rules


def softmax(input: T, axis: int = -1, *, dtype: _dtype.DTypeLike | None = None) -> T:
    """exp(input) / Σ exp(input) along `axis`, computed in the type `dtype` if there is one.

    >>> from minispore import Tensor, ops
    >>> ops.softmax(Tensor([0.0, 0.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e-01,  5.00000000e-01])

    Raises:
        TypeError: `input` is no tensor, `axis` no int, or `dtype` no type of floats.
        ValueError: `axis` is out of range, or has no elements.
    """
    x = as_float(input, "softmax")
    if dtype is not None:
        x = cast_to(x, _dtype.check_float(_dtype.as_dtype(dtype, "softmax"), "softmax"))
    y = apply1(rules.softmax, widen(x), _axis_with_elements(x, axis, "softmax"))
    return cast_to(y, dtype_of(x))


def log_softmax(logits: T, axis: int = -1) -> T:
    """The logarithm of `softmax`, without its overflow.

    >>> from minispore import Tensor, ops
    >>> ops.log_softmax(Tensor([0.0, 0.0]))
    Tensor(shape=[2], dtype=Float32, value= [-6.93147182e-01, -6.93147182e-01])

    Raises:
        TypeError: `logits` is no tensor, or `axis` no int.
        ValueError: `axis` is out of range, or has no elements.
    """
    x = as_float(logits, "log_softmax", "logits")
    y = apply1(rules.log_softmax, widen(x), _axis_with_elements(x, axis, "log_softmax"))
    return cast_to(y, dtype_of(x))


def softmax_cross_entropy(logits: T, targets: T) -> T:
    """−Σ targets · log_softmax(logits) over the last axis: a loss for each row.

    >>> from minispore import Tensor, ops
    >>> ops.softmax_cross_entropy(Tensor([[0.0, 0.0]]), Tensor([[0.0, 1.0]]))
    Tensor(shape=[1], dtype=Float32, value= [ 6.93147182e-01])

    Args:
        logits: Of shape (n, classes).
        targets: A distribution over the classes for each row, of the same shape.

    Returns:
        Of shape (n,).

    Raises:
        TypeError: An argument is no tensor.
        ValueError: The shapes differ, or there are no classes.
    """
    owner = "softmax_cross_entropy"
    x, y = pair(as_float(logits, owner, "logits"), as_float(targets, owner, "targets"), owner)
    if x.shape != y.shape or x.ndim == 0:
        raise ValueError(
            f"For 'softmax_cross_entropy', 'logits' and 'targets' must be of one shape, "
            f"but got {x.shape} and {y.shape}."
        )
    check_elements(x.shape, -1, owner)
    return cast_to(apply2(rules.softmax_cross_entropy, widen(x), widen(y)), dtype_of(x))


def _axis_with_elements(x: Variable, axis: int, owner: str) -> int:
    shape = x.shape
    place = check_axis(axis, len(shape), "axis", owner)
    if 0 in shape:
        check_elements(shape, place, owner)
    return place
