"""Every operation rejects invalid input with an error that names the operation."""

import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, ops
from minispore.engine.array import is_ndarray
from minispore.utils.checks import as_items
from tests.helpers.public_calls import call_operation, names_of
from tests.helpers.valid_arguments import OPERATIONS, VALUES, x

# Some of these arguments are valid, but cause a warning.
pytestmark = pytest.mark.filterwarnings("ignore:For '(var|std)', the argument 'ddof':UserWarning")

ERRORS = (TypeError, ValueError, IndexError, RuntimeError)


def memory(values: Iterable[object]) -> list[object]:
    """Return the shapes and elements of the tensors and arrays among values."""
    items = [item for value in values for item in as_items(value) or (value,)]
    arrays = [x.asnumpy() if isinstance(x, Tensor) else x for x in items]
    return [(x.shape, x.tobytes()) for x in arrays if is_ndarray(x)]


@contextmanager
def named_errors(*starts: str) -> Generator[list[Exception], None, None]:
    """Check that errors are of MindSpore's kinds, of one line, and start with one of `starts`."""
    errors: list[Exception] = []
    try:
        with np.errstate(all="ignore"):
            yield errors
    except ERRORS as error:
        errors.append(error)
    for caught in errors:
        assert str(caught).startswith(starts)
        assert "\n" not in str(caught)


def errors_of(function: object) -> AbstractContextManager[list[Exception]]:
    return named_errors(*[f"For '{name}'" for name in names_of(function)])


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
dtypes = st.sampled_from([np.bool_, np.int8, np.uint64, np.int64, np.float16, np.float32])


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    values: np.typing.NDArray[np.generic] = np.arange(64).astype(draw(dtypes))
    shape = draw(shapes)
    return Tensor(values[: int(np.prod(shape))].reshape(shape))


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@settings(max_examples=16 * settings().max_examples)
@given(data=st.data(), name=st.sampled_from(list(OPERATIONS)))
def test_random_tensors_work_or_raise_named_errors(data: st.DataObject, name: str) -> None:
    function = getattr(ops, name)
    arguments = dict(OPERATIONS[name])
    for key, value in arguments.items():
        if isinstance(value, Tensor):
            arguments[key] = data.draw(tensors())
        elif isinstance(value, list):
            arguments[key] = data.draw(st.lists(tensors(), max_size=3))
    with errors_of(function):
        call_operation(function, **arguments)


METHODS = [
    name
    for name in dir(Tensor)
    if not name.startswith("_") and inspect.isfunction(getattr(Tensor, name))
]


@pytest.mark.parametrize("name", METHODS)
def test_invalid_method_argument_raises_without_effect(name: str) -> None:
    method = getattr(Tensor, name)
    _, *parameters = inspect.signature(method).parameters.values()
    required = sum(p.default is p.empty for p in parameters)
    counts = {n for n in (1, 2, required) if accepts(parameters, n)}
    for make in (x, lambda: Tensor(3), lambda: Parameter(x())):
        values = make()
        before = memory([values])
        for invalid in VALUES:
            for arguments in ([invalid], [invalid] * required, [0, invalid], [invalid, 0]):
                if len(arguments) not in counts:
                    continue
                with named_errors("For '", "Only a tensor of one") as errors:
                    method(values, *arguments)
                if errors:
                    assert memory([values]) == before
                else:
                    values = make()


def accepts(parameters: Sequence[inspect.Parameter], count: int) -> bool:
    """Return whether a function can be called with as many arguments by position."""
    signature = inspect.Signature(parameters)
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


@given(st.lists(shapes, min_size=1, max_size=3))
@example([(2,), (3,)])
def test_stack_requires_equal_shapes(several: list[tuple[int, ...]]) -> None:
    tensors = [ops.zeros(shape) for shape in several]
    if len(set(several)) == 1:
        assert ops.stack(tensors).shape == (len(several), *several[0])
    else:
        with pytest.raises(ValueError, match="For 'stack', the tensors must be of one shape"):
            ops.stack(tensors)


def test_product_errors_name_the_operation() -> None:
    with pytest.raises(ValueError, match="^For 'bmm', the last length of 'input_x' must be the"):
        ops.bmm(ops.ones((2, 3, 4)), ops.ones((2, 3, 4)))
    signed, unsigned = (Tensor(np.ones((1, 2, 2), kind)) for kind in (np.int64, np.uint64))
    with pytest.raises(TypeError, match="^For 'bmm', the types"):
        ops.bmm(signed, unsigned)
    with pytest.raises(TypeError, match="^For 'dense', the types"):
        ops.dense(signed, unsigned[0])


def test_dense_without_inputs_returns_the_bias() -> None:
    actual = ops.dense(ops.zeros((2, 3, 0)), ops.zeros((4, 0)), ops.arange(4, dtype=ms.float32))
    assert actual.tolist() == [[[0, 1, 2, 3]] * 3] * 2


@given(number=st.integers(-(2**70), 2**70), wide=st.booleans())
def test_pad_value_must_fit_the_integer_dtype(number: int, wide: bool) -> None:
    kind = np.int64 if wide else np.int8
    values = Tensor(np.ones(1, kind))
    limits = np.iinfo(kind)
    if limits.min <= number <= limits.max:
        assert ops.pad(values, (1, 0), value=number).tolist() == [number, 1]
    else:
        with pytest.raises(ValueError, match=f"For 'pad', the number {number} does not fit"):
            ops.pad(values, (1, 0), value=number)


OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": lambda a, b: a**b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
    "&": lambda a, b: a & b, "@": lambda a, b: a @ b, "[]": lambda a, b: a[b],
}  # fmt: skip


@pytest.mark.parametrize("symbol", OPERATORS)
def test_invalid_operand_error_is_one_line(symbol: str) -> None:
    for invalid in VALUES:
        for pair in ((x(), invalid), (invalid, x())):
            if symbol == "[]" and not isinstance(pair[0], Tensor):
                continue
            with named_errors("For '", "A tensor", "unsupported operand"):
                OPERATORS[symbol](*pair)
