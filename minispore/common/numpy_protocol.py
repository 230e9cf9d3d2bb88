"""numpy's functions applied to tensors: `__array_ufunc__` and `__array_function__`.

Applied to a tensor that is being differentiated, a function of numpy calls the operation of the
same name, or raises an error if there is none, since no gradient flows through numpy arrays.
Applied to any other tensor it returns what numpy returns for an array. An operator between an array
and a tensor always returns a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from minispore.engine.array import Axis, Shape, is_ndarray, to_device_of, to_host
from minispore.engine.dispatch import Variable, is_recorded, wrap
from minispore.engine.graph import in_record_block
from minispore.ops import arithmetic, elementwise, linalg, reduction
from minispore.ops import manipulation as _shape
from minispore.utils.checks import as_tuple, is_sequence, map_items

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

Function = Callable[..., object]

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


def _reduction(reduce: Callable[..., Tensor]) -> Function:
    def over_axis(a: Tensor, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
        return reduce(a, axis, keepdims)

    return over_axis


def _deviation(reduce: Callable[..., Tensor]) -> Function:
    def over_axis(a: Tensor, axis: Axis = None, *, ddof: int = 0, keepdims: bool = False) -> Tensor:
        return reduce(a, axis, ddof, keepdims)

    return over_axis


def _shape_of(a: Tensor) -> Shape:
    return a.shape


def _ndim_of(a: Tensor) -> int:
    return a.ndim


def _ravel(a: Tensor) -> Tensor:
    return _shape.reshape(a, (-1,))


def _transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    return _shape.permute(a, range(a.ndim)[::-1] if axes is None else axes)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    if not (1 <= a.ndim <= 2 and 1 <= b.ndim <= 2):
        raise TypeError(_unsupported("dot", "an operand is neither a vector nor a matrix"))
    return linalg.matmul(a, b)


# Called with numpy's arguments; one that the function does not have raises an error.
_FUNCTIONS: dict[str, Function] = {
    **{name: getattr(elementwise, name) for name in elementwise.__all__ if hasattr(np, name)},
    "negative": arithmetic.neg,
    "rint": elementwise.round,
    "maximum": arithmetic.maximum,
    "minimum": arithmetic.minimum,
    "where": arithmetic.where,
    "sum": _reduction(reduction.sum),
    "mean": _reduction(reduction.mean),
    "max": _reduction(reduction.amax),
    "min": _reduction(reduction.amin),
    "argmax": _reduction(reduction.argmax),
    "argmin": _reduction(reduction.argmin),
    "var": _deviation(reduction.var),
    "std": _deviation(reduction.std),
    "dot": _dot,
    "reshape": _shape.reshape,
    "ravel": _ravel,
    "transpose": _transpose,
    "swapaxes": _shape.swapaxes,
    "squeeze": _shape.squeeze,
    "expand_dims": _shape.expand_dims,
    "broadcast_to": _shape.broadcast_to,
    "concatenate": _shape.concat,
    "stack": _shape.stack,
    "shape": _shape_of,
    "ndim": _ndim_of,
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
    return _apply(function.__name__, args, kwargs, like)


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
    operation = _FUNCTIONS.get(name)
    if operation is None:
        raise TypeError(_unsupported(name, "minispore has no such operation for tensors"))
    try:
        signature(operation).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(_unsupported(name, str(error))) from None
    return operation(*(_to_variables(arg, like) for arg in args), **kwargs)


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
