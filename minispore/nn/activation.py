"""Layers that act element by element, or along one axis, and have no parameters."""

from minispore import ops
from minispore._checks import check_type
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell


class ReLU(Cell):
    """max(x, 0), as a layer.

    >>> from minispore import Tensor, nn
    >>> nn.ReLU()(Tensor([-1.0, 2.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  2.00000000e+00])
    """

    def construct(self, input: Tensor) -> Tensor:
        """Apply the layer; shape and type stay the same."""
        return ops.relu(input)


class Sigmoid(Cell):
    """1 / (1 + exp(-x)), as a layer."""

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer; the shape stays the same."""
        return ops.sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent, as a layer."""

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer; the shape stays the same."""
        return ops.tanh(x)


class Softmax(Cell):
    """exp(x) / Σ exp(x) along an axis, as a layer.

    >>> from minispore import Tensor, nn
    >>> nn.Softmax()(Tensor([0.0, 0.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 5.00000000e-01,  5.00000000e-01])

    Args:
        axis: The axis that sums to 1.

    Raises:
        TypeError: `axis` is no int.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        check_type(axis, int, "axis", "Softmax")
        self.axis = axis

    def construct(self, input: Tensor) -> Tensor:
        """Apply the layer; the shape stays the same."""
        return ops.softmax(input, self.axis)


class LogSoftmax(Cell):
    """The logarithm of `Softmax`, without its overflow.

    Args:
        axis: The axis along which the exponentials sum to 1.

    Raises:
        TypeError: `axis` is no int.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        check_type(axis, int, "axis", "LogSoftmax")
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer; the shape stays the same."""
        return ops.log_softmax(x, self.axis)


_NAMED: dict[str, type[Cell]] = {
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """The activation layer of that name; None for None.

    >>> from minispore import nn
    >>> nn.get_activation("relu")
    ReLU()

    Args:
        name: "relu", "sigmoid", "tanh", "softmax" or "logsoftmax".
        prim_name: Whom an error is about.

    Raises:
        KeyError: There is no activation of that name.
    """
    if name is None:
        return None
    if not isinstance(name, str) or name not in _NAMED:
        listed = ", ".join(repr(known) for known in _NAMED)
        raise KeyError(
            f"For '{prim_name or 'get_activation'}', the name of an activation must be one of "
            f"{listed}, but got {name!r}."
        )
    return _NAMED[name]()
