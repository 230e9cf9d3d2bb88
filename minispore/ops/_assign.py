"""Assignment to a tensor as an operation, for user-defined optimizers."""

from typing import Final

from minispore._functional.primitive import primitive
from minispore.common.tensor import Tensor
from minispore.engine.dispatch import Number
from minispore.utils.checks import check_type

__all__ = [
    "Assign",
    "assign",
]


def assign(variable: Tensor, value: Tensor | Number) -> Tensor:
    """Write `value` into `variable`, in the type of `variable`.

    Args:
        variable: A Parameter or another tensor.
        value: A tensor of the same shape, or a number if `variable` has no axes.

    Returns:
        `variable`.

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
    check_type(variable, Tensor, "variable")
    check_type(value, (Tensor, bool, int, float), "value")
    shape = value.shape if isinstance(value, Tensor) else ()
    if shape != variable.shape:
        raise ValueError(
            f"For 'assign', the value must have the shape {variable.shape} of the variable, "
            f"but got {shape}."
        )
    variable[...] = value
    return variable


Assign: Final = primitive("Assign", assign)
