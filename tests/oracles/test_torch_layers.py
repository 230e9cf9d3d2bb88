"""Values and gradients of all layers and losses match PyTorch's."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn
from minispore.train import metrics
from tests.oracles.names import recorded
from tests.oracles.torch_layers import PAIRS, Pair, Theirs, torch
from tests.oracles.torch_optimizers import OPTIMIZERS, RATES

# Names that another file compares.
ELSEWHERE: Mapping[str, str] = {
    "AvgPool2d": "test_torch_conv.py",
    "BatchNorm1d": "test_torch_normalization.py",
    "BatchNorm2d": "test_torch_normalization.py",
    "Conv2d": "test_torch_conv.py",
    "Embedding": "test_torch_normalization.py",
    "LayerNorm": "test_torch_normalization.py",
    "MaxPool2d": "test_torch_conv.py",
}
# Why the other names are not compared.
REASONS: Mapping[str, str] = {
    "AdamWeightDecay": "PyTorch's corrects the bias; MindSpore's values are in nn.txt",
    "Cell": "base class",
    "CellDict": "computes nothing",
    "CellList": "computes nothing",
    "DistributedGradReducer": "compared with a single process in tests/distributed",
    "DynamicLossScaleUpdateCell": "MindSpore's loss scales are in nn.txt",
    "FixedLossScaleUpdateCell": "MindSpore's loss scales are in nn.txt",
    "TrainOneStepWithLossScaleCell": "compared with TrainOneStepCell in test_loss_scale.py",
    "InverseDecayLR": "PyTorch has none; MindSpore's values are in nn.txt",
    "LearningRateSchedule": "base class",
    "LossBase": "base class",
    "Optimizer": "base class",
    "TrainOneStepCell": "PyTorch has none; see test_cell_wrapper.py",
    "WithEvalCell": "calls other cells; see test_cell_wrapper.py",
    "WithLossCell": "calls other cells; see test_cell_wrapper.py",
    "get_activation": "returns a layer by its name",
}


def known_elsewhere(name: str) -> bool:
    """Return whether MindSpore or PyTorch has a name, in any case."""
    theirs = {*recorded()["mindspore.nn"], *dir(torch.nn), *dir(torch.optim)}
    return name.lower() in map(str.lower, theirs)


def test_every_name_is_compared_or_excused() -> None:
    """A layer, loss or optimizer of another library needs an entry in one of the tables."""
    tables: list[Mapping[str, object]] = [PAIRS, OPTIMIZERS, RATES, ELSEWHERE, REASONS]
    listed = [name for table in tables for name in table]
    # Lists of learning rates equal those of the schedules; metrics are compared with scikit-learn.
    others = {name for name in dir(nn) if name.endswith("_lr")} | set(dir(metrics))
    assert len(listed) == len(set(listed))
    rest = set(dir(nn)) - others - set(listed)
    assert [name for name in rest if known_elsewhere(name)] == []
    # With nothing to be compared with, it has tests of its own.
    tests = "".join(
        file.read_text("utf-8") for file in (Path(__file__).parents[1] / "nn").rglob("test_*.py")
    )
    assert [name for name in rest if not re.search(rf"\bnn\.{name}\b", tests)] == []


@pytest.mark.parametrize(("name", "file"), ELSEWHERE.items())
def test_other_comparison_files_name_the_layer(name: str, file: str) -> None:
    text = Path(__file__).with_name(file).read_text("utf-8")
    assert f"nn.{name}(" in text
    assert "torch" in text


def test_mindspore_oracle_covers_every_name() -> None:
    recorded = Path(__file__).with_name("nn.txt").read_text("utf-8")
    names = {*PAIRS, *OPTIMIZERS, *RATES, "get_activation", "InverseDecayLR", "AdamWeightDecay"}
    names |= {name for name in dir(nn) if name.endswith("_lr")}
    assert {name for name in names if f"nn.{name}(" not in recorded} == set()


def assert_close(actual: Tensor, expected: Theirs) -> None:
    theirs = expected.detach().numpy()
    assert actual.shape == theirs.shape
    scale = 1 + np.abs(theirs).max(initial=0.0)
    values = np.asarray(actual.asnumpy(), np.float64)
    np.testing.assert_allclose(values, theirs, rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("name", PAIRS)
@given(data=st.data())
def test_values_and_gradients_match_pytorch(name: str, data: st.DataObject) -> None:
    pair: Pair = data.draw(PAIRS[name])
    ours = [Tensor(x) for x in pair.inputs]
    theirs = [torch.tensor(x, requires_grad=i < pair.by) for i, x in enumerate(pair.inputs)]
    expected = pair.theirs(*theirs)
    assert_close(pair.ours(*ours), expected)

    start = np.asarray(np.random.default_rng(0).normal(size=tuple(expected.shape)))
    expected.backward(torch.tensor(start))
    weights = pair.ours.trainable_params()

    def weighted(*xs: Tensor) -> Tensor:
        return (pair.ours(*xs) * Tensor(start)).sum()

    for i in range(pair.by):
        assert_close(ms.grad(weighted, i)(*ours), theirs[i].grad)
    if weights:
        gradients = ms.grad(weighted, None, weights)(*ours)
        for gradient, parameter in zip(gradients, pair.theirs.parameters(), strict=True):  # type: ignore[attr-defined]
            # `Conv1d` has kernels of two dimensions.
            assert_close(gradient.reshape(tuple(parameter.shape)), parameter.grad)
