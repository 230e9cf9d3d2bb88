"""LearningRateScheduler: a function decides the learning rate."""

from collections.abc import Callable
from typing import cast

from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train.callback._learning_rate import as_float32, learning_rate_of
from minispore.train.callback._monitored import as_array, shortest

_OWNER = "LearningRateScheduler"


class LearningRateScheduler(Callback):
    """After each step, set the learning rate to what a function makes of it.

    Source: mindspore.train.LearningRateScheduler.

    Args:
        learning_rate_function: Takes the current learning rate, a float, and the number of steps
            done, and returns the learning rate of the next step.

    Raises:
        TypeError: `learning_rate_function` cannot be called; in training, if it returns no number.
        ValueError: In training, if the optimiser has other than one constant learning rate.

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
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        super().__init__()
        if not callable(learning_rate_function):
            raise TypeError(
                f"For '{_OWNER}', the argument 'learning_rate_function' must be a function, "
                f"but got {learning_rate_function!r}."
            )
        self.learning_rate_function = learning_rate_function

    def on_train_begin(self, run_context: RunContext) -> None:
        """Check that there is a learning rate to change."""
        learning_rate_of(run_context, _OWNER)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Set the learning rate of the next step."""
        rate = learning_rate_of(run_context, _OWNER)
        step = run_context.original_args().cur_step_num
        answer = cast("object", self.learning_rate_function(shortest(as_float32(rate)), step))
        array = as_array(answer)
        if array is None or array.size != 1 or isinstance(answer, bool):
            raise TypeError(
                f"For '{_OWNER}', 'learning_rate_function' must return a number, "
                f"but for step {step} it returned {answer!r}."
            )
        rate.set_data(cast("float", array.item()))
