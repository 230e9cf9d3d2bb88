"""Several tensors kept small: what a training does with gradients."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import overload

from minispore._checks import as_items, check_number, described
from minispore._functional.arithmetic import add, maximum, mul
from minispore._functional.elementwise import clip, sqrt, square
from minispore._functional.operands import Number, as_float, cast_to, dtype_of, widen
from minispore._functional.reduction import sum
from minispore.common.tensor import Tensor


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
    """Each value kept within [clip_value_min, clip_value_max], as `clip` does it.

    Args:
        x: A tensor or several, of any shapes.
        clip_value_min: The lower bound; None for none.
        clip_value_max: The upper bound; None for none.

    Returns:
        A tensor, or a tuple of as many as there are in `x`.

    Raises:
        TypeError: `x` is neither a tensor nor a list or tuple of tensors, or a bound is neither a
            tensor nor a number.
        ValueError: Both bounds are None, or one does not fit.

    Source: MindSpore's `mindspore.ops.clip_by_value`.

    >>> from minispore import Tensor, ops
    >>> ops.clip_by_value(Tensor([1, 2, 3, 4]), 2, 3)
    Tensor(shape=[4], dtype=Int64, value= [2, 2, 3, 3])
    """
    return _of_each(lambda one: clip(one, clip_value_min, clip_value_max), x, "clip_by_value")


@overload
def clip_by_global_norm(x: Tensor, clip_norm: Number = 1.0, use_norm: None = None) -> Tensor: ...
@overload
def clip_by_global_norm(
    x: Sequence[Tensor], clip_norm: Number = 1.0, use_norm: None = None
) -> tuple[Tensor, ...]: ...
def clip_by_global_norm(
    x: Tensor | Sequence[Tensor], clip_norm: Number = 1.0, use_norm: None = None
) -> Tensor | tuple[Tensor, ...]:
    """All tensors scaled by one number, so that together they are at most `clip_norm` long.

    Their length is the root of the sum of all squares. One that is shorter stays as it is.

    Args:
        x: A tensor or several, of any shapes: say, the gradients of all parameters.
        clip_norm: The greatest length, above zero.
        use_norm: None, as in MindSpore.

    Returns:
        A tensor, or a tuple of as many as there are in `x`.

    Raises:
        TypeError: `x` is neither a tensor nor a list or tuple of tensors, or `clip_norm` is no
            number.
        ValueError: `clip_norm` is not above zero, or `use_norm` is not None.

    Source: MindSpore's `mindspore.ops.clip_by_global_norm`; Pascanu et al., "On the difficulty of
    training recurrent neural networks" (2013).

    >>> from minispore import Tensor, ops
    >>> [g.item() for g in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 10.0)]
    [3.0, 4.0]
    >>> [g.item() for g in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 2.5)]
    [1.5, 2.0]
    """
    owner = "clip_by_global_norm"
    limit = check_number(clip_norm, "clip_norm", owner)
    if limit <= 0:
        raise ValueError(f"For '{owner}', the argument 'clip_norm' must be > 0, but got {limit}.")
    if use_norm is not None:
        raise ValueError(f"For '{owner}', the argument 'use_norm' must be None, got {use_norm!r}.")
    squares = [sum(square(widen(one))) for one in _tensors(x, owner)]
    if not squares:
        return ()
    length = sqrt(reduce(add, squares))
    share = limit / maximum(length, limit)

    def scaled(one: Tensor) -> Tensor:
        values = as_float(one, owner)
        return cast_to(mul(values, share), dtype_of(values))

    return _of_each(scaled, x, owner)


def _of_each(
    function: Callable[[Tensor], Tensor], x: Tensor | Sequence[Tensor], owner: str
) -> Tensor | tuple[Tensor, ...]:
    results = tuple(map(function, _tensors(x, owner)))
    return results[0] if isinstance(x, Tensor) else results


def _tensors(x: object, owner: str) -> list[Tensor]:
    """The tensors that `x` is or holds."""
    items = (x,) if isinstance(x, Tensor) else as_items(x)
    tensors = [item for item in items or () if isinstance(item, Tensor)]
    if items is None or len(tensors) < len(items):
        raise TypeError(
            f"For '{owner}', the argument 'x' must be a Tensor, or a list or tuple of Tensors, "
            f"but got {described(x)}."
        )
    return tensors
