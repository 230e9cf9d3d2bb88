"""What can be said of true and false positives and negatives, by its many names."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]


class Outcomes(NamedTuple):
    """How many predictions were truly or falsely (t, f) called positive or negative (p, n)."""

    tp: Values
    fp: Values
    tn: Values
    fn: Values

    @property
    def tpr(self) -> Values:
        """True positives of what is positive."""
        return self.tp / (self.tp + self.fn)

    @property
    def tnr(self) -> Values:
        """True negatives of what is negative."""
        return self.tn / (self.tn + self.fp)

    @property
    def ppv(self) -> Values:
        """True positives of what was called positive."""
        return self.tp / (self.tp + self.fp)

    @property
    def npv(self) -> Values:
        """True negatives of what was called negative."""
        return self.tn / (self.tn + self.fn)


Rate = Callable[[Outcomes], Values]


def _prevalence_threshold(n: Outcomes) -> Values:
    fpr = 1 - n.tnr
    return (np.sqrt(n.tpr * fpr) - fpr) / (n.tpr - fpr)


def _matthews(n: Outcomes) -> Values:
    sizes = (n.tp + n.fp) * (n.tp + n.fn) * (n.tn + n.fp) * (n.tn + n.fn)
    return (n.tp * n.tn - n.fp * n.fn) / np.sqrt(sizes)


# By their names, of which the first is the full one.
_RATES: dict[tuple[str, ...], Rate] = {
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
