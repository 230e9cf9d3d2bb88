"""WithLossCell, WithEvalCell, TrainOneStepCell."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.nn.optim.optimizer import DonatedGradients

X = ops.ones((4, 2))
Y = ops.ones((4, 1))


def net() -> nn.Dense:
    return nn.Dense(2, 1, "ones", "zeros")


def sgd(network: nn.Cell) -> nn.SGD:
    return nn.SGD(network.trainable_params(), 0.1)


def step(sens: float | Tensor | None = None, return_grad: bool = False) -> nn.TrainOneStepCell:
    network = net()
    return nn.TrainOneStepCell(
        nn.WithLossCell(network, nn.MSELoss()),
        sgd(network),
        sens,
        return_grad,
    )


# The values of MindSpore 2.10.
@pytest.mark.parametrize(
    ("sens", "weight"), [(None, 0.8), (1.0, 0.8), (2.0, 0.6), (2, 0.6), (Tensor(2.0), 0.6)]
)
def test_train_one_step_updates_parameters(sens: float | Tensor | None, weight: float) -> None:
    train = step(sens)
    loss = train(X, Y)
    assert isinstance(loss, Tensor)
    assert loss.item() == 1
    assert train.weights[0].asnumpy() == pytest.approx(np.full((1, 2), weight))


def test_subclass_computes_its_gradients_as_the_base_class() -> None:
    class Step(nn.TrainOneStepCell):
        def construct(self, *inputs: Tensor) -> Tensor:
            loss = self.network(*inputs)
            sens = ops.fill(loss.dtype, loss.shape, self.sens)
            gradients = self.grad(self.network, self.weights)(*inputs, sens)
            return ops.depend(loss, self.optimizer(self.grad_reducer(gradients)))

    network = net()
    custom = Step(nn.WithLossCell(network, nn.MSELoss()), sgd(network), 2.0)
    base = step(2.0)
    assert custom(X, Y).item() == base(X, Y).item()
    assert network.weight.tolist() == base.weights[0].tolist() != net().weight.tolist()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda cell: pickle.loads(pickle.dumps(cell))])
def test_step_uses_its_present_network_weights_and_scale(
    mode: int, copied: Callable[[nn.TrainOneStepCell], nn.TrainOneStepCell]
) -> None:
    ms.set_context(mode=mode)
    try:
        train = step()
        for _ in range(3):
            train(X, Y)
        before, other = bits(train), copied(train)
        other(X, Y)
        assert bits(train) == before
        train(X, Y)
        assert bits(train) == bits(other)
        for sens in (None, 2.0):
            other, expected = step(sens), step(sens)
            for name in ("network", "optimizer", "weights", "sens"):
                setattr(train, name, getattr(other, name))
            for _ in range(3):
                train(X, Y)
                expected(X, Y)
            assert bits(train) == bits(expected)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_return_grad_returns_gradients_by_name() -> None:
    loss, gradients = cast("Any", step(return_grad=True)(X, Y))
    assert loss.item() == 1
    assert list(gradients) == ["weight", "bias"]
    assert gradients["weight"].tolist() == [[2, 2]]


def test_parameter_names_and_repr() -> None:
    train = step()
    assert [p.name for p in train.get_parameters()] == [
        "weight", "bias", "global_step", "learning_rate", "momentum",
        "accum.weight", "accum.bias", "stat.weight", "stat.bias",
    ]  # fmt: skip
    assert repr(train) == (
        "TrainOneStepCell(\n"
        "  (network): WithLossCell(\n"
        "    (_backbone): Dense(input_channels=2, output_channels=1, has_bias=True)\n"
        "    (_loss_fn): MSELoss()\n"
        "  )\n"
        "  (optimizer): SGD()\n"
        ")"
    )


def test_with_loss_cell_and_with_eval_cell() -> None:
    network = net()
    with_loss = nn.WithLossCell(network, nn.MSELoss())
    assert with_loss(X, Y).item() == 1
    assert with_loss.backbone_network is network

    def difference(x: Tensor, y: Tensor) -> Tensor:
        return (x - y).sum()

    assert nn.WithLossCell(network, difference)(X, Y).item() == 4
    loss, outputs, label = nn.WithEvalCell(network, nn.MSELoss())(X, Y)
    assert (loss.item(), outputs.tolist(), label is Y) == (1, [[2.0]] * 4, True)
    half = nn.Dense(2, 1, dtype=ms.float16)
    _, outputs, _ = nn.WithEvalCell(half, nn.MSELoss(), add_cast_fp32=True)(X.astype(ms.float16), Y)
    assert outputs.dtype is ms.float32


def test_several_outputs_are_summed_as_in_mindspore() -> None:
    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.d = net()

        def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            o = self.d(x)
            return ops.square(o - y).mean(), o

    network = Both()
    loss, outputs = cast("Any", nn.TrainOneStepCell(network, sgd(network))(X, Y))
    assert loss.item() == 1
    assert outputs.shape == (4, 1)
    assert network.d.weight.asnumpy() == pytest.approx(np.full((1, 2), 0.4))


def test_non_scalar_loss_raises_before_the_update() -> None:
    network = net()
    train = nn.TrainOneStepCell(nn.WithLossCell(network, nn.MSELoss("none")), sgd(network))
    with pytest.raises(ValueError, match=r"single number.*\(4, 1\)"):
        train(X, Y)
    assert network.weight.tolist() == [[1, 1]]


def test_gradients_of_a_summed_loss_are_those_of_its_elements() -> None:
    """As MindSpore's, of a loss that is not reduced: the pullback of ones."""
    logits, labels = Tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]]), Tensor([0, 1, 1], ms.int32)
    summed, each = (
        nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction=reduction)
        for reduction in ("sum", "none")
    )
    gradient = ms.grad(summed)(logits, labels)
    for row in range(3):
        part = slice(row, row + 1)
        expected = ms.grad(lambda x, y: each(x, y)[0])(logits[part], labels[part])
        assert gradient[part].asnumpy() == pytest.approx(expected.asnumpy())


def test_deep_copy_trains_its_own_network() -> None:
    train = step()
    twin = copy.deepcopy(train)
    again = pickle.loads(pickle.dumps(train))
    twin(X, Y)
    again(X, Y)
    assert train.weights[0].tolist() == [[1, 1]]
    assert twin.weights[0].asnumpy() == pytest.approx(np.full((1, 2), 0.8))
    assert twin.network.trainable_params()[0] is twin.weights[0]
    assert again.weights[0].tolist() == twin.weights[0].tolist()


# Gradient hooks.

OPTIMIZERS: list[Callable[[nn.Cell, float], nn.Optimizer]] = [
    lambda network, scale: nn.SGD(network.trainable_params(), 0.1, loss_scale=scale),
    lambda network, scale: nn.Momentum(network.trainable_params(), 0.1, 0.9, loss_scale=scale),
    lambda network, scale: nn.Adam(network.trainable_params(), 0.1, loss_scale=scale),
]
each_optimizer = st.sampled_from(OPTIMIZERS)
# Powers of 2, by which numbers are multiplied exactly.
scales = st.sampled_from([1.0, 1024.0])
steps_of_data = st.integers(0, 2**16).map(
    lambda seed: np.random.default_rng(seed).standard_normal((4, 3, 3)).astype(np.float32)
)
Batch = tuple[Tensor, Tensor]


def batches(values: "np.ndarray[Any, np.dtype[np.float32]]") -> list[Batch]:
    return [(Tensor(batch[:, :2]), Tensor(batch[:, 2:])) for batch in values]


def step_with(
    make: Callable[[nn.Cell, float], nn.Optimizer], scale: float = 1.0, *, in_step: bool = False
) -> nn.TrainOneStepCell:
    """Return a training step whose loss is scaled; the gradients are divided by the step, or later.

    In the second case the optimizer divides them.
    """
    network = net()
    with_loss = nn.WithLossCell(network, nn.MSELoss())
    if in_step:
        return nn.TrainOneStepWithLossScaleCell(with_loss, make(network, 1.0), Tensor(scale))
    return nn.TrainOneStepCell(with_loss, make(network, scale), scale)


def bits(train: nn.TrainOneStepCell) -> list[bytes]:
    return [parameter.asnumpy().tobytes() for parameter in train.optimizer.get_parameters()]


@given(each_optimizer, scales, st.booleans(), steps_of_data, st.sampled_from([0.01, 1.0, 100.0]))
def test_gradients_are_clipped_as_by_hand(
    make: Callable[[nn.Cell, float], nn.Optimizer],
    scale: float,
    in_step: bool,
    values: "np.ndarray[Any, np.dtype[np.float32]]",
    norm: float,
) -> None:
    hooked, by_hand = step_with(make, scale, in_step=in_step), step_with(make)
    hooked.register_gradient_hook(lambda gradients: ops.clip_by_global_norm(gradients, norm))
    forward = ms.value_and_grad(by_hand.network, None, by_hand.weights)
    for x, y in batches(values):
        hooked(x, y)
        _, gradients = forward(x, y)
        by_hand.optimizer(ops.clip_by_global_norm(gradients, norm))
    assert bits(hooked) == bits(by_hand)


@given(each_optimizer, steps_of_data, st.sampled_from([1, 2, 4]))
def test_accumulation_over_batches_is_one_step_on_their_union(
    make: Callable[[nn.Cell, float], nn.Optimizer],
    values: "np.ndarray[Any, np.dtype[np.float32]]",
    count: int,
) -> None:
    collected: list[tuple[Tensor, ...]] = []

    def accumulate(gradients: tuple[Tensor, ...]) -> list[Tensor]:
        collected.append(gradients)
        if len(collected) < count:
            return []
        means = [cast("Tensor", sum(terms)) / count for terms in zip(*collected, strict=True)]
        collected.clear()
        return means

    small, large = step_with(make), step_with(make)
    small.register_gradient_hook(accumulate)
    for x, y in batches(values):
        small(x, y)
    for x, y in batches(values.reshape(4 // count, -1, 3)):
        large(x, y)
    for one, other in zip(small.get_parameters(), large.get_parameters(), strict=True):
        assert one.asnumpy() == pytest.approx(other.asnumpy(), rel=1e-3, abs=1e-4)
    assert small.optimizer.global_step.item() == 4 // count


@given(each_optimizer, scales, st.booleans(), steps_of_data)
def test_observed_gradients_are_those_of_the_loss(
    make: Callable[[nn.Cell, float], nn.Optimizer],
    scale: float,
    in_step: bool,
    values: "np.ndarray[Any, np.dtype[np.float32]]",
) -> None:
    observed: list[tuple[Tensor, ...]] = []
    hooked, plain = (step_with(make, scale, in_step=in_step) for _ in range(2))
    hooked.register_gradient_hook(observed.append)
    expected: list[tuple[Tensor, ...]] = []
    forward = ms.value_and_grad(hooked.network, None, hooked.weights)
    for x, y in batches(values):
        expected.append(forward(x, y)[1])
        hooked(x, y)
        plain(x, y)
    # Also after the updates, which must not overwrite them.
    for one, other in zip(observed, expected, strict=True):
        assert [g.tolist() for g in one] == [g.tolist() for g in other]
    assert bits(hooked) == bits(plain)


def test_gradient_hooks_run_in_order_until_one_leaves_out_the_update() -> None:
    train = step()
    calls: list[object] = []

    def hook(name: str, factor: float) -> Callable[[tuple[Tensor, ...]], list[Tensor]]:
        def call(gradients: tuple[Tensor, ...]) -> list[Tensor]:
            calls.append((name, gradients[1].item()))
            return [gradient * factor for gradient in gradients] if factor else []

        return call

    first, second, third = (
        train.register_gradient_hook(hook(name, factor))
        for name, factor in (("double", 2.0), ("leave out", 0.0), ("last", 1.0))
    )
    before = bits(train)
    train(X, Y)
    assert calls == [("double", 2.0), ("leave out", 4.0)]
    assert bits(train) == before
    second.remove()
    train(X, Y)
    assert calls[2:] == [("double", 2.0), ("last", 4.0)]
    first.remove()
    third.remove()
    assert bits(train) != before


def test_gradients_are_donated_to_the_optimizer_without_hooks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is paid when no hook is registered."""
    train = step()
    received: list[object] = []
    monkeypatch.setattr(train.optimizer, "construct", received.append)
    train(X, Y)
    handle = train.register_gradient_hook(lambda gradients: None)
    train(X, Y)
    handle.remove()
    train(X, Y)
    assert [type(argument) for argument in received] == [DonatedGradients, tuple, DonatedGradients]


def test_gradients_that_have_overflowed_are_not_passed_to_hooks() -> None:
    train = step_with(OPTIMIZERS[0], 2.0**127, in_step=True)
    train.register_gradient_hook(lambda gradients: pytest.fail("they have overflowed"))
    _, overflow, _ = cast("Any", train(X * 4.0, Y))
    assert overflow.item()


def test_gradient_hook_must_be_a_function_that_returns_a_sequence() -> None:
    train = step()
    with pytest.raises(TypeError, match="'hook' must be a function, but got 1"):
        train.register_gradient_hook(cast("Any", 1))
    train.register_gradient_hook(cast("Any", lambda gradients: gradients[0]))
    with pytest.raises(TypeError, match="the result of a gradient hook"):
        train(X, Y)
