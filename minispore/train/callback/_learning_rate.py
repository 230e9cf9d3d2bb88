"""The learning rate of a run, as callbacks read and change it."""

import numpy as np

from minispore.common import Parameter
from minispore.nn import Optimizer
from minispore.train._protocol.run_context import RunContext


def learning_rate_of(run_context: RunContext, owner: str) -> Parameter:
    """Return the parameter that holds the one learning rate of the run's optimiser.

    Raises:
        ValueError: There is no optimiser, or its rate has a schedule or differs between groups.
    """
    params = run_context.original_args()
    optimizer = params.get("optimizer")
    if optimizer is None:  # the network may do its own steps, as a TrainOneStepCell does
        optimizer = getattr(params.train_network, "optimizer", None)
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"For '{owner}', there must be an optimizer, but the run has none.")
    rate = optimizer.learning_rate
    if not isinstance(rate, Parameter):
        raise ValueError(
            f"For '{owner}', the optimizer must have one learning rate that nothing else changes: "
            f"{owner} does not support dynamic learning rate and group learning rate."
        )
    return rate


def as_float32(rate: Parameter) -> np.float32:
    """Return a learning rate as the number it is."""
    return np.float32(rate.item())
