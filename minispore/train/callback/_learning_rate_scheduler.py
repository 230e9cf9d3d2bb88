"""LearningRateScheduler: set the learning rate by a function of the step."""

from collections.abc import Callable
from math import inf

from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.learning_rate import as_float32, learning_rate_of
from minispore.train.protocol.outputs import as_array, shortest_float
from minispore.utils.checks import caller, check_function

__all__ = ["LearningRateScheduler"]


class LearningRateScheduler(Callback):
    """After each step, set the learning rate to the value that a function returns.

    Args:
        learning_rate_function: A function of the current learning rate, a float, and of the number
            of steps done. It returns the learning rate of the next step.

    Raises:
        TypeError: `learning_rate_function` is not callable; in training, if it does not
            return a number.
        ValueError: In training, if the optimizer does not have a single constant learning rate, or
            the number is negative, infinite or NaN.

    Examples:
        >>> from minispore import nn
        >>> optimizer = nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1)
        >>> scheduler = LearningRateScheduler(lambda lr, step: lr if step % 3 else lr / 2)
        >>> for step in (1, 2, 3):
        ...     run = RunContext({"optimizer": optimizer, "cur_step_num": step})
        ...     scheduler.on_train_step_end(run)
        ...     print(optimizer.learning_rate.asnumpy())
        0.1
        0.1
        0.05

    Source: MindSpore's `mindspore.train.LearningRateScheduler`.
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        super().__init__()
        check_function(learning_rate_function, "learning_rate_function")
        self.learning_rate_function = learning_rate_function

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check that the optimizer has a single constant learning rate."""
        learning_rate_of(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Set the learning rate of the next step."""
        rate = learning_rate_of(run_context)
        step = run_context.original_args().cur_step_num
        result: object = self.learning_rate_function(shortest_float(as_float32(rate)), step)
        array = as_array(result)
        if array is None or array.size != 1 or isinstance(result, bool):
            raise TypeError(
                f"For '{caller()}', 'learning_rate_function' must return a number, "
                f"but for step {step} it returned {result!r}."
            )
        if not 0 <= array.item() < inf:
            raise ValueError(
                f"For '{caller()}', 'learning_rate_function' must return a finite number of at "
                f"least 0, but for step {step} it returned {result!r}."
            )
        rate.set_data(array.item())
