"""A scaled loss: the same steps without overflow, no step with one, and the next loss scale."""

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, amp, float16, float32, nn, ops, train, value_and_grad
from minispore.common.dtype import DType
from minispore.nn.wrap.loss_scale import next_loss_scale

LARGEST = float(np.finfo(np.float32).max)
SCALES = st.integers(0, 24).map(lambda exponent: 2.0**exponent)


class Loss(nn.Cell):
    """The product of a weight and a number, whose gradient is the number."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor([3.0]), name="weight")

    def construct(self, x: Tensor) -> Tensor:
        return (self.weight * x).sum()


def step_cell(network: nn.Cell, scale: nn.Cell | Tensor) -> nn.TrainOneStepWithLossScaleCell:
    optimizer = nn.Momentum(network.trainable_params(), 0.25, 0.9)
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, scale)


@given(scale=SCALES, xs=st.lists(st.floats(-4, 4, width=16), min_size=1, max_size=4))
def test_step_with_a_loss_scale_equals_the_step_without(scale: float, xs: list[float]) -> None:
    scaled, plain = Loss(), Loss()
    step = step_cell(scaled, Tensor(scale))
    reference = nn.TrainOneStepCell(plain, nn.Momentum(plain.trainable_params(), 0.25, 0.9))
    # The gradients of a scaled loss are scaled, and the optimizer divides them.
    dividing = Loss()
    optimizer = nn.Momentum(dividing.trainable_params(), 0.25, 0.9, loss_scale=scale)
    with_sens = nn.TrainOneStepCell(dividing, optimizer, sens=scale)
    for x in xs:
        loss, overflow, used = step(Tensor([x]))
        assert loss.item() == reference(Tensor([x])).item() == with_sens(Tensor([x])).item()
        assert (overflow.item(), used.item()) == (False, scale)
    assert scaled.weight.tolist() == plain.weight.tolist() == dividing.weight.tolist()


@given(x=st.sampled_from([np.inf, np.nan, 2.0]), scale=st.integers(1, 20).map(lambda n: 2.0**n))
def test_step_with_an_overflow_is_not_made(x: float, scale: float) -> None:
    network = Loss()
    step = step_cell(network, nn.DynamicLossScaleUpdateCell(scale, 2, 1))
    _, overflow, used = step(Tensor([x]))
    assert (overflow.item(), used.item()) == (not np.isfinite(x), scale)
    assert (network.weight.item() == 3.0) == overflow.item()
    assert step.optimizer.global_step.item() == (not overflow.item())
    assert step.scale_sense.item() == (scale / 2 if overflow else scale * 2)


@given(
    st.floats(1, LARGEST),
    st.one_of(st.integers(1, 5), st.floats(1, 1e300)),
    st.integers(1, 4),
    st.lists(st.booleans(), max_size=20),
)
@example(LARGEST, 2, 1, [False] * 3)
def test_loss_scale_grows_after_a_window_of_good_steps(
    scale: float, factor: float, window: int, overflows: list[bool]
) -> None:
    """Unless it would not be finite in float32."""
    good_steps = 0
    for i, overflow in enumerate(overflows):
        before = scale
        scale, good_steps = next_loss_scale(scale, factor, window, good_steps, overflow=overflow)
        assert 1 <= scale <= LARGEST
        window_is_over = i + 1 >= window and not any(overflows[i + 1 - window : i + 1])
        assert scale <= before if overflow else scale in {before, before * factor}
        assert window_is_over or scale <= before


class ScaledLoss(nn.Cell):
    """The product of a weight and a number, computed in a type of its own."""

    def __init__(self, dtype: DType, loss_dtype: DType) -> None:
        super().__init__()
        self.weight = Parameter(ops.zeros((1,), dtype), name="weight")
        self.loss_dtype = loss_dtype

    def construct(self, x: Tensor) -> Tensor:
        return (self.weight.astype(self.loss_dtype) * x).sum()


class Scaling(NamedTuple):
    """A step with a loss scale.

    Attributes:
        step: Makes a step.
        scale: Returns the loss scale.
        factor: By which the loss scale changes.
        drops: Whether a step is not made if a gradient overflows.
    """

    step: Callable[[Tensor], object]
    scale: Callable[[], float]
    factor: int
    drops: bool


def scaling(
    way: str, network: ScaledLoss, scale: float, factor: int, window: int, hooked: bool
) -> Scaling:
    weights = network.trainable_params()
    optimizer = nn.SGD(weights, 0.5, loss_scale=scale if way == "optimizer" else 1.0)
    if way in ("static scaler", "dynamic scaler"):
        scaler = (
            amp.DynamicLossScaler(scale, factor, window)
            if way == "dynamic scaler"
            else amp.StaticLossScaler(scale)
        )

        def loss(x: Tensor) -> Tensor:
            return scaler.scale(network(x))

        gradients_of = value_and_grad(loss, None, weights)

        def step(x: Tensor) -> None:
            _, gradients = gradients_of(x)
            finite = amp.all_finite(gradients)
            if finite:
                optimizer(scaler.unscale(gradients))
            scaler.adjust(finite)

        dynamic_factor = factor if way == "dynamic scaler" else 1
        return Scaling(step, lambda: scaler.scale_value.item(), dynamic_factor, drops=True)
    if way == "optimizer":
        cell = nn.TrainOneStepCell(network, optimizer, sens=scale)
    else:
        dynamic = way == "dynamic manager"
        manager = (
            train.DynamicLossScaleManager(scale, factor, window)
            if dynamic
            else train.FixedLossScaleManager(scale)
        )
        cell = amp.build_train_network(network, optimizer, loss_scale_manager=manager)
        factor = factor if dynamic else 1
    if hooked:
        cell.register_gradient_hook(lambda gradients: gradients)
    if isinstance(cell, nn.TrainOneStepWithLossScaleCell):
        sense = cell.scale_sense
        return Scaling(cell, lambda: sense.item(), factor, drops=True)
    return Scaling(cell, lambda: scale, 1, drops=False)


WAYS = ["dynamic manager", "fixed manager", "dynamic scaler", "static scaler", "optimizer"]


@given(
    way=st.sampled_from(WAYS),
    dtypes=st.sampled_from([(float16, float16), (float16, float32), (float32, float32)]),
    exponent=st.integers(-22, 12),
    scale=st.integers(0, 127).map(lambda n: 2.0**n),
    factor=st.sampled_from([1, 2, 8]),
    window=st.integers(1, 3),
    xs=st.lists(st.one_of(st.integers(-4, 4), st.sampled_from([np.inf, np.nan])), max_size=20),
    hooked=st.booleans(),
)
@example("dynamic manager", (float32, float32), 0, 2.0**126, 2, 1, [0, 0, 0, 1, 1, 1], False)
@example("fixed manager", (float16, float32), -12, 2.0**16, 1, 1, [1], False)
@example("optimizer", (float16, float32), -12, 2.0**25, 1, 1, [1], False)
@example("optimizer", (float16, float32), -12, 2.0**16, 1, 1, [1], True)
@example("static scaler", (float16, float32), -12, 2.0**16, 1, 1, [1], False)
def test_weight_and_scale_are_those_of_an_exact_model(
    way: str,
    dtypes: tuple[DType, DType],
    exponent: int,
    scale: float,
    factor: int,
    window: int,
    xs: list[float],
    hooked: bool,
) -> None:
    """Steps of gradients `x * 2**exponent`, of which some overflow at the loss scale."""
    dtype, loss_dtype = dtypes
    network = ScaledLoss(dtype, loss_dtype)
    step, actual_scale, factor, drops = scaling(way, network, scale, factor, window, hooked)
    weight, good_steps = Fraction(0), 0
    for x in (x * 2.0**exponent for x in xs):
        # The gradient of the scaled loss is the loss scale, and then the product.
        overflow = not (
            np.isfinite(x)
            and scale <= largest(loss_dtype)
            and abs(x) * scale <= min(largest(dtype), largest(loss_dtype))
        )
        if overflow and not drops:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            step(Tensor([x], loss_dtype))
        if overflow:
            scale, good_steps = max(scale / factor, 1.0), 0
        else:
            weight -= Fraction(x) / 2
            good_steps += 1
            if good_steps == window:
                good_steps = 0
                scale = scale * factor if scale * factor <= LARGEST else scale
        assert Fraction(network.weight.item()) == weight
        assert actual_scale() == scale


def largest(dtype: DType) -> float:
    return LARGEST if dtype is float32 else float(np.finfo(np.float16).max)


@pytest.mark.parametrize("scale", [0.0, 0.5, -1.0, np.inf, np.nan, 1e39])
def test_loss_scale_is_a_finite_number_of_at_least_one(scale: float) -> None:
    """In float32, in which it is stored, wherever it is set."""
    step = step_cell(Loss(), Tensor(2.0))
    with np.errstate(over="ignore"):
        tensor = Tensor(scale, float32)
    makers: list[Callable[[], object]] = [
        lambda: nn.DynamicLossScaleUpdateCell(scale, 2, 1),
        lambda: nn.FixedLossScaleUpdateCell(scale),
        lambda: train.DynamicLossScaleManager(scale),
        lambda: train.FixedLossScaleManager(scale),
        lambda: amp.DynamicLossScaler(scale, 2, 1),
        lambda: amp.StaticLossScaler(scale),
        lambda: step_cell(Loss(), tensor),
        lambda: step.set_sense_scale(tensor),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="scale.* must be (at least 1|finite in)"):
            make()
    assert step.scale_sense.item() == 2.0


@pytest.mark.parametrize(("scale", "expected"), [(1.0, 0.0), (1024.0, -(2.0**-8))])
def test_small_gradient_in_float16_needs_a_loss_scale(scale: float, expected: float) -> None:
    """A gradient of 2⁻²⁸ is 0 in float16, and 2⁻¹⁸ is not."""
    network = Loss().to_float(float16)
    network.register_forward_hook(lambda cell, inputs, output: output * 2.0**-8)
    optimizer = nn.SGD(network.trainable_params(), 2.0**20)
    nn.TrainOneStepWithLossScaleCell(network, optimizer, Tensor(scale))(Tensor([2.0**-20]))
    assert network.weight.item() - 3.0 == expected


def test_loss_scale_can_be_set() -> None:
    step = step_cell(Loss(), Tensor(2.0))
    step.set_sense_scale(Tensor(8.0))
    assert step(Tensor([1.0]))[2].item() == 8.0
    name = "set_sense_scale"
    with pytest.raises(TypeError, match=f"^For '{name}', the type of 'scale_sense'.*got 3"):
        step.set_sense_scale(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"^For '{name}', the shape of 'scale_sense' must be"):
        step.set_sense_scale(ops.ones(2))
