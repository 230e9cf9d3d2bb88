"""From Python's and numpy's values to an array, by MindSpore's rules for its type."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import Array, beside, device_namespace, from_host, place, target_of, to_host
from minispore._checks import as_items, described
from minispore._dtype import DType
from minispore._functional.variable import Variable, is_recorded


def from_values(
    values: object, dtype: DType | None, owner: str, like: Array | None = None
) -> Array:
    """An array of its own memory from numbers, nested lists and tuples, numpy arrays, variables.

    They live where `like` does; without it, what is made of a variable lives where that does, and
    all else on the current device. A numpy array or variable keeps its type. In Python's numbers,
    and in lists whatever they hold, a float anywhere makes float32, else an int int64 (uint64 if
    it is too large for that).

    Raises:
        TypeError: The values are no numbers, or the lists are ragged.
    """
    if isinstance(values, Variable):
        data = values._data
        array = device_namespace(data).astype(data, dtype.numpy_dtype if dtype else data.dtype)
        return array if like is None else place(array, target_of(like), owner)
    host = on_host(values, owner)
    if dtype is None:
        typed = isinstance(values, np.ndarray | np.generic)
        dtype = _dtype.of(host.dtype, owner) if typed else _natural(host)
    host = host.astype(dtype.numpy_dtype, copy=False)
    return from_host(host) if like is None else beside(host, like)


def on_host(values: object, owner: str) -> NDArray[np.generic]:
    """A new numpy array of the values, in numpy's type for them.

    Raises:
        TypeError: The values are no numbers, or the lists are ragged.
    """
    given = values
    if isinstance(values, np.ndarray | np.generic):
        # Always a copy: a tensor shares memory only where its maker asks for it by name.
        return _of_numbers(np.array(cast("NDArray[np.generic]", values)), given, owner)
    if not isinstance(values, int | float) and as_items(values) is None:
        raise TypeError(
            f"For '{owner}', the argument 'input_data' must be a Tensor, a numpy array, a number, "
            f"or a list or tuple of them, but got {described(values)}."
        )
    plain = _unwrapped(values, owner)
    try:
        host: NDArray[np.generic] = np.array(plain)
        if host.dtype == np.float64 and host.size and bool(host.max() >= 2.0**63):
            host = _wide_integers(plain, host)
    except (ValueError, OverflowError) as error:
        raise TypeError(
            f"For '{owner}', the argument 'input_data' must be rectangular and of numbers, "
            f"but got {described(values)}."
        ) from error
    return _of_numbers(host, values, owner)


def _of_numbers(host: NDArray[np.generic], values: object, owner: str) -> NDArray[np.generic]:
    """`host`, made of `values`; TypeError unless its elements are numbers."""
    if host.dtype.kind not in "biuf":
        raise TypeError(
            f"For '{owner}', the elements must be real numbers of at most 64 bits, "
            f"but got {described(values)}."
        )
    return host


def _wide_integers(plain: object, floats: NDArray[np.generic]) -> NDArray[np.generic]:
    """The numbers as uint64 if all are ints; numpy makes floats of those beside smaller ones."""
    exact: NDArray[np.object_] = np.array(plain, np.object_)
    ints = all(isinstance(x, int) for x in exact.ravel())
    return exact.astype(np.uint64) if ints else floats


def _natural(numbers: NDArray[np.generic]) -> DType:
    """The type of a tensor made of Python's numbers."""
    if numbers.dtype.kind == "f":
        return _dtype.float32
    if numbers.dtype.kind == "b":
        return _dtype.bool_
    # Only what int64 cannot hold is of another type.
    return _dtype.uint64 if numbers.dtype == np.uint64 else _dtype.int64


def _unwrapped(values: object, owner: str) -> object:
    """Nested lists and tuples with the variables in them turned into numpy arrays."""
    items = as_items(values)
    if items is not None:
        return [_unwrapped(item, owner) for item in items]
    if isinstance(values, Variable):
        if is_recorded(values):
            raise TypeError(
                f"For '{owner}', a list holds a tensor that is being differentiated, and no "
                "gradient would flow through the elements that are read from it: join tensors "
                "with ops.stack, or give ops.stop_gradient(x) to have a constant."
            )
        return to_host(values._data)
    return values
