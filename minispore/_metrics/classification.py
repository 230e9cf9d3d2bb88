"""Metrics of predicted classes: accuracy, top-k accuracy, precision, recall, F-beta and Dice."""

import math
from abc import abstractmethod
from typing import ClassVar, Literal, overload

import numpy as np

from minispore._metrics._validation import (
    as_class_indices,
    check_eval_type,
    check_multilabel,
    class_count,
    match_labels,
    warn_of_nan,
)
from minispore._metrics.metric import AccumulatingMetric, MeanMetric, rearrange_inputs, safe_divide
from minispore.utils.arrays import BoolArray, Float64Array, HostArray, IndexArray, Int64Array
from minispore.utils.checks import caller, check_int, check_number, check_type, value_error

__all__ = [
    "Accuracy",
    "Dice",
    "F1",
    "Fbeta",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]


class Accuracy(MeanMetric):
    """The fraction of correct predictions: (number correct) / (number of samples).

    Args:
        eval_type: "classification": predictions are scores of shape (N, C, …), labels are class
            indices (N, …) or one-hot of the predictions' shape; a sample is correct if its class
            has the highest score. "multilabel": both are 0 or 1 and have the same shape (N, C, …);
            a sample is correct if all its C labels are.

    Raises:
        TypeError: `eval_type` is neither of these.

    Examples:
        >>> accuracy = Accuracy()
        >>> accuracy.update([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], [1, 0, 0])
        >>> round(accuracy.eval(), 4)
        0.6667

    Source: MindSpore's `mindspore.train.Accuracy`.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        check_eval_type(eval_type)
        self._type = eval_type
        super().__init__()

    def clear(self) -> None:
        """Forget all batches."""
        super().clear()
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: The number of inputs is not 2, or their shapes or values do not match.
        """
        predicted, label = self._convert_pair(inputs)
        classes = class_count(predicted, self._class_num)
        if self._type == "classification":
            warn_of_nan(predicted)
            correct = predicted.argmax(axis=1) == match_labels(predicted, label)
        else:
            check_multilabel(predicted, label)
            correct = (predicted == label).all(axis=1)
        self._class_num = classes
        self._add(int(np.count_nonzero(correct)), correct.size)


class TopKCategoricalAccuracy(MeanMetric):
    """The fraction of samples whose class is among the `k` classes with the highest scores.

    Of equal scores, that of the lower class index ranks higher.

    Args:
        k: The number of classes.

    Raises:
        TypeError: `k` is not an int.
        ValueError: `k` is below 1.

    Examples:
        >>> scores = [[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]]
        >>> TopKCategoricalAccuracy(2)(scores, [2, 2])
        0.5

    Source: MindSpore's `mindspore.train.TopKCategoricalAccuracy`.
    """

    def __init__(self, k: int) -> None:
        self.k: int = check_int(k, "k", low=1)
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Scores of shape (N, C, …), and class indices of shape (N, …) or one-hot of the
                scores' shape; each a Tensor, array or list. For scores (N, C), class indices may
                also have shape (N, 1).

        Raises:
            ValueError: The number of inputs is not 2, their shapes do not match, or there are fewer
                than `k` classes.
        """
        scores, label = self._convert_pair(inputs)
        if class_count(scores, 0) < self.k:
            raise ValueError(
                f"For '{caller()}', there must be at least k = {self.k} classes, "
                f"but the predicted value has shape {scores.shape}."
            )
        label = match_labels(scores, label, column=True)
        warn_of_nan(scores)
        # Negated as floats, since unsigned integers have no negatives. NaN ranks last.
        top = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, : self.k]
        self._add(int(np.count_nonzero(top == np.expand_dims(label, 1))), label.size)


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The fraction of samples whose class has the highest score.

    Examples:
        >>> Top1CategoricalAccuracy()([[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]], [1, 2])
        0.5

    Source: MindSpore's `mindspore.train.Top1CategoricalAccuracy`.
    """

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The fraction of samples whose class is among the five with the highest scores.

    Examples:
        >>> Top5CategoricalAccuracy()([[0.1, 0.5, 0.3, 0.2, 0.0, 0.4]], [0])
        1.0

    Source: MindSpore's `mindspore.train.Top5CategoricalAccuracy`.
    """

    def __init__(self) -> None:
        super().__init__(5)


class _PositiveCountMetric(AccumulatingMetric[HostArray]):
    """Base class of metrics of the numbers of true, predicted and actual positives.

    The value of a batch is an array whose rows are these counts. With "classification" they belong
    to classes and are summed over batches. With "multilabel" they belong to samples, so every batch
    appends its own.

    Args:
        eval_type: "classification" or "multilabel".
    """

    # Whether class indices may have shape (N, 1).
    _accepts_column: ClassVar[bool] = False

    def __init__(self, eval_type: str = "classification") -> None:
        check_eval_type(eval_type)
        self._type = eval_type
        super().__init__()

    def clear(self) -> None:
        """Forget all batches."""
        super().clear()
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: The number of inputs is not 2, or their shapes or values do not match.
        """
        predicted, label = self._convert_pair(inputs)
        classes = class_count(predicted, self._class_num)
        if self._type == "classification":
            label = match_labels(predicted, label, column=self._accepts_column)
            indices = as_class_indices(label, classes)
            warn_of_nan(predicted)
            counts = _count_by_class(predicted.argmax(axis=1), indices, classes)
        else:
            check_multilabel(predicted, label)
            counts = _count_by_sample(predicted == 1, label == 1)
        self._class_num = classes
        self._add(counts, predicted.size // classes, keep=self._type == "multilabel")

    @overload
    def eval(self, average: Literal[False] = False) -> Float64Array: ...
    @overload
    def eval(self, average: Literal[True]) -> float: ...
    @overload
    def eval(self, average: bool) -> Float64Array | float: ...
    def eval(self, average: bool = False) -> Float64Array | float:
        """Return the value of each class, or with "multilabel" of each sample, as float64.

        Args:
            average: Whether to return their mean instead.

        Raises:
            TypeError: `average` is not a bool.
            RuntimeError: There were no samples.
        """
        check_type(average, bool, "average")
        ratios = self._ratio(*np.concatenate(self._accumulated(), axis=1))
        return float(ratios.mean()) if average else ratios

    @abstractmethod
    def _ratio(
        self, true_positives: Int64Array, predicted: Int64Array, actual: Int64Array
    ) -> Float64Array:
        """Return the value of each class or sample."""


def _count_by_class(predicted: HostArray, actual: IndexArray, classes: int) -> Int64Array:
    groups = (actual[predicted == actual], predicted, actual)
    return np.stack(
        [np.bincount(group.ravel(), minlength=classes) for group in groups], dtype=np.int64
    )


def _count_by_sample(predicted: BoolArray, actual: BoolArray) -> Int64Array:
    groups = (predicted & actual, predicted, actual)
    return np.stack([group.sum(axis=1).ravel() for group in groups], dtype=np.int64)


class Precision(_PositiveCountMetric):
    """True positives / predicted positives; 0 where there are no predicted positives.

    Args:
        eval_type: "classification": predictions are scores of shape (N, C, …), labels are class
            indices (N, …) or one-hot of the predictions' shape; `eval` returns the precision of
            each class, and their mean is scikit-learn's "macro". "multilabel": both are 0 or 1 and
            have the same shape (N, C, …); `eval` returns the precision of each sample, and their
            mean is scikit-learn's "samples".

    Raises:
        TypeError: `eval_type` is neither of these.

    Examples:
        >>> precision = Precision()
        >>> precision.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> precision.eval()
        array([0.5, 1. ])
        >>> precision.eval(average=True)
        0.75

    Source: MindSpore's `mindspore.train.Precision`.
    """

    def _ratio(
        self, true_positives: Int64Array, predicted: Int64Array, actual: Int64Array
    ) -> Float64Array:
        return safe_divide(true_positives, predicted)


class Recall(_PositiveCountMetric):
    """True positives / actual positives; 0 where there are no actual positives.

    Args:
        eval_type: "classification" or "multilabel", as for `Precision`.

    Raises:
        TypeError: `eval_type` is neither of these.

    Examples:
        >>> recall = Recall()
        >>> recall.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> recall.eval()
        array([1. , 0.5])

    Source: MindSpore's `mindspore.train.Recall`.
    """

    def _ratio(
        self, true_positives: Int64Array, predicted: Int64Array, actual: Int64Array
    ) -> Float64Array:
        return safe_divide(true_positives, actual)


class Fbeta(_PositiveCountMetric):
    """The weighted harmonic mean of precision P and recall R: (1 + β²)·P·R / (β²·P + R).

    Predictions are scores of shape (N, C, …), labels are class indices (N, …), (N, 1) for (N, C),
    or one-hot of the predictions' shape. `eval` returns the value of each class, which is 0 for a
    class without true positives.

    Args:
        beta: The weight of recall relative to precision.

    Raises:
        TypeError: `beta` is not a number.
        ValueError: `beta` is not positive and finite.

    Examples:
        >>> fbeta = Fbeta(2)
        >>> fbeta.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> fbeta.eval().round(4)
        array([0.8333, 0.5556])

    Source: MindSpore's `mindspore.train.Fbeta`.
    """

    _accepts_column: ClassVar[bool] = True

    def __init__(self, beta: float) -> None:
        self._beta = check_number(beta, "beta")
        if not 0 < self._beta < math.inf:
            raise value_error(beta, "beta", "be positive and finite")
        super().__init__()

    def _ratio(
        self, true_positives: Int64Array, predicted: Int64Array, actual: Int64Array
    ) -> Float64Array:
        # The formula with P = true_positives / predicted and R = true_positives / actual, as one
        # division.
        square = self._beta**2
        return safe_divide((1 + square) * true_positives, square * actual + predicted)


class F1(Fbeta):
    """The harmonic mean of precision and recall: `Fbeta` with β = 1.

    Examples:
        >>> f1 = F1()
        >>> f1.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> round(f1.eval(average=True), 4)
        0.6667

    Source: MindSpore's `mindspore.train.F1`.
    """

    def __init__(self) -> None:
        super().__init__(1.0)


class Dice(MeanMetric):
    """The mean of the samples' Dice coefficients 2·Σ p·t / (Σ p² + Σ t² + smooth).

    For binary masks this is twice the size of their intersection over the sum of their sizes: 0 for
    disjoint masks and, up to `smooth`, 1 for equal ones.

    Args:
        smooth: A small number that keeps the quotient of two empty masks defined.

    Raises:
        TypeError: `smooth` is not a float.
        ValueError: `smooth` is not positive.

    Examples:
        >>> dice = Dice()
        >>> dice.update([[0, 1, 1, 0], [1, 0, 0, 0]], [[0, 1, 0, 0], [1, 0, 0, 0]])
        >>> round(dice.eval(), 4)
        0.8333

    Source: MindSpore's `mindspore.train.Dice`.
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        self.smooth: float = check_type(smooth, float, "smooth")
        if not smooth > 0:
            raise value_error(smooth, "smooth", "be positive")
        super().__init__()

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predicted and true masks, each a Tensor, array or list, of one shape (N, …).

        Raises:
            ValueError: The number of inputs is not 2, or their shapes differ.
        """
        predicted, true = self._convert_pair(inputs)
        if predicted.shape != true.shape or true.ndim == 0:
            raise ValueError(
                "For 'Dice.update', predicted value and true value must have a dimension of "
                f"samples and the same shape, but got {predicted.shape} and {true.shape}."
            )
        axes = tuple(range(1, true.ndim))
        p, t = predicted.astype(np.float64), true.astype(np.float64)
        intersection, total = (p * t).sum(axis=axes), (p**2 + t**2).sum(axis=axes)
        self._add(float((2 * intersection / (total + self.smooth)).sum()), len(true))
