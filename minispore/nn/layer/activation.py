"""Activation layers: functions of each element or along one axis, without parameters."""

from minispore import ops
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell
from minispore.utils.checks import check_arguments

__all__ = ["LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh", "get_activation"]


class ReLU(Cell):
    """The rectified linear unit, max(x, 0).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReLU()(Tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]

    Source: MindSpore's `mindspore.nn.ReLU`.
    """

    def construct(self, input: Tensor) -> Tensor:
        """Return max(input, 0), with the shape and dtype of `input`."""
        return ops.relu(input)


class Sigmoid(Cell):
    """The logistic function, 1 / (1 + exp(-x)).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Sigmoid()(Tensor([0.0])).tolist()
        [0.5]

    Source: MindSpore's `mindspore.nn.Sigmoid`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return the logistic function of each element, with the shape of `x`."""
        return ops.sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Tanh()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.Tanh`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return the hyperbolic tangent of each element, with the shape of `x`."""
        return ops.tanh(x)


class Softmax(Cell):
    """The softmax exp(x) / Σ exp(x) along an axis.

    Args:
        axis: The axis along which the results sum to 1.

    Raises:
        TypeError: `axis` is not an int.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Softmax()(Tensor([0.0, 0.0])).tolist()
        [0.5, 0.5]

    Source: MindSpore's `mindspore.nn.Softmax`.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        check_arguments(Softmax.__init__, locals())
        self.axis = axis

    def construct(self, input: Tensor) -> Tensor:
        """Return the softmax, with the shape of `input`."""
        return ops.softmax(input, self.axis)


class LogSoftmax(Cell):
    """The logarithm of the softmax along an axis, computed without overflow.

    Args:
        axis: The axis along which the exponentials of the results sum to 1.

    Raises:
        TypeError: `axis` is not an int.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.LogSoftmax()(Tensor([0.0, 1000.0])).tolist()
        [-1000.0, 0.0]

    Source: MindSpore's `mindspore.nn.LogSoftmax`.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        check_arguments(LogSoftmax.__init__, locals())
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Return the logarithm of the softmax, with the shape of `x`."""
        return ops.log_softmax(x, self.axis)


_BY_NAME: dict[str, type[Cell]] = {
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
}


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """Return a new activation layer by its name.

    Args:
        name: "relu", "sigmoid", "tanh", "softmax" or "logsoftmax"; None for no activation.
        prim_name: The name of the caller for error messages.

    Returns:
        The layer, or None if `name` is None.

    Raises:
        KeyError: There is no activation of that name.

    Examples:
        >>> from minispore import nn
        >>> nn.get_activation("relu")
        ReLU()

    Source: MindSpore's `mindspore.nn.get_activation`.
    """
    if name is None:
        return None
    if not isinstance(name, str) or name not in _BY_NAME:
        raise KeyError(
            f"For '{prim_name or 'get_activation'}', the name of an activation must be one of "
            f"{', '.join(repr(known) for known in _BY_NAME)}, but got {name!r}."
        )
    return _BY_NAME[name]()
