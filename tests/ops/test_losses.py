"""The cross entropy of class labels: the recorded graph, and classes of weight 0."""

import numpy as np
import pytest

from minispore import Tensor, nn, ops, value_and_grad
from minispore.engine.rules.losses import cross_entropy

LOGITS = Tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])
LABELS = Tensor([1, 2])


@pytest.mark.parametrize(
    "loss",
    [nn.CrossEntropyLoss(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")],
    ids=["CrossEntropyLoss", "SoftmaxCrossEntropyWithLogits"],
)
def test_cross_entropy_of_labels_records_one_node(loss: nn.LossBase) -> None:
    rules: list[object] = []

    def f(logits: Tensor) -> Tensor:
        value = loss(logits, LABELS)
        assert value._node is not None
        rules.append(value._node.rule)
        rules.extend(parent and parent.rule for parent in value._node.parents)
        return value

    value_and_grad(f)(LOGITS)
    assert rules == [cross_entropy, None]


def test_label_smoothing_counts_rows_of_a_class_with_weight_zero() -> None:
    weight = np.array([0.5, 2.0, 0.0])
    losses = ops.cross_entropy(
        LOGITS, LABELS, Tensor(weight), reduction="none", label_smoothing=0.3
    )
    x = LOGITS.asnumpy().astype(np.float64)
    costs = np.log(np.exp(x).sum(-1, keepdims=True)) - x
    smooth = 0.1 * (costs * weight).sum(-1)
    expected = smooth + 0.7 * weight[[1, 2]] * costs[[0, 1], [1, 2]]
    assert losses.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_weight_of_zero_has_a_gradient() -> None:
    def f(weight: Tensor) -> Tensor:
        return ops.nll_loss(LOGITS, LABELS, weight, reduction="sum")

    _, gradient = value_and_grad(f)(Tensor([0.5, 2.0, 0.0]))
    assert gradient.tolist() == [0.0, -2.0, -3.0]
