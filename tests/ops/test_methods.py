"""A method of `Tensor` has the arguments and results of the operation of its name."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Parameter, Tensor, grad, ops
from minispore.engine.graph import record
from minispore.utils.checks import as_items
from tests.helpers.public_calls import names_of
from tests.helpers.valid_arguments import OPERATIONS

Floats = NDArray[np.float64]

# Methods whose arguments differ from those of the operation, and a random one.
DIFFERENT = {"fill", "flatten", "multinomial", "qr", "searchsorted"}
MINIMUM = {"clip": 1, "split": 2}
MAXIMUM = {"sum": 1}
# Functions of numbers from -1 to 1.
BOUNDED = {"asin", "acos", "atanh", "arcsin", "arccos", "arctanh"}
PAIRS = [
    (method, name)
    for name in OPERATIONS
    if name not in DIFFERENT
    for method in sorted(names_of(getattr(ops, name)))
    if inspect.isfunction(getattr(Tensor, method, None))
]


def tensors(value: object) -> list[tuple[object, ...]]:
    """Return the data types, shapes and values of results."""
    listed = as_items(value) or (value,)
    assert all(isinstance(x, Tensor) for x in listed)
    return [(x.dtype, x.shape, x.asnumpy().tolist()) for x in listed if isinstance(x, Tensor)]


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_method_equals_the_operation_of_its_name(method: str, name: str) -> None:
    first, *others = OPERATIONS[name].values()
    assert isinstance(first, Tensor)
    first = first / 8 if name in BOUNDED else first + 1
    # Operands with different values, so that exchanged ones are detected.
    others = [another(operand, first) for operand in others]
    operation = list(inspect.signature(getattr(ops, name)).parameters.values())[1:]
    of_method = inspect.signature(getattr(Tensor, method)).parameters
    method_has = len(of_method) - 1
    plain = [p for p in operation if p.kind is p.POSITIONAL_OR_KEYWORD][:method_has]
    minimum = MINIMUM.get(name, sum(p.default is p.empty for p in plain))
    maximum = MAXIMUM.get(name, len(plain))
    named = {
        p.name: OPERATIONS[name][p.name]
        for p in operation
        if p.kind is p.KEYWORD_ONLY and p.name in of_method
    }
    calls: list[tuple[list[object], dict[str, object]]] = [
        *((others[:count], {}) for count in range(minimum, maximum + 1)),
        (others[:maximum], named),
    ]
    for args, by_name in calls:
        expected = getattr(ops, name)(first, *args, **by_name)
        actual = getattr(first, method)(*args, **by_name)
        if name in {"max", "min"}:  # the operation also returns the indices
            actual, expected = first_of(actual), first_of(expected)
        assert tensors(actual) == tensors(expected)


def another(operand: object, first: Tensor) -> object:
    """Return an operand of the same shape with other values."""
    if isinstance(operand, Tensor) and (operand.shape, operand.dtype) == (first.shape, first.dtype):
        return Tensor(np.flip(operand.asnumpy())) + 2
    return operand


def first_of(value: object) -> object:
    items = as_items(value)
    return items[0] if items else value


# Methods whose arguments have two names, with the names that PyTorch does not have.
TWO_NAMES = {
    **dict.fromkeys(("sum", "argmax", "argmin", "std", "var"), ("axis", "keepdims")),
    **dict.fromkeys(("mean", "all", "any"), ("axis", "keep_dims")),
    **dict.fromkeys(("sort", "argsort", "cumsum", "count_nonzero"), ("axis", None)),
}


@pytest.mark.parametrize("name", TWO_NAMES)
@given(axis=st.sampled_from([0, 1, -1]), keep=st.booleans(), seed=st.integers(0, 99))
def test_both_names_of_an_argument_have_the_same_effect(
    name: str, axis: int, keep: bool, seed: int
) -> None:
    x = Tensor(np.random.default_rng(seed).normal(size=(2, 3)))
    method, (first, second) = getattr(x, name), TWO_NAMES[name]
    both = {} if second is None else {second: keep}
    expected = method(**{first: axis}, **both)
    assert tensors(method(dim=axis, **({"keepdim": keep} if both else {}))) == tensors(expected)
    with pytest.raises(TypeError, match=f"^For '{name}', an argument was given by both of its"):
        method(**{first: 1}, dim=0)


@given(alpha=st.integers(-3, 3) | st.floats(-3, 3), seed=st.integers(0, 99))
def test_alpha_multiplies_the_other_operand(alpha: float, seed: int) -> None:
    x, y = (Tensor(np.random.default_rng(seed + i).normal(size=(2, 3))) for i in range(2))
    assert tensors(x.add(y, alpha=alpha)) == tensors(x + y * alpha)
    assert tensors(x.sub(y, alpha=alpha)) == tensors(x - y * alpha)
    assert tensors(x.copy().add_(y, alpha=alpha)) == tensors(x + y * alpha)
    assert tensors(x.copy().sub_(y, alpha=alpha)) == tensors(x - y * alpha)


@given(factor=st.floats(-3, 3), in_record=st.booleans(), seed=st.integers(0, 99))
def test_hook_of_a_parameter_replaces_its_gradient_until_it_is_removed(
    factor: float, in_record: bool, seed: int
) -> None:
    x, values = (Tensor(v) for v in np.random.default_rng(seed).normal(size=(2, 3)))
    weight = Parameter(values, name="weight")

    def gradient_by(*, second: bool) -> Floats:
        def f(x: Tensor) -> Tensor:
            return (ops.square(weight) * x).sum()

        def of_gradient(x: Tensor) -> Tensor:
            return ops.square(grad(f, None, weight)(x)).sum()

        result = grad(of_gradient)(x) if second else grad(f, None, weight)(x)
        return np.asarray(result.asnumpy(), np.float64)

    expected = [gradient_by(second=second) for second in (False, True)]
    handle = record(lambda: weight.register_hook(lambda gradient: gradient * factor), on=in_record)
    hooked = [gradient_by(second=second) for second in (False, True)]
    np.testing.assert_allclose(hooked[0], expected[0] * factor)
    np.testing.assert_allclose(hooked[1], expected[1] * factor**2, atol=1e-12)
    handle.remove()
    np.testing.assert_array_equal(gradient_by(second=False), expected[0])


@given(removed=st.lists(st.integers(0, 2)))
def test_handle_removes_its_hook_once_also_if_the_function_is_registered_again(
    removed: list[int],
) -> None:
    weight = Parameter(Tensor(1.0))
    handles = [weight.register_hook(ops.neg) for _ in range(3)]
    for i in removed:
        handles[i].remove()
    gradient = grad(lambda x: x * weight, None, weight)(Tensor(1.0))
    assert gradient.item() == (-1) ** (3 - len(set(removed)))


@given(factor=st.floats(-3, 3), seed=st.integers(0, 99))
def test_hook_replaces_the_gradient_also_in_second_derivatives(factor: float, seed: int) -> None:
    x = Tensor(np.random.default_rng(seed).normal(size=3))

    def cube(x: Tensor, scale: float | None) -> Tensor:
        y = x * x * x
        if scale is not None:
            y.register_hook(lambda gradient: gradient * scale)
        return y.sum()

    def slope(x: Tensor, scale: float | None) -> Tensor:
        return grad(cube)(x, scale).sum()

    for function in (cube, slope):
        actual, expected = grad(function)(x, factor), grad(function)(x, None) * factor
        np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=1e-12, atol=1e-12)
