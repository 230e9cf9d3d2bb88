"""What can be said of true and false positives and negatives, by its many names."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Rate = Callable[[Values, Values, Values, Values], Values]


def _tpr(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    return tp / (tp + fn)


def _tnr(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    return tn / (tn + fp)


def _ppv(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    return tp / (tp + fp)


def _npv(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    return tn / (tn + fn)


def _threshold(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    hits, alarms = _tpr(tp, fp, tn, fn), 1 - _tnr(tp, fp, tn, fn)
    return (np.sqrt(hits * alarms) - alarms) / (hits - alarms)


def _matthews(tp: Values, fp: Values, tn: Values, fn: Values) -> Values:
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


# True and false positives, true and false negatives; after the first its other names.
_RATES: dict[tuple[str, ...], Rate] = {
    ("sensitivity", "recall", "hit_rate", "true_positive_rate", "tpr"): _tpr,
    ("specificity", "selectivity", "true_negative_rate", "tnr"): _tnr,
    ("precision", "positive_predictive_value", "ppv"): _ppv,
    ("negative_predictive_value", "npv"): _npv,
    ("miss_rate", "false_negative_rate", "fnr"): lambda *counts: 1 - _tpr(*counts),
    ("fall_out", "false_positive_rate", "fpr"): lambda *counts: 1 - _tnr(*counts),
    ("false_discovery_rate", "fdr"): lambda *counts: 1 - _ppv(*counts),
    ("false_omission_rate", "for"): lambda *counts: 1 - _npv(*counts),
    ("prevalence_threshold", "pt"): _threshold,
    ("threat_score", "critical_success_index", "ts", "csi"): lambda tp, fp, tn, fn: (
        tp / (tp + fp + fn)
    ),
    ("accuracy", "acc"): lambda tp, fp, tn, fn: (tp + tn) / (tp + fp + tn + fn),
    ("balanced_accuracy", "ba"): lambda *counts: (_tpr(*counts) + _tnr(*counts)) / 2,
    ("f1_score", "f1"): lambda tp, fp, tn, fn: 2 * tp / (2 * tp + fp + fn),
    ("matthews_correlation_coefficient", "mcc"): _matthews,
    ("fowlkes_mallows_index", "fm"): lambda *counts: np.sqrt(_ppv(*counts) * _tpr(*counts)),
    ("informedness", "bookmaker_informedness", "bm"): lambda *counts: (
        _tpr(*counts) + _tnr(*counts) - 1
    ),
    ("markedness", "deltap", "mk"): lambda *counts: _ppv(*counts) + _npv(*counts) - 1,
}
_BY_NAME = {name: rate for names, rate in _RATES.items() for name in names}


def rate_of(name: str) -> Rate:
    """Return the function of that name; capitals and spaces for underscores do not matter.

    Raises:
        NotImplementedError: if there is none.
    """
    rate = _BY_NAME.get(name.lower().replace(" ", "_"))
    if rate is None:
        known = ", ".join(names[0] for names in _RATES)
        raise NotImplementedError(
            f"For 'ConfusionMatrixMetric', there is no 'metric_name' {name!r}; there are {known}."
        )
    return rate
