"""Looking at the arrays of a step: checking, dumping, or anything else."""

import os
from collections.abc import Callable, Sequence

import numpy as np

from minispore._atomic import replacing
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import Array, name_list
from minispore.tensorpack.trainer import RunValues
from minispore.train.callback import RunContext


class OfArrays(Callback):
    """Base class of what gets some arrays after each step, as the results of `_after_run`.

    Args:
        names: The arrays' names, or one name; see `Trainer.array`.
    """

    hears = True

    def __init__(self, names: str | Sequence[str]) -> None:
        self._names = name_list(names)

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return self._names


class ProcessTensors(OfArrays):
    """Call a function with arrays of each step; see `Trainer.array` for their names.

    Source: tensorpack.callbacks.ProcessTensors.

    Args:
        names: The arrays' names, or one name.
        fn: Gets the arrays, one argument each.
    """

    def __init__(self, names: str | Sequence[str], fn: Callable[..., object]) -> None:
        super().__init__(names)
        self._fn = fn

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._fn(*run_values.results)


class DumpTensors(ProcessTensors):
    """Save arrays of each step as `DumpTensor-{global_step}.npz` in the logger's folder.

    In the file they have their names, with "/" as "-". To save only now and then, put it into
    `EnableCallbackIf` or `Every`.

    Source: tensorpack.callbacks.DumpTensors.

    Args:
        names: The arrays' names, or one name.
    """

    def __init__(self, names: str | Sequence[str]) -> None:
        super().__init__(names, self._dump)

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, "DumpTensors")

    def _dump(self, *arrays: Array) -> None:
        named = {
            name.replace("/", "-"): array for name, array in zip(self._names, arrays, strict=True)
        }
        with replacing(os.path.join(self._folder, f"DumpTensor-{self.global_step}.npz")) as file:
            np.savez(file, allow_pickle=False, **named)


class CheckNumerics(Callback):
    """End the training if a trainable parameter is NaN or infinite.

    Source: tensorpack.callbacks.CheckNumerics.

    Args:
        run_as_trigger: Whether to look when triggered,
        run_step: and after each step; before training it always does.

    Raises:
        FloatingPointError: In training, if one is; the message names it.
    """

    chief_only = False

    def __init__(self, run_as_trigger: bool = True, run_step: bool = False) -> None:
        self._at_trigger, self._each_step = run_as_trigger, run_step

    def _check(self) -> None:
        for parameter in self.trainer.params.train_network.trainable_params():
            array = parameter.asnumpy()
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FloatingPointError(
                    f"After {self.global_step} steps, the parameter '{parameter.name}' has "
                    f"{int(np.isnan(array).sum())} NaN and {int(np.isinf(array).sum())} infinite "
                    f"of {array.size} elements."
                )

    def _before_train(self) -> None:
        self._check()

    def _trigger(self) -> None:
        if self._at_trigger:
            self._check()

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        if self._each_step:
            self._check()
