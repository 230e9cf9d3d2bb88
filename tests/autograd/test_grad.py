"""`grad`, `value_and_grad` and `GradOperation`: nested, by weights, and used wrongly."""

from collections.abc import Callable
from typing import NoReturn, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float16, float32, get_grad, grad, nn, ops, value_and_grad
from minispore._functional.apply import apply2, apply3, constant

Function = Callable[[Tensor], Tensor]


# As a script without types would call them.
loose = cast("Callable[..., Callable[..., object]]", grad)
loose_operation = cast("Callable[..., Callable[..., Callable[..., object]]]", ops.GradOperation)
loose_rule = cast("Callable[..., Tensor]", ops.apply_rule)


def scalar(value: float) -> Tensor:
    return Tensor(np.float64(value))


def square(x: Tensor) -> Tensor:
    return x * x


def pair(x: Tensor) -> tuple[Tensor, Tensor]:
    return x * x, x + 1.0


@given(x=st.floats(-1.0, 1.0))
def test_third_derivatives_are_the_analytic_ones(x: float) -> None:
    def sine_like(x: Tensor) -> Tensor:
        return ops.tanh(x) * ops.exp(x)

    # With t = tanh x and t' = 1 − t²: the product's derivatives by Leibniz's rule.
    t = np.tanh(x)
    t1 = 1 - t * t
    t2 = -2 * t * t1
    t3 = -2 * t1 * t1 - 2 * t * t2
    expected = [t + t1, t + 2 * t1 + t2, t + 3 * t1 + 3 * t2 + t3]
    derivative: Function = sine_like
    for wanted in expected:
        derivative = grad(derivative)
        assert abs(float(derivative(scalar(x))) - wanted * np.exp(x)) < 1e-9


def test_a_function_within_may_use_the_outer_variable() -> None:
    """d/dx [x · d/dy (x + y)] = 1: the inner gradient must not take x for its own variable."""

    def outer(x: Tensor) -> Tensor:
        def inner(y: Tensor) -> Tensor:
            return x + y

        return x * grad(inner)(scalar(1.0))

    assert float(grad(outer)(scalar(3.0))) == 1.0


def test_the_outer_variable_flows_through_the_inner_gradient() -> None:
    """d/dx [d/dy (x² y³) at y = x] = 3 · d/dx x⁴ = 12 x³."""

    def outer(x: Tensor) -> Tensor:
        def inner(y: Tensor) -> Tensor:
            return x * x * y * y * y

        return grad(inner)(x)

    assert float(grad(outer)(scalar(2.0))) == 96.0


def test_an_argument_and_a_weight_that_are_one_tensor_share_the_gradient() -> None:
    """∂(x w)/∂w is x alone, also where x was made of w: what is asked for ends the walk."""

    def outer(w: Tensor) -> tuple[Tensor, Tensor]:
        def product(x: Tensor) -> Tensor:
            return x * w

        by_x, (by_w,) = cast("tuple[Tensor, tuple[Tensor]]", grad(product, 0, [w])(w))
        return by_x, by_w

    parts, _ = value_and_grad(outer)(scalar(3.0))
    assert [float(part) for part in parts] == [3.0, 3.0]


def test_what_is_also_reached_from_outside_is_a_constant_there() -> None:
    x = scalar(3.0)

    def f(y: Tensor) -> Tensor:
        return x * y

    assert float(grad(f)(x)) == 3.0


@pytest.mark.parametrize("make", [Parameter, Tensor])
def test_weights_of_both_levels(make: Callable[[Tensor], Tensor]) -> None:
    """The gradient's square is differentiated by the same weight: d/dw (2 w x)² = 8 w x²."""
    weight = make(scalar(3.0))

    def loss(x: Tensor) -> Tensor:
        return weight * weight * x

    def penalty(x: Tensor) -> Tensor:
        slope = grad(loss, None, [weight])(x)[0]
        return slope * slope

    assert float(grad(penalty, None, [weight])(scalar(5.0))[0]) == 8 * 3.0 * 25.0


def test_a_weight_that_is_not_trained_can_be_asked_for() -> None:
    weight = Parameter(scalar(3.0), requires_grad=False)

    def f(x: Tensor) -> Tensor:
        return weight * x

    assert float(grad(f, None, [weight])(scalar(5.0))[0]) == 5.0
    assert not weight.requires_grad


def test_stop_gradient_stops_it() -> None:
    def f(x: Tensor) -> Tensor:
        return x * ops.stop_gradient(x)

    assert float(grad(f)(scalar(3.0))) == 3.0


def test_gradients_have_their_inputs_type() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return ops.sum(x * y)

    x, y = Tensor([1.0, 2.0], float16), Tensor([3.0, 4.0], float32)
    first, second = grad(f, (0, 1))(x, y)
    assert (first.dtype, second.dtype) == (float16, float32)

    def squared(x: Tensor, y: Tensor) -> Tensor:
        return ops.sum(square(grad(f)(x, y)))

    again = grad(squared, 1)(x, y)
    assert again.dtype is float32


def test_second_derivatives_through_a_cast() -> None:
    def f(x: Tensor) -> Tensor:
        return ops.cast(x, float32) ** 3

    assert float(grad(grad(f))(scalar(2.0))) == 12.0


def test_a_cell_is_a_function() -> None:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    x = Tensor([[1.0, 2.0]])
    value, gradients = value_and_grad(net, None, net.trainable_params())(x)
    assert float(value) == 3.0
    assert [g.tolist() for g in gradients] == [[[1.0, 2.0]], [1.0]]
    by_list = ops.GradOperation(get_by_list=True)(net)(x)
    assert repr(by_list) == repr(gradients)


def test_names_go_to_arguments() -> None:
    def f(x: Tensor, *, factor: float) -> Tensor:
        return x * factor

    assert float(grad(f)(scalar(1.0), factor=7.0)) == 7.0


def test_several_outputs_are_summed_unless_they_are_aside() -> None:
    x = scalar(3.0)
    assert float(grad(pair)(x)) == 7.0
    slope, aside = cast("tuple[Tensor, tuple[Tensor]]", grad(pair, has_aux=True)(x))
    assert (float(slope), [float(y) for y in aside]) == (6.0, [4.0])


def test_item_assignment_is_differentiable() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        x = x * 1.0
        x[1:] = y
        x[0] = x[2] * x[2]
        return ops.sum(x)

    first, second = grad(f, (0, 1))(Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0]))
    assert (first.tolist(), second.tolist()) == ([0.0, 0.0, 0.0], [1.0, 11.0])


def test_an_element_assigned_twice_is_the_last_ones() -> None:
    def f(y: Tensor) -> Tensor:
        x = ops.zeros(2) * 1.0
        x[Tensor([0, 0])] = y
        return ops.sum(x * 5.0)

    assert grad(f)(Tensor([1.0, 2.0])).tolist() == [0.0, 5.0]


def cube_of_first(x: Tensor, _: Tensor) -> tuple[Tensor, tuple[Function]]:
    return cube(x)


def cube(x: Tensor) -> tuple[Tensor, tuple[Function]]:
    return x * x * x, (lambda g: g * (3.0 * x * x),)


def test_a_rule_of_the_users_own() -> None:
    def f(x: Tensor) -> Tensor:
        return loose_rule(cube, x)

    derivative: Function = f
    for expected in (12.0, 12.0, 6.0):
        derivative = grad(derivative)
        assert float(derivative(scalar(2.0))) == expected


@pytest.mark.parametrize("operands", [2, 3])
def test_what_a_rule_refuses_is_told_in_its_own_words(operands: int) -> None:
    def refusing(*_: object) -> NoReturn:
        raise TypeError("not this")

    x = scalar(1.0)
    for apply in (apply2 if operands == 2 else apply3, loose_rule):
        with pytest.raises(TypeError, match="^not this$"):
            cast("Callable[..., object]", apply)(refusing, *[x] * operands)
    with pytest.raises(TypeError, match="^not this$"):
        constant(refusing, x, x, "refusing")


def test_what_is_no_function_is_no_rule() -> None:
    with pytest.raises(TypeError, match="'rule' must be callable, but got 3"):
        loose_rule(3, scalar(1.0))


def test_a_rule_must_have_a_pullback_for_each_operand() -> None:
    with pytest.raises(ValueError, match="a rule of 2 operands must give as many pullbacks"):
        loose_rule(cube_of_first, scalar(1.0), scalar(2.0))
    with pytest.raises(ValueError, match="at least one operand"):
        loose_rule(cube)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: loose(3), TypeError, "'fn' must be callable, but got 3 of type int"),
        (lambda: loose(square, "0"), TypeError, "'grad_position' must be an int or a tuple"),
        (lambda: loose(square, True), TypeError, "'grad_position' must be an int or a tuple"),
        (lambda: loose(square, -1), ValueError, "must not be negative, but got -1"),
        (lambda: loose(square, None), ValueError, "must not be None at the same time"),
        (lambda: loose(square, 1)(scalar(1.0)), RuntimeError, "there is no argument 1"),
        (lambda: loose(square)(1.0), RuntimeError, "argument 0 of the function must be a Tensor"),
        (lambda: loose(square, has_aux=True)(scalar(1.0)), ValueError, "several outputs"),
        (lambda: get_grad((0, scalar(1.0)), 1), RuntimeError, "no gradient for 1"),
        (lambda: loose_operation(get_all=1), TypeError, "'get_all' must be one of bool"),
        (lambda: loose_operation()("f"), TypeError, "'fn' must be callable"),
        (
            lambda: loose_operation(get_by_list=True)(square)(scalar(1.0)),
            ValueError,
            "'weights' must be given",
        ),
        (
            lambda: loose_operation(sens_param=True)(square)(scalar(1.0), Tensor([1.0, 1.0])),
            ValueError,
            "must have the shape of the output",
        ),
    ],
)
def test_wrong_use_is_named(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
