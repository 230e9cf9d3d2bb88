"""Checks of gradients by finite differences, for functions of tensors and for cells."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from minispore.common import Parameter, Tensor
from minispore.nn import Cell
from minispore.ops.gradients import compute_gradients
from minispore.utils.checks import as_items, check_type, is_mapping

Floats: TypeAlias = npt.NDArray[np.float64]
Function: TypeAlias = Callable[..., object]

_DIRECTIONS = 3
# The number of elements that the search for a wrong element examines.
_MAX_ELEMENTS = 200
# The default tolerances by the number of bytes of an element.
_TOLERANCES = {2: 0.2, 4: 5e-3, 8: 1e-6}


class GradientError(AssertionError):
    """The error of a gradient that differs from finite differences.

    Examples:
        >>> from minispore import ops
        >>> try:
        ...     gradcheck(lambda x: ops.stop_gradient(x) * x, Tensor([2.0]))
        ... except GradientError as error:
        ...     print(str(error).splitlines()[0])
        The gradient of '<lambda>' by input 0, a Float32 tensor of shape (1,), is wrong.
    """


def gradcheck(
    fn: Function,
    inputs: Tensor | Sequence[object],
    *,
    weights: Sequence[Parameter] | None = None,
    tolerance: float | None = None,
) -> None:
    """Check the gradients of a function, or of a Cell, by central differences.

    For random vectors u and v, the vector–Jacobian product of differentiation must satisfy
    ⟨v, Jᵀu⟩ = ⟨Jv, u⟩, where the Jacobian–vector product Jv is measured by central differences,
    (f(x + hv) − f(x − hv)) / 2h. If the values differ, the message names an element of the input
    and one of the output, with both derivatives.

    The step h is the cube root of the dtype's precision. The measured values have about ten correct
    digits in float64, four in float32, and one or two in float16: use float64 where possible.
    (There are no complex dtypes, and so no complex steps.) The check also fails where a function is
    not differentiable within a step of the point, such as relu at 0.

    Args:
        fn: The function of tensors, which returns a tensor, or tuples, lists and dicts of tensors.
            It must be deterministic: call `set_train(False)` on a cell with dropout.
        inputs: The arguments of the function; it is differentiated with respect to those that are
            tensors of floating point.
        weights: The parameters with respect to which it is also differentiated; by default the
            trainable parameters of a Cell.
        tolerance: The maximum relative difference; by default it depends on the dtypes.

    Raises:
        GradientError: A gradient is wrong, or its shape or dtype is not the input's; or the
            function changes its inputs, or is not deterministic.
        TypeError: `fn` is not callable, or does not return a tensor of floating point.
        ValueError: There is neither an input of floating point nor a parameter.

    Examples:
        >>> import numpy as np
        >>> from minispore import Tensor, nn, ops
        >>> x = Tensor(np.array([[0.5, -1.0, 2.0]]))
        >>> gradcheck(ops.tanh, x)
        >>> gradcheck(nn.Dense(3, 2), x)
        >>> def wrong(x):
        ...     return ops.stop_gradient(x) * x
        >>> gradcheck(wrong, x)
        Traceback (most recent call last):
        minispore.testing._gradcheck.GradientError: The gradient of 'wrong' by input 0, a Float64 \
tensor of shape (1, 3), is wrong.
        By its element [0, 0], for element [0, 0] of the output:
            differentiation says 0.5,
            central differences say 1.0.

    Source: PyTorch's `torch.autograd.gradcheck`.
    """
    _check(_function_at_point(fn, inputs, weights, "gradcheck"), tolerance)


def gradgradcheck(
    fn: Function,
    inputs: Tensor | Sequence[object],
    *,
    weights: Sequence[Parameter] | None = None,
    tolerance: float | None = None,
) -> None:
    """Check the second derivatives of a function, or of a Cell, by central differences.

    It is `gradcheck` of the gradient Jᵀu as a function of the inputs, the weights and u.

    Args:
        fn: As in `gradcheck`.
        inputs: As in `gradcheck`.
        weights: As in `gradcheck`.
        tolerance: As in `gradcheck`.

    Raises:
        GradientError: As in `gradcheck`.
        TypeError: As in `gradcheck`.
        ValueError: As in `gradcheck`.

    Examples:
        >>> import numpy as np
        >>> from minispore import Tensor, ops
        >>> gradgradcheck(lambda x, y: ops.exp(x) * y, [Tensor(np.ones(3)), Tensor(np.ones(1))])

    Source: PyTorch's `torch.autograd.gradgradcheck`.
    """
    first = _function_at_point(fn, inputs, weights, "gradgradcheck")
    rng = np.random.default_rng(1)
    seeds = [Tensor(rng.standard_normal(y.shape), y.dtype) for y in first.outputs()]
    count = len(first.inputs)

    def gradient(*arguments: Tensor) -> list[Tensor]:
        return list(replace(first, inputs=arguments[:count]).vjp(arguments[count:]))

    second = replace(
        first,
        fn=gradient,
        inputs=[*first.inputs, *seeds],
        input_names=[*first.input_names, *(f"u{i}" for i in range(len(seeds)))],
        by=[*first.by, *range(count, count + len(seeds))],
        title=f"the gradient of {first.title}",
    )
    _check(second, tolerance)


@dataclass(frozen=True)
class _FunctionAtPoint:
    """A function at a point.

    Attributes:
        fn: The function.
        inputs: The arguments.
        input_names: The names of the arguments, for messages.
        by: The indices of the arguments with respect to which it is differentiated.
        weights: The parameters with respect to which it is differentiated.
        title: The name of the function, for messages.
    """

    fn: Function
    inputs: Sequence[object]
    input_names: Sequence[str]
    by: Sequence[int]
    weights: Sequence[Parameter]
    title: str

    @property
    def variables(self) -> list[tuple[str, Tensor]]:
        """The tensors with respect to which it is differentiated, with their names."""
        by_input = [(self.input_names[i], cast("Tensor", self.inputs[i])) for i in self.by]
        return by_input + [(f"parameter '{each.name}'", each) for each in self.weights]

    def outputs(self) -> list[Tensor]:
        """Return the outputs that can be differentiated."""
        outputs = [y for y in _tensors(self.fn(*self.inputs)) if _is_float(y)]
        if not outputs:
            raise TypeError(f"The function {self.title} returns no tensor of floating point.")
        return outputs

    def vjp(self, seeds: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return Jᵀu for each variable."""
        gradients = compute_gradients(
            lambda *inputs: replace(self, inputs=inputs).outputs(),
            self.inputs,
            {},
            tuple(self.by),
            self.weights,
            "gradcheck",
            sens=tuple(seeds),
        )
        return cast("tuple[Tensor, ...]", (*gradients.inputs, *gradients.weights))

    def perturbed(self, number: int, step: Floats) -> tuple[list[Floats], Floats]:
        """Return the outputs after a step of a variable, and its value, rounded to its dtype."""
        x = self.variables[number][1]
        moved = Tensor((_floats(x) + step).astype(x.asnumpy().dtype))
        if number < len(self.by):
            inputs = list(self.inputs)
            inputs[self.by[number]] = moved
            return [_floats(y) for y in replace(self, inputs=inputs).outputs()], _floats(moved)
        before = Tensor(x.asnumpy().copy())
        weight = self.weights[number - len(self.by)]
        try:
            weight.set_data(moved)
            return [_floats(y) for y in self.outputs()], _floats(moved)
        finally:
            weight.set_data(before)

    def numerical_jvp(
        self, number: int, direction: Floats, step: float
    ) -> tuple[list[Floats], Floats]:
        """Return Jv for a variable, and the direction v after rounding to the variable's dtype."""
        ahead, upper = self.perturbed(number, step * direction)
        behind, lower = self.perturbed(number, -step * direction)
        jvp = [(y - z) / (2 * step) for y, z in zip(ahead, behind, strict=True)]
        return jvp, (upper - lower) / (2 * step)


def _function_at_point(
    fn: Function,
    inputs: Tensor | Sequence[object],
    weights: Sequence[Parameter] | None,
    caller: str,
) -> _FunctionAtPoint:
    """Check the arguments of `gradcheck`, and return the function that they describe."""
    if not callable(fn):
        raise TypeError(f"For '{caller}', the argument 'fn' must be a function, but got {fn!r}.")
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if weights is None:
        weights = fn.trainable_params() if isinstance(fn, Cell) else []
    for weight in weights:
        check_type(weight, Parameter, "weights", caller)
    by = [i for i, x in enumerate(listed) if isinstance(x, Tensor) and _is_float(x)]
    if not by and not weights:
        raise ValueError(
            f"For '{caller}', one of 'inputs' must be a tensor of floating point, or there must be "
            f"'weights', but got {listed!r}."
        )
    title = f"'{getattr(fn, '__name__', type(fn).__name__)}'"
    return _FunctionAtPoint(
        fn, listed, [f"input {i}" for i in range(len(listed))], by, weights, title
    )


@dataclass(frozen=True)
class _Tolerance:
    """The step of the central differences, and the tolerance of comparisons.

    Attributes:
        step: The step.
        relative: The relative tolerance.
        absolute: The rounding error of the outputs, divided by the step.
    """

    step: float
    relative: float
    absolute: float

    @classmethod
    def of(cls, x: Tensor, outputs: Sequence[Tensor], tolerance: float | None) -> "_Tolerance":
        """Return the tolerance for the least precise of the dtypes."""
        dtypes = [y.asnumpy().dtype for y in (x, *outputs)]
        precision = max(float(np.finfo(each.name).eps) for each in dtypes)
        if tolerance is None:
            tolerance = max(_TOLERANCES[each.itemsize] for each in dtypes)
        step = float(np.cbrt(precision))
        size = float(np.sqrt(sum(np.sum(_floats(y) ** 2) for y in outputs)))
        return cls(step, tolerance, 10 * precision * size / step)

    def is_close(self, x: float, y: float, size: float) -> bool:
        """Return whether two sums may be equal; `size` is the sum of their absolute terms."""
        return abs(x - y) <= self.relative * size + self.absolute


def _check(function: _FunctionAtPoint, tolerance: float | None) -> None:
    rng = np.random.default_rng(0)
    before = [_floats(x) for _, x in function.variables]
    outputs, repeated = function.outputs(), function.outputs()
    if not all(_equal(_floats(y), _floats(z)) for y, z in zip(outputs, repeated, strict=True)):
        raise GradientError(
            f"The function {function.title} is not deterministic, so that it cannot be checked. "
            "Does it contain dropout?"
        )
    seeds = [Tensor(rng.standard_normal(y.shape), y.dtype) for y in outputs]
    gradients = function.vjp(seeds)
    for (name, x), old in zip(function.variables, before, strict=True):
        if not _equal(_floats(x), old):
            raise GradientError(f"The function {function.title} changes its {name}.")
    for number, ((name, x), gradient) in enumerate(zip(function.variables, gradients, strict=True)):
        message = f"The gradient of {function.title} by {name}, a {_spec(x)}, is "
        if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
            raise GradientError(f"{message}a {_spec(gradient)}.")
        limits = _Tolerance.of(x, outputs, tolerance)
        for _ in range(_DIRECTIONS):
            direction = rng.standard_normal(x.shape)
            pair = _compare_vjp_with_jvp(function, number, direction, seeds, gradient, limits)
            if pair is not None:
                where, derived, measured = next(
                    _wrong_elements(function, number, limits), ("For a random sum:", *pair)
                )
                raise GradientError(
                    f"{message}wrong.\n{where}\n    differentiation says {derived:.6},\n"
                    f"    central differences say {measured:.6}."
                )


def _compare_vjp_with_jvp(
    function: _FunctionAtPoint,
    number: int,
    direction: Floats,
    seeds: Sequence[Tensor],
    gradient: Tensor,
    limits: _Tolerance,
) -> tuple[float, float] | None:
    """Return ⟨v, Jᵀu⟩ and ⟨Jv, u⟩ if they differ, else None."""
    jvp, direction = function.numerical_jvp(number, direction, limits.step)
    terms = [derivative * _floats(u) for derivative, u in zip(jvp, seeds, strict=True)]
    products = _floats(gradient) * direction
    derived, measured = float(products.sum()), float(sum(each.sum() for each in terms))
    size = float(abs(products).sum() + sum(abs(each).sum() for each in terms))
    return None if limits.is_close(derived, measured, size) else (derived, measured)


def _wrong_elements(
    function: _FunctionAtPoint, number: int, limits: _Tolerance
) -> Iterator[tuple[str, float, float]]:
    """Yield each wrong element of the Jacobian: its indices, and both derivatives."""
    x, outputs = function.variables[number][1], function.outputs()
    for index in islice(np.ndindex(*x.shape), _MAX_ELEMENTS):
        jvp, direction = function.numerical_jvp(number, _unit(x.shape, index), limits.step)
        for i, derivative in enumerate(jvp):
            for position in islice(np.ndindex(*derivative.shape), _MAX_ELEMENTS):
                seeds = [Tensor(np.zeros(y.shape), y.dtype) for y in outputs]
                seeds[i] = Tensor(_unit(derivative.shape, position), outputs[i].dtype)
                gradient = _floats(function.vjp(seeds)[number])
                derived = float((gradient * direction)[index])
                measured = float(derivative[position])
                if not limits.is_close(derived, measured, abs(derived) + abs(measured)):
                    output = f"output {i}" if len(jvp) > 1 else "the output"
                    element = f"for element {list(position)} of {output}:"
                    yield f"By its element {list(index)}, {element}", derived, measured


def _unit(shape: tuple[int, ...], index: tuple[int, ...]) -> Floats:
    array = np.zeros(shape)
    array[index] = 1.0
    return array


def _spec(x: Tensor) -> str:
    return f"{x.dtype} tensor of shape {x.shape}"


def _equal(x: Floats, y: Floats) -> bool:
    return np.array_equal(x, y, equal_nan=True)


def _tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if is_mapping(value):
        value = list(value.values())
    return [y for item in as_items(value) or () for y in _tensors(item)]


def _is_float(x: Tensor) -> bool:
    return x.asnumpy().dtype.kind == "f"


def _floats(x: Tensor) -> Floats:
    return x.asnumpy().astype(np.float64)
