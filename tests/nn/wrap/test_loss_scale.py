"""A scaled loss: the same steps without overflow, no step with one, and the next loss scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float16, nn, ops
from minispore.nn.wrap.loss_scale import next_loss_scale

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


@given(st.integers(1, 5), st.integers(1, 4), st.lists(st.booleans(), max_size=20))
def test_loss_scale_grows_after_a_window_of_good_steps(
    factor: int, window: int, overflows: list[bool]
) -> None:
    scale, good_steps = 1.0, 0
    for i, overflow in enumerate(overflows):
        before = scale
        scale, good_steps = next_loss_scale(scale, factor, window, good_steps, overflow=overflow)
        assert scale >= 1
        grows = i + 1 >= window and not any(overflows[i + 1 - window : i + 1])
        assert scale <= before if overflow else scale in {before, before * factor}
        assert grows or scale <= before


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
