"""What processes that train together compare: a method's call before it, parameters after epochs.

What differs is named in an error that all processes raise. A process alone compares nothing.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from minispore._array import to_host
from minispore.common import Parameter
from minispore.communication import get_group_size
from minispore.communication._exchange import (
    check_alike,
    described_setting,
    gathered,
    is_data_parallel,
    processes,
    shortened,
)
from minispore.dataset._dataset import Dataset
from minispore.dataset._dealt import length_policy
from minispore.nn._grad_reducer import broadcasts_parameters
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import InternalCallbackParam

# Of a method's arguments, what has its own description, or none.
_OTHERS: Final = ("self", "callbacks", "resume")


def check_call(
    owner: str,
    callbacks: Sequence[Callback],
    metrics: Iterable[str],
    arguments: Mapping[str, object],
) -> None:
    """Compare a call of a method of `Model` with the other processes' calls.

    Args:
        owner: The method.
        callbacks: The run's callbacks, with the stand-ins of those that are called elsewhere.
        metrics: The names of the model's metrics.
        arguments: The method's arguments.

    Raises:
        RuntimeError: In all processes: some call another method.
        ValueError: In all processes: they call it differently.
    """
    if not is_data_parallel("Model") or get_group_size() == 1:
        return
    called = gathered(owner)
    if len(set(called)) > 1:
        raise RuntimeError(
            f"For '{owner}', all processes must call it, but the processes 0, 1, … call "
            f"{', '.join(called)}."
        )
    described = {
        name: length_policy(value) if isinstance(value, Dataset) else described_setting(value)
        for name, value in arguments.items()
        if name not in _OTHERS
    }
    # Its file may have another path on another machine.
    described["resume"] = "None" if arguments.get("resume") is None else "a file"
    described["metrics"] = repr(sorted(metrics))
    for i, callback in enumerate(callbacks):
        kind = type(callback).__qualname__
        described[f"callbacks[{i}]"] = f"{kind} with chief_only={callback.chief_only}"
    check_alike(owner, described)


def check_parameters(params: InternalCallbackParam) -> None:
    """Compare the parameters that are trained, and the optimizer's, with the other processes'.

    What is not trained may differ, such as the moving averages of `BatchNorm`.

    Args:
        params: The run's.

    Raises:
        RuntimeError: In all processes: some parameters differ.
    """
    if get_group_size() == 1 or not broadcasts_parameters():
        return
    parameters = list(params.train_network.get_parameters())
    sums = [_check_sum(each) if each.requires_grad else 0 for each in parameters]
    found = gathered(np.array(sums, np.uint32).tobytes())
    if len(set(found)) == 1:
        return
    table = np.array([np.frombuffer(each, np.uint32) for each in found])
    unlike = table != table[0]
    names = [f"'{parameters[i].name}'" for i in np.flatnonzero(unlike.any(axis=0))]
    raise RuntimeError(
        "In data parallel training all processes must have the same parameters, but after epoch "
        f"{params.cur_epoch_num} these differ from process 0's in "
        f"{processes(np.flatnonzero(unlike.any(axis=1)).tolist())}: {shortened(names, ', ')}. "
        "A callback that changes parameters must do so in all processes: its 'chief_only' must be "
        "False."
    )


def _check_sum(parameter: Parameter) -> int:
    values = to_host(parameter._data)
    if values.dtype.kind == "f" and np.isnan(values).any():
        # A sum of two NaNs has the bits of either of them.
        values = np.where(np.isnan(values), np.nan, values)
    return zlib.crc32(values.tobytes())
