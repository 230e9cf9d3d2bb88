"""`grad`, `value_and_grad` and `GradOperation`: nested, and by weights."""

from collections.abc import Callable
from typing import NoReturn, cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, float16, float32, grad, nn, ops, value_and_grad
from minispore.engine.array import Array, namespace
from minispore.engine.dispatch import apply2, apply3, apply_nondifferentiable
from minispore.testing import strategies as mst
from minispore.utils.checks import as_items

Function = Callable[[Tensor], Tensor]


# Without static types, as scripts call them.
loose = cast("Callable[..., Callable[..., object]]", grad)
loose_operation = cast("Callable[..., Callable[..., Callable[..., object]]]", ops.GradOperation)
loose_rule = cast("Callable[..., Tensor]", ops.apply_rule)
loose_value_and_grad = cast("Callable[..., Callable[..., object]]", value_and_grad)


def scalar(value: float) -> Tensor:
    return Tensor(np.float64(value))


def square(x: Tensor) -> Tensor:
    return x * x


def pair(x: Tensor) -> tuple[Tensor, Tensor]:
    return x * x, x + 1.0


@given(x=st.floats(-1.0, 1.0))
def test_third_derivatives_equal_the_analytic_ones(x: float) -> None:
    def sine_like(x: Tensor) -> Tensor:
        return ops.tanh(x) * ops.exp(x)

    # With t = tanh x and t' = 1 − t²: the product's derivatives by Leibniz's rule.
    t = np.tanh(x)
    t1 = 1 - t * t
    t2 = -2 * t * t1
    t3 = -2 * t1 * t1 - 2 * t * t2
    expected = [t + t1, t + 2 * t1 + t2, t + 3 * t1 + 3 * t2 + t3]
    derivative: Function = sine_like
    for value in expected:
        derivative = grad(derivative)
        assert abs(float(derivative(scalar(x))) - value * np.exp(x)) < 1e-9


@given(mst.broadcastable_tensors(2, float32))
def test_broadcasting_adds_up_the_gradients(operands: tuple[Tensor, ...]) -> None:
    size = sum(operands, ops.zeros(())).size
    gradients = grad(lambda x, y: ops.sum(x + y), (0, 1))(*operands)
    for operand, gradient in zip(operands, gradients, strict=True):
        copies = size / max(1, operand.size)
        assert gradient.shape == operand.shape
        assert gradient.tolist() == ops.full(operand.shape, copies).tolist()


def perturbed(x: Tensor) -> Tensor:
    """x · d/dy (x + y) = x: x is a constant of the inner gradient."""
    return x * grad(lambda y: x + y)(scalar(1.0))


def at_the_outer_variable(x: Tensor) -> Tensor:
    """d/dy (x² y³) at y = x is 3 x⁴."""
    return grad(lambda y: x * x * y * y * y)(x)


def half_stopped(x: Tensor) -> Tensor:
    return x * ops.stop_gradient(x)


def through_a_cast(x: Tensor) -> Tensor:
    return grad(lambda y: ops.cast(y, float32) ** 3)(x)


# Functions, each with its derivative.
PROGRAMS: list[tuple[Function, Callable[[float], float]]] = [
    (perturbed, lambda x: 1.0),
    (at_the_outer_variable, lambda x: 12 * x**3),
    (half_stopped, lambda x: x),
    (through_a_cast, lambda x: 6 * x),
]


@pytest.mark.parametrize(("function", "derivative"), PROGRAMS)
@given(number=st.integers(-8, 8))
def test_gradient_of_a_program_with_gradients_or_constants(
    function: Function, derivative: Callable[[float], float], number: int
) -> None:
    """In small integers all results are exact."""
    x = scalar(number)
    assert float(grad(function)(x)) == derivative(number)
    # Captured, the same tensor is a constant.
    assert float(grad(lambda y: x * y)(x)) == number
    assert float(grad(lambda y, *, factor: y * factor)(x, factor=7.0)) == 7.0


@given(st.integers(-8, 8))
def test_gradients_of_tensor_as_argument_and_weight(number: int) -> None:
    """∂(x w)/∂w is x, even if x is w: the backward pass ends at the inputs."""

    def outer(w: Tensor) -> tuple[Tensor, Tensor]:
        def product(x: Tensor) -> Tensor:
            return x * w

        by_x, (by_w,) = cast("tuple[Tensor, tuple[Tensor]]", grad(product, 0, [w])(w))
        return by_x, by_w

    parts, _ = value_and_grad(outer)(scalar(number))
    assert [float(part) for part in parts] == [number, number]


@given(st.integers(-8, 8))
def test_one_tensor_as_two_arguments_has_two_gradients(number: int) -> None:
    x = scalar(number)
    gradients = grad(lambda a, b: a * a * b, (0, 1))(x, x)
    assert [float(gradient) for gradient in gradients] == [2 * number**2, number**2]


@given(st.integers(0, 5), st.slices(5))
@example(5, slice(None, None, -1))
def test_slice_with_a_negative_step_has_its_gradient(size: int, part: slice) -> None:
    part = slice(part.start, part.stop, -abs(part.step or 1))
    weights = np.arange(1.0, len(np.ones(size)[part]) + 1)
    expected = np.zeros(size)
    expected[part] = weights

    def weighted(x: Tensor) -> Tensor:
        return (x[part] * Tensor(weights)).sum()

    gradient = grad(weighted)(Tensor(np.ones(size)))
    assert gradient.tolist() == expected.tolist()


@pytest.mark.parametrize("make", [Parameter, Tensor])
@given(w=st.integers(-8, 8), number=st.integers(1, 8))
def test_nested_gradients_by_the_same_weight(
    make: Callable[[Tensor], Tensor], w: int, number: int
) -> None:
    """The gradient's square is differentiated by the same weight: d/dw (2 w x)² = 8 w x²."""
    weight = make(scalar(w))

    def penalty(x: Tensor) -> Tensor:
        gradient = grad(lambda x: weight * weight * x, None, [weight])(x)[0]
        return gradient * gradient

    assert float(grad(penalty, None, [weight])(scalar(number))[0]) == 8 * w * number**2


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
def test_parameter_without_requires_grad_is_a_constant() -> None:
    """Also in second derivatives, as an argument, and where it is an argument and a weight."""
    frozen, trained = Parameter(scalar(3.0), requires_grad=False), Parameter(scalar(2.0))

    def f(x: Tensor) -> Tensor:
        return trained * frozen * x * x

    def by_both(x: Tensor) -> Tensor:
        return ops.add(*grad(f, None, [frozen, trained])(x))

    assert float(grad(f, None, [frozen])(scalar(5.0))[0]) == 0.0
    assert float(by_both(scalar(5.0))) == 75.0
    assert float(grad(by_both)(scalar(5.0))) == 30.0
    assert float(grad(f)(frozen)) == 0.0
    assert not frozen.requires_grad


def test_gradients_have_the_dtype_of_inputs() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return ops.sum(x * y)

    x, y = Tensor([1.0, 2.0], float16), Tensor([3.0, 4.0], float32)
    first, second = grad(f, (0, 1))(x, y)
    assert (first.dtype, second.dtype) == (float16, float32)

    def squared(x: Tensor, y: Tensor) -> Tensor:
        return ops.sum(square(grad(f)(x, y)))

    again = grad(squared, 1)(x, y)
    assert again.dtype is float32


def test_cells_are_differentiated_by_weights() -> None:
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    x = Tensor([[1.0, 2.0]])
    value, gradients = value_and_grad(net, None, net.trainable_params())(x)
    assert float(value) == 3.0
    assert [g.tolist() for g in gradients] == [[[1.0, 2.0]], [1.0]]
    by_list = ops.GradOperation(get_by_list=True)(net)(x)
    assert repr(by_list) == repr(gradients)


@given(st.integers(-8, 8))
def test_has_aux_excludes_all_but_the_first_output(number: int) -> None:
    x = scalar(number)
    assert float(grad(pair)(x)) == 2 * number + 1
    gradient, aux = grad(pair, has_aux=True)(x)
    assert (float(gradient), [float(y) for y in aux]) == (2 * number, [number + 1])


def test_item_assignment_is_differentiable() -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        x = x * 1.0
        x[1:] = y
        x[0] = x[2] * x[2]
        return ops.sum(x)

    first, second = grad(f, (0, 1))(Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0]))
    assert (first.tolist(), second.tolist()) == ([0.0, 0.0, 0.0], [1.0, 11.0])


@given(st.lists(st.integers(0, 2), min_size=1, max_size=6))
def test_gradient_of_repeated_index_goes_to_last_value(places: list[int]) -> None:
    def f(y: Tensor) -> Tensor:
        x = ops.zeros(3) * 1.0
        x[Tensor(places)] = y
        return ops.sum(x * 5.0)

    expected = [0.0 if place in places[i + 1 :] else 5.0 for i, place in enumerate(places)]
    assert grad(f)(ops.ones(len(places))).tolist() == expected


def cube(x: Tensor) -> tuple[Tensor, tuple[Function]]:
    return x * x * x, (lambda g: g * (3.0 * x * x),)


@given(st.integers(-8, 8))
def test_user_defined_rule_is_differentiable_again(x: int) -> None:
    def f(x: Tensor) -> Tensor:
        return loose_rule(cube, x)

    derivative: Function = f
    for expected in (3 * x**2, 6 * x, 6):
        derivative = grad(derivative)
        assert float(derivative(scalar(x))) == expected


@pytest.mark.parametrize("operands", [2, 3])
def test_exception_of_a_rule_propagates(operands: int) -> None:
    def raising(*_: object) -> NoReturn:
        raise TypeError("not this")

    x = scalar(1.0)
    for apply in (apply2 if operands == 2 else apply3, loose_rule):
        with pytest.raises(TypeError, match="^not this$"):
            cast("Callable[..., object]", apply)(raising, *[x] * operands)
    with pytest.raises(TypeError, match="^not this$"):
        apply_nondifferentiable(raising, x, x)


@given(positions=st.lists(st.integers(0, 2), min_size=1, max_size=4), as_list=st.booleans())
def test_each_position_is_differentiated_once_or_refused(
    positions: list[int], as_list: bool
) -> None:
    def function(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return x * y + z * 7.0

    def gradients(*args: Tensor) -> object:
        both = as_items(loose_value_and_grad(function, names)(*args))
        assert both is not None
        return both[1]

    names = positions if as_list else tuple(positions)
    if len({*positions}) < len(positions):
        for name, transform in {"grad": loose, "value_and_grad": loose_value_and_grad}.items():
            expected = f"^For '{name}', the argument 'grad_position' must name each position once"
            with pytest.raises(ValueError, match=expected):
                transform(function, names)
        return
    for differentiated in (loose(function, names), gradients):
        result = differentiated(Tensor(3.0), Tensor(5.0), Tensor(1.0))
        found = [float(cast("Tensor", g)) for g in as_items(result) or (result,)]
        assert found == [[5.0, 3.0, 7.0][i] for i in positions]


def as_type(x: Array, dtype: type[np.generic]) -> Array:
    return namespace(x).astype(x, np.dtype(dtype))


# What a pullback may return for an operand of shape (2,) and a value of shape (2, 2).
NO_GRADIENTS: dict[str, tuple[Callable[[Array], object], type[Exception], str]] = {
    "the shape of the value": (lambda g: g, ValueError, r"operand, \(2,\), but .* \(2, 2\)"),
    "fewer axes": (lambda g: g[0, 0], ValueError, r"operand, \(2,\), but .* shape \(\)"),
    "as many elements": (lambda g: g[:1], ValueError, r"operand, \(2,\), but .* \(1, 2\)"),
    "None": (lambda _: None, TypeError, "must return an array .* but returned None"),
    "a number": (lambda _: 1.0, TypeError, r"must return an array .* but returned 1\.0"),
    "a list": (lambda _: [1.0, 1.0], TypeError, "must return an array .* but returned"),
    "a tuple": (lambda g: (g,), TypeError, "must return an array .* but returned"),
    "a function": (lambda _: as_type, TypeError, "must return an array .* but returned"),
    "texts": (lambda _: np.array(["a", "b"]), TypeError, "must return an array"),
    "float64": (lambda g: as_type(g[0], np.float64), TypeError, "of the type of its operand"),
    "float16": (lambda g: as_type(g[0], np.float16), TypeError, "of the type of its operand"),
    "integers": (lambda g: as_type(g[0], np.int32), TypeError, "of the type of its operand"),
}


@pytest.mark.parametrize("kind", NO_GRADIENTS)
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("order", [1, 2])
def test_what_a_pullback_returns_is_a_gradient_or_refused(
    kind: str, position: int, order: int
) -> None:
    pullback, error, text = NO_GRADIENTS[kind]

    def product(*arrays: Array) -> tuple[Array, tuple[object, ...]]:
        x, y = arrays[position], arrays[1 - position]

        def right(g: Array) -> Array:
            return namespace(g).sum(g * x, axis=1, keepdims=True)

        pullbacks: list[Callable[[Array], object]] = [pullback, right]
        return x * y, tuple(pullbacks if position == 0 else pullbacks[::-1])

    operands = [Tensor([1.0, 2.0]), Tensor([[1.0], [2.0]])]
    differentiated = loose(lambda x, y: loose_rule(product, x, y), position)
    if order == 2:
        differentiated = loose(differentiated, position)
    place = f"^For 'apply_rule', the pullback {position} of the rule 'product' "
    with pytest.raises(error, match=f"{place}.*{text}"):
        differentiated(*(operands if position == 0 else operands[::-1]))


# What a rule may return instead of a value and a pullback.
NO_RULES: dict[str, Callable[[Array], object]] = {
    "None": lambda _: None,
    "an array of two elements": lambda x: x,
    "a value": lambda x: (x,),
    "a pullback without a tuple": lambda x: (x, lambda g: g),
    "a number for a pullback": lambda x: (x, (1.0,)),
    "no value": lambda _: (None, (lambda g: g,)),
    "a number for a value": lambda _: (1.0, (lambda g: g,)),
    "a list for a value": lambda _: ([1.0, 2.0], (lambda g: g,)),
    "a tensor for a value": lambda _: (Tensor([1.0, 2.0]), (lambda g: g,)),
}


@pytest.mark.parametrize("kind", NO_RULES)
def test_what_a_rule_returns_is_a_value_and_pullbacks_or_refused(kind: str) -> None:
    def wrong(x: Array) -> object:
        return NO_RULES[kind](x)

    calls: list[Callable[..., object]] = [loose_rule, loose(loose_rule, 1)]
    for call in calls:
        with pytest.raises(TypeError, match="^For 'apply_rule', the .*rule 'wrong' must "):
            call(wrong, Tensor([1.0, 2.0]))
