"""Calls of cells that compute in another float type than that of their parameters."""

from collections.abc import Callable

from minispore import ops
from minispore.common.dtype import DType
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.engine.dtypes import FLOAT
from minispore.utils.checks import is_sequence


def construct_in(
    dtype: DType,
    construct: Callable[..., object],
    attributes: dict[str, object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> object:
    """Return what a cell's `construct` returns if it computes in `dtype`.

    Float inputs are cast. While `construct` runs, the cell's float parameters are replaced by
    their casts; a cast has a derivative, so gradients reach the parameters, in their type.

    Args:
        dtype: The float type.
        construct: The method of the cell.
        attributes: The attributes of the cell whose parameters are replaced.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """
    parameters = {name: value for name, value in attributes.items() if isinstance(value, Parameter)}
    attributes.update({name: cast_floats(value, dtype) for name, value in parameters.items()})
    try:
        return construct(
            *[cast_floats(value, dtype) for value in args],
            **{name: cast_floats(value, dtype) for name, value in kwargs.items()},
        )
    finally:
        attributes.update(parameters)


def cast_floats(value: object, dtype: DType) -> object:
    """Return a value with its float tensors cast, also those in tuples and lists."""
    if isinstance(value, Tensor):
        return ops.cast(value, dtype) if value.dtype.category == FLOAT else value
    if is_sequence(value):
        items = [cast_floats(item, dtype) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value
