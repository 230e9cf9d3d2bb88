"""Normalisation and embeddings compute what PyTorch's do, to the second derivative."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.testing import gradcheck, gradgradcheck

from .test_conv import close, compare, of, seeds

torch = pytest.importorskip("torch")
functional: Any = torch.nn.functional if torch else None

few = st.integers(1, 3)


@given(
    seed=seeds,
    shape=st.tuples(st.integers(2, 3), few) | st.tuples(st.integers(2, 3), few, few, few),
    training=st.booleans(),
    momentum=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_batch_normalisation_is_pytorchs(
    seed: int, shape: tuple[int, ...], training: bool, momentum: float
) -> None:
    """With the running numbers that it leaves behind; that momentum is 1 minus the layer's."""
    x, w, b, mean = of(seed, *shape), *of(seed + 1, 3, shape[1])
    variance = np.abs(mean) + 0.5
    theirs = [torch.tensor(mean), torch.tensor(variance)]
    ours = [Tensor(mean), Tensor(variance)]
    functional.batch_norm(
        torch.tensor(x), *theirs, torch.tensor(w), torch.tensor(b), training, momentum
    )
    ops.batch_norm(Tensor(x), ours[0], ours[1], Tensor(w), Tensor(b), training, momentum)
    for found, expected in zip(ours, theirs, strict=True):
        close(found, expected)

    def normalised(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return ops.batch_norm(x, Tensor(mean), Tensor(variance), w, b, training, momentum)

    compare(
        normalised,
        lambda x, w, b: functional.batch_norm(
            x, torch.tensor(mean), torch.tensor(variance), w, b, training, momentum
        ),
        x,
        w,
        b,
    )


@given(seed=seeds, shape=st.lists(few, min_size=1, max_size=3), first=st.integers(0, 2))
def test_layer_normalisation_is_pytorchs(seed: int, shape: list[int], first: int) -> None:
    own = tuple(shape[min(first, len(shape) - 1) :])
    x, w, b = of(seed, *shape), of(seed + 1, *own), of(seed + 2, *own)
    compare(
        lambda x, w, b: ops.layer_norm(x, own, w, b, 0.125),
        lambda x, w, b: functional.layer_norm(x, own, w, b, 0.125),
        x,
        w,
        b,
    )
    place = len(shape) - len(own)
    layer = nn.LayerNorm(own, place, place, Tensor(w), Tensor(b), 0.125, ms.float64)
    expected = ops.layer_norm(Tensor(x), own, Tensor(w), Tensor(b), 0.125)
    assert (layer(Tensor(x)) == expected).all()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1d(3, dtype=ms.float64), (4, 3)),
        (nn.BatchNorm2d(2, affine=False, dtype=ms.float64), (2, 2, 2, 3)),
        (nn.LayerNorm((2, 3), 1, 1, dtype=ms.float64), (2, 2, 3)),
    ],
)
def test_first_and_second_derivatives(
    layer: nn.Cell, shape: tuple[int, ...], training: bool
) -> None:
    layer.set_train(training)
    x, weights = Tensor(of(0, *shape)), Tensor(of(1, *shape))

    def cubed(x: Tensor) -> Tensor:
        return (layer(x) ** 3 * weights).sum()

    # The function itself, since a cell's own parameters may not change while it is measured.
    gradcheck(cubed, x, weights=layer.trainable_params())
    gradgradcheck(cubed, x, weights=layer.trainable_params())


def test_half_floats_are_normalised_as_floats() -> None:
    x = 1000 * ops.ones((400, 1, 4, 4), ms.float16)
    x[0] = 1001
    layer = nn.BatchNorm2d(1).set_train()
    y = layer(x)
    assert y.dtype is ms.float16
    assert y[0].asnumpy().max() == pytest.approx(np.sqrt(399), rel=2e-3)
    assert layer.moving_mean.item() == pytest.approx(100.00025, rel=1e-6)


def test_a_layer_in_use_changes_nothing_that_it_remembers() -> None:
    layer = nn.BatchNorm2d(2).set_train()
    layer(Tensor(of(0, 3, 2, 2, 2), ms.float32))
    layer.set_train(False)
    before = [p.asnumpy().copy() for p in layer.get_parameters()]
    layer(Tensor(of(1, 3, 2, 2, 2), ms.float32))
    for parameter, old in zip(layer.get_parameters(), before, strict=True):
        assert np.array_equal(parameter.asnumpy(), old)


@pytest.mark.parametrize("one_hot", [False, True])
@given(seed=seeds, ids=st.lists(st.integers(0, 4), max_size=5))
def test_embeddings_are_pytorchs(one_hot: bool, seed: int, ids: list[int]) -> None:
    table: NDArray[np.float64] = of(seed, 5, 3)
    places = np.array(ids, np.int64)
    layer = nn.Embedding(5, 3, one_hot, Tensor(table), ms.float64)
    theirs = torch.tensor(table, requires_grad=True)
    expected = functional.embedding(torch.tensor(places), theirs)
    assert np.array_equal(layer(Tensor(places)).asnumpy(), expected.detach().numpy())
    (expected**2).sum().backward()
    (slope,) = ms.grad(lambda x: (layer(x) ** 2).sum(), None, layer.trainable_params())(
        Tensor(places)
    )
    close(slope, theirs.grad)


def test_the_first_vectors_are_small() -> None:
    ms.set_seed(1)
    values = nn.Embedding(1000, 30).embedding_table.asnumpy()
    assert values.std() == pytest.approx(0.01, rel=0.02)


@given(
    shape=st.lists(st.integers(0, 3), max_size=3),
    added=st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=3),
    value=st.sampled_from([None, 0, 7.0]),
)
def test_padding_is_pytorchs(
    shape: list[int], added: list[tuple[int, int]], value: float | None
) -> None:
    x = of(0, *shape)
    numbers = [n for pair in added for n in pair]
    long = len(added) > len(shape)
    if long or any(
        n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(shape[::-1], added, strict=False)
    ):
        with pytest.raises(ValueError, match="For 'pad', the argument 'padding' must"):
            ops.pad(Tensor(x), numbers, value=value)
        return
    compare(
        lambda x: ops.pad(x, numbers, value=value),
        lambda x: functional.pad(x, numbers, value=value),
        x,
    )
