"""Mixed precision: networks that compute in float16, with parameters in float32."""

from minispore.common.dtype import DType, float16, float32
from minispore.nn import (
    Cell,
    Conv2d,
    Dense,
    Optimizer,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
)
from minispore.nn._float_type import cast_floats
from minispore.nn.wrap.cell_wrapper import LossFunction
from minispore.train.loss_scale_manager import DynamicLossScaleManager, LossScaleManager
from minispore.utils.checks import check_one_of, check_type
from minispore.utils.unsupported import module_attributes
from minispore.utils.warn import warn_at_caller

__all__: list[str] = ["auto_mixed_precision", "build_train_network"]

LEVELS = ("O0", "O1", "O2", "O3", "auto")


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: DType = float16) -> Cell:
    """Let a network compute in float16, and return it. Its output is float32.

    Args:
        network: The network, which is changed.
        amp_level: "O0" for no change. "O1" or "auto" for float16 in convolutions and dense layers.
            "O2" or "O3" for float16 everywhere but in normalization, which computes in float32.
        dtype: float16.

    Returns:
        The same network.

    Raises:
        TypeError: `network` is not a Cell.
        ValueError: There is no such level, or `dtype` is not float16.

    Examples:
        >>> from minispore import amp, nn
        >>> net = amp.auto_mixed_precision(nn.Dense(2, 1), "O2")

    Source: MindSpore's `mindspore.amp.auto_mixed_precision`.
    """
    caller = "auto_mixed_precision"
    check_type(network, Cell, "network", caller)
    check_one_of(amp_level, LEVELS, "amp_level", caller)
    check_one_of(dtype, (float16,), "dtype", caller)
    if amp_level in ("O2", "O3"):
        computing = [network]
    elif amp_level == "O0":
        computing = []
    else:
        cells = [cell for _, cell in network.cells_and_names()]
        computing = [cell for cell in cells if isinstance(cell, Conv2d | Dense)]
    for cell in computing:
        cell.to_float(dtype)
        cell.register_forward_hook(_output_to_float32)
    return network


def build_train_network(
    network: Cell,
    optimizer: Optimizer,
    loss_fn: LossFunction | None = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: object,
) -> TrainOneStepCell:
    """Return the cell of a training step in mixed precision.

    Args:
        network: The network, which is changed; see `auto_mixed_precision`.
        optimizer: The optimizer of its parameters.
        loss_fn: The loss function; None if the network computes the loss.
        level: The level for `auto_mixed_precision`.
        boost_level: "O0": boosting is not supported.
        **kwargs: `loss_scale_manager`, a manager, or None for no loss scale; by default a
            `DynamicLossScaleManager` for the level "O2", else None. `keep_batchnorm_fp32` has no
            effect.

    Returns:
        A `TrainOneStepWithLossScaleCell` if steps whose gradients overflow are not made, else a
        `TrainOneStepCell`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An option is not supported.

    Examples:
        >>> from minispore import Tensor, amp, nn
        >>> net = nn.Dense(2, 1, weight_init="zeros", has_bias=False)
        >>> optimizer = nn.SGD(net.trainable_params(), learning_rate=0.1)
        >>> step = amp.build_train_network(net, optimizer, nn.MSELoss(), level="O3")
        >>> step(Tensor([[1.0, 2.0]]), Tensor([[1.0]])).item()
        1.0

    Source: MindSpore's `mindspore.amp.build_train_network`.
    """
    caller = "build_train_network"
    check_one_of(boost_level, ("O0",), "boost_level", caller)
    for name in kwargs:
        check_one_of(name, ("loss_scale_manager", "keep_batchnorm_fp32"), "kwargs", caller)
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    check_type(manager, LossScaleManager, "loss_scale_manager", caller, allow_none=True)
    network = auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = WithLossCell(network, loss_fn)
    if not isinstance(manager, LossScaleManager):
        return TrainOneStepCell(network, optimizer)
    update_cell = manager.get_update_cell()
    if update_cell is None:
        scale = float(manager.get_loss_scale())
        if optimizer.loss_scale != scale:
            warn_at_caller(
                f"For '{caller}', the loss is multiplied by {scale:g}, but the optimizer's "
                f"'loss_scale' divides the gradients by {optimizer.loss_scale:g}: set it to "
                f"{scale:g}."
            )
        return TrainOneStepCell(network, optimizer, sens=scale)
    return TrainOneStepWithLossScaleCell(network, optimizer, update_cell)


def _output_to_float32(cell: Cell, inputs: object, output: object) -> object:
    return cast_floats(output, float32)


globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
