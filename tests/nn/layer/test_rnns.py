"""Recurrent layers and cells: one sequence, one step, one direction and one layer at a time."""

from collections.abc import Callable
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.common.dtype import DType
from minispore.engine.rules import linalg
from minispore.testing import gradcheck, gradgradcheck
from minispore.train.serialization import load_checkpoint, load_param_into_net, save_checkpoint
from tests.helpers import float16
from tests.helpers.floats import floats
from tests.helpers.randomness import assert_uniform
from tests.helpers.rule_cases import CASES
from tests.nn.layer.test_conv import of

# Each layer, its cell, and the number of its states.
KINDS: dict[str, tuple[Callable[..., nn.Cell], Callable[..., nn.Cell], int]] = {
    "tanh": (nn.RNN, nn.RNNCell, 1),
    "GRU": (nn.GRU, nn.GRUCell, 1),
    "LSTM": (nn.LSTM, nn.LSTMCell, 2),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
sizes = st.integers(1, 3)
seeds = st.integers(0, 999)


def tensors(nested: object) -> list[Tensor]:
    return [y for y in float16.flattened(nested) if isinstance(y, Tensor)]


def assert_equal(actual: object, expected: object) -> None:
    """Assert that nested tensors are equal, up to the order of additions."""
    for x, y in zip(tensors(actual), tensors(expected), strict=True):
        np.testing.assert_allclose(floats(x), floats(y), rtol=1e-12, atol=1e-12)


def states(kind: str, *shape: int) -> object:
    hs = tuple(Tensor(of(i + 1, *shape)) for i in range(KINDS[kind][2]))
    return hs if KINDS[kind][2] > 1 else hs[0]


@each_kind
@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), sizes, st.booleans(), seeds)
def test_sequences_of_different_lengths_are_independent(
    kind: str, lengths: list[int], layers: int, both: bool, seed: int
) -> None:
    """Each has the outputs and states that it has alone, and what pads it has no effect."""
    ms.set_seed(seed)
    layer = KINDS[kind][0](2, 2, layers, bidirectional=both, dtype=ms.float64)
    x = of(seed, 4, len(lengths), 2)
    hx = states(kind, layers * (2 if both else 1), len(lengths), 2)
    output, last = layer(Tensor(x), hx, Tensor(lengths))
    for i, n in enumerate(lengths):
        assert not floats(output)[n:, i].any()
        one = [h[:, i : i + 1] for h in tensors(hx)]
        own = [h[:, i : i + 1] for h in tensors(last)]
        if n == 0:
            assert_equal(own, one)
            continue
        alone, after = layer(Tensor(x[:n, i : i + 1]), tuple(one) if len(one) > 1 else one[0])
        assert_equal(output[:n, i : i + 1], alone)
        assert_equal(own, after)
        padded = np.array(x)
        padded[n:, i] = 1e6
        assert_equal(layer(Tensor(padded), hx, Tensor(lengths)), (output, last))


@each_kind
@given(sizes, sizes, st.booleans(), seeds)
def test_a_layer_takes_the_steps_of_its_cell(
    kind: str, steps: int, n: int, bias: bool, seed: int
) -> None:
    make_layer, make_cell, _ = KINDS[kind]
    layer = make_layer(2, 3, has_bias=bias, dtype=ms.float64)
    cell = make_cell(2, 3, has_bias=bias, dtype=ms.float64)
    for ours, parameter in zip(cell.get_parameters(), layer.get_parameters(), strict=True):
        assert parameter.name == f"{ours.name}_l0"
        ours.set_data(parameter)
    x, hx = Tensor(of(seed, steps, n, 2)), states(kind, 1, n, 3)
    output, last = layer(x, hx)
    state: object = tuple(h[0] for h in tensors(hx))
    for t in range(steps):
        items = tensors(state)
        state = cell(x[t], tuple(items) if len(items) > 1 else items[0])
        assert_equal(output[t], tensors(state)[0])
    assert_equal([h[0] for h in tensors(last)], state)


@each_kind
@given(st.booleans(), seeds)
def test_the_second_direction_is_a_layer_that_reads_backward(
    kind: str, first: bool, seed: int
) -> None:
    ms.set_seed(seed)
    make = KINDS[kind][0]
    both = make(2, 3, batch_first=first, bidirectional=True, dtype=ms.float64)
    x = Tensor(of(seed, 3, 2, 2))
    output, last = both(ops.swapaxes(x, 0, 1) if first else x)
    output = ops.swapaxes(output, 0, 1) if first else output
    parameters = {p.name: p for p in both.get_parameters()}
    for i, suffix in enumerate(("", "_reverse")):
        one = make(2, 3, dtype=ms.float64)
        for parameter in one.get_parameters():
            parameter.set_data(parameters[parameter.name + suffix])
        y, h = one(ops.flip(x, (0,)) if suffix else x)
        assert_equal(output[:, :, 3 * i : 3 * i + 3], ops.flip(y, (0,)) if suffix else y)
        assert_equal([h[i] for h in tensors(last)], [h[0] for h in tensors(h)])


@each_kind
@given(seeds)
def test_dropout_between_layers_is_that_of_the_layer(kind: str, seed: int) -> None:
    make = KINDS[kind][0]
    layer = make(2, 8, 2, dropout=0.5, dtype=ms.float64)
    pair = [make(n, 8, dtype=ms.float64) for n in (2, 8)]
    parameters = {p.name: p for p in layer.get_parameters()}
    for i, one in enumerate(pair):
        for parameter in one.get_parameters():
            parameter.set_data(parameters[parameter.name.replace("l0", f"l{i}")])
    x, dropout = Tensor(of(seed, 3, 2, 2)), nn.Dropout(p=0.5)
    for training in (True, False):
        ms.set_seed(seed)
        outputs = layer.set_train(training)(x)[0]
        ms.set_seed(seed)
        assert_equal(outputs, pair[1](dropout.set_train(training)(pair[0](x)[0]))[0])


def test_dropout_of_one_layer_warns() -> None:
    with pytest.warns(UserWarning, match="'dropout' = 0.5 has no effect") as caught:
        nn.LSTM(2, 3, dropout=0.5)
    assert caught[0].filename == __file__


@each_kind
def test_first_and_second_derivatives(kind: str) -> None:
    layer = KINDS[kind][0](2, 2, bidirectional=True, dtype=ms.float64)
    lengths, hx = Tensor([3, 1]), states(kind, 2, 2, 2)

    def cubed(x: Tensor) -> Tensor:
        first, *others = [(y**3).sum() for y in tensors(layer(x, hx, lengths))]
        return sum(others, first)

    gradcheck(cubed, Tensor(of(0, 3, 2, 2)), weights=layer.trainable_params())
    gradgradcheck(cubed, Tensor(of(0, 3, 2, 2)), weights=layer.trainable_params())


@each_kind
@given(rng=float16.generators, scale=float16.scales)
def test_float16_of_a_cell_is_its_rounded_float32(
    kind: str, rng: np.random.Generator, scale: float
) -> None:
    _, make, count = KINDS[kind]
    half, wide = make(2, 3, dtype=ms.float16), make(2, 3)
    for ours, theirs in zip(half.get_parameters(), wide.get_parameters(), strict=True):
        theirs.set_data(ours.astype(ms.float32))

    class Step(nn.Cell):
        def __init__(self, cell: nn.Cell) -> None:
            super().__init__()
            self.cell = cell

        def construct(self, x: Tensor, *hx: Tensor) -> object:
            return self.cell(x, hx if count > 1 else hx[0])

    operands = [float16.halves(rng, (4, n), scale) for n in (2, 3, 3)][: 1 + count]
    float16.assert_float16_rounds_float32(Step(half), operands, Step(wide))


@pytest.mark.parametrize("dtype", [ms.float16, ms.float32, ms.float64])
@pytest.mark.parametrize("of_weights", [ms.float16, ms.float32, ms.float64])
@each_kind
def test_results_have_the_type_of_the_input(kind: str, dtype: DType, of_weights: DType) -> None:
    make_layer, make_cell, count = KINDS[kind]
    x = Tensor(of(0, 2, 1, 2), dtype)
    assert {y.dtype for y in tensors(make_layer(2, 3, dtype=of_weights)(x))} == {dtype}
    hx = tuple(h.astype(dtype) for h in tensors(states(kind, 1, 3)))
    after = make_cell(2, 3, dtype=of_weights)(x[0], hx if count > 1 else hx[0])
    assert {y.dtype for y in tensors(after)} == {dtype}


@each_kind
@given(st.integers(1, 400), seeds)
def test_initial_parameters_are_uniform(kind: str, hidden: int, seed: int) -> None:
    ms.set_seed(seed)
    for make in KINDS[kind][:2]:
        made = make(2000 // hidden + 1, hidden)
        weights = floats(next(iter(made.get_parameters())))
        assert_uniform(weights, 1 / sqrt(hidden))
        for parameter in made.get_parameters():
            assert np.abs(floats(parameter)).max() <= 1 / sqrt(hidden)


@each_kind
def test_a_checkpoint_restores_a_layer(kind: str, tmp_path: Path) -> None:
    file = str(tmp_path / "layer.ckpt")
    network, other = (nn.SequentialCell(KINDS[kind][0](2, 3, 2, bidirectional=True)) for _ in "ab")
    save_checkpoint(network, file)
    assert load_param_into_net(other, load_checkpoint(file)) == ([], [])
    x = Tensor(of(0, 3, 2, 2), ms.float32)
    assert_equal(other(x), network(x))


X, H = ops.ones((3, 2, 4)), ops.zeros((1, 2, 5))
MISTAKES: list[tuple[str, Callable[[], object], str]] = [
    ("axes", lambda: nn.GRU(4, 5)(X[0]), r"'x' must be of shape \(steps, n, 4\), .* is \(2, 4\)"),
    ("inputs", lambda: nn.GRU(3, 5, batch_first=True)(X), r"of shape \(n, steps, 3\)"),
    ("no step", lambda: nn.RNN(4, 5)(X[:0]), "'x' must have at least one step"),
    ("layers", lambda: nn.RNN(4, 5, 2)(X, H), r"'hx' must be of shape \(2, 2, 5\), but got \(1, "),
    ("type", lambda: nn.RNN(4, 5)(X, H.astype(ms.float16)), "'hx' must be of the type of 'x', "),
    ("no pair", lambda: nn.LSTM(4, 5)(X, H), "'hx' must be one of tuple"),  # type: ignore[arg-type]
    ("list", lambda: nn.LSTM(4, 5)(X, [H, H]), "'hx' must be one of tuple"),  # type: ignore[arg-type]
    ("one", lambda: nn.LSTM(4, 5)(X, (H,)), "be a tuple of the hidden state and the cell state"),  # type: ignore[arg-type]
    ("cell state", lambda: nn.LSTM(4, 5)(X, (H, H[0])), r"'hx\[1\]' must be of shape \(1, 2, 5\)"),
    ("floats", lambda: nn.LSTM(4, 5)(X, None, Tensor([1.0, 2.0])), "'seq_length' must be of int32"),
    ("count", lambda: nn.LSTM(4, 5)(X, None, Tensor([1])), r"'seq_length' must be of shape \(2,\)"),
    ("long", lambda: nn.LSTM(4, 5)(X, None, Tensor([1, 4])), r"must be from 0 to 3, .* \[1, 4\]"),
    ("negative", lambda: nn.LSTM(4, 5)(X, None, Tensor([1, -1])), r"must be from 0 to 3, .* -1\]"),
    ("batch of 1", lambda: nn.GRUCell(4, 5)(X[0], H[0, :1]), r"'hx' must be of shape \(2, 5\)"),
    ("sequence", lambda: nn.GRUCell(4, 5)(X, H), r"'x' must be of shape \(n, 4\)"),
    ("cell's pair", lambda: nn.LSTMCell(4, 5)(X[0], (H[0], X[0])), r"'hx\[1\]' must be of shape"),
]


@pytest.mark.parametrize(
    ("call", "message"), [x[1:] for x in MISTAKES], ids=[x[0] for x in MISTAKES]
)
def test_errors_say_what_is_expected(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        call()
    assert str(caught.value).startswith("For '")


def test_weights_have_their_gradients_of_all_steps_in_one_product() -> None:
    """Forward and backward there is one product for each step, and one for the weights."""
    shapes = (7, 2, 12), (12, 3), (12,), (2, 3), (2, 3)
    operands = [of(i, *shape) for i, shape in enumerate(shapes)]
    products: list[object] = []

    def watch(x: object, y: object) -> None:
        products.append((x, y))

    linalg.gemm_observers.append(watch)
    try:
        value, pullbacks = CASES["recurrent.lstm"](operands, ())
        for pullback in pullbacks:
            assert pullback is not None
            pullback(value)
    finally:
        linalg.gemm_observers.remove(watch)
    assert len(products) == 7 + 7 + 1


def test_a_gradient_that_was_modified_is_another_one() -> None:
    """All pullbacks share one computation, which is repeated in the next backward pass."""
    shapes = (3, 2, 4), (4, 4), (4,), (2, 4)
    operands = [of(i, *shape) for i, shape in enumerate(shapes)]
    _, pullbacks = CASES["recurrent.rnn_tanh"](operands, ())
    gradient = np.array(of(9, 3, 2, 4))
    before = [pullback(gradient) for pullback in pullbacks if pullback is not None]
    gradient *= 2.0
    for pullback, old in zip(pullbacks, before, strict=True):
        assert pullback is not None
        np.testing.assert_allclose(pullback(gradient), 2.0 * old, rtol=1e-12)
