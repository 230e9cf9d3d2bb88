"""Gradient clipping by value and by global norm."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import inf
from typing import overload

from minispore.engine.dispatch import Number, as_float, cast_to, dtype_of, half_to_float32
from minispore.ops.arithmetic import add, maximum, mul
from minispore.ops.elementwise import clip, square
from minispore.ops.reduction import root, sum
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, caller, check_number, type_error, value_error

__all__ = ["clip_by_global_norm", "clip_by_value"]


@overload
def clip_by_value(
    x: Tensor,
    clip_value_min: Tensor | Number | None = None,
    clip_value_max: Tensor | Number | None = None,
) -> Tensor: ...
@overload
def clip_by_value(
    x: Sequence[Tensor],
    clip_value_min: Tensor | Number | None = None,
    clip_value_max: Tensor | Number | None = None,
) -> tuple[Tensor, ...]: ...
def clip_by_value(
    x: Tensor | Sequence[Tensor],
    clip_value_min: Tensor | Number | None = None,
    clip_value_max: Tensor | Number | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Return each element limited to [clip_value_min, clip_value_max], as `clip` does.

    Args:
        x: A tensor or several, of any shapes.
        clip_value_min: The lower bound; None for no bound.
        clip_value_max: The upper bound; None for no bound.

    Returns:
        A tensor, or a tuple of as many as there are in `x`.

    Raises:
        TypeError: `x` is neither a tensor nor a list or tuple of tensors, or a bound is neither a
            tensor nor a number.
        ValueError: Both bounds are None, or one does not fit.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.clip_by_value(Tensor([1, 2, 3, 4]), 2, 3).tolist()
        [2, 2, 3, 3]

    Source: MindSpore's `mindspore.ops.clip_by_value`.
    """
    return _tree_map(lambda one: clip(one, clip_value_min, clip_value_max), x)


@overload
def clip_by_global_norm(x: Tensor, clip_norm: Number = 1.0, use_norm: None = None) -> Tensor: ...
@overload
def clip_by_global_norm(
    x: Sequence[Tensor], clip_norm: Number = 1.0, use_norm: None = None
) -> tuple[Tensor, ...]: ...
def clip_by_global_norm(
    x: Tensor | Sequence[Tensor], clip_norm: Number = 1.0, use_norm: None = None
) -> Tensor | tuple[Tensor, ...]:
    """Return tensors scaled by one factor so that their global norm is at most `clip_norm`.

    The global norm is the root of the sum of all squares. If it is smaller, nothing changes.

    Args:
        x: A tensor or several, of any shapes, such as the gradients of all parameters.
        clip_norm: The largest global norm, positive; infinite for no limit.
        use_norm: None, as in MindSpore.

    Returns:
        A tensor, or a tuple of as many as there are in `x`.

    Raises:
        TypeError: `x` is neither a tensor nor a list or tuple of tensors, or `clip_norm` is not a
            number.
        ValueError: `clip_norm` is not above zero, or `use_norm` is not None.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [g.item() for g in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 10.0)]
        [3.0, 4.0]
        >>> [g.item() for g in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 2.5)]
        [1.5, 2.0]

    Source: MindSpore's `mindspore.ops.clip_by_global_norm`. Pascanu, Mikolov and Bengio, "On the
        difficulty of training recurrent neural networks", 2013.
    """
    limit = check_number(clip_norm, "clip_norm")
    if limit <= 0:
        raise value_error(limit, "clip_norm", "be > 0")
    if use_norm is not None:
        raise ValueError(
            f"For '{caller()}', the argument 'use_norm' must be None, got {use_norm!r}."
        )
    squares = [sum(square(half_to_float32(one))) for one in _tensors(x)]
    if not squares:
        return ()
    # No quotient of an infinite limit and itself.
    factor = 1.0 if limit == inf else limit / maximum(root(reduce(add, squares), 2), limit)

    def scaled(one: Tensor) -> Tensor:
        values = as_float(one)
        return cast_to(mul(values, factor), dtype_of(values))

    return _tree_map(scaled, x)


def _tree_map(
    function: Callable[[Tensor], Tensor], x: Tensor | Sequence[Tensor]
) -> Tensor | tuple[Tensor, ...]:
    results = tuple(map(function, _tensors(x)))
    return results[0] if isinstance(x, Tensor) else results


def _tensors(x: object) -> list[Tensor]:
    """Return the tensors that `x` is or holds."""
    items = (x,) if isinstance(x, Tensor) else as_items(x)
    tensors = [item for item in items or () if isinstance(item, Tensor)]
    if items is None or len(tensors) < len(items):
        raise type_error(x, "x", "be a Tensor, or a list or tuple of Tensors")
    return tensors
