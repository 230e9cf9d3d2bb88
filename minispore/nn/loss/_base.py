"""The base class of losses."""

from minispore import ops
from minispore.engine.dispatch import check_tensor
from minispore.nn.cell import Cell
from minispore.ops.class_losses import REDUCTIONS, Reduction
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_one_of

__all__ = ["LossBase"]


class LossBase(Cell):
    """Base class of loss functions: reduces the losses of elements or rows to a scalar.

    Args:
        reduction: "mean", "sum", or "none" for no reduction.

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.LossBase("sum").get_loss(Tensor([1.0, 2.0]), weights=0.5).item()
        1.5

    Source: MindSpore's `mindspore.nn.LossBase`.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_one_of(reduction, REDUCTIONS, "reduction")
        self.reduction: Reduction = reduction

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """Return all axes of `x`."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """Return `x * weights`, reduced."""
        if isinstance(weights, Tensor) or weights != 1:
            x = x * weights
        if self.reduction == "mean":
            return x.mean()
        return x.sum() if self.reduction == "sum" else x

    def _check(self, outputs: object, labels: object) -> None:
        if not isinstance(outputs, Tensor) or not isinstance(labels, Tensor):
            check_tensor(outputs, "logits")
            check_tensor(labels, "labels")

    def _difference(self, outputs: Tensor, labels: Tensor) -> Tensor:
        self._check(outputs, labels)
        return ops.losses.float_difference(outputs, labels)
