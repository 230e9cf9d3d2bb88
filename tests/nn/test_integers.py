"""Layers and losses of integers and bools give what they give of float64, or refuse them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, nn
from tests.helpers.float16 import flattened
from tests.helpers.optimizer_cases import each_optimizer, optimizers
from tests.nn.test_invalid_inputs import LAYERS, LOSSES

KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LAYERS_WITHOUT_BOOLS = {"MaxPool1d", "MaxPool2d", "Upsample"}
LAYERS_WITHOUT_INTEGERS = {"Upsample"}
# Layers that draw random numbers, or whose inputs are integers.
OTHERS = {"Dropout", "Dropout2d", "Embedding"}
# A padding value of bools is whether it is not 0.
PADDED = {"ConstantPad1d", "ConstantPad2d"}
LOSSES_OF_TWO = {
    **{name: loss for name, loss in LOSSES.items() if name != "CrossEntropyLoss"},
    "MarginRankingLoss": nn.MarginRankingLoss(0.5),
    "CosineEmbeddingLoss": nn.CosineEmbeddingLoss(0.5),
}
OF_PROBABILITIES = {"BCELoss", "BCEWithLogitsLoss", "KLDivLoss"}
OF_LABELS = {"NLLLoss", "SoftmaxCrossEntropyWithLogits"}
WITH_TARGETS = {"CosineEmbeddingLoss", "MarginRankingLoss"}
LOSSES_WITHOUT_BOOLS = {
    *("HuberLoss", "L1Loss", "MAELoss", "MSELoss", "MarginRankingLoss", "RMSELoss"),
    *("SmoothL1Loss",),
}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> NDArray[np.generic]:
    """Return numbers that differ by more than a small unsigned type holds, and 0 and 1."""
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(kind)
    large = rng.integers(max(limits.min, -900), min(limits.max, 900), shape, endpoint=True)
    return np.where(rng.random(shape) < 0.5, large, rng.integers(0, 2, shape)).astype(kind)


def agree(actual: Tensor, expected: Tensor) -> bool:
    ours, theirs = (np.asarray(x.asnumpy(), np.float64) for x in (actual, expected))
    if actual.asnumpy().dtype.kind in "iu":
        theirs = np.trunc(theirs)
    scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1.0)
    return np.allclose(ours, theirs, 1e-4, 1e-5 * scale, equal_nan=True)


@pytest.mark.parametrize("name", sorted({*LAYERS} - OTHERS))
@settings(max_examples=settings().max_examples // 3 + 1)
@given(seed=st.integers(0, 2**32 - 1))
def test_layers_of_integers_give_what_they_give_of_float64(name: str, seed: int) -> None:
    layer = LAYERS[name].set_train(False)
    rng = np.random.default_rng(seed)
    for shape, kind in product(((2, 3), (2, 3, 4), (2, 3, 4, 4)), KINDS):
        x = drawn(rng, shape, kind)
        outputs: list[Tensor] = []
        with np.errstate(all="ignore"):
            try:
                outputs.append(layer(Tensor(x.astype(np.float64))))
            except ValueError:
                continue  # it is for other shapes
            without = LAYERS_WITHOUT_BOOLS if kind == "bool" else LAYERS_WITHOUT_INTEGERS
            if name in without:
                with pytest.raises(TypeError, match="^For '"):
                    layer(Tensor(x))
                continue
            actual = layer(Tensor(x))
        if kind == "bool" and name in PADDED:
            assert actual.tolist() == (outputs[0] != 0).tolist()
            continue
        # Recurrent layers return several tensors.
        for ours, theirs in zip(flattened(actual), flattened(outputs[0]), strict=True):
            assert isinstance(ours, Tensor)
            assert isinstance(theirs, Tensor)
            assert agree(ours, theirs), (kind, x)


@pytest.mark.parametrize("name", LOSSES_OF_TWO)
@settings(max_examples=settings().max_examples // 3 + 1)
@given(seed=st.integers(0, 2**32 - 1))
def test_losses_of_integers_give_what_they_give_of_float64(name: str, seed: int) -> None:
    loss = LOSSES_OF_TWO[name]
    rng = np.random.default_rng(seed)
    for first, second in {*product(("uint8", "int8"), KINDS), *((kind, kind) for kind in KINDS)}:
        x, y = drawn(rng, (3, 2), first), drawn(rng, (3, 2), second)
        if name in OF_PROBABILITIES:
            x, y = (x != 0).astype(first), (y != 0).astype(second)
        labels = [Tensor(y)]
        wide = [Tensor(y.astype(np.float64))]
        if name in OF_LABELS:
            x = np.concatenate([x, x[:, :1]], 1)
            labels = wide = [Tensor((y[:, 0] != 0).astype(np.int32))]
        if name in WITH_TARGETS:
            target = Tensor([[1, -1], [1, 1], [-1, -1]])
            both = target if name == "MarginRankingLoss" else target[:, 0]
            labels, wide = [*labels, both], [*wide, both]
        if name in LOSSES_WITHOUT_BOOLS:
            if first == second == "bool":
                with pytest.raises(TypeError, match=f"^For '{name}', the operands must be numbers"):
                    loss(Tensor(x), *labels)
            # No integer type has the values of both.
            if first == second == "bool" or {first, second} == {"int8", "uint64"}:
                continue
        with np.errstate(all="ignore"):
            actual, expected = loss(Tensor(x), *labels), loss(Tensor(x.astype(float)), *wide)
        assert agree(actual, expected), (first, second, x, y)


@pytest.mark.parametrize("kind", KINDS)
@each_optimizer
def test_optimizers_refuse_parameters_of_integers(which: int, kind: str) -> None:
    weight = Parameter(Tensor(np.ones(2, kind)), name="steps")
    good = Parameter(Tensor([1.0]), name="weight")
    refused = pytest.raises(TypeError, match=r"^For '\w+', each parameter must be of floats, but")
    with refused:
        optimizers([good, weight])[which]
    with refused:
        nn.SGD([{"params": [good]}, {"params": [weight], "lr": 0.1}])


@given(gradient=st.floats(0, 2.0**-70, width=32) | st.floats(0, 10, width=32))
@each_optimizer
def test_a_state_of_zeros_keeps_weights_finite(which: int, gradient: float) -> None:
    weight = Parameter(Tensor([1.0]), name="weight")
    optimizer = optimizers([weight])[which]
    for states in optimizer._states:
        states[0].set_data(Tensor([0.0]))
    with np.errstate(under="ignore"):
        optimizer((Tensor(np.array([gradient], np.float32)),))
    assert abs(float(weight) - 1) <= 2
