"""Monitored metrics: the value of a run that a callback compares, and which of two is better."""

import math
import re
from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
import numpy.typing as npt

from minispore.common import Tensor
from minispore.engine.array import NUMPY_TYPES
from minispore.train.protocol.run_context import InternalCallbackParam, RunContext
from minispore.utils.checks import as_items, caller, check_number, check_one_of, check_type

# Words in the names of metrics for which smaller is better.
_SMALLER_IS_BETTER = {"distance", "err", "error", "loss", "mae", "mse", "perplexity", "rmse"}


class MonitoredMetric:
    """A value of a run that a callback monitors, and the direction in which it improves.

    Args:
        monitor: The name of the value: "loss" for the training's loss, or a result of the
            evaluation of `Model.fit`: "eval_loss" or a metric.
        mode: "min", "max", or "auto" to infer the direction from the name.
        min_delta: The minimum difference of an improvement; its sign is ignored.

    Attributes:
        worst: The initial value to compare with: infinity or minus infinity.

    Raises:
        TypeError: `monitor` or `mode` is not a str, or `min_delta` not a number.
        ValueError: `mode` is unknown, or `min_delta` is NaN.

    Examples:
        >>> accuracy = MonitoredMetric("accuracy", "auto", 0.25)
        >>> accuracy.worst, accuracy.is_improvement(0.75, 0.25), accuracy.is_improvement(0.5, 0.25)
        (-inf, True, False)
    """

    _name_in_errors: ClassVar[str] = ""  # the callback is named

    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        self.name: str = check_type(monitor, str, "monitor")
        check_type(mode, str, "mode")
        check_one_of(mode, ("auto", "min", "max"), "mode")
        self.min_delta: float = abs(check_number(min_delta, "min_delta"))
        if mode == "auto":
            smaller = _SMALLER_IS_BETTER.intersection(re.split(r"[^a-z]+", monitor.lower()))
            mode = "min" if smaller else "max"
        self.mode: str = mode
        self.worst: float = float("inf") if mode == "min" else float("-inf")

    def is_improvement(self, value: float, than: float) -> bool:
        """Return whether `value` is better than `than` by more than `min_delta`; NaN is not."""
        if self.mode == "min":
            return value < than - self.min_delta
        return value > than + self.min_delta

    def check_available(self, run_context: RunContext) -> None:
        """Raise ValueError if the run is known not to measure the value."""
        names = run_context.original_args().get("metric_names")
        if names is not None:
            self._require(cast("Sequence[str]", names))

    def value(self, run_context: RunContext) -> float | None:
        """Return the value; None if nothing was evaluated or the epoch is unfinished.

        Raises:
            ValueError: The evaluation has no such result, or it is not a single number.
        """
        if run_context.is_epoch_unfinished():
            return None
        params = run_context.original_args()
        if self.name == "loss":
            return self._number(_loss(params))
        results = params.get("eval_results", params.get("metrics"))
        if not results:
            return None
        self._require(tuple(results))
        return self._number(results[self.name])

    def _require(self, names: Sequence[str]) -> None:
        if self.name in ("loss", *names):
            return
        from difflib import get_close_matches  # only needed for the message

        known = list(dict.fromkeys(["loss", *names]))
        nearest = get_close_matches(self.name, known)
        raise ValueError(
            f"For '{caller()}', the argument 'monitor' must be one of what this run measures, "
            f"{', '.join(map(repr, known))}, but got {self.name!r}."
            + (f" Did you mean {nearest[0]!r}?" if nearest else "")
            + ("" if names else " Only 'Model.fit' with a 'valid_dataset' evaluates.")
        )

    def _number(self, value: object) -> float:
        array = as_array(value)
        if array is None or array.size != 1 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"For '{caller()}', the value of 'monitor' must be a single number, "
                f"but {self.name!r} is {value!r}."
            )
        return float(array.item())


def first_output(net_outputs: object) -> object:
    """Return the first of several outputs of a network, or its only one.

    Args:
        net_outputs: What the network has returned.

    Returns:
        The first item of a list or tuple; `net_outputs` itself if it is neither, or empty.

    Examples:
        >>> first_output((0.5, "logits")), first_output(0.5)
        (0.5, 0.5)
    """
    items = as_items(net_outputs)
    return items[0] if items else net_outputs


def as_array(value: object) -> npt.NDArray[np.generic] | None:
    """Return a tensor, an array or a number as a numpy array.

    Args:
        value: The value.

    Returns:
        An array of the value's shape and dtype; None for a value of another type.

    Examples:
        >>> as_array(Tensor([1.0, 2.0])), as_array("a")
        (array([1., 2.], dtype=float32), None)
    """
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, (*NUMPY_TYPES, int, float)):
        return np.asarray(value)
    return None


def is_finite(value: object) -> bool:
    """Return whether a loss is finite.

    Args:
        value: The loss.

    Returns:
        False if an element of a tensor or an array, or a number, is NaN or infinite.

    Examples:
        >>> is_finite(Tensor([1.0, float("nan")])), is_finite(float("inf")), is_finite("a")
        (False, False, True)
    """
    array = as_array(value)
    if array is None or array.dtype.kind != "f":
        return True
    if array.ndim:
        return bool(np.isfinite(array).all())
    return math.isfinite(array.item())  # much faster than numpy's function


def shortest_float(number: np.generic) -> float:
    """Return the float with the fewest digits that identifies `number` in its type.

    Args:
        number: A numpy scalar, such as a float32.

    Returns:
        The float whose repr is the text of `number`.

    Examples:
        >>> shortest_float(np.float32(0.1)), float(np.float32(0.1))
        (0.1, 0.10000000149011612)
    """
    return float(str(number))


def _loss(params: InternalCallbackParam) -> object:
    """Return the loss: the mean of a tensor of losses, or the first of several outputs."""
    outputs: object = params.net_outputs
    if isinstance(outputs, Tensor) and outputs.size > 1:
        return outputs.asnumpy().mean()
    return first_output(outputs)
