"""Mixed precision: networks that compute in float16, with parameters in float32."""

from collections.abc import Callable, Iterator
from types import NoneType

from minispore.engine.dtypes import DType, float16, float32
from minispore.nn import (
    BatchNorm1d,
    BatchNorm2d,
    Cell,
    Conv1d,
    Conv2d,
    Conv2dTranspose,
    Dense,
    GRUCell,
    LayerNorm,
    LSTMCell,
    Optimizer,
    RNNCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
)
from minispore.nn._hooks import cast_floats
from minispore.nn.wrap.cell_wrapper import LossFunction
from minispore.train.loss_scale_manager import DynamicLossScaleManager, LossScaleManager
from minispore.utils.checks import caller, check_one_of, check_type, type_error
from minispore.utils.warn import warn_at_caller

__all__: list[str] = [
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
]

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
    check_type(network, Cell, "network")
    check_one_of(amp_level, LEVELS, "amp_level")
    check_one_of(dtype, (float16,), "dtype")
    if amp_level in ("O2", "O3"):
        _compute_in(dtype, network)
    elif amp_level != "O0":
        _compute_in(dtype, *_outermost(network, (Conv2d, Dense)))
    return network


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: list[type[Cell]] | None = None,
    black_list: list[type[Cell]] | None = None,
    dtype: DType = float16,
) -> Cell:
    """Let chosen cells of a network compute in float16, and return it. Its output is float32.

    Args:
        network: The network, which is changed.
        white_list: Classes of cells that compute in float16; all others compute in float32.
        black_list: Classes of cells that compute in float32; all others compute in float16. One of
            both lists must be given.
        dtype: float16.

    Returns:
        The same network.

    Raises:
        TypeError: `network` is not a Cell, or a list is not a list of cells' classes.
        ValueError: Both lists are given, or none is, or `dtype` is not float16.

    Examples:
        >>> from minispore import amp, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.Softmax())
        >>> net = amp.custom_mixed_precision(net, black_list=[nn.Softmax])

    Source: MindSpore's `mindspore.amp.custom_mixed_precision`.
    """
    check_type(network, Cell, "network")
    check_one_of(dtype, (float16,), "dtype")
    if (white_list is None) == (black_list is None):
        raise ValueError(
            f"For '{caller()}', one of 'white_list' and 'black_list' must be given, but got "
            f"{'none' if white_list is None else 'both'}."
        )
    if white_list is not None:
        _compute_in(dtype, *_outermost(network, _classes(white_list, "white_list")))
    else:
        excluded = _classes(black_list, "black_list")
        _compute_in(dtype, network)
        for child in network.cells():
            for cell in _outermost(child, excluded):
                cell.to_float(float32)
                cell.register_forward_hook(_output_to(dtype))
    return network


def get_white_list() -> list[type[Cell]]:
    """Return a list of cells' classes to begin a `white_list` with.

    Returns:
        The convolutions, `Dense`, and the recurrent cells.

    Examples:
        >>> Dense in get_white_list()
        True

    Source: MindSpore's `mindspore.amp.get_white_list`.
    """
    return [Conv1d, Conv2d, Conv2dTranspose, Dense, GRUCell, LSTMCell, RNNCell]


def get_black_list() -> list[type[Cell]]:
    """Return a list of cells' classes to begin a `black_list` with.

    Returns:
        The layers that normalize.

    Examples:
        >>> LayerNorm in get_black_list()
        True

    Source: MindSpore's `mindspore.amp.get_black_list`.
    """
    return [BatchNorm1d, BatchNorm2d, LayerNorm]


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
    check_one_of(boost_level, ("O0",), "boost_level")
    for name in kwargs:
        check_one_of(name, ("loss_scale_manager", "keep_batchnorm_fp32"), "kwargs")
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    check_type(manager, (LossScaleManager, NoneType), "loss_scale_manager")
    network = auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = WithLossCell(network, loss_fn)
    scale, update_cell = 1.0, None
    if isinstance(manager, LossScaleManager):
        scale, update_cell = float(manager.get_loss_scale()), manager.get_update_cell()
    if update_cell is None:
        step = TrainOneStepCell(network, optimizer, sens=scale)
        if optimizer.loss_scale != scale:
            warn_at_caller(
                f"For '{caller()}', the loss is multiplied by {scale:g}, but the optimizer's "
                f"'loss_scale' divides the gradients by {optimizer.loss_scale:g}: set it to "
                f"{scale:g}."
            )
        return step
    return TrainOneStepWithLossScaleCell(network, optimizer, update_cell)


def _compute_in(dtype: DType, *cells: Cell) -> None:
    """Let cells compute in a type, and return float32."""
    for cell in cells:
        cell.to_float(dtype)
        cell.register_forward_hook(_output_to(float32))


def _output_to(dtype: DType) -> Callable[[Cell, object, object], object]:
    return lambda cell, inputs, output: cast_floats(output, dtype)


def _outermost(cell: Cell, classes: tuple[type[Cell], ...]) -> Iterator[Cell]:
    """Yield the cells of classes that are in no other such cell."""
    if isinstance(cell, classes):
        yield cell
    else:
        for child in cell.cells():
            yield from _outermost(child, classes)


def _classes(listed: object, name: str) -> tuple[type[Cell], ...]:
    """Return classes in a list of an argument."""
    items = check_type(listed, list[object], name)
    classes = [item for item in items if isinstance(item, type) and issubclass(item, Cell)]
    if len(classes) < len(items):
        raise type_error(listed, name, "be a list of classes of cells")
    return tuple(classes)
