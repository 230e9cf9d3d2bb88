"""Precision: of what was predicted positive, the share that is."""

from minispore._metrics._positives import Counts, Positives, Ratios, share


class Precision(Positives):
    """True positives / predicted positives; 0 where nothing was predicted positive.

    Args:
        eval_type: "classification": predictions are scores of shape (N, C, …), labels class
            numbers (N, …), or one-hot of the predictions' shape; `eval` returns the precision of
            each class, and their mean is scikit-learn's "macro". "multilabel": both are 0 or 1, of
            one shape (N, C, …); `eval` returns the precision of each sample, and their mean is
            scikit-learn's "samples".

    Raises:
        TypeError: for another `eval_type`.

    Source: mindspore.train.Precision.

    Examples:
        >>> precision = Precision()
        >>> precision.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> precision.eval()
        array([0.5, 1. ])
        >>> precision.eval(average=True)
        0.75
    """

    def _ratio(self, hits: Counts, predicted: Counts, actual: Counts) -> Ratios:
        return share(hits, predicted)
