"""Reshape, permute, join, split, repeat and pad tensors, and check shapes and axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise
from math import prod
from types import NoneType
from typing import TYPE_CHECKING, cast

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Axis, Shape, device_namespace, to_device_of, to_host
from minispore.engine.dispatch import (
    Number,
    Variable,
    apply1,
    apply_n,
    broadcast_error,
    cast_to,
    check_fits,
    check_tensor,
    dtype_of,
    in_float32,
    wrap,
)
from minispore.engine.rules import indexing
from minispore.engine.rules import shape as rules
from minispore.ops.arithmetic import add
from minispore.utils.arrays import Int64Array
from minispore.utils.checks import (
    INT32_MAX,
    as_items,
    caller,
    check_int,
    check_one_of,
    check_type,
    is_sequence,
    type_error,
    value_error,
)

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "broadcast_to", "cat", "chunk", "concat", "expand_dims", "flatten", "flip", "meshgrid",
    "moveaxis", "movedim", "pad", "permute", "repeat_elements", "repeat_interleave", "reshape",
    "roll", "split", "squeeze", "stack", "swapaxes", "swapdims", "tile", "transpose", "unbind",
    "unsqueeze", "unstack",
]  # fmt: skip

_PAD_MODES = ("constant", "reflect", "replicate", "circular")

# Larger than any length, and small enough that no array library's integers overflow.

# numpy's count too: a product of lengths is one. Cast, since its stubs leave the type generic.
_INTS = (int, cast("type[int]", np.integer))


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Return the elements, in the same order, in another shape.

    Args:
        input: A tensor of any shape.
        shape: The lengths of the axes; one may be -1 and is then computed.

    Returns:
        A tensor of that shape, which shares the memory of `input` where possible.

    Raises:
        ValueError: The shape has another number of elements.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.reshape(Tensor([1, 2, 3, 4]), (2, -1)).tolist()
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.reshape`.
    """
    check_tensor(input)
    lengths = as_shape(shape)
    size = prod(input.shape)
    if lengths.count(-1) == 1:
        known = prod(n for n in lengths if n != -1)
        if known and size % known == 0:
            lengths = tuple(size // known if n == -1 else n for n in lengths)
    if prod(lengths) != size or any(n < 0 for n in lengths):
        raise value_error(
            lengths, "shape", f"hold the {size} elements of a tensor of shape {input.shape}"
        )
    return apply1(rules.reshape, input, lengths)


def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Return `input` with the axes from `start_dim` to `end_dim` merged into one.

    Args:
        input: A tensor of any shape.
        order: "C", or "F" to reverse the axes first.
        start_dim: The first axis to merge.
        end_dim: The last axis to merge.

    Returns:
        A tensor with the same elements.

    Raises:
        ValueError: `order` is another one, or `start_dim` comes after `end_dim`.

    Examples:
        >>> from minispore import ops
        >>> ops.flatten(ops.zeros((5, 1, 28, 28))).shape
        (5, 784)

    Source: MindSpore's `mindspore.ops.flatten`.
    """
    check_tensor(input)
    check_one_of(order, ("C", "F"), "order")
    if order == "F":
        input = permute(input, range(input.ndim)[::-1])
    lengths = input.shape
    if not lengths:
        return reshape(input, (1,))
    if len(lengths) == 1 and (start_dim, end_dim) == (1, -1):
        return input
    first = normalize_axis_index(start_dim, len(lengths), "start_dim")
    last = normalize_axis_index(end_dim, len(lengths), "end_dim")
    if first > last:
        raise ValueError(
            f"For 'flatten', 'start_dim' must not come after 'end_dim', "
            f"but got {start_dim} and {end_dim}."
        )
    flat = (*lengths[:first], prod(lengths[first : last + 1]), *lengths[last + 1 :])
    return apply1(rules.reshape, input, flat)


def permute(input: Tensor, axis: Sequence[int]) -> Tensor:
    """Return `input` with its axes in another order.

    Args:
        input: A tensor of any shape.
        axis: For each new axis the number of the old one.

    Returns:
        A tensor that shares the memory of `input`.

    Raises:
        ValueError: `axis` does not name each axis once.

    Examples:
        >>> from minispore import ops
        >>> ops.permute(ops.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)

    Source: MindSpore's `mindspore.ops.permute`.
    """
    check_tensor(input)
    ndim = input.ndim
    axes = as_shape(axis, "axis")
    if sorted([normalize_axis_index(i, ndim, "axis") for i in axes]) != [*range(ndim)]:
        raise value_error(axes, "axis", f"name each of the {ndim} axes once")
    return apply1(rules.permute, input, axes)


transpose = permute


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Return `input` with two axes exchanged.

    Args:
        input: A tensor of any shape.
        axis0: One axis.
        axis1: The other.

    Returns:
        A tensor that shares the memory of `input`.

    Examples:
        >>> from minispore import ops
        >>> ops.swapaxes(ops.zeros((2, 3, 4)), 0, 2).shape
        (4, 3, 2)

    Source: MindSpore's `mindspore.ops.swapaxes`.
    """
    check_tensor(input)
    first = normalize_axis_index(axis0, input.ndim, "axis0")
    second = normalize_axis_index(axis1, input.ndim, "axis1")
    axes = list(range(input.ndim))
    axes[first], axes[second] = second, first
    return apply1(rules.permute, input, tuple(axes))


swapdims = swapaxes


def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Return `x` with axes moved to other positions, while the others stay in their order.

    Args:
        x: A tensor of any shape.
        source: The axis or axes.
        destination: Their new positions.

    Returns:
        A tensor that shares the memory of `x`.

    Raises:
        ValueError: The axes are not as many as the positions, or are named twice.

    Examples:
        >>> from minispore import ops
        >>> ops.movedim(ops.zeros((2, 3, 4)), 0, 2).shape
        (3, 4, 2)

    Source: MindSpore's `mindspore.ops.movedim`.
    """
    check_tensor(x, "x")
    sources, places = (
        [normalize_axis_index(i, x.ndim, name) for i in as_shape(axes, name)]
        for name, axes in (("source", source), ("destination", destination))
    )
    if len(sources) != len(places) or {len({*sources}), len({*places})} != {len(places)}:
        raise ValueError(
            "For 'movedim', 'source' and 'destination' must name as many axes, each once, "
            f"but got {source} and {destination}."
        )
    order = [i for i in range(x.ndim) if i not in sources]
    for place, moved in sorted(zip(places, sources, strict=True)):
        order.insert(place, moved)
    return apply1(rules.permute, x, tuple(order))


moveaxis = movedim


def broadcast_to(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Return `input` repeated along axes of length 1, or new leading axes, to a shape.

    Args:
        input: A tensor of any shape.
        shape: The lengths of the axes; -1 keeps a length.

    Returns:
        A tensor of that shape.

    Raises:
        ValueError: An axis of another length than 1 would have to be repeated.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.broadcast_to(Tensor([1, 2]), (2, -1)).tolist()
        [[1, 2], [1, 2]]

    Source: MindSpore's `mindspore.ops.broadcast_to`.
    """
    check_tensor(input)
    target = as_shape(shape)
    added = len(target) - input.ndim
    lengths = (1,) * added + input.shape
    try:
        full = tuple(n if m == -1 else m for m, n in zip(target, lengths, strict=True))
        return apply1(rules.broadcast_to, input, full)
    except ValueError:
        raise ValueError(
            f"For 'broadcast_to', a tensor of shape {input.shape} cannot be repeated to {target}."
        ) from None


def expand_dims(input_x: Tensor, axis: int) -> Tensor:
    """Return `input` with a new axis of length 1.

    Args:
        input_x: A tensor of any shape.
        axis: The position of the new axis.

    Returns:
        A tensor with one more axis, which shares the memory of `input_x`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.expand_dims(Tensor([1, 2]), 1).shape
        (2, 1)

    Source: MindSpore's `mindspore.ops.expand_dims`.
    """
    check_tensor(input_x, "input_x")
    place = normalize_axis_index(axis, input_x.ndim + 1, "axis")
    return apply1(rules.expand_dims, input_x, place)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Return `input` with a new axis of length 1; `expand_dims` under PyTorch's name.

    Args:
        input: A tensor of any shape.
        dim: The position of the new axis.

    Returns:
        A tensor with one more axis, which shares the memory of `input`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.unsqueeze(Tensor([1, 2]), dim=0).shape
        (1, 2)
    """
    check_tensor(input)
    place = normalize_axis_index(dim, input.ndim + 1, "dim")
    return apply1(rules.expand_dims, input, place)


def squeeze(input: Tensor, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """Return `input` without axes of length 1.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to remove; None for all of length 1.

    Returns:
        A tensor that shares the memory of `input`.

    Raises:
        ValueError: A named axis has another length than 1.

    Examples:
        >>> from minispore import ops
        >>> ops.squeeze(ops.zeros((1, 2, 1))).shape
        (2,)

    Source: MindSpore's `mindspore.ops.squeeze`.
    """
    check_tensor(input)
    if axis is None:
        places = tuple(i for i, n in enumerate(input.shape) if n == 1)
    else:
        named = axis if isinstance(axis, tuple) else (axis,)
        places = tuple({normalize_axis_index(i, input.ndim or 1, "axis") for i in named})
        places = places[: input.ndim]
    for place in places:
        if input.shape[place] != 1:
            raise ValueError(
                f"For 'squeeze', an axis to be dropped must be of length 1, "
                f"but axis {place} of shape {input.shape} is not."
            )
    return apply1(rules.squeeze, input, places)


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors joined along an existing axis.

    Args:
        tensors: A list or tuple of tensors whose other axes have equal lengths.
        axis: The axis.

    Returns:
        A tensor of their promoted type.

    Raises:
        ValueError: There is no tensor, or their other lengths differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.concat([Tensor([1.0]), Tensor([2.0, 3.0])]).tolist()
        [1.0, 2.0, 3.0]

    Source: MindSpore's `mindspore.ops.concat`.
    """
    return join(promote_tensors(tensors), axis)


def join(operands: list[Tensor], axis: int) -> Tensor:
    """Return `concat` of tensors of one type."""
    place = normalize_axis_index(axis, operands[0].ndim, "axis")
    if len({(x.ndim, x.shape[:place] + x.shape[place + 1 :]) for x in operands}) > 1:
        raise ValueError(
            f"For '{caller()}', all lengths but that of axis {axis} must be equal, "
            f"but the shapes are {[x.shape for x in operands]}."
        )
    return apply_n(rules.concat, operands, place)


cat = concat


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Return tensors of equal shape joined along a new axis.

    Args:
        tensors: A list or tuple of tensors of one shape.
        axis: The position of the new axis.

    Returns:
        A tensor of their promoted type with one more axis.

    Raises:
        ValueError: There is no tensor, or their shapes differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.stack([Tensor([1, 2]), Tensor([3, 4])], 1).tolist()
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.ops.stack`.
    """
    operands = promote_tensors(tensors)
    if len({x.shape for x in operands}) > 1:
        raise ValueError(
            f"For 'stack', the tensors must be of one shape, "
            f"but the shapes are {[x.shape for x in operands]}."
        )
    place = normalize_axis_index(axis, operands[0].ndim + 1, "axis")
    return apply_n(rules.stack, operands, place)


def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], axis: int = 0
) -> tuple[Tensor, ...]:
    """Return `tensor` split into parts along an axis.

    Args:
        tensor: A tensor of any shape.
        split_size_or_sections: The length of each part (the last may be shorter), or a list of
            lengths.
        axis: The axis.

    Returns:
        A tuple of tensors, which share the memory of `tensor`.

    Raises:
        ValueError: A length is not positive, or the lengths do not add up to that of the axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.split(Tensor([1, 2, 3]), 2)]
        [[1, 2], [3]]

    Source: MindSpore's `mindspore.ops.split`.
    """
    check_tensor(tensor, "tensor")
    place = normalize_axis_index(axis, tensor.ndim, "axis")
    total = tensor.shape[place]
    sizes = as_shape(split_size_or_sections, "split_size_or_sections")
    if as_items(split_size_or_sections) is None:
        size = sizes[0]
        if size <= 0:
            raise ValueError(
                f"For 'split', 'split_size_or_sections' must be positive, but got {size}."
            )
        sizes = tuple(min(size, total - start) for start in range(0, total, size)) or (0,)
    elif any(n < 0 for n in sizes) or sum(sizes) != total:
        raise ValueError(
            f"For 'split', the lengths in 'split_size_or_sections' must add up to {total}, "
            f"but got {sizes}."
        )
    before = (slice(None),) * place
    return tuple(
        apply1(indexing.getitem, tensor, (*before, slice(start, stop)))
        for start, stop in pairwise(accumulate(sizes, initial=0))
    )


def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """Return `input` split along an axis into equally long parts, of which the last may be shorter.

    Args:
        input: A tensor of any shape.
        chunks: The largest number of parts.
        axis: The axis.

    Returns:
        A tuple of tensors, which share the memory of `input`.

    Raises:
        ValueError: `chunks` is not positive.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.chunk(Tensor([1, 2, 3]), 2)]
        [[1, 2], [3]]

    Source: MindSpore's `mindspore.ops.chunk`.
    """
    check_tensor(input)
    check_int(chunks, "chunks", low=1)
    place = normalize_axis_index(axis, input.ndim, "axis")
    return split(input, max(1, -(-input.shape[place] // chunks)), place)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices of `input` along an axis, which they no longer have.

    Args:
        input: A tensor of any shape.
        dim: The axis.

    Returns:
        A tuple of tensors, which share the memory of `input`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.unbind(Tensor([[1, 2], [3, 4]]), 1)]
        [[1, 3], [2, 4]]

    Source: MindSpore's `mindspore.ops.unbind`.
    """
    check_tensor(input)
    place = normalize_axis_index(dim, input.ndim, "dim")
    before = (slice(None),) * place
    return tuple(apply1(indexing.getitem, input, (*before, i)) for i in range(input.shape[place]))


def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """Return `unbind(input_x, axis)`.

    Args:
        input_x: A tensor of any shape.
        axis: The axis.

    Returns:
        A tuple of tensors, which share the memory of `input_x`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [part.tolist() for part in ops.unstack(Tensor([[1, 2], [3, 4]]))]
        [[1, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.unstack`.
    """
    check_tensor(input_x, "input_x")
    return unbind(input_x, normalize_axis_index(axis, input_x.ndim, "axis"))


def promote_tensors(tensors: Sequence[Tensor], name: str = "tensors") -> list[Tensor]:
    """Return the tensors of an argument, at least one, in their common type."""
    if not isinstance(tensors, list | tuple):
        raise type_error(tensors, name, "be a list or tuple of Tensors")
    if not tensors:
        raise ValueError(f"For '{caller()}', the argument '{name}' must not be empty.")
    for i, x in enumerate(tensors):
        check_tensor(x, f"{name}[{i}]")
    return cast_to_common_type(tensors)


def cast_to_common_type(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors in the type to which theirs are promoted."""
    common = reduce(dtypes.promote, map(dtype_of, tensors))
    return [cast_to(x, common) for x in tensors]


def tile(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return `input` repeated as a whole along each axis.

    Args:
        input: A tensor of any shape.
        dims: The number of repetitions of each axis; of the last axes if it is shorter, with new
            leading axes if it is longer.

    Returns:
        A tensor of the multiplied shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.tile(Tensor([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]

    Source: MindSpore's `mindspore.ops.tile`.
    """
    check_tensor(input)
    if not isinstance(dims, tuple):
        raise type_error(dims, "dims", "be a tuple of ints")
    counts = as_shape(dims, "dims")
    for n in counts:
        check_int(n, "dims", low=0, high=INT32_MAX)
    counts = (1,) * (input.ndim - len(counts)) + counts
    lengths = (1,) * (len(counts) - input.ndim) + input.shape
    # A new axis before each axis, along which that axis is repeated.
    pairs = list(zip(counts, lengths, strict=True))
    split = apply1(rules.reshape, input, tuple(n for m in lengths for n in (1, m)))
    full = apply1(rules.broadcast_to, split, tuple(n for pair in pairs for n in pair))
    return apply1(rules.reshape, full, tuple(n * m for n, m in pairs))


def repeat_interleave(
    input: Tensor, repeats: int | Sequence[int] | Tensor, axis: int | None = None
) -> Tensor:
    """Return `input` with each element along an axis repeated.

    Args:
        input: A tensor of any shape.
        repeats: The number of repetitions of all elements, or of each.
        axis: The axis; None for the flattened tensor.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: A number is negative, or there is not one for each element.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.repeat_interleave(Tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]
        >>> ops.repeat_interleave(Tensor([[1, 2]]), (1, 2), 1).tolist()
        [[1, 2, 2]]

    Source: MindSpore's `mindspore.ops.repeat_interleave`.
    """
    check_tensor(input)
    x = input
    if axis is None:
        x, place = apply1(rules.reshape, input, (prod(input.shape),)), 0
    else:
        place = normalize_axis_index(axis, input.ndim, "axis")
    counts = _as_repeats(repeats)
    before, length, after = x.shape[:place], x.shape[place], x.shape[place + 1 :]
    if len(counts) == 1:
        new = apply1(rules.expand_dims, x, place + 1)
        full = apply1(rules.broadcast_to, new, (*before, length, counts[0], *after))
        return apply1(rules.reshape, full, (*before, length * counts[0], *after))
    if len(counts) != length:
        raise value_error(len(counts), "repeats", f"be of one number or of {length}")
    return take_places(x, place, np.repeat(np.arange(length), counts))


def take_places(x: Tensor, axis: int, places: Int64Array) -> Tensor:
    """Return the elements at `places` along an axis, which is not negative."""
    index = to_device_of(places, x._data)
    return apply1(indexing.getitem, x, (slice(None),) * axis + (index,))


def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Return `repeat_interleave(x, rep, axis)`.

    Args:
        x: A tensor of any shape.
        rep: The number of repetitions.
        axis: The axis.

    Returns:
        A tensor of the same type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.repeat_elements(Tensor([1, 2]), 2).tolist()
        [1, 1, 2, 2]

    Source: MindSpore's `mindspore.ops.repeat_elements`.
    """
    check_tensor(x, "x")
    check_int(rep, "rep", low=0, high=INT32_MAX)
    place = normalize_axis_index(axis, x.ndim, "axis")
    return repeat_interleave(x, rep, place)


def flip(input: Tensor, dims: Sequence[int]) -> Tensor:
    """Return `input` with the elements along axes in reverse order.

    Args:
        input: A tensor of any shape.
        dims: The axes.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.flip(Tensor([[1, 2], [3, 4]]), (0,)).tolist()
        [[3, 4], [1, 2]]

    Source: MindSpore's `mindspore.ops.flip`.
    """
    check_tensor(input)
    if not is_sequence(dims):
        raise type_error(dims, "dims", "be a list or tuple of ints")
    places = _normalize_axes(dims, input.ndim, "dims")
    steps = tuple(slice(None, None, -1 if i in places else 1) for i in range(input.ndim))
    return apply1(indexing.getitem, input, steps)


def roll(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Tensor:
    """Return `input` with the elements moved along axes; the last ones come first.

    Args:
        input: A tensor of any shape.
        shifts: How far, for each axis.
        dims: The axis or axes; None for the flattened tensor.

    Returns:
        A tensor of the same shape and type.

    Raises:
        ValueError: There are not as many shifts as axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.roll(Tensor([1, 2, 3]), 1, 0).tolist()
        [3, 1, 2]

    Source: MindSpore's `mindspore.ops.roll`.
    """
    check_tensor(input)
    steps = as_shape(shifts, "shifts")
    axes = (0,) if dims is None else as_shape(dims, "dims")
    if len(steps) != len(axes):
        raise ValueError(
            f"For 'roll', the arguments 'shifts' and 'dims' must be of as many numbers, "
            f"but got {shifts} and {dims}."
        )
    x = reshape(input, (prod(input.shape),)) if dims is None else input
    for step, axis in zip(steps, axes, strict=True):
        place = normalize_axis_index(axis, x.ndim, "dims")
        shift = step % (x.shape[place] or 1)
        x = concat(split(x, [x.shape[place] - shift, shift], place)[::-1], place)
    return reshape(x, input.shape)


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Return the coordinates of the points of a grid.

    Args:
        *inputs: The coordinates along each axis of the grid: tensors with one axis each.
        indexing: "ij" for a grid of shape (len(inputs[0]), len(inputs[1]), ...), "xy" for the first
            two axes exchanged.

    Returns:
        For each of `inputs`, a tensor of the grid's shape.

    Raises:
        ValueError: An input does not have one axis, or `indexing` is another string.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4, 5]))]
        [[[1, 2], [1, 2], [1, 2]], [[3, 3], [4, 4], [5, 5]]]

    Source: MindSpore's `mindspore.ops.meshgrid`.
    """
    check_one_of(indexing, ("xy", "ij"), "indexing")
    for i, x in enumerate(inputs):
        check_tensor(x, f"inputs[{i}]")
    if any(x.ndim != 1 for x in inputs):
        raise ValueError(
            "For 'meshgrid', each tensor must have one axis, but the shapes are "
            f"{[x.shape for x in inputs]}."
        )
    shape = tuple(x.shape[0] for x in inputs)
    grids = [
        broadcast_to(reshape(x, [-1 if j == i else 1 for j in range(len(shape))]), shape)
        for i, x in enumerate(inputs)
    ]
    is_transposed = indexing == "xy" and len(grids) > 1
    return tuple(swapaxes(x, 0, 1) if is_transposed else x for x in grids)


def _as_repeats(repeats: object) -> tuple[int, ...]:
    if isinstance(repeats, Variable):
        if dtype_of(repeats).category != dtypes.INTEGER or repeats.ndim > 1:
            raise TypeError(
                f"For '{caller()}', a Tensor 'repeats' must be of integers and have one axis at "
                f"most, but is of {dtype_of(repeats)!r} and of shape {repeats.shape}."
            )
        host = to_host(repeats._data)
        repeats = host.reshape(-1).tolist()
    counts = as_shape(repeats, "repeats")
    for n in counts:
        check_int(n, "repeats", low=0, high=INT32_MAX)
    return counts


@in_float32
def pad(
    input_x: Tensor, padding: Sequence[int], mode: str = "constant", value: Number | None = None
) -> Tensor:
    """Return `input_x` with elements added before and after its last axes, or removed.

    Args:
        input_x: A tensor of any shape.
        padding: The number of elements before and after the last axis, then the last but one, and
            so on; a negative number removes elements.
        mode: "constant" adds `value`, "reflect" the elements mirrored at the first and the last
            one, "replicate" these two themselves, and "circular" those of the other end, of
            what remains where the other number removes elements.
        value: The number, in the mode "constant"; None for 0.

    Returns:
        A tensor of the same type.

    Raises:
        ValueError: `padding` has an odd length, has more pairs than there are axes or removes more
            than there is; or `mode` is unknown or adds more than there is to take.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.pad(Tensor([[1, 2]]), (1, 0, 0, 1), value=7).tolist()
        [[7, 1, 2], [7, 7, 7]]

    Source: MindSpore's `mindspore.ops.pad`.
    """
    check_tensor(input_x, "input_x")
    check_one_of(mode, _PAD_MODES, "mode")
    numbers = as_shape(padding, "padding")
    ndim, lengths = input_x.ndim, input_x.shape
    if len(numbers) % 2 or len(numbers) > 2 * ndim:
        raise value_error(numbers, "padding", f"be of pairs, for at most {ndim} axes")
    # The last axis comes first.
    pairs = [(numbers[i], numbers[i + 1]) for i in range(0, len(numbers), 2)][::-1]
    pairs = [(0, 0)] * (ndim - len(pairs)) + pairs
    if any(n + min(a, 0) + min(b, 0) < 0 for n, (a, b) in zip(lengths, pairs, strict=True)):
        raise ValueError(
            f"For 'pad', the argument 'padding' must not cut off more than there is, but got "
            f"{numbers} for the shape {lengths}."
        )
    if mode != "constant":
        if value is not None:
            raise ValueError(f"For 'pad', the mode {mode!r} takes no 'value', but got {value}.")
        for axis, (before, after) in enumerate(pairs):
            if before or after:
                index = _places_beyond(lengths[axis], before, after, mode)
                places = to_device_of(index, input_x._data)
                input_x = apply1(indexing.getitem, input_x, (*(slice(None),) * axis, places))
        return input_x
    inside = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(lengths, pairs, strict=True)]
    inner = apply1(indexing.getitem, input_x, tuple(inside))
    number = 0 if value is None else value
    if not isinstance(number, int | float):
        check_type(value, (bool, int, float, NoneType), "value")
    return pad_constant(inner, [(max(a, 0), max(b, 0)) for a, b in pairs], number)


def _places_beyond(length: int, before: int, after: int, mode: str) -> Int64Array:
    """Return for each element of a padded axis its place on the axis that is padded."""
    # The first element that is not cut off, and how many are not.
    first, kept = max(-before, 0), length + min(before, 0) + min(after, 0)
    most = {"reflect": length - 1, "circular": kept}.get(mode, INT32_MAX if length else 0)
    if max(before, after) > most:
        raise ValueError(
            f"For 'pad', the mode {mode!r} adds at most {most} elements to an axis of length "
            f"{length}, but got {before} and {after}."
        )
    places = np.arange(-before, length + after)
    if mode == "replicate":
        return places.clip(0, length - 1)
    if mode == "circular":
        return first + (places - first) % kept
    places = np.abs(places)
    return np.where(places < length, places, 2 * (length - 1) - places)


def pad_constant(x: Tensor, added: Sequence[tuple[int, int]], value: float) -> Tensor:
    """Return `x` with `value` added before and after each axis; `added` has the two numbers."""
    index = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, added, strict=True))
    shape = tuple(a + n + b for n, (a, b) in zip(x.shape, added, strict=True))
    if shape == x.shape:
        return x
    y = apply1(indexing.scatter_add, x, index, shape)
    if value == 0:
        return y
    check_fits(value, dtype_of(x))
    xp = device_namespace(x._data)
    border = xp.full(shape, value, x._data.dtype)
    xp.assign(border, index, 0)
    return add(y, wrap(border, x))


def broadcast_shape(*shapes: Shape) -> Shape:
    """Return the shape to which shapes broadcast; raise ValueError if they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(*shapes) from None


def as_shape(shape: object, name: str = "shape") -> Shape:
    """Return `shape` as a tuple of ints; an int is one length.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
    """
    items = tuple(shape) if isinstance(shape, range) else as_items(shape)
    result: list[int] = []
    for n in (shape,) if items is None else items:
        if type(n) is not int and (isinstance(n, bool) or not isinstance(n, _INTS)):
            raise type_error(shape, name, "be an int or a sequence of ints")
        result.append(int(n))
    return tuple(result)


def normalize_axis_index(axis: object, ndim: int, name: str) -> int:
    """Return `axis` counted from the front.

    Raises:
        TypeError: It is not an int.
        ValueError: It is out of range.
    """
    if type(axis) is not int and (isinstance(axis, bool) or not isinstance(axis, _INTS)):
        raise type_error(axis, name, "be an int")
    if not -ndim <= axis < ndim:
        raise value_error(axis, name, f"be in [{-ndim}, {ndim})")
    return int(axis if axis >= 0 else axis + ndim)


def normalize_axis_tuple(axis: object, ndim: int, name: str = "axis") -> Axis:
    """Return `axis` counted from the front; None and an empty sequence mean all axes.

    Raises:
        TypeError: It is neither an int nor a sequence of ints.
        ValueError: An axis is out of range or named twice.
    """
    if axis is None:
        return None
    places: Axis
    if is_sequence(axis):
        places = _normalize_axes(axis, ndim or 1, name) or None
    else:
        places = normalize_axis_index(axis, ndim or 1, name)
    # A tensor without axes is reduced as one of one element.
    return places if ndim else None


def _normalize_axes(axes: Sequence[object], ndim: int, name: str) -> tuple[int, ...]:
    named = tuple(normalize_axis_index(item, ndim, name) for item in axes)
    if len(set(named)) < len(named):
        raise ValueError(f"For '{caller()}', the argument '{name}' names an axis twice: {axes!r}.")
    return named


def check_nonempty(shape: Shape, axes: Axis) -> None:
    """Raise ValueError if an axis to reduce has no elements, and thus no maximum."""
    if 0 not in shape:
        return
    named = range(len(shape)) if axes is None else (axes,) if isinstance(axes, int) else axes
    if any(shape[i] == 0 for i in named):
        raise ValueError(
            f"For '{caller()}', there must be elements to choose from, but the shape is {shape} "
            f"and the axis {axes!r}."
        )
