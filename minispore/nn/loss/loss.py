"""Losses: cells from a network's outputs and the labels to how wrong they are."""

from minispore import ops
from minispore._array import is_host
from minispore._checks import check_one_of, check_type
from minispore._dtype import FLOAT
from minispore._functional.class_losses import (
    Settings,
    are_classes,
    check_settings,
    from_logits,
    marked,
)
from minispore._functional.losses import REDUCTIONS, Reduction, warn_of_broadcasting
from minispore._functional.variable import check_tensor
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell


class LossBase(Cell):
    """The base of losses: the way from a loss for each element or row to one number.

    Args:
        reduction: "mean", "sum", or "none" to leave them as they are.

    Raises:
        ValueError: `reduction` is none of these.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        super().__init__()
        check_one_of(reduction, REDUCTIONS, "reduction", self.cls_name)
        self.reduction: Reduction = reduction

    def get_loss(self, x: Tensor, weights: Tensor | float = 1.0) -> Tensor:
        """`x * weights`, reduced."""
        if isinstance(weights, Tensor) or weights != 1:
            x = x * weights
        if self.reduction == "mean":
            return x.mean()
        return x.sum() if self.reduction == "sum" else x

    def _check(self, outputs: object, labels: object) -> None:
        if not isinstance(outputs, Tensor) or not isinstance(labels, Tensor):
            check_tensor(outputs, self.cls_name, "logits")
            check_tensor(labels, self.cls_name, "labels")

    def _difference(self, outputs: Tensor, labels: Tensor) -> Tensor:
        self._check(outputs, labels)
        difference = outputs - labels
        warn_of_broadcasting(outputs, labels, self.cls_name)
        return difference


class MSELoss(LossBase):
    """The square of the difference.

    >>> from minispore import Tensor, nn
    >>> nn.MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
    Tensor(shape=[], dtype=Float32, value= 2)

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss; shapes broadcast, with a warning unless one is that of a number."""
        return self.get_loss(ops.square(self._difference(logits, labels)))


class L1Loss(LossBase):
    """The absolute difference.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss; shapes broadcast, with a warning unless one is that of a number."""
        return self.get_loss(ops.abs(self._difference(logits, labels)))


class CrossEntropyLoss(LossBase):
    """−log of the probability that softmax gives to the right class.

    >>> from minispore import Tensor, int32, nn
    >>> loss = nn.CrossEntropyLoss()
    >>> loss(Tensor([[0.0, 0.0], [0.0, 100.0]]), Tensor([0, 1], int32))
    Tensor(shape=[], dtype=Float32, value= 0.346574)

    Source: MindSpore's `mindspore.nn.CrossEntropyLoss`.

    Args:
        weight: The importance of each class, of shape (classes,).
        ignore_index: A label that does not count.
        reduction: "mean", "sum" or "none". The mean of labels is weighted by `weight`; that of
            probabilities is over the rows.
        label_smoothing: The share of probability, in [0, 1], taken from the labels and spread
            over all classes.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `reduction` is none of these, or `label_smoothing` out of range.
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
        """The loss.

        Args:
            logits: Of shape (C,), (N, C) or (N, C, d₁, …), C being the number of classes.
            labels: Classes, integers of the shape without C; or probabilities, of the same shape.

        Raises:
            TypeError: An argument is no Tensor, or of a type that does not fit its shape.
            ValueError: The shapes do not fit, or a label is no class. On a GPU the loss is NaN for
                such a label, since looking for it would wait for the device.
        """
        return from_logits(logits, labels, self._settings())

    def _settings(self) -> Settings[Tensor]:
        return Settings(
            "CrossEntropyLoss",
            ("logits", "labels"),
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
        )


class SoftmaxCrossEntropyWithLogits(LossBase):
    """−log of the probability that softmax gives to the right class, for rows of logits.

    >>> from minispore import Tensor, nn
    >>> loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True)
    >>> loss(Tensor([[0.0, 0.0]]), Tensor([1]))
    Tensor(shape=[1], dtype=Float32, value= [ 6.93147182e-01])

    Source: MindSpore's `mindspore.nn.SoftmaxCrossEntropyWithLogits`.

    Args:
        sparse: Whether labels are classes (integers) instead of probabilities.
        reduction: "none", "mean" or "sum".

    Raises:
        TypeError: `sparse` is no bool.
        ValueError: `reduction` is none of these.
    """

    def __init__(self, sparse: bool = False, reduction: Reduction = "none") -> None:
        super().__init__(reduction)
        check_type(sparse, bool, "sparse", "SoftmaxCrossEntropyWithLogits")
        self.sparse = sparse

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss.

        Args:
            logits: Of shape (N, C).
            labels: Of shape (N,) if sparse, else (N, C).

        Raises:
            TypeError: An argument is no Tensor, or the labels are of the wrong type.
            ValueError: The shapes do not fit, or a label is no class. On a GPU the loss is NaN for
                such a label, since looking for it would wait for the device.
        """
        self._check(logits, labels)
        wanted = logits.shape[:1] if self.sparse else logits.shape
        if logits.ndim != 2 or labels.shape != wanted:
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
            classes = logits.shape[1]
            seen = is_host(labels._data)
            if seen and not are_classes(labels, classes):
                raise ValueError(
                    "For 'SoftmaxCrossEntropyWithLogits', 'labels' must be in "
                    f"[0, {classes}), but got {labels}."
                )
            targets = ops.one_hot(labels, classes, 1.0, 0.0)
            labels = targets if seen else marked(targets)
        return self.get_loss(ops.softmax_cross_entropy(logits, labels))


class BCELoss(LossBase):
    """−(y log x + (1 − y) log (1 − x)): binary cross entropy of probabilities.

    The logarithms are of at least 1e-12, so that a wrong certainty costs 27.6 and not infinity.

    Source: MindSpore's `mindspore.nn.BCELoss`.

    Args:
        weight: A factor for each element; its shape must broadcast with the input's.
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `weight` is no Tensor.
        ValueError: `reduction` is none of these.
    """

    def __init__(self, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        check_type(weight, Tensor, "weight", "BCELoss", none=True)
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The loss.

        Args:
            logits: Probabilities (in spite of the name, which is MindSpore's).
            labels: What they should be, in [0, 1], of the same shape.

        Raises:
            TypeError: An argument is no Tensor.
            ValueError: The shapes differ.
            RuntimeError: A probability is not in [0, 1]. On a GPU the loss is NaN then.
        """
        self._check(logits, labels)
        if logits.shape != labels.shape:
            raise ValueError(
                "For 'BCELoss', 'logits' and 'labels' must be of one shape, "
                f"but got {logits.shape} and {labels.shape}."
            )
        # On a device they make the loss NaN: looking at them would wait for it.
        if is_host(logits._data) and ops.any((logits < 0) | (logits > 1)):
            raise RuntimeError("For 'BCELoss', 'logits' must be in [0, 1], but are not all.")
        least = 1e-12
        right = labels * ops.log(logits + least)
        wrong = (1 - labels) * ops.log(1 - logits + least)
        return self.get_loss(-(right + wrong), 1.0 if self.weight is None else self.weight)


class BCEWithLogitsLoss(LossBase):
    """`BCELoss` of the sigmoid of the input, without its loss of precision.

    Source: MindSpore's `mindspore.nn.BCEWithLogitsLoss`.

    >>> from minispore import Tensor, nn
    >>> nn.BCEWithLogitsLoss(reduction="sum")(Tensor([0.0, 100.0]), Tensor([1.0, 1.0]))
    Tensor(shape=[], dtype=Float32, value= 0.693147)

    Args:
        reduction: "mean", "sum" or "none".
        weight: A factor for each element; its shape must broadcast with the input's.
        pos_weight: A factor for the part of the loss where the label is 1, to broadcast likewise.

    Raises:
        TypeError: A weight is no Tensor.
        ValueError: `reduction` is none of these.
    """

    def __init__(
        self,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        check_type(weight, Tensor, "weight", "BCEWithLogitsLoss", none=True)
        check_type(pos_weight, Tensor, "pos_weight", "BCEWithLogitsLoss", none=True)
        self.weight = weight
        self.pos_weight = pos_weight

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss.

        Args:
            input: What the sigmoid is taken of.
            target: What that should be, in [0, 1], of the same shape.

        Raises:
            TypeError: An argument is no Tensor.
            ValueError: The shapes differ.
        """
        check_tensor(input, self.cls_name)
        check_tensor(target, self.cls_name, "target")
        return ops.binary_cross_entropy_with_logits(
            input, target, self.weight, self.pos_weight, self.reduction
        )
