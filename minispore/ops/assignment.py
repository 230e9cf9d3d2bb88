"""Assignment to a tensor as an operation, for user-defined optimizers."""

from typing import Final

from minispore.engine.dispatch import Number, share, wrap
from minispore.ops._primitive import primitive
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_type

__all__ = ["Assign", "AssignAdd", "AssignSub", "assign", "assign_add", "assign_sub"]


def assign(variable: Tensor, value: Tensor | Number) -> Tensor:
    """Write `value` into `variable`, in the type of `variable`.

    Args:
        variable: A Parameter or another tensor.
        value: A tensor of the same shape, or a number if `variable` has no axes.

    Returns:
        The elements as a Tensor, which shares the memory of `variable`.

    Raises:
        TypeError: `variable` is not a tensor, or `value` is neither a tensor nor a number.
        ValueError: The shapes differ.

    Examples:
        >>> from minispore import Parameter, Tensor, ops
        >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
        >>> ops.assign(weight, weight * 2).tolist()
        [2.0, 4.0]
        >>> weight.tolist()
        [2.0, 4.0]

    Source: MindSpore's `mindspore.ops.assign`.
    """
    _check_shapes(variable, value)
    variable[...] = value
    return _elements(variable)


Assign: Final = primitive("Assign", assign)


def assign_add(variable: Tensor, value: Tensor | Number) -> Tensor:
    """Add `value` to `variable` in its memory and type.

    Args:
        variable: A Parameter or another tensor.
        value: A tensor of the same shape, or a number if `variable` has no axes.

    Returns:
        The elements as a Tensor, which shares the memory of `variable`.

    Raises:
        TypeError: `variable` is not a tensor, or `value` is neither a tensor nor a number.
        ValueError: The shapes differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.assign_add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist()
        [4.0, 6.0]

    Source: MindSpore's `mindspore.ops.assign_add`.
    """
    _check_shapes(variable, value)
    return _elements(variable.add_(value))


AssignAdd: Final = primitive("AssignAdd", assign_add)


def assign_sub(variable: Tensor, value: Tensor | Number) -> Tensor:
    """Subtract `value` from `variable` in its memory and type.

    Args:
        variable: A Parameter or another tensor.
        value: A tensor of the same shape, or a number if `variable` has no axes.

    Returns:
        The elements as a Tensor, which shares the memory of `variable`.

    Raises:
        TypeError: `variable` is not a tensor, or `value` is neither a tensor nor a number.
        ValueError: The shapes differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.assign_sub(Tensor([3.0, 4.0]), Tensor([1.0, 2.0])).tolist()
        [2.0, 2.0]

    Source: MindSpore's `mindspore.ops.assign_sub`.
    """
    _check_shapes(variable, value)
    return _elements(variable.sub_(value))


AssignSub: Final = primitive("AssignSub", assign_sub)


def _elements(variable: Tensor) -> Tensor:
    """Return a Tensor of the elements, also of a Parameter."""
    elements = wrap(variable._data, variable, variable._node)
    share(elements, variable)
    return elements


def _check_shapes(variable: object, value: object) -> None:
    check_type(variable, Tensor, "variable")
    check_type(value, (Tensor, bool, int, float), "value")
    shape = value.shape if isinstance(value, Tensor) else ()
    if isinstance(variable, Tensor) and shape != variable.shape:
        raise ValueError(
            f"For '{caller()}', the value must have the shape {variable.shape} of the variable, "
            f"but got {shape}."
        )
