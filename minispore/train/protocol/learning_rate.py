"""The learning rates of a run, which callbacks read and change."""

import numpy as np

from minispore.common import Parameter
from minispore.nn import Optimizer
from minispore.train.protocol.callback import RunContext
from minispore.train.protocol.outputs import shortest_float
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
    optimizer = _optimizer_of(run_context)
    if optimizer is None:
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


def learning_rates(run_context: RunContext) -> dict[str, float]:
    """Return the learning rates of the coming step, by name.

    Called in `on_train_step_begin`, it returns those with which the step is done, whether they are
    constant, of a schedule, or were set by a callback: only another `on_train_step_begin`, of a
    later callback, can still change them.

    Args:
        run_context: The run context.

    Returns:
        "learning_rate", a float with the digits of the float32. If groups of parameters have
        several, they are "learning_rate_0", "learning_rate_1" and so on, in the order of the
        optimizer's parameters. Nothing if the run has no optimizer.

    Examples:
        >>> from minispore import nn
        >>> net = nn.Dense(2, 1)
        >>> groups = [{"params": [net.weight]}, {"params": [net.bias], "lr": 0.25}]
        >>> optimizer = nn.SGD(groups, learning_rate=[0.5, 0.125])
        >>> learning_rates(RunContext({"optimizer": optimizer}))
        {'learning_rate_0': 0.5, 'learning_rate_1': 0.25}
    """
    optimizer = _optimizer_of(run_context)
    if optimizer is None:
        return {}
    distinct = {id(rate): rate for rate in optimizer._rates}
    try:
        values = optimizer._current_values(list(distinct.values()), "learning rate")
    except (RuntimeError, ValueError):  # an error of the step, if it uses the rate
        return {}
    rates = [shortest_float(np.float32(value)) for value in values]
    return {
        f"learning_rate_{i}" if len(rates) > 1 else "learning_rate": rate
        for i, rate in enumerate(rates)
    }


def _optimizer_of(run_context: RunContext) -> Optimizer | None:
    params = run_context.original_args()
    optimizer = params.get("optimizer")
    if optimizer is None:  # the network may do the training step, as a TrainOneStepCell does
        optimizer = getattr(params.get("train_network"), "optimizer", None)
    return optimizer if isinstance(optimizer, Optimizer) else None
