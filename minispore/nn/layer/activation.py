"""Activation layers: functions of each element or along one axis."""

from minispore import ops
from minispore.engine.dispatch import as_float, check_tensor
from minispore.engine.dtypes import float32
from minispore.nn._parameter_init import init_parameter
from minispore.nn.cell import Cell
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_arguments, check_int, check_type

__all__ = [
    "CELU", "ELU", "GELU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink",
    "Softmax", "Softmin", "Softsign", "Tanh", "Tanhshrink", "get_activation",
]  # fmt: skip


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


@check_arguments
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
        self.axis = axis

    def construct(self, input: Tensor) -> Tensor:
        """Return the softmax, with the shape of `input`."""
        return ops.softmax(input, self.axis)


@check_arguments
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
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Return the logarithm of the softmax, with the shape of `x`."""
        return ops.log_softmax(x, self.axis)


class ReLU6(Cell):
    """The rectified linear unit cut off at 6, min(max(x, 0), 6).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReLU6()(Tensor([-1.0, 2.0, 9.0])).tolist()
        [0.0, 2.0, 6.0]

    Source: MindSpore's `mindspore.nn.ReLU6`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return min(max(x, 0), 6), with the shape of `x`."""
        return ops.relu6(x)


class SeLU(Cell):
    """The scaled exponential linear unit: 1.0507 x, and below 0 1.7581 (exp(x) − 1).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.SeLU()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.SeLU`.
    """

    def construct(self, input_x: Tensor) -> Tensor:
        """Return the activation, with the shape of `input_x`."""
        return ops.selu(input_x)


class SiLU(Cell):
    """The sigmoid linear unit, x · sigmoid(x); also called swish.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.SiLU()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.SiLU`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return x · sigmoid(x), with the shape of `x`."""
        return ops.silu(x)


class Mish(Cell):
    """The function x · tanh(softplus(x)) (Misra, 2019).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Mish()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.Mish`.
    """

    def construct(self, input_x: Tensor) -> Tensor:
        """Return x · tanh(softplus(x)), with the shape of `input_x`."""
        return ops.mish(input_x)


class HSigmoid(Cell):
    """The hard sigmoid, (x + 3) / 6 cut off at 0 and 1.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.HSigmoid()(Tensor([-4.0, 0.0, 4.0])).tolist()
        [0.0, 0.5, 1.0]

    Source: MindSpore's `mindspore.nn.HSigmoid`.
    """

    def construct(self, input: Tensor) -> Tensor:
        """Return the hard sigmoid, with the shape of `input`."""
        return ops.hardsigmoid(input)


class HSwish(Cell):
    """The hard swish, x · hardsigmoid(x).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.HSwish()(Tensor([0.0, 4.0])).tolist()
        [0.0, 4.0]

    Source: MindSpore's `mindspore.nn.HSwish`.
    """

    def construct(self, input: Tensor) -> Tensor:
        """Return x · hardsigmoid(x), with the shape of `input`."""
        return ops.hardswish(input)


class LogSigmoid(Cell):
    """The logarithm of the logistic function, computed without overflow.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.LogSigmoid()(Tensor([-1000.0])).tolist()
        [-1000.0]

    Source: MindSpore's `mindspore.nn.LogSigmoid`.
    """

    def construct(self, input_x: Tensor) -> Tensor:
        """Return log(sigmoid(x)), with the shape of `input_x`."""
        return ops.logsigmoid(input_x)


class Softsign(Cell):
    """The function x / (1 + |x|).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Softsign()(Tensor([-1.0, 3.0])).tolist()
        [-0.5, 0.75]

    Source: MindSpore's `mindspore.nn.Softsign`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return x / (1 + |x|), with the shape of `x`."""
        return ops.softsign(x)


class Tanhshrink(Cell):
    """The function x − tanh(x).

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Tanhshrink()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.Tanhshrink`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Return x − tanh(x), with the shape of `x`."""
        return ops.tanhshrink(x)


@check_arguments
class LeakyReLU(Cell):
    """The leaky rectified linear unit: x, and below 0 alpha · x.

    Args:
        alpha: The factor below 0, a number.

    Raises:
        TypeError: `alpha` is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.LeakyReLU(0.25)(Tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]

    Source: MindSpore's `mindspore.nn.LeakyReLU`.
    """

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Return the activation, with the shape of `x`."""
        return ops.leaky_relu(x, self.alpha)


@check_arguments
class ELU(Cell):
    """The exponential linear unit: x, and below 0 alpha · (exp(x) − 1).

    Args:
        alpha: The factor below 0, a number.

    Raises:
        TypeError: `alpha` is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ELU()(Tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]

    Source: MindSpore's `mindspore.nn.ELU`.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Return the activation, with the shape of `x`."""
        return ops.elu(x, self.alpha)


@check_arguments
class CELU(Cell):
    """The continuous exponential linear unit: x, and below 0 alpha · (exp(x / alpha) − 1).

    Args:
        alpha: The factor below 0, a number other than 0.

    Raises:
        TypeError: `alpha` is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.CELU()(Tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]

    Source: MindSpore's `mindspore.nn.CELU`.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Return the activation, with the shape of `x`."""
        return ops.celu(x, self.alpha)


@check_arguments
class GELU(Cell):
    """The Gaussian error linear unit, x times the normal distribution's probability below x.

    Args:
        approximate: Whether to approximate the probability by tanh.

    Raises:
        TypeError: `approximate` is not a bool.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.GELU()(Tensor([0.0])).tolist()
        [0.0]

    Source: MindSpore's `mindspore.nn.GELU`.
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = approximate

    def construct(self, x: Tensor) -> Tensor:
        """Return the activation, with the shape of `x`."""
        return ops.gelu(x, "tanh" if self.approximate else "none")


@check_arguments
class Hardtanh(Cell):
    """The identity cut off at a lower and an upper bound.

    Args:
        min_val: The lower bound.
        max_val: The upper bound, which must not be below `min_val`.

    Raises:
        TypeError: An argument is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Hardtanh()(Tensor([-3.0, 0.5, 3.0])).tolist()
        [-1.0, 0.5, 1.0]

    Source: MindSpore's `mindspore.nn.Hardtanh`.
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = min_val
        self.max_val = max_val

    def construct(self, x: Tensor) -> Tensor:
        """Return the input, cut off, with the shape of `x`."""
        return ops.hardtanh(x, self.min_val, self.max_val)


@check_arguments
class SoftShrink(Cell):
    """Soft shrinkage: move each element towards 0 by `lambd`, and no further.

    Args:
        lambd: A number of at least 0.

    Raises:
        TypeError: `lambd` is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.SoftShrink()(Tensor([-1.0, 0.25, 1.0])).tolist()
        [-0.5, 0.0, 0.5]

    Source: MindSpore's `mindspore.nn.SoftShrink`.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, input: Tensor) -> Tensor:
        """Return the shrunken elements, with the shape of `input`."""
        return ops.softshrink(input, self.lambd)


@check_arguments
class HShrink(Cell):
    """Hard shrinkage: elements in [−lambd, lambd] become 0.

    Args:
        lambd: A number of at least 0.

    Raises:
        TypeError: `lambd` is not a number.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.HShrink()(Tensor([-1.0, 0.25, 1.0])).tolist()
        [-1.0, 0.0, 1.0]

    Source: MindSpore's `mindspore.nn.HShrink`.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, input: Tensor) -> Tensor:
        """Return the elements that are kept, with the shape of `input`."""
        return ops.hardshrink(input, self.lambd)


@check_arguments
class Softmin(Cell):
    """The softmax of −x along an axis.

    Args:
        axis: The axis along which the results sum to 1.

    Raises:
        TypeError: `axis` is not an int.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Softmin()(Tensor([0.0, 0.0])).tolist()
        [0.5, 0.5]

    Source: MindSpore's `mindspore.nn.Softmin`.
    """

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Return the softmax of −x, with the shape of `x`."""
        return ops.softmax(ops.neg(as_float(x, "x")), self.axis)


class PReLU(Cell):
    """The parametric rectified linear unit: x, and below 0 w · x with trained `w`.

    Args:
        channel: The number of factors: 1, or the length of the input's second axis.
        w: The initial factors: a number, or a list or Tensor of one for each channel.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `channel` is below 1, or there are not so many factors.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.PReLU()(Tensor([-1.0, 2.0])).tolist()
        [-0.25, 2.0]

    Source: MindSpore's `mindspore.nn.PReLU`.
    """

    def __init__(self, channel: int = 1, w: float | list[float] | Tensor = 0.25) -> None:
        super().__init__()
        self.channel: int = check_int(channel, "channel", low=1)
        check_type(w, (float, int, list, Tensor), "w")
        values = Tensor(w, float32) if isinstance(w, list) else w
        self.w: Parameter = init_parameter(values, (channel,), float32, "w", "a")

    def construct(self, x: Tensor) -> Tensor:
        """Return the activation, with the shape of `x`.

        Raises:
            TypeError: `x` is not a Tensor.
            ValueError: `x` has another number of channels.
        """
        check_tensor(x, "x")
        if self.channel not in (1, *x.shape[1:2]):
            raise ValueError(
                f"For 'PReLU', 'x' must have {self.channel} channels, but its shape is {x.shape}."
            )
        return ops.prelu(x, self.w)


# MindSpore has no names for the others.
_BY_NAME: dict[str, type[Cell]] = {
    cell.__name__.lower(): cell
    for cell in (
        ReLU, Sigmoid, Tanh, Softmax, LogSoftmax, ReLU6, SiLU, Mish, HSigmoid, HSwish, LogSigmoid,
        Softsign, Tanhshrink, LeakyReLU, ELU, GELU, Hardtanh, SoftShrink, HShrink, Softmin, PReLU,
    )
}  # fmt: skip


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """Return a new activation layer by its name.

    Args:
        name: The name of its class in lower case, such as "relu"; None for no activation.
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
