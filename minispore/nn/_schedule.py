"""The base class of learning-rate schedules, which optimizers call."""

from minispore.nn.cell import Cell
from minispore.ops.tensors import Tensor


class LearningRateSchedule(Cell):
    """Base class of learning-rate schedules; a subclass defines `construct(global_step)`.

    Examples:
        >>> from minispore import Tensor, nn
        >>> class Halving(nn.LearningRateSchedule):
        ...     def construct(self, global_step: Tensor) -> Tensor:
        ...         return 0.5 ** (global_step + 1.0)
        >>> optimizer = nn.SGD(nn.Dense(1, 1).trainable_params(), learning_rate=Halving())

    Source: MindSpore's `mindspore.nn.LearningRateSchedule`.
    """

    def construct(self, global_step: Tensor) -> Tensor:
        """Return the learning rate of step `global_step`, counted from 0."""
        raise NotImplementedError(
            f"For '{type(self).__name__}', the method 'construct' is not defined."
        )
