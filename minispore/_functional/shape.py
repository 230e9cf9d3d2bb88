"""Other shapes and other orders of the same elements, and several tensors as one."""

from collections.abc import Sequence
from math import prod
from typing import cast

from minispore import _dtype
from minispore._array import Shape
from minispore._checks import as_items, described
from minispore._functional.apply import apply1, apply_n
from minispore._functional.axes import as_shape, check_axis
from minispore._functional.indexing import getitem
from minispore._functional.operands import cast_to, dtype_of
from minispore._functional.variable import T, check_tensor
from minispore._rules import shape as rules


def reshape(input: T, shape: Sequence[int]) -> T:
    """The elements of `input`, in the same order, in another shape; one length may be -1.

    >>> from minispore import Tensor, ops
    >>> ops.reshape(Tensor([1, 2, 3, 4]), (2, -1)).shape
    (2, 2)

    Raises:
        TypeError: `input` is no tensor, or `shape` no sequence of ints.
        ValueError: The shape does not hold as many elements.
    """
    check_tensor(input, "reshape")
    lengths = as_shape(shape, "reshape")
    size = prod(input.shape)
    if lengths.count(-1) == 1:
        known = prod(n for n in lengths if n != -1)
        if known and size % known == 0:
            lengths = tuple(size // known if n == -1 else n for n in lengths)
    if prod(lengths) != size or any(n < 0 for n in lengths):
        raise ValueError(
            f"For 'reshape', the argument 'shape' must hold the {size} elements of a tensor of "
            f"shape {input.shape}, but got {lengths}."
        )
    return apply1(rules.reshape, input, lengths)


def flatten(input: T, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> T:
    """The axes from `start_dim` to `end_dim` as one.

    >>> from minispore import ops
    >>> ops.flatten(ops.zeros((5, 1, 28, 28))).shape
    (5, 784)

    Raises:
        TypeError: `input` is no tensor, or an axis no int.
        ValueError: `order` is not "C", or the axes are out of range or in the wrong order.
    """
    check_tensor(input, "flatten")
    if not isinstance(order, str) or order != "C":
        raise ValueError(
            f"For 'flatten', the argument 'order' must be 'C', but got {described(order)}."
        )
    own = input.shape
    if not own:
        return reshape(input, (1,))
    if len(own) == 1 and (start_dim, end_dim) == (1, -1):
        return input
    first = check_axis(start_dim, len(own), "start_dim", "flatten")
    last = check_axis(end_dim, len(own), "end_dim", "flatten")
    if first > last:
        raise ValueError(
            f"For 'flatten', 'start_dim' must not come after 'end_dim', "
            f"but got {start_dim} and {end_dim}."
        )
    flat = (*own[:first], prod(own[first : last + 1]), *own[last + 1 :])
    return apply1(rules.reshape, input, flat)


def permute(input: T, axis: Sequence[int]) -> T:
    """The axes in the order of `axis`.

    >>> from minispore import ops
    >>> ops.permute(ops.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)

    Raises:
        TypeError: `input` is no tensor, or an axis no int.
        ValueError: `axis` does not name each axis once.
    """
    check_tensor(input, "permute")
    ndim = input.ndim
    axes = as_shape(axis, "permute", "axis")
    if sorted([check_axis(i, ndim, "axis", "permute") for i in axes]) != [*range(ndim)]:
        raise ValueError(
            f"For 'permute', the argument 'axis' must name each of the {ndim} axes once, "
            f"but got {axes}."
        )
    return apply1(rules.permute, input, axes)


def swapaxes(input: T, axis0: int, axis1: int) -> T:
    """The two axes in each other's place.

    >>> from minispore import ops
    >>> ops.swapaxes(ops.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)

    Raises:
        TypeError: `input` is no tensor, or an axis no int.
        ValueError: An axis is out of range.
    """
    check_tensor(input, "swapaxes")
    first = check_axis(axis0, input.ndim, "axis0", "swapaxes")
    second = check_axis(axis1, input.ndim, "axis1", "swapaxes")
    axes = list(range(input.ndim))
    axes[first], axes[second] = second, first
    return apply1(rules.permute, input, tuple(axes))


def broadcast_to(input: T, shape: Sequence[int]) -> T:
    """`input` repeated to `shape`; -1 keeps a length.

    >>> from minispore import Tensor, ops
    >>> ops.broadcast_to(Tensor([1, 2]), (2, -1)).tolist()
    [[1, 2], [1, 2]]

    Raises:
        TypeError: `input` is no tensor, or `shape` no sequence of ints.
        ValueError: An axis of a length other than 1 would have to be repeated.
    """
    check_tensor(input, "broadcast_to")
    wanted = as_shape(shape, "broadcast_to")
    added = len(wanted) - input.ndim
    own = (1,) * added + input.shape
    try:
        full = tuple(n if m == -1 else m for m, n in zip(wanted, own, strict=True))
        return apply1(rules.broadcast_to, input, full)
    except ValueError:
        raise ValueError(
            f"For 'broadcast_to', a tensor of shape {input.shape} cannot be repeated to {wanted}."
        ) from None


def expand_dims(input_x: T, axis: int) -> T:
    """A new axis of length 1 at `axis`.

    >>> from minispore import Tensor, ops
    >>> ops.expand_dims(Tensor([1, 2]), 1).shape
    (2, 1)

    Raises:
        TypeError: `input_x` is no tensor, or `axis` no int.
        ValueError: `axis` is out of range.
    """
    check_tensor(input_x, "expand_dims", "input_x")
    place = check_axis(axis, input_x.ndim + 1, "axis", "expand_dims")
    return apply1(rules.expand_dims, input_x, place)


def unsqueeze(input: T, dim: int) -> T:
    """`expand_dims`, as PyTorch calls it.

    >>> from minispore import Tensor, ops
    >>> ops.unsqueeze(Tensor([1, 2]), dim=0).shape
    (1, 2)

    Raises:
        TypeError: `input` is no tensor, or `dim` no int.
        ValueError: `dim` is out of range.
    """
    check_tensor(input, "unsqueeze")
    place = check_axis(dim, input.ndim + 1, "dim", "unsqueeze")
    return apply1(rules.expand_dims, input, place)


def squeeze(input: T, axis: int | tuple[int, ...] | None = None) -> T:
    """Without the axes of length 1 that `axis` names, or without any such axis.

    >>> from minispore import ops
    >>> ops.squeeze(ops.zeros((1, 2, 1))).shape
    (2,)

    Raises:
        TypeError: `input` is no tensor, or an axis no int.
        ValueError: A named axis is not of length 1.
    """
    check_tensor(input, "squeeze")
    if axis is None:
        places = tuple(i for i, n in enumerate(input.shape) if n == 1)
    else:
        named = axis if isinstance(axis, tuple) else (axis,)
        places = tuple({check_axis(i, input.ndim, "axis", "squeeze") for i in named})
    for place in places:
        if input.shape[place] != 1:
            raise ValueError(
                f"For 'squeeze', an axis to be dropped must be of length 1, "
                f"but axis {place} of shape {input.shape} is not."
            )
    return apply1(rules.squeeze, input, places)


def concat(tensors: Sequence[T], axis: int = 0) -> T:
    """The tensors one behind the other along `axis`, in their common type.

    >>> from minispore import Tensor, ops
    >>> ops.concat([Tensor([1.0]), Tensor([2.0, 3.0])])
    Tensor(shape=[3], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00,  3.00000000e+00])

    Raises:
        TypeError: `tensors` is no list or tuple of tensors, or `axis` no int.
        ValueError: There is no tensor, or their other lengths differ.
    """
    operands = _together(tensors, "concat")
    place = check_axis(axis, operands[0].ndim, "axis", "concat")
    for x in operands[1:]:
        rest, first = _without(x.shape, place), _without(operands[0].shape, place)
        if x.ndim != operands[0].ndim or rest != first:
            raise ValueError(
                f"For 'concat', all lengths but that of axis {axis} must be equal, "
                f"but the shapes are {[x.shape for x in operands]}."
            )
    return apply_n(rules.concat, operands, place)


def stack(tensors: Sequence[T], axis: int = 0) -> T:
    """The tensors side by side along a new `axis`.

    >>> from minispore import Tensor, ops
    >>> ops.stack([Tensor([1, 2]), Tensor([3, 4])], 1).tolist()
    [[1, 3], [2, 4]]

    Raises:
        TypeError: `tensors` is no list or tuple of tensors, or `axis` no int.
        ValueError: There is no tensor, or their shapes differ.
    """
    operands = _together(tensors, "stack")
    if len({x.shape for x in operands}) > 1:
        raise ValueError(
            f"For 'stack', the tensors must be of one shape, "
            f"but the shapes are {[x.shape for x in operands]}."
        )
    place = check_axis(axis, operands[0].ndim + 1, "axis", "stack")
    return apply_n(rules.stack, operands, place)


def split(tensor: T, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[T, ...]:
    """Parts of `tensor` along `axis`: of a given length (the last may be shorter), or of several.

    >>> from minispore import Tensor, ops
    >>> [part.tolist() for part in ops.split(Tensor([1, 2, 3]), 2)]
    [[1, 2], [3]]

    Raises:
        TypeError: `tensor` is no tensor, or a length or `axis` no int.
        ValueError: The lengths are not positive, or do not add up to that of `axis`.
    """
    check_tensor(tensor, "split", "tensor")
    place = check_axis(axis, tensor.ndim, "axis", "split")
    total = tensor.shape[place]
    sizes = as_shape(split_size_or_sections, "split", "split_size_or_sections")
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
    parts: list[T] = []
    start = 0
    for size in sizes:
        parts.append(getitem(tensor, (slice(None),) * place + (slice(start, start + size),)))
        start += size
    return tuple(parts)


def _together(tensors: Sequence[T], owner: str) -> list[T]:
    operands = cast("tuple[T, ...] | None", as_items(tensors))
    if operands is None:
        raise TypeError(
            f"For '{owner}', the argument 'tensors' must be a list or tuple of Tensors, "
            f"but got {described(tensors)}."
        )
    if not operands:
        raise ValueError(f"For '{owner}', the argument 'tensors' must not be empty.")
    for i, x in enumerate(operands):
        check_tensor(x, owner, f"tensors[{i}]")
    common = dtype_of(operands[0])
    for x in operands[1:]:
        common = _dtype.promote(common, dtype_of(x), owner)
    return [cast_to(x, common) for x in operands]


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]
