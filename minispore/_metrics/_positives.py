"""Positives counted right and wrong: what precision, recall and F have in common."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, overload

import numpy as np
import numpy.typing as npt

from minispore._checks import check_type
from minispore._metrics._classes import (
    check_eval_type,
    check_multilabel,
    class_count,
    class_numbers,
    labels_for,
    warn_of_nan,
)
from minispore._metrics._metric import Metric, rearrange_inputs

Counts = npt.NDArray[np.int64]
Ratios = npt.NDArray[np.float64]


class Positives(Metric):
    """Base of the measures that compare three counts: hits, predicted and actual positives.

    In classification a count belongs to a class and goes through all batches. With several labels
    it belongs to a sample, so every batch appends its own.

    Args:
        eval_type: "classification" or "multilabel".
    """

    # Whether class numbers may be of shape (N, 1).
    _takes_column: ClassVar[bool] = False

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        check_eval_type(eval_type, type(self).__name__)
        self._type = eval_type
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._class_num = 0
        self._samples_num = 0
        # Of batches with several labels, or one for all batches of classes. Rows: hits, predicted
        # positives, actual positives.
        self._counts: list[Counts] = []

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Count one batch.

        Args:
            *inputs: predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: if there are not two, or their shapes or values do not fit each other.
        """
        owner = type(self).__name__
        predicted, label = self._predicted_and_true(inputs)
        classes = class_count(predicted, self._class_num, owner)
        if self._type == "classification":
            label = labels_for(predicted, label, owner, column=self._takes_column)
            numbers = class_numbers(label, classes, owner)
            warn_of_nan(predicted, owner)
            counts = _by_class(predicted.argmax(axis=1), numbers, classes)
            self._counts = [counts + sum(self._counts)]
        else:
            check_multilabel(predicted, label, owner)
            self._counts.append(_by_sample(predicted, label))
        self._class_num = classes
        self._samples_num += predicted.size // classes

    @overload
    def eval(self, average: Literal[False] = False) -> Ratios: ...
    @overload
    def eval(self, average: Literal[True]) -> float: ...
    @overload
    def eval(self, average: bool) -> Ratios | float: ...
    def eval(self, average: bool = False) -> Ratios | float:
        """Return the result, float64, of each class, or of each sample if they have several labels.

        Args:
            average: return the mean of them instead.

        Raises:
            TypeError: if `average` is no bool.
            RuntimeError: if there were no samples.
        """
        check_type(average, bool, "average", type(self).__name__)
        if self._samples_num == 0:
            raise self._no_samples()
        ratios = self._ratio(*np.concatenate(self._counts, axis=1))
        return float(ratios.mean()) if average else ratios

    @abstractmethod
    def _ratio(self, hits: Counts, predicted: Counts, actual: Counts) -> Ratios:
        """Return the result for each group."""


def share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Ratios:
    """Return `part / whole`, and 0 where there is nothing."""
    result = np.zeros(whole.shape)
    np.divide(part, whole, out=result, where=whole != 0)
    return result


def _by_class(predicted: npt.NDArray[Any], actual: npt.NDArray[np.intp], classes: int) -> Counts:
    hits = actual[predicted == actual]
    return np.stack(
        [np.bincount(a.ravel(), minlength=classes) for a in (hits, predicted, actual)],
        dtype=np.int64,
    )


def _by_sample(predicted: npt.NDArray[Any], actual: npt.NDArray[Any]) -> Counts:
    places = ((predicted == 1) & (actual == 1), predicted == 1, actual == 1)
    return np.stack([a.sum(axis=1).ravel() for a in places], dtype=np.int64)
