"""Recall: of what is positive, the share that was predicted so."""

from minispore._metrics._positives import Counts, Positives, Ratios, share


class Recall(Positives):
    """True positives / actual positives; 0 where nothing is positive.

    Args:
        eval_type: as for `Precision`.

    Raises:
        TypeError: for another `eval_type`.

    Source: mindspore.train.Recall.

    Examples:
        >>> recall = Recall()
        >>> recall.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> recall.eval()
        array([1. , 0.5])
    """

    def _ratio(self, hits: Counts, predicted: Counts, actual: Counts) -> Ratios:
        return share(hits, actual)
