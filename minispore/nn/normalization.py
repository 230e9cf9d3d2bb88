"""The normalisation layers: over a batch, and over the axes of each sample."""

from collections.abc import Sequence
from typing import ClassVar

from minispore import ops
from minispore._checks import as_items, check_int, check_number, check_one_of, check_type, described
from minispore._functional.axes import check_axis
from minispore._functional.normalization import check_epsilon, standardize
from minispore._functional.operands import as_float
from minispore._functional.variable import check_tensor
from minispore.common.dtype import DType, float32
from minispore.common.initializer import Initializer
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.nn._first_values import check_float_type, first_values
from minispore.nn.cell import Cell


class _BatchNorm(Cell):
    """What the two layers share: all but how many axes there are."""

    _axes: ClassVar[tuple[int, ...]]

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
        owner = self.cls_name
        self.num_features: int = check_int(num_features, "num_features", owner, low=1)
        self.eps: float = check_epsilon(eps, "eps", owner)
        self.momentum: float = check_number(momentum, "momentum", owner, low=0, high=1)
        check_type(affine, bool, "affine", owner)
        if use_batch_statistics is not None and not isinstance(use_batch_statistics, bool):
            raise ValueError(
                f"For '{owner}', the argument 'use_batch_statistics' must be a bool or None, "
                f"but got {described(use_batch_statistics)}."
            )
        self.use_batch_statistics = use_batch_statistics
        check_one_of(data_format, ("NCHW",), "data_format", owner)
        self.format = data_format
        check_float_type(dtype, owner)

        def values(
            init: Tensor | str | Initializer | float, name: str, named: str, trained: bool
        ) -> Parameter:
            shape = (num_features,)
            return first_values(init, shape, dtype, name, owner, named=named, trained=trained)

        # The first two have other names than their attributes until the layer is in a network.
        self.moving_mean: Parameter = values(moving_mean_init, "moving_mean_init", "mean", False)
        self.moving_variance: Parameter = values(
            moving_var_init, "moving_var_init", "variance", False
        )
        self.gamma: Parameter = values(gamma_init, "gamma_init", "gamma", affine)
        self.beta: Parameter = values(beta_init, "beta_init", "beta", affine)

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer; shape and type stay the same.

        Raises:
            TypeError: `x` is no tensor.
            ValueError: `x` has another number of axes or of channels, or in training but one
                element for each channel.
        """
        check_tensor(x, self.cls_name, "x")
        if x.ndim not in self._axes or x.shape[1] != self.num_features:
            axes = " or ".join(str(n) for n in self._axes)
            raise ValueError(
                f"For '{self.cls_name}', 'x' must have {axes} axes and {self.num_features} "
                f"channels, but its shape is {x.shape}."
            )
        own = self.use_batch_statistics
        return ops.batch_norm(
            x,
            self.moving_mean,
            self.moving_variance,
            self.gamma,
            self.beta,
            training=self.training if own is None else own,
            momentum=1 - self.momentum,
            eps=self.eps,
        )

    def extend_repr(self) -> str:
        """The settings."""
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Each feature normalised over the batch: `BatchNorm2d` for vectors.

    >>> from minispore import Tensor, nn
    >>> layer = nn.BatchNorm1d(1).set_train()
    >>> layer(Tensor([[1.0], [3.0]]))
    Tensor(shape=[2, 1], dtype=Float32, value=
    [[-9.99994993e-01],
     [ 9.99994993e-01]])
    >>> print(layer.moving_mean.asnumpy())
    [0.2]

    Takes tensors of shape (n, num_features) or (n, num_features, length).

    Source: MindSpore's `mindspore.nn.BatchNorm1d`; Ioffe and Szegedy, 2015. The arguments are those
    of `BatchNorm2d`.
    """

    _axes: ClassVar[tuple[int, ...]] = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel normalised over the batch: (x − mean) / √(variance + eps) · gamma + beta.

    >>> from minispore import nn, ops
    >>> nn.BatchNorm2d(3)(ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)

    In training by the batch's own mean and variance, which also move the running ones, the
    parameters `moving_mean` and `moving_variance`; else by the running ones.

    Source: MindSpore's `mindspore.nn.BatchNorm2d`; Ioffe and Szegedy, 2015.

    Args:
        num_features: How many channels there are.
        eps: Keeps the divisor from 0; in (0, 1].
        momentum: How much of the running numbers is kept in each step, from 0 to 1. PyTorch's
            momentum is 1 minus this.
        affine: Whether `gamma` and `beta` are trained.
        gamma_init: The first `gamma`, for `initializer`.
        beta_init: The first `beta`.
        moving_mean_init: The first running means.
        moving_var_init: The first running variances.
        use_batch_statistics: Whether to use the batch's mean and variance; by default in training.
        data_format: "NCHW". MindSpore has "NHWC" on a GPU only.
        dtype: The type of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or a Tensor of first values is of another shape.
    """

    _axes: ClassVar[tuple[int, ...]] = (4,)


class LayerNorm(Cell):
    """The last axes of each sample normalised: (x − mean) / √(variance + epsilon) · gamma + beta.

    >>> from minispore import Tensor, nn
    >>> nn.LayerNorm((2,))(Tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]

    Source: MindSpore's `mindspore.nn.LayerNorm`; Ba, Kiros and Hinton, 2016.

    Args:
        normalized_shape: The shape of `gamma` and `beta`, a list or tuple.
        begin_norm_axis: The first of the axes over which mean and variance are taken.
        begin_params_axis: The first of those over which `gamma` and `beta` lie.
        gamma_init: The first `gamma`, for `initializer`.
        beta_init: The first `beta`.
        epsilon: Keeps the divisor from 0; in (0, 1].
        dtype: The type of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `normalized_shape` is empty or has a length below 1, `epsilon` is out of range,
            or a Tensor of first values is of another shape.
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
        owner = "LayerNorm"
        check_type(normalized_shape, (tuple, list), "normalized_shape", owner)
        lengths = as_items(normalized_shape) or ()
        if not lengths:
            raise ValueError(f"For '{owner}', the argument 'normalized_shape' must not be empty.")
        shape = tuple(check_int(n, "normalized_shape", owner, low=1) for n in lengths)
        self.normalized_shape = normalized_shape
        self.begin_norm_axis: int = check_int(begin_norm_axis, "begin_norm_axis", owner, low=-1)
        self.begin_params_axis: int = check_int(
            begin_params_axis, "begin_params_axis", owner, low=-1
        )
        self.epsilon: float = check_epsilon(epsilon, "epsilon", owner)
        check_float_type(dtype, owner)
        self.gamma: Parameter = first_values(
            gamma_init, shape, dtype, "gamma_init", owner, named="gamma"
        )
        self.beta: Parameter = first_values(
            beta_init, shape, dtype, "beta_init", owner, named="beta"
        )

    def construct(self, input_x: Tensor) -> Tensor:
        """Apply the layer; shape and type stay the same.

        Raises:
            TypeError: `input_x` is no tensor.
            ValueError: `input_x` lacks an axis, or its lengths from `begin_params_axis` are not
                those of `gamma`.
        """
        values = as_float(input_x, "LayerNorm", "input_x")
        first = check_axis(self.begin_norm_axis, input_x.ndim, "begin_norm_axis", "LayerNorm")
        place = check_axis(self.begin_params_axis, input_x.ndim, "begin_params_axis", "LayerNorm")
        if input_x.shape[place:] != self.gamma.shape:
            raise ValueError(
                f"For 'LayerNorm', the lengths of 'input_x' from axis {place} must be "
                f"{self.gamma.shape}, but its shape is {input_x.shape}."
            )
        y = standardize(values, first, self.epsilon)
        return ops.cast(y * self.gamma + self.beta, values.dtype)

    def extend_repr(self) -> str:
        """The settings."""
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma={self.gamma}, beta={self.beta}"
        )
