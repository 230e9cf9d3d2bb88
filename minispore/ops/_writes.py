"""Writes to tensors while a gradient is computed, whose graph keeps the arrays as they were.

A tensor shares its memory with its views. While nothing is recorded, a write into the memory is
seen by all of them. While operations are recorded, all get the same parts of a copy of the memory,
into which the elements are then written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    HostArray,
    address_of,
    copied_together,
    device_namespace,
    ensure_owned,
    is_host,
    to_device_of,
    to_host,
)
from minispore.engine.dispatch import Values, Variable, aliases, apply1, apply3, wrap
from minispore.engine.graph import in_record_block, is_recording, record
from minispore.engine.rules.arithmetic import where
from minispore.engine.rules.indexing import getitem
from minispore.engine.rules.shape import reshape
from minispore.ops.elementwise import stop_gradient
from minispore.ops.indexing import assign_at, setitem
from minispore.utils.arrays import IndexArray
from minispore.utils.checks import caller

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor


def write_at(input: Tensor, index: object, value: Tensor | Values) -> None:
    """Write `value` at `index` while operations may be recorded; see `write`."""
    if in_record_block() and not is_recording():
        # What is written is a constant, but the other elements keep their gradients.
        record(lambda: write_at(input, index, stop_gradient(value)))
        return
    check_writable(input)
    if input._is_input:
        new = wrap(ensure_owned(input._data, copy=True), input, input._node)
        assign_at(new, index, value)
    else:
        new = setitem(input, index, value)
    write(input, new, index)


def write(input: Tensor, new: Tensor, index: object = ...) -> None:
    """Give a tensor new elements and their node, and all that share its memory the same elements.

    Args:
        input: The tensor.
        new: Its elements and its node.
        index: Where the elements are new.

    Raises:
        RuntimeError: The tensor is on a GPU, and a part of it is another tensor.
    """
    others = aliases(input)
    arrays: Sequence[Array] = [x._data for x in (input, *others)]
    if all(array is arrays[0] for array in arrays):
        arrays = [ensure_owned(new._data, copy=False)] * len(arrays)
    elif is_host(arrays[0]):
        arrays = copied_together([to_host(array) for array in arrays])
        to_host(arrays[0])[...] = to_host(new._data)
    else:
        raise RuntimeError(
            f"For '{caller()}', while a gradient is computed, a tensor on a GPU must not be "
            "written to if another one is a part of it: write to the larger one, as in "
            "x[i, j] = …, and get the part afterwards."
        )
    if others and is_recording() and any(x._node for x in (new, *others)):
        mask = device_namespace(input._data).zeros(input.shape, dtypes.bool_.numpy_dtype)
        written = wrap(mask, input)
        assign_at(written, index, True)
        for other in others:
            if not (other._is_input or other._aliases[1]):
                _follow(other, input, new, to_host(written._data))
    input._node = new._node
    for x, array in zip((input, *others), arrays, strict=True):
        x._data = array


def _follow(view: Variable, x: Variable, new: Variable, written: HostArray) -> None:
    """Let the gradient of the elements that a view shares with the written ones flow to `new`."""
    places = np.where(written, np.arange(written.size).reshape(written.shape), -1)
    if view._data is not x._data:
        positions, those_of_view = _positions(to_host(x._data), to_host(view._data))
        found = np.full(1 + max(positions.max(), those_of_view.max(initial=0)), -1)
        found[positions] = places
        places = found[those_of_view]
    if places.max(initial=-1) >= 0:
        values = apply1(getitem, apply1(reshape, new, (-1,)), (to_device_of(places, new._data),))
        is_kept = wrap(to_device_of(places < 0, view._data), view)
        view._node = apply3(where, is_kept, view, values)._node


def _positions(*arrays: HostArray) -> list[HostArray]:
    """Return where the elements of arrays are in the memory that they share."""
    positions: list[HostArray] = []
    for array in arrays:
        lengths = zip(array.shape, array.strides, strict=True)
        steps: list[IndexArray] = [np.arange(n, dtype=np.intp) * by for n, by in lengths]
        axes: Sequence[IndexArray] = np.ix_(*steps)
        positions.append(np.asarray(sum(axes, address_of(array))))
    first = min(places.min() for places in positions if places.size)
    return [(places - first) // arrays[0].itemsize for places in positions]


def writable(input: Tensor) -> Array:
    """Return a tensor's array for writing; in a `record` block it is new memory, as by `write`."""
    if in_record_block():
        write(input, wrap(ensure_owned(input._data, copy=True), input, input._node))
    return input._data


def check_writable(input: Tensor) -> None:
    """Raise ValueError if the memory of a tensor is that of a read-only array."""
    flags: object = getattr(input._data, "flags", None)
    if not getattr(flags, "writeable", True):  # CuPy's arrays have no such flag
        raise ValueError(
            f"For '{caller()}', the memory of the tensor must be writable, but it is that of a "
            "read-only array."
        )
