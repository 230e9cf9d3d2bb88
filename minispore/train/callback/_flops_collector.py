"""FlopsUtilizationCollector: how much a training computes, and how much of what the machine can."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from time import perf_counter
from types import TracebackType
from typing import cast

import numpy as np

from minispore._array import Array, device_target
from minispore._checks import check_int, check_number, check_type
from minispore._functional.variable import Variable
from minispore._rules import linalg
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import RunContext
from minispore.train._protocol.states import entry

_OWNER = "FlopsUtilizationCollector"


@dataclass
class _Sums:
    """What this run has added up since the last line."""

    steps: int = 0
    flops: int = 0
    seconds: float = 0.0


class FlopsUtilizationCollector(Callback):
    """Print the floating-point operations of a step and the share of the peak that they reach.

    All matrix products that a step makes are counted as they are made, forwards, backwards and in
    the optimiser, with two operations (a multiplication and an addition) for each element that is
    multiplied; so a smaller last batch counts for less. As in MindSpore, elementwise operations
    are not counted. Products in functions given to `ops.apply_rule` are not seen.

    After the first step the count of that step is printed, and every `data_size` steps the mean
    time of a step (with its waiting for data, without evaluations) and the utilisation. Nothing is
    computed twice and nothing is split here, so the figures of model and hardware are the same, as
    are those of the whole and of a shard.

    Source: mindspore.train.FlopsUtilizationCollector.

    Args:
        data_size: How many steps lie between two lines.
        computility: The peak in operations per second. With 1, the default, it is measured when
            training begins, as `measured_peak` does.
        full_flops: Whether to print the figures of the whole beside those of a shard.
        enable_ma_collector: False; there is no cloud to write for.

    Attributes:
        computility: The peak that is compared with.
        flops: The operations of the latest step.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: `data_size` or `computility` is not positive; or in training, if the peak would
            have to be measured on another device than the CPU.
        NotImplementedError: `enable_ma_collector` is True.

    Examples:
        >>> from minispore import nn
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.train import Model
        >>> x, y = np.ones((64, 10), np.float32), np.zeros(64, np.int32)
        >>> data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(32)
        >>> net = nn.Dense(10, 5)
        >>> model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
        >>> model.train(1, data, FlopsUtilizationCollector(data_size=2, full_flops=False))
        Shard model flops is 6400.0, Shard hardware flops is 6400.0.
        Train per step time: ... ms mfu:...% hfu:...%
    """

    chief_only = True

    def __init__(
        self,
        data_size: int,
        computility: float = 1,
        full_flops: bool = True,
        enable_ma_collector: bool = False,
    ) -> None:
        super().__init__()
        self._data_size = check_int(data_size, "data_size", _OWNER, low=1)
        self.computility: float = check_number(computility, "computility", _OWNER)
        if self.computility <= 0:
            raise ValueError(
                f"For '{_OWNER}', the argument 'computility' must be above 0, "
                f"but got {computility}."
            )
        check_type(full_flops, bool, "full_flops", _OWNER)
        check_type(enable_ma_collector, bool, "enable_ma_collector", _OWNER)
        if enable_ma_collector:
            raise NotImplementedError(
                f"For '{_OWNER}', 'enable_ma_collector' must be False: there is no cloud to write "
                "for. The figures are printed."
            )
        self._full_flops = full_flops
        self.flops: int = 0
        self._told = False
        self._steps = 0  # since the last line, those before a resume included
        self._sums = _Sums()
        self._since = perf_counter()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._look_away()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin anew; measure the peak if none was given."""
        self._told = False
        self._steps = 0
        self._sums = _Sums()
        if self.computility == 1:
            self.computility = measured_peak()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Take the time from here on."""
        self._since = perf_counter()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Count what is multiplied from here on."""
        self.flops = 0
        linalg.watchers.append(self._count)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Add the step up, and print if it is time."""
        self._look_away()
        now, sums = perf_counter(), self._sums
        self._steps += 1
        sums.steps += 1
        sums.flops += self.flops
        sums.seconds += now - self._since
        self._since = now
        if not self._told:
            self._told = True
            self._print_flops()
        if self._steps >= self._data_size:
            share = sums.flops / sums.seconds / self.computility
            print(
                f"Train per step time: {sums.seconds / sums.steps * 1e3:.3f} ms "
                f"mfu:{share:.2%} hfu:{share:.2%}",
                flush=True,
            )
            self._steps = 0
            self._sums = _Sums()

    def state_dict(self) -> dict[str, object]:
        """Return the operations of the latest step, and how many steps since the last line."""
        return {"told": self._told, "latest": self.flops, "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on counting steps; only those of this run are measured.

        Raises:
            ValueError: An entry is missing or of another type; nothing is changed then.
        """
        told, latest = entry(state, "told", bool, _OWNER), entry(state, "latest", int, _OWNER)
        self._steps = entry(state, "steps", int, _OWNER)
        self._told, self.flops = told, latest
        self._since = perf_counter()

    def _look_away(self) -> None:
        if self._count in linalg.watchers:
            linalg.watchers.remove(self._count)

    def _count(self, x: object, y: object) -> None:
        # A product of tensors, in a derivative of higher order, comes again as one of arrays.
        if not isinstance(x, Variable):
            self.flops += flops_of_product(cast("Array", x).shape, cast("Array", y).shape)

    def _print_flops(self) -> None:
        kinds = ("Full", "Shard") if self._full_flops else ("Shard",)
        figures = [
            f"{kind} {what} flops is {float(self.flops)}"
            for kind in kinds
            for what in ("model", "hardware")
        ]
        print(", ".join(figures) + ".", flush=True)


def flops_of_product(x: tuple[int, ...], y: tuple[int, ...]) -> int:
    """Return the operations in a product of stacks of matrices of these shapes.

    >>> flops_of_product((32, 10), (10, 5)), flops_of_product((7, 1, 2, 3), (4, 3, 5))
    (3200, 1680)
    """
    stacks = zip_longest(reversed(x[:-2]), reversed(y[:-2]), fillvalue=1)
    count = math.prod(m if n == 1 else n for m, n in stacks)
    return 2 * count * x[-2] * x[-1] * y[-1]


def measured_peak(size: int = 512, seconds: float = 0.1) -> float:
    """Return how many operations per second this CPU reaches in float32 products, at its best.

    Args:
        size: The rows and columns of the matrices.
        seconds: How long to try.

    Raises:
        ValueError: Another device than the CPU is in use.
    """
    if device_target() != "CPU":
        raise ValueError(
            f"For '{_OWNER}', set the argument 'computility' to the peak of the device: "
            f"it can only be measured on the CPU, not on {device_target()}."
        )
    matrix = np.ones((size, size), np.float32)
    best, begin = math.inf, perf_counter()
    while best == math.inf or perf_counter() - begin < seconds:
        started = perf_counter()
        np.matmul(matrix, matrix)
        best = min(best, perf_counter() - started)
    return flops_of_product(matrix.shape, matrix.shape) / best
