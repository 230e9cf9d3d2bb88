"""Normalization layers: over a batch, and over the last axes or groups of channels of a sample."""

from collections.abc import Sequence
from typing import ClassVar

from minispore import ops
from minispore.engine.dispatch import as_float, check_tensor, in_float32
from minispore.engine.dtypes import DType, float32
from minispore.nn.cell import Cell
from minispore.ops.initializer import Initializer
from minispore.ops.manipulation import normalize_axis_index
from minispore.ops.normalization import check_epsilon, normalize_samples
from minispore.ops.parameter import Parameter, check_float_type, init_parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    caller,
    check_int,
    check_number,
    check_one_of,
    check_type,
    type_error,
)

__all__ = ["BatchNorm1d", "BatchNorm2d", "GroupNorm", "LayerNorm"]


class _BatchNorm(Cell):
    """Base class of batch normalization; subclasses say how many axes the input may have."""

    _ndims: ClassVar[tuple[int, ...]]
    # The running statistics are updated in place.
    _casts_parameters: ClassVar[bool] = False

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Tensor | str | Initializer | float = "ones",
        beta_init: Tensor | str | Initializer | float = "zeros",
        moving_mean_init: Tensor | str | Initializer | float = "zeros",
        moving_var_init: Tensor | str | Initializer | float = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.num_features: int = check_int(num_features, "num_features", low=1)
        self.eps: float = check_epsilon(eps, "eps")
        self.momentum: float = check_number(momentum, "momentum", low=0, high=1)
        check_type(affine, bool, "affine")
        if use_batch_statistics is not None and not isinstance(use_batch_statistics, bool):
            raise type_error(
                use_batch_statistics, "use_batch_statistics", "be a bool or None", ValueError
            )
        self.use_batch_statistics = use_batch_statistics
        check_one_of(data_format, ("NCHW",), "data_format")
        self.format = data_format
        check_float_type(dtype)

        def init(value: Tensor | str | Initializer | float, name: str, argument: str) -> Parameter:
            trained = affine and name in ("gamma", "beta")
            shape = (num_features,)
            return init_parameter(value, shape, dtype, argument, name, requires_grad=trained)

        # Like MindSpore's, the first two have the names "mean" and "variance" until the layer is
        # assigned to an attribute of another cell.
        self.moving_mean: Parameter = init(moving_mean_init, "mean", "moving_mean_init")
        self.moving_variance: Parameter = init(moving_var_init, "variance", "moving_var_init")
        self.gamma: Parameter = init(gamma_init, "gamma", "gamma_init")
        self.beta: Parameter = init(beta_init, "beta", "beta_init")

    def construct(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, with the shape and dtype of `x`.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: `x` has the wrong number of axes or channels, or in training only one
                element in each channel.
        """
        check_tensor(x, "x")
        if x.ndim not in self._ndims or x.shape[1] != self.num_features:
            ndims = " or ".join(str(n) for n in self._ndims)
            raise ValueError(
                f"For '{self.cls_name}', 'x' must have {ndims} axes and {self.num_features} "
                f"channels, but its shape is {x.shape}."
            )
        use_batch = self.use_batch_statistics
        return ops.batch_norm(
            x,
            self.moving_mean,
            self.moving_variance,
            self.gamma,
            self.beta,
            training=self.training if use_batch is None else use_batch,
            momentum=1 - self.momentum,
            eps=self.eps,
        )

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalization of vectors: each feature is normalized over the batch.

    The input has shape (n, num_features) or (n, num_features, length). Arguments and formula are
    those of `BatchNorm2d` (Ioffe and Szegedy, 2015).

    Examples:
        >>> from minispore import Tensor, nn
        >>> layer = nn.BatchNorm1d(1).set_train()
        >>> [round(x, 4) for (x,) in layer(Tensor([[1.0], [3.0]])).tolist()]
        [-1.0, 1.0]
        >>> round(layer.moving_mean.tolist()[0], 4)
        0.2

    Source: MindSpore's `mindspore.nn.BatchNorm1d`.
    """

    _ndims: ClassVar[tuple[int, ...]] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of images: (x − mean) / √(variance + eps) · gamma + beta, by channel.

    In training, mean and variance are those of the batch, and they update the running statistics,
    the parameters `moving_mean` and `moving_variance`. In evaluation the running statistics are
    used (Ioffe and Szegedy, 2015).

    Args:
        num_features: The number of channels.
        eps: A number in (0, 1] that keeps the denominator above 0.
        momentum: The weight of the running statistics in each update, from 0 to 1. PyTorch's
            momentum is 1 minus this.
        affine: Whether `gamma` and `beta` are trained.
        gamma_init: The initial `gamma`, in any form that `initializer` accepts.
        beta_init: The initial `beta`.
        moving_mean_init: The initial running means.
        moving_var_init: The initial running variances.
        use_batch_statistics: Whether to use the statistics of the batch; by default in training.
        data_format: "NCHW". MindSpore supports "NHWC" only on a GPU.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or a Tensor of initial values has the wrong shape.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.BatchNorm2d(3)(ops.ones((2, 3, 4, 4))).shape
        (2, 3, 4, 4)

    Source: MindSpore's `mindspore.nn.BatchNorm2d`.
    """

    _ndims: ClassVar[tuple[int, ...]] = (4,)


class LayerNorm(Cell):
    """Layer normalization: (x − mean) / √(variance + epsilon) · gamma + beta, over the last axes.

    Mean and variance are those of each sample (Ba, Kiros and Hinton, 2016).

    Args:
        normalized_shape: The shape of `gamma` and `beta`, a list or tuple.
        begin_norm_axis: The first of the axes over which mean and variance are computed.
        begin_params_axis: The first of the axes of `gamma` and `beta`.
        gamma_init: The initial `gamma`, in any form that `initializer` accepts.
        beta_init: The initial `beta`.
        epsilon: A number in (0, 1] that keeps the denominator above 0.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `normalized_shape` is empty or has a length below 1, `epsilon` is out of range,
            or a Tensor of initial values has the wrong shape.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.LayerNorm((2,))(Tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]

    Source: MindSpore's `mindspore.nn.LayerNorm`.
    """

    def __init__(
        self,
        normalized_shape: Sequence[int],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Tensor | str | Initializer | float = "ones",
        beta_init: Tensor | str | Initializer | float = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        check_type(normalized_shape, (tuple, list), "normalized_shape")
        if not normalized_shape:
            raise ValueError(
                f"For '{caller()}', the argument 'normalized_shape' must not be empty."
            )
        shape = tuple(check_int(n, "normalized_shape", low=1) for n in normalized_shape)
        self.normalized_shape = normalized_shape
        self.begin_norm_axis: int = check_int(begin_norm_axis, "begin_norm_axis", low=-1)
        self.begin_params_axis: int = check_int(begin_params_axis, "begin_params_axis", low=-1)
        self.epsilon: float = check_epsilon(epsilon, "epsilon")
        check_float_type(dtype)
        self.gamma: Parameter = init_parameter(gamma_init, shape, dtype, "gamma_init", "gamma")
        self.beta: Parameter = init_parameter(beta_init, shape, dtype, "beta_init", "beta")

    def construct(self, input_x: Tensor) -> Tensor:
        """Return the normalized tensor, with the shape and dtype of `input_x`.

        Raises:
            TypeError: `input_x` is not a tensor.
            ValueError: `input_x` has too few axes, or its shape from `begin_params_axis` on is not
                that of `gamma`.
        """
        values = as_float(input_x, "input_x")
        norm_axis, params_axis = (
            normalize_axis_index(axis, input_x.ndim, name)
            for axis, name in (
                (self.begin_norm_axis, "begin_norm_axis"),
                (self.begin_params_axis, "begin_params_axis"),
            )
        )
        if input_x.shape[params_axis:] != self.gamma.shape:
            raise ValueError(
                f"For 'LayerNorm', the lengths of 'input_x' from axis {params_axis} must be "
                f"{self.gamma.shape}, but its shape is {input_x.shape}."
            )
        return normalize_samples(values, norm_axis, self.epsilon, self.gamma, self.beta)

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma={self.gamma}, beta={self.beta}"
        )


class GroupNorm(Cell):
    """Group normalization: (x − mean) / √(variance + eps) · gamma + beta, by groups of channels.

    Mean and variance are those of a group of channels in each sample (Wu and He, 2018).

    Args:
        num_groups: The number of groups, which divides `num_channels`.
        num_channels: The number of channels.
        eps: A number in (0, 1] that keeps the denominator above 0.
        affine: Whether `gamma` and `beta` are trained.
        gamma_init: The initial `gamma`, in any form that `initializer` accepts.
        beta_init: The initial `beta`.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `num_groups` does not divide `num_channels`, or a
            Tensor of initial values has the wrong shape.

    Examples:
        >>> from minispore import Tensor, nn
        >>> layer = nn.GroupNorm(num_groups=1, num_channels=2)
        >>> [round(x.item(), 4) for x in layer(Tensor([[[[1.0]], [[3.0]]]])).flatten()]
        [-1.0, 1.0]

    Source: MindSpore's `mindspore.nn.GroupNorm`.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Tensor | str | Initializer | float = "ones",
        beta_init: Tensor | str | Initializer | float = "zeros",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        self.num_groups: int = check_int(num_groups, "num_groups", low=1)
        self.num_channels: int = check_int(num_channels, "num_channels", low=1)
        if num_channels % num_groups:
            raise ValueError(
                f"For '{caller()}', the argument 'num_groups' must divide 'num_channels', but got "
                f"{num_groups} and {num_channels}."
            )
        self.eps: float = check_epsilon(eps, "eps")
        self.affine: bool = check_type(affine, bool, "affine")
        check_float_type(dtype)
        shape = (num_channels,)
        self.gamma: Parameter = init_parameter(
            gamma_init, shape, dtype, "gamma_init", "gamma", requires_grad=affine
        )
        self.beta: Parameter = init_parameter(
            beta_init, shape, dtype, "beta_init", "beta", requires_grad=affine
        )

    def construct(self, x: Tensor) -> Tensor:
        """Return the normalized tensor, with the shape of `x`.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: `x` is not of shape (n, num_channels, …).
        """
        check_tensor(x, "x")
        if x.shape[1:2] != (self.num_channels,):
            raise ValueError(
                f"For 'GroupNorm', 'x' must have {self.num_channels} channels, but its shape is "
                f"{x.shape}."
            )
        return _group_norm(as_float(x, "x"), self.gamma, self.beta, self.num_groups, self.eps)

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


@in_float32
def _group_norm(x: Tensor, gamma: Tensor, beta: Tensor, groups: int, eps: float) -> Tensor:
    grouped = x.reshape((x.shape[0], groups, -1)) if 0 not in x.shape else x
    y = normalize_samples(grouped, 2, eps).reshape(x.shape)
    by_channel = (*gamma.shape, *(1,) * (x.ndim - 2))
    return y * gamma.reshape(by_channel) + beta.reshape(by_channel)
