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
from minispore.utils.checks import as_items, caller, check_function, check_type, is_mapping

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
    Where they differ, they are extrapolated to a step of 0, with those of the step h/2.
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
    _check(_function_at_point(fn, inputs, weights), tolerance)


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
    first = _function_at_point(fn, inputs, weights)
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
        return by_input + [(f"parameter '{weight.name}'", weight) for weight in self.weights]

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
            sens=tuple(seeds),
        )
        return (*gradients.inputs, *gradients.weights)

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

    def differences(self, number: int, direction: Floats, step: float) -> "_Differences":
        """Return the central differences for a step of a variable."""
        ahead, upper = self.perturbed(number, step * direction)
        behind, lower = self.perturbed(number, -step * direction)
        return _Differences(
            step=step,
            direction=(upper - lower) / (2 * step),
            jvp=[(y - z) / (2 * step) for y, z in zip(ahead, behind, strict=True)],
            mean=[(y + z) / 2 for y, z in zip(ahead, behind, strict=True)],
        )


@dataclass(frozen=True)
class _Differences:
    """Central differences of the outputs for a step of a variable.

    Attributes:
        step: The step h.
        direction: The direction v after rounding to the variable's dtype.
        jvp: (f(x + hv) − f(x − hv)) / 2h for each output.
        mean: (f(x + hv) + f(x − hv)) / 2 for each output.
    """

    step: float
    direction: Floats
    jvp: Sequence[Floats]
    mean: Sequence[Floats]

    def products(self, seeds: Sequence[Tensor], gradient: Floats) -> tuple[Floats, Floats]:
        """Return the terms of ⟨v, Jᵀu⟩ and of ⟨Jv, u⟩."""
        return (gradient * self.direction).ravel(), _terms(self.jvp, seeds)


def _function_at_point(
    fn: Function,
    inputs: Tensor | Sequence[object],
    weights: Sequence[Parameter] | None,
) -> _FunctionAtPoint:
    """Check the arguments of `gradcheck`, and return the function that they describe."""
    check_function(fn, "fn")
    listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if weights is None:
        weights = fn.trainable_params() if isinstance(fn, Cell) else []
    for weight in weights:
        check_type(weight, Parameter, "weights")
    by = [i for i, x in enumerate(listed) if isinstance(x, Tensor) and _is_float(x)]
    if not by and not weights:
        raise ValueError(
            f"For '{caller()}', one of 'inputs' must be a tensor of floating point, or there must "
            f"be 'weights', but got {listed!r}."
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
        precision: The relative rounding error.
        outputs: The outputs.
        scale: The size of the variable's largest element.
    """

    step: float
    relative: float
    precision: float
    outputs: Sequence[Floats]
    scale: float

    @classmethod
    def of(cls, x: Tensor, outputs: Sequence[Tensor], tolerance: float | None) -> "_Tolerance":
        """Return the tolerance for the least precise of the dtypes."""
        dtypes = [y.asnumpy().dtype for y in (x, *outputs)]
        precision = max(float(np.finfo(dtype.name).eps) for dtype in dtypes)
        if tolerance is None:
            tolerance = max(_TOLERANCES[dtype.itemsize] for dtype in dtypes)
        step = float(np.cbrt(precision))
        scale = float(abs(_floats(x)).max(initial=0.0))
        return cls(step, tolerance, precision, [_floats(y) for y in outputs], scale)

    @property
    def absolute(self) -> float:
        """The rounding error of the outputs, divided by the step."""
        size = float(np.sqrt(sum(np.sum(y**2) for y in self.outputs)))
        return 10 * self.precision * size / self.step

    def is_close(self, x: float, y: float, size: float) -> bool:
        """Return whether two sums may be equal; `size` is the sum of their absolute terms."""
        return abs(x - y) <= self.relative * size + self.absolute

    def is_close_in_the_limit(
        self,
        whole: _Differences,
        half: _Differences,
        seeds: Sequence[Tensor],
        gradient: Floats,
    ) -> bool:
        """Return whether two sums may be equal for a step of 0, given those for h and h/2.

        The error that is proportional to h² is eliminated (Richardson). Of a function xⁿ at 0, less
        than half of the derivative's change with the step is left. The outputs are rounded, and so
        is the variable, which changes the derivative by the second derivative.
        """
        errors: list[float] = []
        sizes: list[float] = []
        for differences in (whole, half):
            derived, measured = differences.products(seeds, gradient)
            errors.append(float(derived.sum() - measured.sum()))
            sizes.append(float(abs(derived).sum() + abs(measured).sum()))
        change = [x - y for x, y in zip(whole.jvp, half.jvp, strict=True)]
        bend = [x - y for x, y in zip(whole.mean, self.outputs, strict=True)]
        second = float(abs(_terms(bend, seeds)).sum()) / self.step**2
        rounding = 10 * self.precision * self.scale * second
        remainder = float(abs(_terms(change, seeds)).sum()) / 2 + rounding
        error = (4 * errors[1] - errors[0]) / 3
        return abs(error) <= self.relative * min(sizes) + self.absolute + remainder


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
            differences = function.differences(number, direction, limits.step)
            pair = _compare_vjp_with_jvp(
                function, number, differences, seeds, _floats(gradient), limits
            )
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
    differences: _Differences,
    seeds: Sequence[Tensor],
    gradient: Floats,
    limits: _Tolerance,
) -> tuple[float, float] | None:
    """Return ⟨v, Jᵀu⟩ and ⟨Jv, u⟩ if they differ, else None."""
    products, terms = differences.products(seeds, gradient)
    derived, measured = float(products.sum()), float(terms.sum())
    size = float(abs(products).sum() + abs(terms).sum())
    if limits.is_close(derived, measured, size):
        return None
    half = function.differences(number, differences.direction, differences.step / 2)
    if limits.is_close_in_the_limit(differences, half, seeds, gradient):
        return None
    return derived, measured


def _wrong_elements(
    function: _FunctionAtPoint, number: int, limits: _Tolerance
) -> Iterator[tuple[str, float, float]]:
    """Yield each wrong element of the Jacobian: its indices, and both derivatives."""
    x, outputs = function.variables[number][1], function.outputs()
    for index in islice(np.ndindex(*x.shape), _MAX_ELEMENTS):
        unit = _unit(x.shape, index)
        differences = function.differences(number, unit, limits.step)
        for i, y in enumerate(outputs):
            for position in islice(np.ndindex(*y.shape), _MAX_ELEMENTS):
                seeds = [Tensor(np.zeros(y.shape), y.dtype) for y in outputs]
                seeds[i] = Tensor(_unit(y.shape, position), y.dtype)
                gradient = unit * _floats(function.vjp(seeds)[number])
                pair = _compare_vjp_with_jvp(function, number, differences, seeds, gradient, limits)
                if pair is not None:
                    output = f"output {i}" if len(outputs) > 1 else "the output"
                    element = f"for element {list(position)} of {output}:"
                    yield f"By its element {list(index)}, {element}", *pair


def _terms(outputs: Sequence[Floats], seeds: Sequence[Tensor]) -> Floats:
    """Return the terms of the inner product of outputs, or their derivatives, and seeds."""
    products = [(y * _floats(u)).ravel() for y, u in zip(outputs, seeds, strict=True)]
    return np.concatenate(products)


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
