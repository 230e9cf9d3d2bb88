"""A method of `Tensor` has the arguments and results of the operation of its name."""

import inspect

import numpy as np
import pytest

from minispore import Tensor, ops
from minispore.utils.checks import as_items
from tests.ops.test_bad_input import VALID, names_of

# Methods whose arguments differ from those of the operation.
DIFFERENT = {"fill", "flatten"}
MINIMUM = {"clip": 1, "split": 2}
MAXIMUM = {"sum": 1}
PAIRS = [
    (method, name)
    for name in VALID
    if name not in DIFFERENT
    for method in sorted(names_of(getattr(ops, name)))
    if inspect.isfunction(getattr(Tensor, method, None))
]


def tensors(value: object) -> list[tuple[object, ...]]:
    """Return the data types, shapes and values of results."""
    listed = as_items(value) or (value,)
    assert all(isinstance(each, Tensor) for each in listed)
    return [
        (each.dtype, each.shape, each.asnumpy().tolist())
        for each in listed
        if isinstance(each, Tensor)
    ]


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_method_equals_the_operation_of_its_name(method: str, name: str) -> None:
    first, *others = VALID[name].values()
    assert isinstance(first, Tensor)
    first = first + 1
    # Operands with different values, so that exchanged ones are detected.
    others = [another(each, first) for each in others]
    operation = list(inspect.signature(getattr(ops, name)).parameters.values())[1:]
    of_method = inspect.signature(getattr(Tensor, method)).parameters
    method_has = len(of_method) - 1
    plain = [p for p in operation if p.kind is p.POSITIONAL_OR_KEYWORD][:method_has]
    minimum = MINIMUM.get(name, sum(p.default is p.empty for p in plain))
    maximum = MAXIMUM.get(name, len(plain))
    named = {
        p.name: VALID[name][p.name]
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
