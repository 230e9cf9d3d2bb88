"""Writing into a tensor, as an operation: for optimisers of one's own."""

from minispore._checks import check_type
from minispore._functional.operands import Number
from minispore.common.tensor import Tensor


def assign(variable: Tensor, value: Tensor | Number) -> Tensor:
    """Write `value` into `variable`, in the type of `variable`.

    Args:
        variable: A Parameter or another tensor.
        value: A tensor of the same shape, or a number if `variable` has no axes.

    Returns:
        `variable`.

    Raises:
        TypeError: `variable` is no tensor, or `value` neither a tensor nor a number.
        ValueError: The shapes are not the same.

    Source: MindSpore's `mindspore.ops.assign`.

    >>> from minispore import Parameter, Tensor, ops
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ops.assign(weight, weight * 2).tolist()
    [2.0, 4.0]
    >>> weight.tolist()
    [2.0, 4.0]
    """
    check_type(variable, Tensor, "variable", "assign")
    check_type(value, (Tensor, bool, int, float), "value", "assign")
    shape = value.shape if isinstance(value, Tensor) else ()
    if shape != variable.shape:
        raise ValueError(
            f"For 'assign', the value must have the shape {variable.shape} of the variable, "
            f"but got {shape}."
        )
    variable[...] = value
    return variable
