"""Gradients against finite differences: of any function of tensors, and of any cell."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from minispore._checks import as_items, check_type
from minispore.common import Parameter, Tensor
from minispore.nn import Cell
from minispore.ops._derivative import derivative_of

Floats: TypeAlias = npt.NDArray[np.float64]
Function: TypeAlias = Callable[..., object]

_DIRECTIONS = 3
# To look for a wrong element among more would take too long.
_MOST = 200
# By the bytes of a number.
_TOLERANCES = {2: 0.2, 4: 5e-3, 8: 1e-6}


class GradientError(AssertionError):
    """A gradient is not what finite differences say."""


def gradcheck(
    fn: Function,
    inputs: Tensor | Sequence[object],
    *,
    weights: Sequence[Parameter] | None = None,
    tolerance: float | None = None,
) -> None:
    """Check the gradients of a function, or of a Cell, by central differences.

    For random u over the outputs and random v over an input, ⟨v, Jᵀu⟩, which differentiation
    gives, must be ⟨Jv, u⟩, which is measured: (f(x + hv) − f(x − hv)) / 2h. If they differ, the
    message names an element of the input and one of the output, with both numbers.

    The step h is the cube root of the type's precision, so that what is measured has about ten
    digits in float64, four in float32 and one or two in float16: check in float64 where you can.
    (MindSpore's types here have no complex numbers, and so there are no complex steps.) Where the
    function has a kink within a step of a point, such as relu at 0, the numbers differ too.

    Source: PyTorch has a function of this name.

    Args:
        fn: The function: tensors in; out come a tensor, or tuples, lists and dicts of tensors. It
            must give the same each time: call `set_train(False)` on a cell with dropout.
        inputs: Its arguments. It is differentiated by the tensors of floating point among them.
        weights: The parameters that it is differentiated by as well; by default a cell's own.
        tolerance: How far the two numbers may differ, relative to their size.

    Raises:
        GradientError: A gradient is wrong, or of another shape or type than its input; or the
            function changes its inputs, or gives something else each time.
        TypeError: `fn` cannot be called, or it returns no tensor.
        ValueError: There is nothing to differentiate by.

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
    """
    problem = _Problem.of(fn, inputs, weights, "gradcheck")
    _check(problem, tolerance)


def gradgradcheck(
    fn: Function,
    inputs: Tensor | Sequence[object],
    *,
    weights: Sequence[Parameter] | None = None,
    tolerance: float | None = None,
) -> None:
    """Check the second derivatives of a function, or of a Cell, by central differences.

    That is `gradcheck` of its gradient Jᵀu, as a function of the inputs, the weights and u.

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
    """
    problem = _Problem.of(fn, inputs, weights, "gradgradcheck")
    rng = np.random.default_rng(1)
    seeds = [Tensor(rng.standard_normal(y.shape), y.dtype) for y in problem.outputs()]
    count = len(problem.inputs)

    def gradient(*given: Tensor) -> list[Tensor]:
        again = problem.with_inputs(given[:count])
        return list(again.gradients(given[count:]))

    names = [*problem.names, *(f"u{i}" for i in range(len(seeds)))]
    second = _Problem(
        gradient,
        [*problem.inputs, *seeds],
        names,
        [*problem.by, *range(count, count + len(seeds))],
        problem.weights,
        f"the gradient of {problem.title}",
    )
    _check(second, tolerance)


@dataclass(frozen=True)
class _Problem:
    """A function at a point.

    Attributes:
        fn: The function.
        inputs: Its arguments.
        names: What they are called.
        by: Which of them it is differentiated by.
        weights: The parameters that it is differentiated by.
        title: What it is called.
    """

    fn: Function
    inputs: Sequence[object]
    names: Sequence[str]
    by: Sequence[int]
    weights: Sequence[Parameter]
    title: str

    @classmethod
    def of(
        cls,
        fn: Function,
        inputs: Tensor | Sequence[object],
        weights: Sequence[Parameter] | None,
        owner: str,
    ) -> "_Problem":
        """The problem, with checked arguments."""
        if not callable(fn):
            raise TypeError(f"For '{owner}', the argument 'fn' must be a function, got {fn!r}.")
        listed = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if weights is None:
            weights = fn.trainable_params() if isinstance(fn, Cell) else []
        for weight in weights:
            check_type(weight, Parameter, "weights", owner)
        by = [i for i, x in enumerate(listed) if isinstance(x, Tensor) and _is_float(x)]
        if not by and not weights:
            raise ValueError(
                f"For '{owner}', one of 'inputs' must be a tensor of floating point, or there "
                f"must be 'weights', but got {listed!r}."
            )
        title = f"'{getattr(fn, '__name__', type(fn).__name__)}'"
        return cls(fn, listed, [f"input {i}" for i in range(len(listed))], by, weights, title)

    @property
    def variables(self) -> list[tuple[str, Tensor]]:
        """What it is differentiated by, each with what it is called."""
        by_input = [(self.names[i], cast("Tensor", self.inputs[i])) for i in self.by]
        return by_input + [(f"parameter '{each.name}'", each) for each in self.weights]

    def with_inputs(self, inputs: Sequence[object]) -> "_Problem":
        """The same at another point."""
        return _Problem(self.fn, inputs, self.names, self.by, self.weights, self.title)

    def outputs(self) -> list[Tensor]:
        """The outputs that can be differentiated."""
        found = [y for y in _tensors(self.fn(*self.inputs)) if _is_float(y)]
        if not found:
            raise TypeError(f"The function {self.title} returns no tensor of floating point.")
        return found

    def gradients(self, seeds: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Jᵀu by each variable."""
        found = derivative_of(
            lambda *inputs: self.with_inputs(inputs).outputs(),
            self.inputs,
            {},
            tuple(self.by),
            self.weights,
            "gradcheck",
            sens=tuple(seeds),
        )
        return cast("tuple[Tensor, ...]", (*found.inputs, *found.weights))

    def moved(self, number: int, step: Floats) -> tuple[list[Floats], Floats]:
        """The outputs where a variable has been moved, and where it then was."""
        x = self.variables[number][1]
        there = Tensor((_floats(x) + step).astype(x.asnumpy().dtype))
        if number < len(self.by):
            inputs = list(self.inputs)
            inputs[self.by[number]] = there
            return [_floats(y) for y in self.with_inputs(inputs).outputs()], _floats(there)
        before = Tensor(x.asnumpy().copy())
        weight = self.weights[number - len(self.by)]
        try:
            weight.set_data(there)
            return [_floats(y) for y in self.outputs()], _floats(there)
        finally:
            weight.set_data(before)

    def slope(self, number: int, direction: Floats, step: float) -> tuple[list[Floats], Floats]:
        """The outputs' derivatives in a direction, and that direction as it was in their type."""
        ahead, right = self.moved(number, step * direction)
        behind, left = self.moved(number, -step * direction)
        slopes = [(y - z) / (2 * step) for y, z in zip(ahead, behind, strict=True)]
        return slopes, (right - left) / (2 * step)


@dataclass(frozen=True)
class _Scale:
    """How far to step, and how far two numbers may then be apart.

    Attributes:
        step: The step.
        relative: The part of their size.
        absolute: What rounding does to the outputs, divided by the step.
    """

    step: float
    relative: float
    absolute: float

    @classmethod
    def of(cls, x: Tensor, outputs: Sequence[Tensor], tolerance: float | None) -> "_Scale":
        """What fits the least precise of the types."""
        types = [y.asnumpy().dtype for y in (x, *outputs)]
        precision = max(float(np.finfo(each.name).eps) for each in types)
        if tolerance is None:
            tolerance = max(_TOLERANCES[each.itemsize] for each in types)
        step = float(np.cbrt(precision))
        size = float(np.sqrt(sum(np.sum(_floats(y) ** 2) for y in outputs)))
        return cls(step, tolerance, 10 * precision * size / step)

    def close(self, x: float, y: float, size: float) -> bool:
        """Whether two sums of parts that have this size together may be the same number."""
        return abs(x - y) <= self.relative * size + self.absolute


def _check(problem: _Problem, tolerance: float | None) -> None:
    rng = np.random.default_rng(0)
    before = [_floats(x) for _, x in problem.variables]
    outputs, again = problem.outputs(), problem.outputs()
    if not all(_equal(_floats(y), _floats(z)) for y, z in zip(outputs, again, strict=True)):
        raise GradientError(
            f"The function {problem.title} gives something else each time, so that it cannot be "
            "checked. Is there dropout in it?"
        )
    seeds = [Tensor(rng.standard_normal(y.shape), y.dtype) for y in outputs]
    gradients = problem.gradients(seeds)
    for (name, x), old in zip(problem.variables, before, strict=True):
        if not _equal(_floats(x), old):
            raise GradientError(f"The function {problem.title} changes its {name}.")
    for number, (name, x) in enumerate(problem.variables):
        gradient = gradients[number]
        message = f"The gradient of {problem.title} by {name}, a {_kind(x)}, is "
        if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
            raise GradientError(f"{message}a {_kind(gradient)}.")
        scale = _Scale.of(x, outputs, tolerance)
        for _ in range(_DIRECTIONS):
            pair = _pair(problem, number, rng.standard_normal(x.shape), seeds, gradient, scale)
            if pair is not None:
                found = (*_wrong_elements(problem, number, scale), ("For a random sum:", *pair))
                where, derived, measured = found[0]
                raise GradientError(
                    f"{message}wrong.\n{where}\n    differentiation says {derived:.6},\n"
                    f"    central differences say {measured:.6}."
                )


def _pair(
    problem: _Problem,
    number: int,
    direction: Floats,
    seeds: Sequence[Tensor],
    gradient: Tensor,
    scale: _Scale,
) -> tuple[float, float] | None:
    """⟨v, Jᵀu⟩ and ⟨Jv, u⟩ if they differ."""
    slopes, direction = problem.slope(number, direction, scale.step)
    terms = [slope * _floats(u) for slope, u in zip(slopes, seeds, strict=True)]
    products = _floats(gradient) * direction
    derived, measured = float(products.sum()), float(sum(each.sum() for each in terms))
    size = float(abs(products).sum() + sum(abs(each).sum() for each in terms))
    return None if scale.close(derived, measured, size) else (derived, measured)


def _wrong_elements(
    problem: _Problem, number: int, scale: _Scale
) -> Iterator[tuple[str, float, float]]:
    """The first element of an input whose derivative is wrong, with one of an output."""
    x, outputs = problem.variables[number][1], problem.outputs()
    for place in islice(np.ndindex(*x.shape), _MOST):
        unit = np.zeros(x.shape)
        unit[place] = 1.0
        slopes, direction = problem.slope(number, unit, scale.step)
        for i, slope in enumerate(slopes):
            for spot in islice(np.ndindex(*slope.shape), _MOST):
                seeds = [Tensor(np.zeros(y.shape), y.dtype) for y in outputs]
                one = np.zeros(slope.shape)
                one[spot] = 1.0
                seeds[i] = Tensor(one, outputs[i].dtype)
                gradient = _floats(problem.gradients(seeds)[number])
                derived, measured = float((gradient * direction)[place]), float(slope[spot])
                if not scale.close(derived, measured, abs(derived) + abs(measured)):
                    which = f"output {i}" if len(slopes) > 1 else "the output"
                    where = f"By its element {list(place)}, for element {list(spot)} of {which}:"
                    yield where, derived, measured
                    return


def _kind(x: Tensor) -> str:
    return f"{x.dtype} tensor of shape {x.shape}"


def _equal(x: Floats, y: Floats) -> bool:
    return np.array_equal(x, y, equal_nan=True)


def _tensors(value: object) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(cast("dict[object, object]", value).values())
    return [y for item in as_items(value) or () for y in _tensors(item)]


def _is_float(x: Tensor) -> bool:
    return x.asnumpy().dtype.kind == "f"


def _floats(x: Tensor) -> Floats:
    return x.asnumpy().astype(np.float64)
