"""All layers and losses compute what PyTorch's compute: values, and slopes by all there is."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn
from minispore.train import metrics

from .torch_layers import PAIRS, Pair, Theirs, torch
from .torch_optimizers import OPTIMIZERS, RATES

# What has a partner in a file of its own.
ELSEWHERE: Mapping[str, str] = {
    "AvgPool2d": "test_torch_conv.py",
    "BatchNorm1d": "test_torch_normalization.py",
    "BatchNorm2d": "test_torch_normalization.py",
    "Conv2d": "test_torch_conv.py",
    "Embedding": "test_torch_normalization.py",
    "LayerNorm": "test_torch_normalization.py",
    "MaxPool2d": "test_torch_conv.py",
}
# Why the others have no partner there.
REASONS: Mapping[str, str] = {
    "Cell": "the base of cells",
    "CellList": "computes nothing",
    "DistributedGradReducer": "several processes compare it with one: tests/parallel",
    "InverseDecayLR": "PyTorch has none; MindSpore's rates are in oracle.txt",
    "LearningRateSchedule": "the base of schedules",
    "LossBase": "the base of losses",
    "Optimizer": "the base of optimisers",
    "TrainOneStepCell": "PyTorch's loops are written by hand; see test_wrap.py",
    "WithEvalCell": "calls other cells; see test_wrap.py",
    "WithLossCell": "calls other cells; see test_wrap.py",
    "get_activation": "gives a layer by its name",
}


def test_each_name_has_a_partner_in_pytorch_or_a_reason() -> None:
    """Whoever adds a layer, a loss or an optimiser adds a line to a table here."""
    tables: list[Mapping[str, object]] = [PAIRS, OPTIMIZERS, RATES, ELSEWHERE, REASONS]
    listed = [name for table in tables for name in table]
    # Lists of rates are the cells' rates; metrics have scikit-learn for a partner.
    others = {name for name in nn.__all__ if name.endswith("_lr")} | set(metrics.__all__)
    assert len(listed) == len(set(listed))
    assert set(nn.__all__) - others <= set(listed)


@pytest.mark.parametrize(("name", "file"), ELSEWHERE.items())
def test_a_file_of_its_own_compares_it_with_pytorch(name: str, file: str) -> None:
    text = Path(__file__).with_name(file).read_text("utf-8")
    assert f"nn.{name}(" in text
    assert "torch" in text


def test_each_of_them_is_among_the_expressions_that_mindspore_was_asked() -> None:
    asked = Path(__file__).with_name("oracle.txt").read_text("utf-8")
    names = {*PAIRS, *OPTIMIZERS, *RATES, "get_activation", "InverseDecayLR"}
    names |= {name for name in nn.__all__ if name.endswith("_lr")}
    assert {name for name in names if f"nn.{name}(" not in asked} == set()


def assert_close(found: Tensor, expected: Theirs) -> None:
    theirs = expected.detach().numpy()
    assert found.shape == theirs.shape
    scale = 1 + np.abs(theirs).max(initial=0.0)
    values = np.asarray(found.asnumpy(), np.float64)
    np.testing.assert_allclose(values, theirs, rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_values_and_all_slopes_are_those_of_pytorch(name: str, data: st.DataObject) -> None:
    pair: Pair = data.draw(PAIRS[name])
    given_ = [Tensor(x) for x in pair.inputs]
    theirs = [torch.tensor(x, requires_grad=i < pair.by) for i, x in enumerate(pair.inputs)]
    expected = pair.theirs(*theirs)
    assert_close(pair.ours(*given_), expected)

    start = np.asarray(np.random.default_rng(0).normal(size=tuple(expected.shape)))
    expected.backward(torch.tensor(start))
    weights = pair.ours.trainable_params()

    def weighed(*xs: Tensor) -> Tensor:
        return (pair.ours(*xs) * Tensor(start)).sum()

    for i in range(pair.by):
        assert_close(ms.grad(weighed, i)(*given_), theirs[i].grad)
    if weights:
        slopes = ms.grad(weighed, None, weights)(*given_)
        for slope, parameter in zip(slopes, pair.theirs.parameters(), strict=True):  # type: ignore[attr-defined]
            assert_close(slope, parameter.grad)
