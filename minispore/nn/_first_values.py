"""The parameters of layers, from what a user says of their first values."""

from minispore._checks import check_type
from minispore._dtype import check_float
from minispore.common.dtype import DType
from minispore.common.initializer import Initializer, initializer
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor


def first_values(
    init: Tensor | str | Initializer | float,
    shape: tuple[int, ...],
    dtype: DType,
    name: str,
    owner: str,
    *,
    named: str | None = None,
    trained: bool = True,
) -> Parameter:
    """A parameter with first values.

    Args:
        init: The values, for `initializer`.
        shape: The lengths of its axes.
        dtype: The type of its elements.
        name: The argument that `init` was given as.
        owner: Whose argument it is.
        named: The parameter's own name, where it differs from the attribute's.
        trained: Whether it is trained.

    Raises:
        TypeError: `init` is nothing that can make values.
        ValueError: It is a Tensor of another shape, or an unknown name.
    """
    if isinstance(init, Tensor) and init.shape != shape:
        raise ValueError(
            f"For '{owner}', '{name}' must be of shape {shape}, but got one of shape {init.shape}."
        )
    return Parameter(initializer(init, shape, dtype), named, trained)


def check_float_type(dtype: object, owner: str) -> None:
    """Raise TypeError unless `dtype` is a float type."""
    check_type(dtype, DType, "dtype", owner)
    assert isinstance(dtype, DType)
    check_float(dtype, owner)
