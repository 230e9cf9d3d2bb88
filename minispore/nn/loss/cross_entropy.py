"""Losses of classes: the cross entropy, and the negative log-likelihood."""

from types import NoneType

from minispore import ops
from minispore.engine.dispatch import in_float32
from minispore.engine.dtypes import FLOAT
from minispore.nn.loss._base import LossBase
from minispore.ops.class_losses import (
    ClassificationLossOptions,
    Reduction,
    check_settings,
    from_logits,
)
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_int, check_type

__all__ = ["CrossEntropyLoss", "NLLLoss", "SoftmaxCrossEntropyWithLogits"]


class CrossEntropyLoss(LossBase):
    """Cross entropy: −log of the softmax probability of the true class.

    Args:
        weight: The weight of each class, of shape (classes,).
        ignore_index: A label whose rows are ignored.
        reduction: "mean", "sum" or "none". For class indices, the mean is weighted by `weight`; for
            probabilities, it is the mean over rows.
        label_smoothing: A fraction in [0, 1] of the labels' probability that is distributed over
            all classes.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `reduction` is none of these, or `label_smoothing` is out of range.

    Examples:
        >>> from minispore import Tensor, int32, nn
        >>> loss = nn.CrossEntropyLoss()
        >>> round(loss(Tensor([[0.0, 0.0], [0.0, 100.0]]), Tensor([0, 1], int32)).item(), 4)
        0.3466

    Source: MindSpore's `mindspore.nn.CrossEntropyLoss`.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.weight = weight
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        check_settings(self._settings())

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits: A tensor of shape (C,), (N, C) or (N, C, d₁, …) for C classes.
            labels: Class indices, integers of the shape without C; or probabilities, of the shape
                of `logits`.

        Raises:
            TypeError: An argument is not a Tensor, or its dtype does not match its shape.
            ValueError: The shapes do not match, or a label is not a class index. On a GPU the loss
                of such a label is NaN instead, since a check would synchronize with the device.
        """
        return from_logits(logits, labels, self._settings())

    def _settings(self) -> ClassificationLossOptions:
        return ClassificationLossOptions(
            ("logits", "labels"),
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
        )


class NLLLoss(LossBase):
    """The negative logarithm of the probability of the true class, given the logarithms.

    Args:
        weight: The weight of each class, of shape (classes,).
        ignore_index: A label whose rows are ignored.
        reduction: "mean", "sum" or "none"; the mean is weighted by `weight`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, int32, nn
        >>> nn.NLLLoss()(Tensor([[-0.5, -1.0]]), Tensor([1], int32)).item()
        1.0

    Source: MindSpore's `mindspore.nn.NLLLoss`.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__(reduction)
        self.weight: Tensor | None = check_type(weight, (Tensor, NoneType), "weight")
        self.ignore_index: int = check_int(ignore_index, "ignore_index")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits: Logarithms of probabilities, of shape (C,), (N, C) or (N, C, d₁, …).
            labels: Class indices, integers of the shape without C.

        Raises:
            TypeError: An argument is not a Tensor, or the labels are not integers.
            ValueError: The shapes do not match, or a label is not a class index.
        """
        self._check(logits, labels)
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of rows of logits: −log of the softmax probability of the true class.

    Args:
        sparse: Whether labels are class indices instead of probabilities.
        reduction: "none", "mean" or "sum".

    Raises:
        TypeError: `sparse` is not a bool.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        >>> round(loss(Tensor([[0.0, 0.0]]), Tensor([1])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.nn.SoftmaxCrossEntropyWithLogits`.
    """

    def __init__(self, sparse: bool = False, reduction: Reduction = "none") -> None:
        super().__init__(reduction)
        self.sparse: bool = check_type(sparse, bool, "sparse")

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits: A tensor of shape (N, C).
            labels: Integers of shape (N,) if `sparse`, else floats of shape (N, C).

        Raises:
            TypeError: An argument is not a Tensor, or the labels are of the wrong dtype.
            ValueError: The shapes do not match, or a label is not a class index. On a GPU the loss
                of such a label is NaN instead, since a check would synchronize with the device.
        """
        self._check(logits, labels)
        expected = logits.shape[:1] if self.sparse else logits.shape
        if logits.ndim != 2 or labels.shape != expected:
            raise ValueError(
                "For 'SoftmaxCrossEntropyWithLogits', 'logits' must be of shape (N, C) and "
                f"'labels' of shape {'(N,)' if self.sparse else '(N, C)'}, "
                f"but got {logits.shape} and {labels.shape}."
            )
        if (labels.dtype.category == FLOAT) == self.sparse:
            raise TypeError(
                "For 'SoftmaxCrossEntropyWithLogits', 'labels' must be "
                f"{'integers' if self.sparse else 'floats'}, but got {labels.dtype!r}."
            )
        if self.sparse:
            names = ("logits", "labels")
            options = ClassificationLossOptions(names, None, None, self.reduction, 0.0)
            return from_logits(logits, labels, options)
        return self.get_loss(ops.softmax_cross_entropy(logits, labels))
