"""numpy's functions applied to tensors: `__array_ufunc__` and `__array_function__`.

Applied to a tensor that is being differentiated, a function of numpy calls the operation that
stands for it, or raises an error if there is none, since no gradient flows through numpy arrays.
Applied to any other tensor it returns what numpy returns for an array. An operator between an array
and a tensor always returns a tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature

import numpy as np

from minispore.engine.array import is_ndarray, to_device_of, to_host
from minispore.engine.dispatch import Variable, is_recorded, wrap
from minispore.engine.graph import in_record_block
from minispore.ops._numpy_functions import FUNCTIONS, Function
from minispore.utils.checks import as_tuple, is_sequence, map_items

# The methods of a left operand and of a right operand.
_OPERATORS: dict[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "power": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    """Return the result of `__array_ufunc__`: a tensor, numpy's result, or NotImplemented.

    Raises:
        TypeError: A tensor that is being differentiated has no such operation.
    """
    if any(isinstance(out, Variable) for out in as_tuple(kwargs.get("out", ()))):
        return NotImplemented
    plain = method == "__call__" and not kwargs
    if plain and ufunc.__name__ in _OPERATORS:
        left, right = inputs
        ours, reflected = _OPERATORS[ufunc.__name__]
        if isinstance(left, Variable):
            return getattr(left, ours)(right)
        return getattr(right, reflected)(left)
    like = _differentiated(inputs)
    if like is None:
        return getattr(ufunc, method)(*map(_to_arrays, inputs), **kwargs)
    if not plain:
        raise TypeError(_unsupported(ufunc.__name__, "it is called with a method or an option"))
    return _apply(ufunc.__name__, inputs, kwargs, like)


def apply_function(
    function: Function, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> object:
    """Return the result of `__array_function__`: a tensor or numpy's result.

    Raises:
        TypeError: A tensor that is being differentiated has no such operation.
    """
    like = _differentiated((*args, *kwargs.values()))
    if like is None:
        arrays = {name: _to_arrays(value) for name, value in kwargs.items()}
        return function(*map(_to_arrays, args), **arrays)
    # numpy.linalg has functions of its own by the names of others.
    prefix = "linalg." if function.__module__ == "numpy.linalg" else ""
    return _apply(f"{prefix}{function.__name__}", args, kwargs, like)


def check_not_differentiated(x: Variable) -> None:
    """Raise TypeError if `x` is being differentiated by this thread."""
    if _differentiated((x,)) is not None:
        raise TypeError(
            "A tensor that is being differentiated does not become a numpy array implicitly, "
            "since no gradient flows through one: use operations of minispore, or pass "
            "ops.stop_gradient(x) or x.asnumpy() to have a constant."
        )


def _apply(
    name: str, args: tuple[object, ...], kwargs: Mapping[str, object], like: Variable
) -> object:
    operation = FUNCTIONS.get(name)
    if operation is None:
        raise TypeError(_unsupported(name, "minispore has no such operation for tensors"))
    try:
        signature(operation).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(_unsupported(name, str(error))) from None
    options = {key: _to_variables(value, like) for key, value in kwargs.items()}
    return operation(*(_to_variables(arg, like) for arg in args), **options)


def _unsupported(name: str, reason: str) -> str:
    return (
        f"For numpy's '{name}' of a tensor that is being differentiated: {reason}. Use operations "
        "of minispore, or pass ops.stop_gradient(x) or x.asnumpy() to have a constant."
    )


def _differentiated(values: Iterable[object]) -> Variable | None:
    """Return the first tensor that this thread is differentiating, also out of lists and tuples."""
    if not in_record_block():
        return None
    for value in values:
        if isinstance(value, Variable):
            if is_recorded(value):
                return value
        elif is_sequence(value):
            inner = _differentiated(value)
            if inner is not None:
                return inner
    return None


def _to_arrays(value: object) -> object:
    if isinstance(value, Variable):
        return to_host(value._data)
    return map_items(_to_arrays, value)


def _to_variables(value: object, like: Variable) -> object:
    """Return the value with its arrays as constant tensors of the device of `like`."""
    if is_ndarray(value):
        return wrap(to_device_of(value, like._data), like)
    return map_items(lambda item: _to_variables(item, like), value)
