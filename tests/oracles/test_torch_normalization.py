"""Values and gradients of normalization, embedding and padding match PyTorch's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops
from tests.nn.layer.test_conv import of
from tests.oracles.torch_layers import close, compare, seeds, torch

functional = torch.nn.functional
few = st.integers(1, 3)


@given(
    seed=seeds,
    shape=st.tuples(st.integers(2, 3), few) | st.tuples(st.integers(2, 3), few, few, few),
    training=st.booleans(),
    momentum=st.sampled_from([0.0, 0.25, 1.0]),
)
def test_batch_norm_matches_pytorch(
    seed: int, shape: tuple[int, ...], training: bool, momentum: float
) -> None:
    """With running statistics; PyTorch's momentum is 1 minus the layer's."""
    x, w, b, mean = of(seed, *shape), *of(seed + 1, 3, shape[1])
    variance = np.abs(mean) + 0.5
    theirs = [torch.tensor(mean), torch.tensor(variance)]
    ours = [Tensor(mean), Tensor(variance)]
    functional.batch_norm(
        torch.tensor(x), *theirs, torch.tensor(w), torch.tensor(b), training, momentum
    )
    y = ops.batch_norm(Tensor(x), ours[0], ours[1], Tensor(w), Tensor(b), training, momentum)
    for actual, expected in zip(ours, theirs, strict=True):
        close(actual, expected)
    first = (Tensor(w), Tensor(b), Tensor(mean), Tensor(variance))
    layer = (
        nn.BatchNorm1d(shape[1], 1e-5, 1 - momentum, True, *first, dtype=ms.float64)
        if len(shape) == 2
        else nn.BatchNorm2d(shape[1], 1e-5, 1 - momentum, True, *first, dtype=ms.float64)
    )
    layer.set_train(training)
    assert (layer(Tensor(x)) == y).all()
    assert (layer.moving_mean == ours[0]).all()
    assert (layer.moving_variance == ours[1]).all()

    def normalized(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return ops.batch_norm(x, Tensor(mean), Tensor(variance), w, b, training, momentum)

    compare(
        normalized,
        lambda x, w, b: functional.batch_norm(
            x, torch.tensor(mean), torch.tensor(variance), w, b, training, momentum
        ),
        x,
        w,
        b,
    )


@given(seed=seeds, shape=st.lists(few, min_size=1, max_size=3), first=st.integers(0, 2))
def test_layer_norm_matches_pytorch(seed: int, shape: list[int], first: int) -> None:
    normalized = tuple(shape[min(first, len(shape) - 1) :])
    x, w, b = of(seed, *shape), of(seed + 1, *normalized), of(seed + 2, *normalized)
    compare(
        lambda x, w, b: ops.layer_norm(x, normalized, w, b, 0.125),
        lambda x, w, b: functional.layer_norm(x, normalized, w, b, 0.125),
        x,
        w,
        b,
    )
    place = len(shape) - len(normalized)
    layer = nn.LayerNorm(normalized, place, place, Tensor(w), Tensor(b), 0.125, ms.float64)
    expected = ops.layer_norm(Tensor(x), normalized, Tensor(w), Tensor(b), 0.125)
    assert (layer(Tensor(x)) == expected).all()


@pytest.mark.parametrize("one_hot", [False, True])
@given(seed=seeds, ids=st.lists(st.integers(0, 4), max_size=5))
def test_embedding_matches_pytorch(one_hot: bool, seed: int, ids: list[int]) -> None:
    table: NDArray[np.float64] = of(seed, 5, 3)
    places = np.array(ids, np.int64)
    layer = nn.Embedding(5, 3, one_hot, Tensor(table), ms.float64)
    theirs = torch.tensor(table, requires_grad=True)
    expected = functional.embedding(torch.tensor(places), theirs)
    assert np.array_equal(layer(Tensor(places)).asnumpy(), expected.detach().numpy())
    (expected**2).sum().backward()
    (gradient,) = ms.grad(lambda x: (layer(x) ** 2).sum(), None, layer.trainable_params())(
        Tensor(places)
    )
    close(gradient, theirs.grad)


@given(
    shape=st.lists(st.integers(0, 3), max_size=3),
    added=st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), max_size=3),
    value=st.sampled_from([None, 0, 7.0]),
)
def test_padding_matches_pytorch(
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
