"""Initialize the parameters of layers from the arguments `…_init`."""

from minispore.engine.dtypes import DType, check_float
from minispore.ops.initializer import Initializer, initializer
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_type


def init_parameter(
    init: Tensor | str | Initializer | float,
    shape: tuple[int, ...],
    dtype: DType,
    argument: str,
    name: str | None = None,
    *,
    requires_grad: bool = True,
) -> Parameter:
    """Return a new parameter.

    Args:
        init: The initial values, in any form that `initializer` accepts.
        shape: The parameter's shape.
        dtype: The parameter's dtype.
        argument: The name of the layer's argument `init`, for error messages.
        name: The parameter's name; None for that of the attribute to which it is assigned.
        requires_grad: Whether it is trained.

    Raises:
        TypeError: `init` is of the wrong type.
        ValueError: `init` is a Tensor of another shape, or the name of no initializer.
    """
    if isinstance(init, Tensor) and init.shape != shape:
        raise ValueError(
            f"For '{caller()}', '{argument}' must be of shape {shape}, "
            f"but got one of shape {init.shape}."
        )
    return Parameter(initializer(init, shape, dtype), name, requires_grad)


def check_float_type(dtype: object) -> None:
    """Raise TypeError unless `dtype` is a float dtype."""
    check_float(check_type(dtype, DType, "dtype"))
