"""Random programs: values, first and second derivatives equal those of a naive reference."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import assume, given, note, reject, settings
from hypothesis import strategies as st

from minispore import Tensor, ops
from tests.helpers.naive_autodiff import Floats, KinkError, Number, Numbers, inputs
from tests.helpers.program_operations import OPERATIONS
from tests.helpers.random_programs import Program, Step, programs

seeds = st.integers(0, 999)
# Where values or derivatives are larger, too few digits are left to be compared.
LARGEST = 1e4


def by_all(function: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, ...]]:
    """The gradients by all arguments, in a tuple even of one."""
    return ops.GradOperation(get_all=True)(function)


def flat(tensors: Sequence[Tensor]) -> Floats:
    return np.concatenate([x.asnumpy().reshape(-1) for x in tensors])


def assert_close(found: Floats, expected: Floats) -> None:
    scale = 1 + np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * scale)


def naively(program: Program, points: Sequence[Floats]) -> Numbers:
    try:
        return program.on_numbers(inputs(points))
    except (OverflowError, KinkError):
        reject()


def compare(program: Program, seed: int) -> None:
    """Compare at a random point, with random weights for the elements of the result."""
    note(str(program))
    rng = np.random.default_rng(seed)
    points: list[Floats] = [rng.uniform(-1.5, 1.5, shape) for shape in program.shapes]
    result = naively(program, points)
    weights = rng.normal(size=result.shape)
    expected = cast("Number", np.sum(result * weights))
    assume(max(abs(expected.value), np.abs(expected.hessian).max()) < LARGEST)
    tensors = [Tensor(x) for x in points]
    directions = [Tensor(rng.normal(size=x.shape)) for x in points]
    way = flat(directions)

    def weighed(*xs: Tensor) -> Tensor:
        return ops.sum(program.on_tensors(*xs) * Tensor(weights))

    def along(*xs: Tensor) -> Tensor:
        """The derivative in a direction d; its gradient is the Hessian times d."""
        products = [s * d for s, d in zip(by_all(weighed)(*xs), directions, strict=True)]
        return ops.sum(ops.stack([ops.sum(product) for product in products]))

    made = program.on_tensors(*tensors)
    assert made.shape == result.shape
    values = np.array([cast("Number", number).value for number in result.flat])
    assert_close(flat([made]), values)
    assert_close(flat([weighed(*tensors)]), np.array([expected.value]))
    assert_close(flat(by_all(weighed)(*tensors)), expected.gradient)
    assert_close(flat([along(*tensors)]), np.array([expected.gradient @ way]))
    assert_close(flat(by_all(along)(*tensors)), expected.hessian @ way)


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@settings(max_examples=4 * settings().max_examples)
@given(programs(), seeds)
def test_program_derivatives_equal_the_reference(program: Program, seed: int) -> None:
    """The random graphs use values twice or never, and ignore inputs."""
    compare(program, seed)


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.slow
@settings(max_examples=4 * settings().max_examples)
@given(programs(max_steps=20), seeds)
def test_long_program_derivatives_equal_the_reference(program: Program, seed: int) -> None:
    compare(program, seed)


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", OPERATIONS)
@given(st.data(), seeds)
def test_operation_derivatives_equal_the_reference(
    name: str, data: st.DataObject, seed: int
) -> None:
    operation = OPERATIONS[name]
    shapes = ((2, 2), (2, 2)) if operation.operands == 2 else ((3, 2),)
    operands = tuple(range(operation.operands))
    step = Step(name, operands, data.draw(operation.args(shapes[0])))
    compare(Program(shapes, (step,)), seed)


def test_program_is_printed_line_by_line() -> None:
    program = Program(((2,), ()), (Step("mul", (0, 1), ()), Step("sum", (2,), (0, True))))
    assert str(program).splitlines() == [
        "v0 = an input of shape (2,)",
        "v1 = an input of shape ()",
        "v2 = mul(v0, v1)",
        "v3 = sum(v2, 0, True)",
    ]
