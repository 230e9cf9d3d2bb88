"""The learning rate of a run, which callbacks read and change."""

import numpy as np

from minispore.common import Parameter
from minispore.nn import Optimizer
from minispore.train.protocol.callback import RunContext
from minispore.utils.checks import caller


def learning_rate_of(run_context: RunContext) -> Parameter:
    """Return the parameter that holds the learning rate of the run's optimizer.

    Args:
        run_context: The run context.

    Returns:
        The optimizer's parameter, a scalar: `set_data` changes the rate of the next step.

    Raises:
        ValueError: There is no optimizer, or it has a schedule or different rates for groups.

    Examples:
        >>> from minispore import nn
        >>> optimizer = nn.SGD(nn.Dense(2, 1).trainable_params(), learning_rate=0.5)
        >>> learning_rate_of(RunContext({"optimizer": optimizer})).item()
        0.5
    """
    params = run_context.original_args()
    optimizer = params.get("optimizer")
    if optimizer is None:  # the network may do the training step, as a TrainOneStepCell does
        optimizer = getattr(params.train_network, "optimizer", None)
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"For '{caller()}', there must be an optimizer, but the run has none.")
    rate = optimizer.learning_rate
    if not isinstance(rate, Parameter):
        raise ValueError(
            f"For '{caller()}', the optimizer must have one learning rate that nothing else "
            f"changes: {caller()} does not support dynamic learning rate and group learning rate."
        )
    return rate


def as_float32(rate: Parameter) -> np.float32:
    """Return the value of a learning rate.

    Args:
        rate: The parameter that `learning_rate_of` returns.

    Returns:
        The rate as a float32, in which the optimizer computes.

    Examples:
        >>> as_float32(Parameter(0.5, name="learning_rate"))
        np.float32(0.5)
    """
    return np.float32(rate.item())
