"""A tensor's method is the operation of its name: the same arguments, results and refusals."""

import inspect

import numpy as np
import pytest

from minispore import Tensor, ops
from minispore._checks import as_items

from .test_bad_input import GOOD, names_of

# In MindSpore's own ways: the method begins with another axis, wants more, or has another order.
OTHERWISE = {"flatten"}
LEAST = {"clip": 1, "split": 2}
MOST = {"sum": 1}
PAIRS = [
    (method, name)
    for name in GOOD
    if name not in OTHERWISE
    for method in sorted(names_of(getattr(ops, name)))
    if inspect.isfunction(getattr(Tensor, method, None))
]


def tensors(value: object) -> list[tuple[object, ...]]:
    """What there is to see of the results."""
    listed = as_items(value) or (value,)
    assert all(isinstance(each, Tensor) for each in listed)
    return [
        (each.dtype, each.shape, each.asnumpy().tolist())
        for each in listed
        if isinstance(each, Tensor)
    ]


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_a_method_is_the_operation_of_its_name(method: str, name: str) -> None:
    first, *others = GOOD[name].values()
    assert isinstance(first, Tensor)
    first = first + 1
    # Operands that are not alike, so that none can stand for another.
    others = [another(each, first) for each in others]
    operation = list(inspect.signature(getattr(ops, name)).parameters.values())[1:]
    of_method = inspect.signature(getattr(Tensor, method)).parameters
    method_has = len(of_method) - 1
    plain = [p for p in operation if p.kind is p.POSITIONAL_OR_KEYWORD][:method_has]
    least = LEAST.get(name, sum(p.default is p.empty for p in plain))
    most = MOST.get(name, len(plain))
    named = {
        p.name: GOOD[name][p.name]
        for p in operation
        if p.kind is p.KEYWORD_ONLY and p.name in of_method
    }
    calls: list[tuple[list[object], dict[str, object]]] = [
        *((others[:count], {}) for count in range(least, most + 1)),
        (others[:most], named),
    ]
    for given, by_name in calls:
        expected = getattr(ops, name)(first, *given, **by_name)
        found = getattr(first, method)(*given, **by_name)
        if name in {"max", "min"}:  # the operation also gives the places
            found, expected = first_of(found), first_of(expected)
        assert tensors(found) == tensors(expected)


def another(operand: object, first: Tensor) -> object:
    """An operand like the first one, turned round."""
    if isinstance(operand, Tensor) and (operand.shape, operand.dtype) == (first.shape, first.dtype):
        return Tensor(np.flip(operand.asnumpy())) + 2
    return operand


def first_of(value: object) -> object:
    items = as_items(value)
    return items[0] if items else value
