"""A monitored value: where it is found, whether it exists at all, and which of two is better."""

import re
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import as_items, check_number, check_one_of, check_type
from minispore.common import Tensor
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext

# What is better small, by any word of its name; everything else counts as better large.
_SMALL = {"distance", "err", "error", "loss", "mae", "mse", "perplexity", "rmse"}


class Monitored:
    """One value of a run by its name, and the direction in which it gets better.

    The name is "loss" for the training's, or that of a result of `Model.fit`'s evaluation:
    "eval_loss" or a metric. A value counts as better if it is so by more than `min_delta`.

    Args:
        owner: Who monitors, for the errors.
        monitor: The name.
        mode: "min", "max", or "auto" for what the name suggests.
        min_delta: How much a value must differ; its sign does not matter.

    Raises:
        TypeError: `monitor` is no str, or `min_delta` no number.
        ValueError: An unknown `mode`, or `min_delta` is NaN.

    Examples:
        >>> accuracy = Monitored("EarlyStopping", "accuracy", "auto", 0.25)
        >>> accuracy.worst, accuracy.better(0.75, 0.25), accuracy.better(0.5, 0.25)
        (-inf, True, False)
    """

    def __init__(self, owner: str, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        check_type(monitor, str, "monitor", owner)
        check_one_of(mode, ("auto", "min", "max"), "mode", owner)
        self.owner = owner
        self.name = monitor
        self.min_delta = abs(check_number(min_delta, "min_delta", owner))
        if mode == "auto":
            small = _SMALL.intersection(re.split(r"[^a-z]+", monitor.lower()))
            mode = "min" if small else "max"
        self.mode = mode
        self.worst = float("inf") if mode == "min" else float("-inf")

    def better(self, value: float, than: float) -> bool:
        """Return whether `value` is better; NaN never is."""
        if self.mode == "min":
            return value < than - self.min_delta
        return value > than + self.min_delta

    def require(self, run_context: RunContext) -> None:
        """Raise ValueError if it is known that this run will never measure the value."""
        names = run_context.original_args().get("metric_names")
        if names is not None:
            self._require(cast("Sequence[str]", names))

    def value(self, run_context: RunContext) -> float | None:
        """Return the value, None if nothing was evaluated or the epoch is unfinished.

        Raises:
            ValueError: There was an evaluation without such a result, or it is no single number.
        """
        if run_context.is_epoch_unfinished():
            return None
        params = run_context.original_args()
        if self.name == "loss":
            return self._number(_loss(params))
        results = params.get("eval_results", params.get("metrics"))
        if not results:
            return None
        measured = cast("dict[str, object]", results)
        self._require(tuple(measured))
        return self._number(measured[self.name])

    def _require(self, names: Sequence[str]) -> None:
        if self.name in ("loss", *names):
            return
        from difflib import get_close_matches  # only needed for the message

        known = list(dict.fromkeys(["loss", *names]))
        nearest = get_close_matches(self.name, known)
        raise ValueError(
            f"For '{self.owner}', the argument 'monitor' must be one of what this run measures, "
            f"{', '.join(map(repr, known))}, but got {self.name!r}."
            + (f" Did you mean {nearest[0]!r}?" if nearest else "")
            + ("" if names else " Only 'Model.fit' with a 'valid_dataset' evaluates.")
        )

    def _number(self, value: object) -> float:
        array = as_array(value)
        if array is None or array.size != 1 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"For '{self.owner}', what 'monitor' names must be a single number, "
                f"but {self.name!r} is {value!r}."
            )
        return float(array.item())


def first_output(net_outputs: object) -> object:
    """Return what a network returned, of several outputs the first."""
    items = as_items(net_outputs)
    return items[0] if items else net_outputs


def as_array(value: object) -> npt.NDArray[np.generic] | None:
    """Return a tensor, an array or a number as an array, None for anything else."""
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, np.ndarray | np.generic | int | float):
        return np.asarray(cast("npt.ArrayLike", value))
    return None


def shortest(number: np.generic) -> float:
    """Return the float that is written with the digits numpy needs to tell `number` from others.

    >>> shortest(np.float32(0.1)), float(np.float32(0.1))
    (0.1, 0.10000000149011612)
    """
    return float(str(number))


def _loss(params: InternalCallbackParam) -> object:
    """The training's loss: the mean of several losses, but not of several outputs."""
    outputs: object = params.net_outputs
    if isinstance(outputs, Tensor) and outputs.size > 1:
        return outputs.asnumpy().mean()
    return first_output(outputs)
