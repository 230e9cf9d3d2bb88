"""Loss functions: cells that compute a loss from a network's outputs and the labels."""

from types import NoneType
from typing import cast

from minispore import ops
from minispore.engine.dispatch import as_float, check_tensor, in_float32
from minispore.nn.loss._base import LossBase
from minispore.nn.loss.cross_entropy import (
    CrossEntropyLoss,
    NLLLoss,
    SoftmaxCrossEntropyWithLogits,
)
from minispore.ops.class_losses import (
    Reduction,
)
from minispore.ops.losses import (
    DIVERGENCE_REDUCTIONS,
    DivergenceReduction,
    binary_cross_entropy_as,
    float_difference,
    kl_div_as,
    warn_of_broadcasting,
)
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_number, check_one_of, check_positive, check_type

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "HingeEmbeddingLoss",
    "HuberLoss", "KLDivLoss", "L1Loss", "LossBase", "MAELoss", "MSELoss", "MarginRankingLoss",
    "NLLLoss", "RMSELoss", "SmoothL1Loss", "SoftMarginLoss", "SoftmaxCrossEntropyWithLogits",
]  # fmt: skip


# The name in MindSpore 1.x.
_Loss = LossBase


class MSELoss(LossBase):
    """The squared difference of outputs and labels, reduced.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
        2.0

    Source: MindSpore's `mindspore.nn.MSELoss`.
    """

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        return self.get_loss(ops.square(self._difference(logits, labels)))


class L1Loss(LossBase):
    """The absolute difference of outputs and labels, reduced.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.L1Loss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
        1.0

    Source: MindSpore's `mindspore.nn.L1Loss`.
    """

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        return self.get_loss(ops.abs(self._difference(logits, labels)))


class SmoothL1Loss(LossBase):
    """The absolute difference d of outputs and labels, but d² / (2 beta) + beta / 2 below beta.

    The result is smaller by beta / 2, so that it is 0 where outputs equal labels.

    Args:
        beta: The difference from which on the loss is linear, a number above 0.
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `beta` is not a number.
        ValueError: `beta` is not above 0, or `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.SmoothL1Loss()(Tensor([1.0, 2.0]), Tensor([2.0, 4.0])).tolist()
        [0.5, 1.5]

    Source: MindSpore's `mindspore.nn.SmoothL1Loss`.
    """

    def __init__(self, beta: float = 1.0, reduction: Reduction = "none") -> None:
        super().__init__(reduction)
        self.beta: float = check_positive(beta, "beta")

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        d = ops.abs(self._difference(logits, labels))
        losses = ops.where(d < self.beta, ops.square(d) * (0.5 / self.beta), d - 0.5 * self.beta)
        return self.get_loss(losses)


class HuberLoss(LossBase):
    """Half the squared difference d of outputs and labels, but delta · (d − delta / 2) above delta.

    Args:
        reduction: "mean", "sum" or "none".
        delta: The difference from which on the loss is linear, a number above 0.

    Raises:
        TypeError: `delta` is not a number.
        ValueError: `delta` is not above 0, or `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.HuberLoss("none", delta=2.0)(Tensor([1.0, 1.0]), Tensor([2.0, 4.0])).tolist()
        [0.5, 4.0]

    Source: MindSpore's `mindspore.nn.HuberLoss`.
    """

    def __init__(self, reduction: Reduction = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta: float = check_positive(delta, "delta")

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        d = ops.abs(self._difference(logits, labels))
        linear = self.delta * (d - 0.5 * self.delta)
        return self.get_loss(ops.where(d <= self.delta, 0.5 * ops.square(d), linear))


class RMSELoss(LossBase):
    """The square root of the mean squared difference of outputs and labels.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.RMSELoss()(Tensor([1.0, 2.0]), Tensor([4.0, 5.0])).item()
        3.0

    Source: MindSpore's `mindspore.nn.RMSELoss`.
    """

    def __init__(self) -> None:
        super().__init__()

    @in_float32
    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        return ops.sqrt(self.get_loss(ops.square(self._difference(logits, label))))


class MAELoss(LossBase):
    """The absolute difference of outputs and labels, reduced: `L1Loss` by another name.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.MAELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
        1.0

    Source: MindSpore's `mindspore.nn.MAELoss`.
    """

    @in_float32
    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's."""
        return self.get_loss(ops.abs(self._difference(logits, label)))


class KLDivLoss(LossBase):
    """The Kullback–Leibler divergence y · (log y − x) of probabilities y and logarithms x, reduced.

    Args:
        reduction: "mean" over all elements, "batchmean" for the sum divided by the length of the
            first axis, "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.KLDivLoss("sum")(Tensor([-1.0, -2.0]), Tensor([1.0, 0.0])).item()
        1.0

    Source: MindSpore's `mindspore.nn.KLDivLoss`.
    """

    def __init__(self, reduction: DivergenceReduction = "mean") -> None:
        check_one_of(reduction, DIVERGENCE_REDUCTIONS, "reduction")
        super().__init__()
        self._divergence: DivergenceReduction = reduction
        # Users read the attribute, whose type in the base class lacks "batchmean".
        self.reduction: Reduction = cast("Reduction", reduction)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits: Logarithms of probabilities.
            labels: Probabilities, of the same shape; those that are not above 0 do not count.

        Raises:
            TypeError: An argument is not a Tensor.
            ValueError: The shapes differ.
        """
        return kl_div_as(logits, labels, self._divergence)


class HingeEmbeddingLoss(LossBase):
    """The output x where the label is 1, max(0, margin − x) where it is −1, reduced.

    Args:
        margin: The output from which on the loss of label −1 is 0.
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `margin` is not a number.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.HingeEmbeddingLoss(2.0, "none")(Tensor([0.5, 0.5]), Tensor([1.0, -1.0])).tolist()
        [0.5, 1.5]

    Source: MindSpore's `mindspore.nn.HingeEmbeddingLoss`.
    """

    def __init__(self, margin: float = 1.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.margin: float = check_number(margin, "margin")

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss; elements with the label 0 do not count."""
        self._check(logits, labels)
        near = ops.where(labels > 0, logits, 0.0)
        return self.get_loss(near + ops.where(labels < 0, ops.relu(self.margin - logits), 0.0))


class CosineEmbeddingLoss(LossBase):
    """1 − c where the target is 1, max(0, c − margin) where it is −1, reduced.

    c is the cosine of the angle between two vectors.

    Args:
        margin: The cosine from which on the loss of target −1 is above 0, a float in [-1, 1].
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `margin` is not a float.
        ValueError: `margin` is out of range, or `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> x, y = Tensor([[1.0, 0.0], [1.0, 0.0]]), Tensor([[0.0, 2.0], [2.0, 0.0]])
        >>> nn.CosineEmbeddingLoss(reduction="none")(x, y, Tensor([1, -1])).tolist()
        [1.0, 1.0]

    Source: MindSpore's `mindspore.nn.CosineEmbeddingLoss`.
    """

    def __init__(self, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        check_type(margin, float, "margin")
        self.margin: float = check_number(margin, "margin", low=-1.0, high=1.0)

    @in_float32
    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits_x1: Vectors along the axis 1.
            logits_x2: Others, of the same shape.
            labels: 1 or −1 for each pair: a tensor of the shape without the axis 1.

        Raises:
            TypeError: An argument is not a Tensor.
            ValueError: The shapes do not fit.
        """
        self._check(logits_x1, labels)
        check_tensor(logits_x2, "logits_x2")
        shape = logits_x1.shape
        if len(shape) < 2 or logits_x2.shape != shape or labels.shape != shape[:1] + shape[2:]:
            raise ValueError(
                f"For '{self.cls_name}', 'logits_x1' and 'logits_x2' must be of one shape "
                "(N, C, …) and 'labels' of shape (N, …), but got "
                f"{shape}, {logits_x2.shape} and {labels.shape}."
            )
        logits_x1, logits_x2 = as_float(logits_x1), as_float(logits_x2)
        squares = ops.sum(logits_x1 * logits_x1, 1) * ops.sum(logits_x2 * logits_x2, 1)
        cosine = ops.sum(logits_x1 * logits_x2, 1) / ops.sqrt(squares)
        near = ops.where(labels == 1, 1.0 - cosine, 0.0)
        far = ops.where(labels == -1, ops.relu(cosine - self.margin), 0.0)
        return self.get_loss(near + far)


class MarginRankingLoss(LossBase):
    """max(0, −y · (a − b) + margin) for outputs a and b and targets y of 1 and −1, reduced.

    Args:
        margin: The difference in the right order from which on the loss is 0.
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `margin` is not a number.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> loss = nn.MarginRankingLoss(1.0, "none")
        >>> loss(Tensor([2.0, 2.0]), Tensor([0.0, 0.0]), Tensor([1.0, -1.0])).tolist()
        [0.0, 3.0]

    Source: MindSpore's `mindspore.nn.MarginRankingLoss`.
    """

    def __init__(self, margin: float = 0.0, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.margin: float = check_number(margin, "margin")

    @in_float32
    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """Return the loss; shapes are broadcast, with a warning unless one is a scalar's.

        Args:
            input1: The outputs a.
            input2: The outputs b.
            target: 1 where a should be larger, −1 where b should be.

        Raises:
            TypeError: An argument is not a Tensor.
            ValueError: The shapes do not broadcast.
        """
        names = ("input1", "input2", "target")
        for name, x in zip(names, (input1, input2, target), strict=True):
            check_tensor(x, name)
        difference = float_difference(input1, input2)
        losses = ops.relu(self.margin - target * difference)
        warn_of_broadcasting(difference, target)
        return self.get_loss(losses)


class SoftMarginLoss(LossBase):
    """The logarithm of 1 + exp(−y · x) for outputs x and labels y of 1 and −1, reduced.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> round(nn.SoftMarginLoss()(Tensor([0.0]), Tensor([1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.nn.SoftMarginLoss`.
    """

    @in_float32
    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss, with the shape of `logits` unless it is reduced."""
        self._check(logits, labels)
        return self.get_loss(ops.neg(ops.logsigmoid(as_float(logits) * labels)))


class BCELoss(LossBase):
    """Binary cross entropy of probabilities: −(y log x + (1 − y) log (1 − x)).

    The arguments of the logarithms are increased by 1e-12, so the loss of an element is at most
    27.6 instead of infinity.

    Args:
        weight: A factor for each element; its shape must broadcast with the input's.
        reduction: "mean", "sum" or "none".

    Raises:
        TypeError: `weight` is not a Tensor.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> round(nn.BCELoss()(Tensor([0.5]), Tensor([1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.nn.BCELoss`.
    """

    def __init__(self, weight: Tensor | None = None, reduction: Reduction = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None = check_type(weight, (Tensor, NoneType), "weight")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the loss.

        Args:
            logits: Probabilities, not logits: the name is MindSpore's.
            labels: The targets in [0, 1], of the same shape.

        Raises:
            TypeError: An argument is not a Tensor.
            ValueError: The shapes differ.
            RuntimeError: A probability is not in [0, 1]. On a GPU the loss is NaN instead.
        """
        return binary_cross_entropy_as(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """`BCELoss` of the sigmoid of the input, computed without loss of precision.

    Args:
        reduction: "mean", "sum" or "none".
        weight: A factor for each element; its shape must broadcast with the input's.
        pos_weight: A factor for the term of the positive label; its shape must broadcast too.

    Raises:
        TypeError: A weight is not a Tensor.
        ValueError: `reduction` is none of these.

    Examples:
        >>> from minispore import Tensor, nn
        >>> loss = nn.BCEWithLogitsLoss(reduction="sum")
        >>> round(loss(Tensor([0.0, 100.0]), Tensor([1.0, 1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.nn.BCEWithLogitsLoss`.
    """

    def __init__(
        self,
        reduction: Reduction = "mean",
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.weight: Tensor | None = check_type(weight, (Tensor, NoneType), "weight")
        self.pos_weight: Tensor | None = check_type(pos_weight, (Tensor, NoneType), "pos_weight")

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        """Return the loss.

        Args:
            input: The logits.
            target: The targets in [0, 1], of the same shape.

        Raises:
            TypeError: An argument is not a Tensor.
            ValueError: The shapes differ.
        """
        check_tensor(input)
        check_tensor(target, "target")
        return ops.binary_cross_entropy_with_logits(
            input, target, self.weight, self.pos_weight, self.reduction
        )
