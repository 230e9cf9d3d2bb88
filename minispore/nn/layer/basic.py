"""Basic layers: Dense, Flatten, Unflatten, Identity, Dropout, Upsample and Pad."""

import math
from collections.abc import Sequence
from types import NoneType

import numpy as np

from minispore import nn, ops
from minispore.engine.dispatch import check_tensor
from minispore.engine.dtypes import DType, float32
from minispore.nn._parameter_init import check_float_type, init_parameter
from minispore.nn.cell import Cell
from minispore.ops.initializer import HeUniform, Initializer, Uniform
from minispore.ops.manipulation import normalize_axis_index
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    as_pair,
    check_arguments,
    check_int,
    check_number,
    check_one_of,
    check_type,
)
from minispore.utils.unsupported import hint_keywords
from minispore.utils.warn import warn_at_caller

__all__ = ["Dense", "Dropout", "Dropout2d", "Flatten", "Identity", "Pad", "Unflatten", "Upsample"]


class Dense(Cell):
    """A fully connected layer: `activation(x @ weight.T + bias)`.

    Args:
        in_channels: The length of the input's last axis.
        out_channels: The length of the output's last axis.
        weight_init: The initial weights, in any form that `initializer` accepts; by default drawn
            uniformly from ±1 / √in_channels.
        bias_init: The initial biases; by default drawn from the same distribution.
        has_bias: Whether there are biases.
        activation: A layer that is applied to the result, or its name for `get_activation`.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A length is below 1, or a Tensor of initial values has the wrong shape.
        KeyError: There is no activation of that name.

    Examples:
        >>> from minispore import Tensor, nn
        >>> layer = nn.Dense(2, 3, weight_init="ones", bias_init=0.5)
        >>> layer(Tensor([[1.0, 2.0]])).tolist()
        [[3.5, 3.5, 3.5]]

    Source: MindSpore's `mindspore.nn.Dense`.
    """

    @hint_keywords
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
        self.in_channels: int = check_int(in_channels, "in_channels", low=1)
        self.out_channels: int = check_int(out_channels, "out_channels", low=1)
        self.has_bias: bool = check_type(has_bias, bool, "has_bias")
        check_type(activation, (str, Cell, NoneType), "activation")
        check_float_type(dtype)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight: Parameter = init_parameter(
            weight_init, (out_channels, in_channels), dtype, "weight_init"
        )
        self.bias: Parameter | None = None
        if has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(in_channels))
            self.bias = init_parameter(bias_init, (out_channels,), dtype, "bias_init")
        self.activation: Cell | None = (
            nn.get_activation(activation, "Dense") if isinstance(activation, str) else activation
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (…, in_channels).

        Returns:
            A tensor of shape (…, out_channels).
        """
        y = ops.dense(x, self.weight, self.bias)
        return y if self.activation is None else self.activation(y)

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += ", has_bias=True"
        if self.activation is not None:
            text += f", activation={self.activation!r}"
        return text


@check_arguments
class Flatten(Cell):
    """Merge several axes into one: by default all but the first, the batch axis.

    Args:
        start_dim: The first axis to merge.
        end_dim: The last axis to merge.

    Raises:
        TypeError: An argument is not an int.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.Flatten()(ops.ones((5, 28, 28))).shape
        (5, 784)

    Source: MindSpore's `mindspore.nn.Flatten`.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, x: Tensor) -> Tensor:
        """Return `x` with the axes merged.

        Raises:
            ValueError: An axis is out of range, or `start_dim` comes after `end_dim`.
        """
        check_tensor(x, "x")
        if self.start_dim >= max(x.ndim, 1):
            # `ops.flatten` accepts a vector, but the layer requires a batch axis to keep.
            raise ValueError(
                f"For 'Flatten', the argument 'start_dim' must be below {max(x.ndim, 1)}, the "
                f"number of the input's axes, but got {self.start_dim}."
            )
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Unflatten(Cell):
    """Split an axis into several ones.

    Args:
        axis: The axis.
        unflattened_size: The lengths of the new axes, a tuple or list; one of them may be -1.

    Raises:
        TypeError: An argument is of the wrong type.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.Unflatten(1, (2, 3))(ops.ones((5, 6))).shape
        (5, 2, 3)

    Source: MindSpore's `mindspore.nn.Unflatten`.
    """

    def __init__(self, axis: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        self.axis: int = check_int(axis, "axis")
        check_type(unflattened_size, (tuple, list), "unflattened_size")
        self.unflattened_size = unflattened_size

    def construct(self, input_x: Tensor) -> Tensor:
        """Return `input_x` with the axis split.

        Raises:
            ValueError: The axis is out of range, or the lengths do not fit.
        """
        check_tensor(input_x, "input_x")
        axis = normalize_axis_index(self.axis, input_x.ndim, "axis")
        before, after = input_x.shape[:axis], input_x.shape[axis + 1 :]
        return input_x.reshape((*before, *self.unflattened_size, *after))


class Dropout2d(Cell):
    """Dropout of channels: in training, set random channels to 0 and scale the others.

    In evaluation mode, which is the default (see `Cell.set_train`), it returns its input. Random
    numbers are drawn from the random stream "dropout".

    Args:
        p: The probability with which a channel of an image is set to 0.

    Raises:
        TypeError: `p` is not a float.
        ValueError: `p` is not in [0, 1].

    Examples:
        >>> from minispore import nn, ops
        >>> layer = nn.Dropout2d(1.0).set_train()
        >>> layer(ops.ones((1, 2, 1, 1))).tolist()
        [[[[0.0]], [[0.0]]]]

    Source: MindSpore's `mindspore.nn.Dropout2d`.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_type(p, float, "p")
        self.p: float = check_number(p, "p", low=0.0, high=1.0)

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Raises:
            TypeError: `x` is not a tensor or, in training, not of a float dtype.
            ValueError: In training, `x` has not three or four axes.
        """
        check_tensor(x, "x")
        return ops.dropout2d(x, self.p) if self.training else x

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return f"p={self.p}"


@check_arguments
class Upsample(Cell):
    """Sequences or images of another size.

    Args:
        size: The length, or the height and the width; one int for all.
        scale_factor: The factor of each length, instead of `size`; lengths are rounded down.
        mode: "nearest", "nearest-exact", "linear" for sequences or "bilinear" for images; see
            `ops.interpolate`.
        align_corners: Whether the corner pixels of both images are at the same positions; only for
            "linear" and "bilinear".
        recompute_scale_factor: Must be True with `scale_factor`.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Upsample(size=(1, 4))(Tensor([[[[1.0, 2.0]]]])).tolist()
        [[[[1.0, 1.0, 2.0, 2.0]]]]

    Source: MindSpore's `mindspore.nn.Upsample`.
    """

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def construct(self, x: Tensor) -> Tensor:
        """Return `x` in the other size.

        Raises:
            TypeError: `x` is not a tensor of floats, or an argument is of the wrong type.
            ValueError: The arguments do not fit `x` or one another.
        """
        return ops.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )


class Pad(Cell):
    """Padding of every axis with zeros, or with what is inside, mirrored.

    Args:
        paddings: A tuple with two numbers for each axis: how many elements are added before and
            after.
        mode: "CONSTANT" for zeros; "REFLECT" mirrors at the first and the last element, which are
            not repeated; "SYMMETRIC" repeats them.

    Raises:
        TypeError: `paddings` is not a tuple of tuples of ints.
        ValueError: There are not two numbers for an axis, one is negative, or there is no such
            mode.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Pad(((1, 0), (0, 2)))(Tensor([[1.0]])).tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
        >>> nn.Pad(((2, 1),), mode="SYMMETRIC")(Tensor([1.0, 2.0, 3.0])).tolist()
        [2.0, 1.0, 1.0, 2.0, 3.0, 3.0]

    Source: MindSpore's `mindspore.nn.Pad`.
    """

    def __init__(self, paddings: tuple[tuple[int, int], ...], mode: str = "CONSTANT") -> None:
        super().__init__()
        check_type(paddings, tuple, "paddings")
        pairs: list[tuple[int, int]] = []
        for pair in paddings:
            check_type(pair, (tuple, list), "paddings")
            pairs.append(as_pair(pair, "paddings", low=0, lists=True))
        self.paddings = paddings
        self.mode: str = check_type(mode, str, "mode")
        check_one_of(mode, ("CONSTANT", "REFLECT", "SYMMETRIC"), "mode")
        self._pairs = tuple(pairs)

    def construct(self, x: Tensor) -> Tensor:
        """Return `x` padded.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: The number of its axes is not that of the pairs, or more is to be mirrored
                than there is.
        """
        check_tensor(x, "x")
        if x.ndim != len(self.paddings):
            raise ValueError(
                f"For 'Pad', 'x' must have {len(self.paddings)} axes, one for each pair of "
                f"'paddings', but its shape is {x.shape}."
            )
        if self.mode == "CONSTANT":
            # `ops.pad` takes the last axis first.
            return ops.pad(x, tuple(n for pair in reversed(self._pairs) for n in pair))
        for axis, pair in enumerate(self._pairs):
            x = self._mirror(x, axis, pair)
        return x

    def _mirror(self, x: Tensor, axis: int, pair: tuple[int, int]) -> Tensor:
        reflect = self.mode == "REFLECT"
        length = x.shape[axis] - reflect
        if max(pair) > length:
            raise ValueError(
                f"For 'Pad', 'paddings' of axis {axis} must be at most {length} in the mode "
                f"'{self.mode}', but are {pair}: the shape of 'x' is {x.shape}."
            )
        indices = np.pad(np.arange(x.shape[axis]), pair, "reflect" if reflect else "symmetric")
        return ops.gather(x, Tensor(indices), axis)


class Identity(Cell):
    """A layer that returns its input, a placeholder for another layer.

    Args:
        *args: Ignored, so that it can replace any layer.
        **kwargs: Ignored.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.Identity()(Tensor([1.0, 2.0])).tolist()
        [1.0, 2.0]

    Source: MindSpore's `mindspore.nn.Identity`.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        del args, kwargs
        super().__init__()

    def construct(self, input: Tensor) -> Tensor:
        """Return `input` itself."""
        return input


class Dropout(Cell):
    """Dropout: in training, set random elements to 0 and scale the others to keep the mean.

    In evaluation mode, which is the default (see `Cell.set_train`), it returns its input. Random
    numbers are drawn from the random stream "dropout".

    Args:
        keep_prob: The probability with which an element is kept, the older form of `p`, which
            MindSpore deprecates. Below 0.5 it is probably a mistake for `p`, and a warning says so.
        p: The probability with which an element is set to 0; if given, `keep_prob` is ignored.
        dtype: Has no effect: the result has the dtype of the input.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `p` is not in [0, 1), or `keep_prob` not in (0, 1].

    Examples:
        >>> from minispore import nn, ops, set_seed
        >>> set_seed(1)
        >>> layer = nn.Dropout(p=0.5).set_train()
        >>> sorted(set(layer(ops.ones(100)).tolist()))
        [0.0, 2.0]

    Source: MindSpore's `mindspore.nn.Dropout`.
    """

    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = float32
    ) -> None:
        super().__init__()
        check_type(dtype, DType, "dtype")
        if p is None:
            check_type(keep_prob, float, "keep_prob")
            if not 0 < keep_prob <= 1:
                raise ValueError(
                    f"For 'Dropout', the argument 'keep_prob' must be in (0, 1], got {keep_prob}."
                )
            if keep_prob < 0.5:
                warn_at_caller(
                    f"For 'Dropout', the first argument, 'keep_prob' = {keep_prob}, is the "
                    f"probability to keep an element: {1 - keep_prob:.0%} of the elements are set "
                    f"to 0. For the probability to set one to 0, write p={keep_prob}; if it is "
                    f"meant, p={round(1 - keep_prob, 6)}."
                )
        else:
            check_number(p, "p")
            if not 0 <= p < 1:
                raise ValueError(f"For 'Dropout', the argument 'p' must be in [0, 1), got {p}.")
        self.p = p
        self.keep_prob: float = keep_prob if p is None else 1 - p

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Raises:
            TypeError: `x` is not a tensor or, in training, not of a float dtype.
        """
        check_tensor(x, "x")
        if not self.training or self.keep_prob == 1:
            return x
        return ops.random.apply_dropout_mask(x, self.keep_prob, "dropout", "x")

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"
