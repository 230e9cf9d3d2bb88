"""ConfusionMatrixMetric: rates of the true and false positives and negatives of binary masks."""

import numpy as np
import numpy.typing as npt

from minispore._checks import check_one_of, check_type
from minispore._metrics._classes import is_binary
from minispore._metrics._metric import Metric, rearrange_inputs
from minispore._metrics._rates import Outcomes, rate_of

Values = npt.NDArray[np.float64]
_MODES = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrixMetric(Metric):
    """A rate that is computed from true and false positives and negatives.

    Predictions and labels are zeros and ones of one shape (N, C, …): C channels, one for each
    class. A rate whose denominator is 0 is NaN.

    Args:
        skip_channel: leave the first of several channels, the background, out.
        metric_name: "sensitivity", "specificity", "precision", "negative_predictive_value",
            "miss_rate", "fall_out", "false_discovery_rate", "false_omission_rate",
            "prevalence_threshold", "threat_score", "accuracy", "balanced_accuracy", "f1_score",
            "matthews_correlation_coefficient", "fowlkes_mallows_index", "informedness" or
            "markedness", or another name of them, "tpr" say.
        calculation_method: False: count everything together and compute one rate. True: compute a
            rate for each sample and channel, and then `decrease` them.
        decrease: "none": (N, C) rates; "mean_batch" or "sum_batch": over the samples, (C,);
            "mean_channel" or "sum_channel": over the channels, (N,); "mean" or "sum": over the
            channels and then over the samples, one number. What is NaN is left out.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for another `decrease`.
        NotImplementedError: for another `metric_name`.

    Source: mindspore.train.ConfusionMatrixMetric.

    Examples:
        >>> metric = ConfusionMatrixMetric(metric_name="tpr")
        >>> metric([[[0], [1]], [[1], [0]]], [[[0], [1]], [[0], [1]]])
        array([0.5])
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        owner = "ConfusionMatrixMetric"
        check_type(skip_channel, bool, "skip_channel", owner)
        check_type(metric_name, str, "metric_name", owner)
        check_type(calculation_method, bool, "calculation_method", owner)
        check_type(decrease, str, "decrease", owner)
        check_one_of(decrease, _MODES, "decrease", owner)
        self.skip_channel = skip_channel
        self.metric_name = metric_name
        self.calculation_method = calculation_method
        self.decrease = decrease
        self._rate = rate_of(metric_name)
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        # Of each batch (4, N, C): true and false positives, true and false negatives of samples and
        # channels; or one (4, 1, 1) where everything is counted together.
        self._counts: list[Values] = []

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Count one batch.

        Args:
            *inputs: predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: if there are not two, their shapes differ or have no channels, there are
                others than zeros and ones, or not as many channels as before.
        """
        predicted, label = self._predicted_and_true(inputs)
        if predicted.shape != label.shape or label.ndim < 2:
            raise ValueError(
                "For 'ConfusionMatrixMetric.update', predicted value and true value must have the "
                f"same shape (N, C, …), but got {predicted.shape} and {label.shape}."
            )
        for array, name in ((predicted, "predicted"), (label, "true")):
            if not is_binary(array):
                raise ValueError(
                    f"For 'ConfusionMatrixMetric.update', all elements of the {name} value must be "
                    "0 or 1."
                )
        if self.skip_channel and label.shape[1] > 1:
            predicted, label = predicted[:, 1:], label[:, 1:]
        counts = _counts(predicted == 1, label == 1)
        if not self.calculation_method:
            self._counts = [counts.sum(axis=(1, 2), keepdims=True) + sum(self._counts)]
            return
        if self._counts and self._counts[0].shape[2] != counts.shape[2]:
            raise ValueError(
                "For 'ConfusionMatrixMetric.update', all batches must have as many channels, but "
                f"got {counts.shape[2]} after {self._counts[0].shape[2]}."
            )
        self._counts.append(counts)

    def eval(self) -> Values | float:
        """Return the rate, or the rates; RuntimeError if there were no samples.

        Without `calculation_method` the one rate is an array of shape (1,), as it is in MindSpore.
        """
        if not any(counts.any() for counts in self._counts):
            raise self._no_samples()
        counts = np.concatenate(self._counts, axis=1)
        with np.errstate(invalid="ignore"):
            rates = self._rate(Outcomes(*counts))
        if not self.calculation_method:
            return rates.ravel()
        return rates if self.decrease == "none" else _decreased(rates, self.decrease)


def _counts(predicted: npt.NDArray[np.bool_], label: npt.NDArray[np.bool_]) -> Values:
    outcomes = (predicted & label, predicted & ~label, ~predicted & ~label, ~predicted & label)
    rest = tuple(range(2, label.ndim))
    return np.stack([outcome.sum(axis=rest) for outcome in outcomes], dtype=np.float64)


def _decreased(rates: Values, mode: str) -> Values | float:
    what, _, over = mode.partition("_")
    if over:
        return _along(0 if over == "batch" else 1, rates, what)
    # Sample by sample, so that each counts as much as any other.
    return float(_along(0, _along(1, rates, what), what))


def _along(axis: int, rates: Values, what: str) -> Values:
    """Return the sums or means of what is not NaN."""
    defined = ~np.isnan(rates)
    sums: Values = np.where(defined, rates, 0).sum(axis=axis)
    if what == "sum":
        return sums
    with np.errstate(invalid="ignore"):
        means: Values = sums / defined.sum(axis=axis)
    return means
