"""Confusion matrices, and rates of true and false positives and negatives."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minispore._metrics._validation import (
    as_class_indices,
    is_binary,
    warn_of_nan,
    without_single_column,
)
from minispore._metrics.metric import AccumulatingMetric, rearrange_inputs, safe_divide
from minispore.utils.arrays import BoolArray, Float64Array, HostArray
from minispore.utils.checks import check_arguments, check_int, check_one_of, check_type

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(AccumulatingMetric[HostArray]):
    """Counts of samples by true class (row) and predicted class (column).

    Args:
        num_classes: The number of classes.
        normalize: "no_norm": return counts; "target", "prediction", "all": divide them by the sum
            of their row, of their column, or of all. The quotient is 0 where the sum is 0.
        threshold: The lowest score that means class 1, for predictions of one score per sample.

    Raises:
        TypeError: `num_classes` is not an int or `threshold` not a float.
        ValueError: `num_classes` is below 1, or `normalize` is none of these.

    Examples:
        >>> ConfusionMatrix(2)([0.2, 0.9, 0.7, 0.6], [0, 1, 1, 0])
        array([[1., 1.],
               [0., 2.]])
        >>> ConfusionMatrix(2, normalize="target")([[0.8, 0.2], [0.1, 0.9]], [0, 0])
        array([[0.5, 0.5],
               [0. , 0. ]])

    Source: MindSpore's `mindspore.train.ConfusionMatrix`.
    """

    def __init__(
        self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5
    ) -> None:
        super().__init__()
        self.num_classes: int = check_int(num_classes, "num_classes", low=1)
        check_one_of(normalize, ("no_norm", "target", "prediction", "all"), "normalize")
        self.threshold: float = check_type(threshold, float, "threshold")
        self.normalize = normalize

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predictions and class indices (N, …), each a Tensor, array or list. Predictions
                are scores of shape (N, C, …), of which the highest counts, or have shape (N, …) or
                (N, 1, …): scores of class 1, or class indices if they are integers and
                `num_classes` is above 2.

        Raises:
            ValueError: The number of inputs is not 2, their shapes do not match, or an element is
                not a class index.
        """
        predicted, label = self._convert_pair(inputs)
        warn_of_nan(predicted)
        predicted = without_single_column(predicted, label)
        if predicted.ndim == label.ndim + 1 and predicted.ndim > 1 and predicted.shape[1]:
            predicted = predicted.argmax(axis=1)
        elif self.num_classes <= 2 or predicted.dtype.kind not in "biu":
            predicted = (predicted.astype(np.float64) >= self.threshold).astype(np.int64)
        if predicted.shape != label.shape:
            raise ValueError(
                "For 'ConfusionMatrix.update', the predicted value must have the shape of the true "
                "value, with or without an additional second dimension of classes, but got true "
                f"value {label.shape} and predicted value {predicted.shape}."
            )
        size = self.num_classes
        rows, columns = (as_class_indices(a, size) for a in (label, predicted))
        counts = np.bincount((rows * size + columns).ravel(), minlength=size * size)
        self._add(counts.reshape(size, size), label.size)

    def eval(self) -> Float64Array:
        """Return the matrix, float64, (num_classes, num_classes); RuntimeError without samples."""
        counts = self._accumulated()[0].astype(np.float64)
        if self.normalize == "no_norm":
            return counts
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        return safe_divide(counts, counts.sum(axis=axis, keepdims=True))


class _ConfusionCounts(NamedTuple):
    """The numbers of true and false (t, f) positives and negatives (p, n), and their ratios."""

    tp: Float64Array
    fp: Float64Array
    tn: Float64Array
    fn: Float64Array

    @property
    def tpr(self) -> Float64Array:
        """The true positive rate: true positives / actual positives."""
        return self.tp / (self.tp + self.fn)

    @property
    def tnr(self) -> Float64Array:
        """The true negative rate: true negatives / actual negatives."""
        return self.tn / (self.tn + self.fp)

    @property
    def ppv(self) -> Float64Array:
        """The positive predictive value: true positives / predicted positives."""
        return self.tp / (self.tp + self.fp)

    @property
    def npv(self) -> Float64Array:
        """The negative predictive value: true negatives / predicted negatives."""
        return self.tn / (self.tn + self.fn)


_Rate = Callable[[_ConfusionCounts], Float64Array]


def _prevalence_threshold(n: _ConfusionCounts) -> Float64Array:
    fpr = 1 - n.tnr
    return (np.sqrt(n.tpr * fpr) - fpr) / (n.tpr - fpr)


def _matthews(n: _ConfusionCounts) -> Float64Array:
    product = (n.tp + n.fp) * (n.tp + n.fn) * (n.tn + n.fp) * (n.tn + n.fn)
    return (n.tp * n.tn - n.fp * n.fn) / np.sqrt(product)


# The names of each rate, the full one first.
_RATES: dict[tuple[str, ...], _Rate] = {
    ("sensitivity", "recall", "hit_rate", "true_positive_rate", "tpr"): lambda n: n.tpr,
    ("specificity", "selectivity", "true_negative_rate", "tnr"): lambda n: n.tnr,
    ("precision", "positive_predictive_value", "ppv"): lambda n: n.ppv,
    ("negative_predictive_value", "npv"): lambda n: n.npv,
    ("miss_rate", "false_negative_rate", "fnr"): lambda n: 1 - n.tpr,
    ("fall_out", "false_positive_rate", "fpr"): lambda n: 1 - n.tnr,
    ("false_discovery_rate", "fdr"): lambda n: 1 - n.ppv,
    ("false_omission_rate", "for"): lambda n: 1 - n.npv,
    ("prevalence_threshold", "pt"): _prevalence_threshold,
    ("threat_score", "critical_success_index", "ts", "csi"): lambda n: n.tp / (n.tp + n.fp + n.fn),
    ("accuracy", "acc"): lambda n: (n.tp + n.tn) / (n.tp + n.fp + n.tn + n.fn),
    ("balanced_accuracy", "ba"): lambda n: (n.tpr + n.tnr) / 2,
    ("f1_score", "f1"): lambda n: 2 * n.tp / (2 * n.tp + n.fp + n.fn),
    ("matthews_correlation_coefficient", "mcc"): _matthews,
    ("fowlkes_mallows_index", "fm"): lambda n: np.sqrt(n.ppv * n.tpr),
    ("informedness", "bookmaker_informedness", "bm"): lambda n: n.tpr + n.tnr - 1,
    ("markedness", "deltap", "mk"): lambda n: n.ppv + n.npv - 1,
}
_RATE_BY_NAME = {name: rate for names, rate in _RATES.items() for name in names}
_REDUCTIONS = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


@check_arguments
class ConfusionMatrixMetric(AccumulatingMetric[HostArray]):
    """A rate that is computed from true and false positives and negatives.

    Predictions and labels are zeros and ones of one shape (N, C, …), with one channel for each of C
    classes. A rate whose denominator is 0 is NaN.

    Args:
        skip_channel: Whether to omit the first of several channels, the background.
        metric_name: "sensitivity", "specificity", "precision", "negative_predictive_value",
            "miss_rate", "fall_out", "false_discovery_rate", "false_omission_rate",
            "prevalence_threshold", "threat_score", "accuracy", "balanced_accuracy", "f1_score",
            "matthews_correlation_coefficient", "fowlkes_mallows_index", "informedness" or
            "markedness", or a synonym such as "tpr". Case does not matter, nor does a space instead
            of an underscore.
        calculation_method: False: sum all counts and compute one rate. True: compute a rate for
            each sample and channel, and reduce the rates by `decrease`.
        decrease: "none": (N, C) rates; "mean_batch" or "sum_batch": reduce over samples, (C,);
            "mean_channel" or "sum_channel": reduce over channels, (N,); "mean" or "sum": reduce
            over channels and then over samples, to one number. NaN is left out.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `decrease` is none of these.
        NotImplementedError: `metric_name` is none of these.

    Examples:
        >>> metric = ConfusionMatrixMetric(metric_name="tpr")
        >>> metric([[[0], [1]], [[1], [0]]], [[[0], [1]], [[0], [1]]])
        array([0.5])

    Source: MindSpore's `mindspore.train.ConfusionMatrixMetric`.
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:
        super().__init__()
        check_one_of(decrease, _REDUCTIONS, "decrease")
        self.skip_channel = skip_channel
        self.metric_name = metric_name
        self.calculation_method = calculation_method
        self.decrease = decrease
        rate = _RATE_BY_NAME.get(metric_name.lower().replace(" ", "_"))
        if rate is None:
            raise NotImplementedError(
                f"For 'ConfusionMatrixMetric', there is no 'metric_name' {metric_name!r}; there "
                f"are {', '.join(names[0] for names in _RATES)}."
            )
        self._rate: _Rate = rate

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: The number of inputs is not 2, their shapes differ or have no channels, an
                element is neither 0 nor 1, or the number of channels has changed.
        """
        predicted, label = self._convert_pair(inputs)
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
        # Of shape (4, N, C): true and false positives, true and false negatives.
        counts = _count_outcomes(predicted == 1, label == 1)
        if not self.calculation_method:
            counts = counts.sum(axis=(1, 2), keepdims=True)
        elif self._values and self._values[0].shape[2] != counts.shape[2]:
            raise ValueError(
                "For 'ConfusionMatrixMetric.update', all batches must have as many channels, but "
                f"got {counts.shape[2]} after {self._values[0].shape[2]}."
            )
        self._add(counts, label.size, keep=self.calculation_method)

    def eval(self) -> Float64Array | float:
        """Return the rate or the rates; RuntimeError if there were no samples.

        Without `calculation_method` the one rate is an array of shape (1,), as in MindSpore.
        """
        counts = _ConfusionCounts(*np.concatenate(self._accumulated(), axis=1))
        with np.errstate(invalid="ignore"):
            rates = self._rate(counts)
        if not self.calculation_method:
            return rates.ravel()
        operation, _, axis = self.decrease.partition("_")
        if operation == "none":
            return rates
        if axis:
            return _reduce_defined(rates, 0 if axis == "batch" else 1, operation)
        # Over channels first, so that every sample has the same weight.
        return float(_reduce_defined(_reduce_defined(rates, 1, operation), 0, operation))


def _count_outcomes(predicted: BoolArray, label: BoolArray) -> Float64Array:
    outcomes = (predicted & label, predicted & ~label, ~predicted & ~label, ~predicted & label)
    axes = tuple(range(2, label.ndim))
    return np.stack([outcome.sum(axis=axes) for outcome in outcomes], dtype=np.float64)


def _reduce_defined(rates: Float64Array, axis: int, operation: str) -> Float64Array:
    """Return the sums or means over `axis` of the rates that are not NaN."""
    sums: Float64Array = np.nansum(rates, axis=axis)
    with np.errstate(invalid="ignore"):
        return sums if operation == "sum" else sums / np.count_nonzero(~np.isnan(rates), axis=axis)
