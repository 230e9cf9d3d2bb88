"""Monitored metrics: the value of a run that a callback compares, and which of two is better."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, TypeVar, cast

from minispore.ops.tensors import Tensor
from minispore.train.protocol.callback import InternalCallbackParam, RunContext
from minispore.train.protocol.outputs import as_array, first_output
from minispore.utils.checks import caller, check_number, check_one_of, check_type
from minispore.utils.warn import warn_at_caller

T = TypeVar("T")

# Words in the names of metrics for which smaller is better, and for which greater is.
_SMALLER_IS_BETTER = {
    "bce", "brier", "ce", "cer", "cost", "crossentropy", "deviance", "distance", "divergence",
    "eer", "entropy", "err", "error", "fid", "hinge", "kl", "kld", "kldivergence", "logloss",
    "loss", "mae", "mape", "medae", "mse", "msle", "nll", "perplexity", "ppl", "regret",
    "rmse", "rmsle", "smape", "wer",
}  # fmt: skip
_GREATER_IS_BETTER = {
    "acc", "accuracy", "ap", "auc", "auroc", "bleu", "correlation", "dice", "f", "fbeta",
    "iou", "jaccard", "kappa", "likelihood", "map", "mcc", "miou", "mrr", "ndcg", "precision",
    "psnr", "r", "recall", "reward", "roc", "rouge", "sensitivity", "similarity",
    "specificity", "ssim", "top", "topk",
}  # fmt: skip
_EVALUATES = "Only 'Model.fit' with a 'valid_dataset' evaluates, after epochs of 'valid_frequency'."


class MonitoredMetric:
    """A value of a run that a callback monitors, and the direction in which it improves.

    Args:
        monitor: The name of the value: "loss" for the training's loss, or a result of the
            evaluation of `Model.fit`: "eval_loss" or a metric.
        mode: "min", "max", or "auto" to infer the direction from the words of the name; a warning
            says if they are not known, and "max" is taken.
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
            mode = _direction(monitor)
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
            + ("" if names else f" {_EVALUATES}")
        )

    def _number(self, value: object) -> float:
        array = as_array(value)
        if array is None or array.size != 1 or array.dtype.kind not in "biuf":
            raise ValueError(
                f"For '{caller()}', the value of 'monitor' must be a single number, "
                f"but {self.name!r} is {value!r}."
            )
        return float(array.item())


def distinct_names(results: Mapping[str, T], taken: Collection[str]) -> dict[str, T]:
    """Return the results of metrics, with `eval_` before each name that is taken.

    Args:
        results: The results by the names of the metrics.
        taken: Names that mean something else.

    Returns:
        The results by names that differ from each other and from those that are taken. A number
        that has its new name already is left out.

    Examples:
        >>> distinct_names({"epoch": 0.5, "mse": 1.0}, ["epoch", "step"])
        {'eval_epoch': 0.5, 'mse': 1.0}
    """
    renamed: dict[str, T] = {}
    for name, value in results.items():
        new = name
        while new in taken or (new != name and new in results):
            new = f"eval_{new}"
            if isinstance(value, float) and results.get(new) == value:
                break
        renamed.setdefault(new, value)
    return renamed


def _direction(monitor: str) -> str:
    """Return "min" or "max" by the words of a name, such as `val_mse` or `neg_log_loss`."""
    # Without the numbers in `acc5` and `f1`.
    words = set(re.split(r"[^a-z]+", monitor.lower()))
    smaller = bool(words & _SMALLER_IS_BETTER)
    if not smaller and not words & _GREATER_IS_BETTER:
        warn_at_caller(
            f"For '{caller()}', whether smaller or greater is better is not known of the "
            f"'monitor' {monitor!r}: greater is taken as better. Set 'mode' to 'min' or 'max'."
        )
        return "max"
    return "min" if smaller != bool(words & {"neg", "negative"}) else "max"


def _loss(params: InternalCallbackParam) -> object:
    """Return the loss: the mean of a tensor of losses, or the first of several outputs."""
    outputs: object = params.net_outputs
    if isinstance(outputs, Tensor) and outputs.size > 1:
        return outputs.asnumpy().mean()
    return first_output(outputs)
