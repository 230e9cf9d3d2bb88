"""The basic layers: Dense, Flatten, Dropout, Identity."""

import math

from minispore import ops
from minispore._checks import check_int, check_number, check_type
from minispore._functional.variable import check_tensor
from minispore.common.dtype import DType, float32
from minispore.common.initializer import HeUniform, Initializer, Uniform
from minispore.common.parameter import Parameter
from minispore.common.seed import generator
from minispore.common.tensor import Tensor
from minispore.nn._first_values import check_float_type, first_values
from minispore.nn.activation import get_activation
from minispore.nn.cell import Cell
from minispore.ops._random import thinned


class Dense(Cell):
    """Fully connected neurons: `activation(x @ weight.T + bias)`.

    >>> from minispore import Tensor, nn
    >>> layer = nn.Dense(2, 3, weight_init="ones", bias_init=0.5)
    >>> layer(Tensor([[1.0, 2.0]]))
    Tensor(shape=[1, 3], dtype=Float32, value=
    [[ 3.50000000e+00,  3.50000000e+00,  3.50000000e+00]])

    Source: MindSpore's `mindspore.nn.Dense`.

    Args:
        in_channels: The length of the input's last axis.
        out_channels: The length of the output's.
        weight_init: The first weights, for `initializer`; by default even within
            1 / √in_channels.
        bias_init: The first biases; by default even within the same.
        has_bias: Whether there are biases.
        activation: A layer for the result, or its name.
        dtype: The type of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is not above 0, or a Tensor of first values is of another shape.
        KeyError: There is no activation of that name.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Tensor | str | Initializer | float | None = None,
        bias_init: Tensor | str | Initializer | float | None = None,
        has_bias: bool = True,
        activation: str | Cell | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.in_channels: int = check_int(in_channels, "in_channels", "Dense", low=1)
        self.out_channels: int = check_int(out_channels, "out_channels", "Dense", low=1)
        check_type(has_bias, bool, "has_bias", "Dense")
        check_type(activation, (str, Cell), "activation", "Dense", none=True)
        check_float_type(dtype, "Dense")
        self.has_bias = has_bias
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight: Parameter = first_values(
            weight_init, (out_channels, in_channels), dtype, "weight_init", "Dense"
        )
        self.bias: Parameter | None = None
        if has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(in_channels))
            self.bias = first_values(bias_init, (out_channels,), dtype, "bias_init", "Dense")
        self.activation: Cell | None = (
            get_activation(activation, "Dense") if isinstance(activation, str) else activation
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: Of shape (…, in_channels).

        Returns:
            Of shape (…, out_channels).
        """
        y = ops.dense(x, self.weight, self.bias)
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        """The settings."""
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += ", has_bias=True"
        if self.activation is not None:
            text += f", activation={self.activation!r}"
        return text


class Flatten(Cell):
    """Several axes as one: by default all but the first, the batch.

    >>> from minispore import nn, ops
    >>> nn.Flatten()(ops.ones((5, 28, 28))).shape
    (5, 784)

    Args:
        start_dim: The first of the axes.
        end_dim: The last of them.

    Raises:
        TypeError: An argument is no int.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        check_type(start_dim, int, "start_dim", "Flatten")
        check_type(end_dim, int, "end_dim", "Flatten")
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Raises:
            ValueError: An axis is out of range, or `start_dim` comes after `end_dim`.
        """
        check_tensor(x, "Flatten", "x")
        if self.start_dim >= max(x.ndim, 1):
            # The operation takes a vector as it is; a layer that keeps the batch wants one.
            raise ValueError(
                f"For 'Flatten', the argument 'start_dim' must be below {max(x.ndim, 1)}, the "
                f"number of the input's axes, but got {self.start_dim}."
            )
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """What comes in, unchanged; a placeholder for another layer.

    Args:
        *args: Ignored, so that it can take any layer's place.
        **kwargs: Ignored.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        """Return `input` itself."""
        return input


class Dropout(Cell):
    """In training, zeros at random places, and the rest scaled up to keep the mean.

    Without `set_train()` it does nothing.

    >>> from minispore import nn, ops, set_seed
    >>> set_seed(1)
    >>> layer = nn.Dropout(p=0.5).set_train()
    >>> sorted(set(layer(ops.ones(100)).tolist()))
    [0.0, 2.0]

    Draws from the program's random stream "dropout".

    Args:
        keep_prob: The share of elements kept; MindSpore's old way to say it.
        p: The share of elements dropped; goes before `keep_prob` if given.
        dtype: Has no effect: the result is of the input's type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `p` is not in [0, 1), or `keep_prob` not in (0, 1].
    """

    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = float32
    ) -> None:
        super().__init__()
        check_type(dtype, DType, "dtype", "Dropout")
        if p is None:
            check_type(keep_prob, float, "keep_prob", "Dropout")
            if not 0 < keep_prob <= 1:
                raise ValueError(
                    f"For 'Dropout', the argument 'keep_prob' must be in (0, 1], got {keep_prob}."
                )
        else:
            check_number(p, "p", "Dropout")
            if not 0 <= p < 1:
                raise ValueError(f"For 'Dropout', the argument 'p' must be in [0, 1), got {p}.")
        self.p = p
        self.keep_prob: float = keep_prob if p is None else 1 - p

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Raises:
            TypeError: `x` is no tensor or, in training, of no float type.
        """
        check_tensor(x, "Dropout", "x")
        if not self.training or self.keep_prob == 1:
            return x
        return thinned(x, self.keep_prob, generator("dropout"), "x", "Dropout")

    def extend_repr(self) -> str:
        """The settings."""
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"
