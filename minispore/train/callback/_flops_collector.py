"""FlopsUtilizationCollector: print the operations per step and the utilization of the device."""

import math
from collections.abc import Mapping
from itertools import zip_longest
from time import perf_counter

import numpy as np

from minispore.engine.array import Array, device_target
from minispore.engine.dispatch import Variable
from minispore.engine.rules import linalg
from minispore.train.protocol.callback import Callback, RunContext
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.checks import caller, check_arguments, check_int, check_positive

__all__ = ["FlopsUtilizationCollector"]


@check_arguments
class FlopsUtilizationCollector(Callback, StatefulMixin):
    """Print the floating-point operations of a step and their ratio to the peak of the device.

    The matrix products of a step are counted when they are computed, in the forward pass, the
    backward pass and the optimizer. A multiplication and an addition count as two operations. As in
    MindSpore, elementwise operations are not counted. Products in functions passed to
    `ops.apply_rule` are not counted either.

    After the first step, the count of that step is printed; every `data_size` steps, the mean time
    of a step (including waiting for data, excluding evaluations) and the utilization. Since there
    is neither recomputation nor model parallelism, the numbers for the model and the hardware are
    the same, and so are those for the full model and a shard.

    Args:
        data_size: The number of steps between two lines.
        computility: The peak of the device in operations per second. With 1, the default, it is
            measured by `measure_peak_flops` when training begins.
        full_flops: Whether to print the numbers of the full model in addition to those of a shard.
        enable_ma_collector: Must be False: there is no cloud service to write for.

    Attributes:
        computility: The peak of the device in operations per second.
        flops: The number of operations in the latest step.

    Raises:
        TypeError: An argument has the wrong type.
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

    Source: MindSpore's `mindspore.train.FlopsUtilizationCollector`.
    """

    chief_only = True
    _flops_printed = StateField(bool, key="printed")
    flops: StateField[int] = StateField(int, key="latest")
    _steps = StateField(int)  # since the last line, including those before the run was resumed

    def __init__(
        self,
        data_size: int,
        computility: float = 1,
        full_flops: bool = True,
        enable_ma_collector: bool = False,
    ) -> None:
        super().__init__()
        self._data_size = check_int(data_size, "data_size", low=1)
        self.computility: float = check_positive(computility, "computility")
        if enable_ma_collector:
            raise NotImplementedError(
                f"For '{caller()}', 'enable_ma_collector' must be False: there is no cloud to "
                "write for. The figures are printed."
            )
        self._full_flops = full_flops
        self._reset_totals()

    def _reset_totals(self) -> None:
        """Reset the totals of the steps of this run since the last line."""
        self._measured_steps = self._total_flops = 0
        self._total_seconds = 0.0
        self._step_started = perf_counter()

    def __exit__(self, *exc_info: object) -> None:
        self._stop_counting()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Reset the counters; measure the peak of the device if none was given."""
        self.reset_state()
        self._reset_totals()
        if self.computility == 1:
            self.computility = measure_peak_flops()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock of the next step."""
        self._step_started = perf_counter()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Start counting matrix products."""
        self.flops = 0
        linalg.gemm_observers.append(self._count)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Add the step to the totals, and print the lines that are due."""
        self._stop_counting()
        now = perf_counter()
        self._steps += 1
        self._measured_steps += 1
        self._total_flops += self.flops
        self._total_seconds += now - self._step_started
        self._step_started = now
        if not self._flops_printed:
            self._flops_printed = True
            self._print_flops()
        if self._steps >= self._data_size:
            utilization = self._total_flops / self._total_seconds / self.computility
            milliseconds = self._total_seconds / self._measured_steps * 1e3
            print(
                f"Train per step time: {milliseconds:.3f} ms "
                f"mfu:{utilization:.2%} hfu:{utilization:.2%}",
                flush=True,
            )
            self._steps = 0
            self._reset_totals()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned; only steps of this run are measured.

        Raises:
            ValueError: An entry is missing or has the wrong type. The callback is unchanged then.
        """
        super().load_state_dict(state)
        self._step_started = perf_counter()

    def _stop_counting(self) -> None:
        if self._count in linalg.gemm_observers:
            linalg.gemm_observers.remove(self._count)

    def _count(self, x: Array, y: Array) -> None:
        # A product of variables, in a higher-order derivative, is reported again as one of arrays.
        if not isinstance(x, Variable):
            self.flops += matmul_flops(x.shape, y.shape)

    def _print_flops(self) -> None:
        kinds = ("Full", "Shard") if self._full_flops else ("Shard",)
        names = [f"{kind} {unit}" for kind in kinds for unit in ("model", "hardware")]
        print(", ".join(f"{name} flops is {float(self.flops)}" for name in names) + ".", flush=True)


def matmul_flops(x: tuple[int, ...], y: tuple[int, ...]) -> int:
    """Return the number of operations in a matrix product of arrays of these shapes.

    Examples:
        >>> matmul_flops((32, 10), (10, 5)), matmul_flops((7, 1, 2, 3), (4, 3, 5))
        (3200, 1680)
    """
    stacks = zip_longest(reversed(x[:-2]), reversed(y[:-2]), fillvalue=1)
    count = math.prod(m if n == 1 else n for m, n in stacks)
    return 2 * count * x[-2] * x[-1] * y[-1]


def measure_peak_flops(size: int = 512, seconds: float = 0.1) -> float:
    """Return the peak performance of this CPU in float32 matrix products.

    Args:
        size: The number of rows and columns of the matrices.
        seconds: The time for which to repeat the measurement; the fastest product counts.

    Returns:
        The peak in operations per second.

    Raises:
        ValueError: Another device than the CPU is in use.
    """
    if device_target() != "CPU":
        raise ValueError(
            f"For '{caller()}', set the argument 'computility' to the peak of the device: "
            f"it can only be measured on the CPU, not on {device_target()}."
        )
    matrix = np.ones((size, size), np.float32)
    fastest, begin = math.inf, perf_counter()
    while fastest == math.inf or perf_counter() - begin < seconds:
        started = perf_counter()
        np.matmul(matrix, matrix)
        fastest = min(fastest, perf_counter() - started)
    return matmul_flops(matrix.shape, matrix.shape) / fastest
