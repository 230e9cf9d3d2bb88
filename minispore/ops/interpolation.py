"""Sequences and images of another size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Shape, to_device_of
from minispore.engine.dispatch import (
    check_category,
    dtype_of,
    in_float32,
    shape_error,
    wrap,
)
from minispore.ops._primitive import Primitive
from minispore.ops.arithmetic import add, mul, sub
from minispore.ops.manipulation import take_places
from minispore.ops.pooling import check_images
from minispore.ops.tensors import Tensor
from minispore.utils.arrays import Int64Array
from minispore.utils.checks import (
    INT32_MAX,
    as_items,
    as_pair,
    caller,
    check_bool,
    check_int,
    check_number,
    check_one_of,
    check_type,
    describe_value,
    type_error,
    value_error,
)

__all__ = ["ResizeNearestNeighbor", "interpolate"]


class ResizeNearestNeighbor(Primitive):
    """Images of another size, whose pixels are the nearest ones.

    Args:
        size: The height and the width.
        align_corners: Whether the corner pixels of both images are at the same positions.
        half_pixel_centers: Only False is supported.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ResizeNearestNeighbor((1, 4))(Tensor([[[[1, 2]]]])).tolist()
        [[[[1, 1, 2, 2]]]]

    Source: MindSpore's `mindspore.ops.ResizeNearestNeighbor`.
    """

    def __init__(
        self,
        size: tuple[int, int] | list[int],
        align_corners: bool = False,
        half_pixel_centers: bool = False,
    ) -> None:
        check_type(size, (tuple, list), "size")
        self.size: tuple[int, int] = as_pair(tuple(size), "size")
        check_bool(align_corners, "align_corners")
        check_one_of(half_pixel_centers, (False,), "half_pixel_centers")
        self.align_corners = align_corners

    def __call__(self, input_x: Tensor) -> Tensor:
        """Apply the operation."""
        check_images(input_x, "input_x")
        x = input_x
        for axis, new in zip((2, 3), self.size, strict=True):
            x = take_places(x, axis, self._places(x.shape[axis], new))
        return x

    def _places(self, old: int, new: int) -> Int64Array:
        """Return the nearest pixel of each new one."""
        if self.align_corners and new > 1:
            # Rounded, halves up, in integers.
            return (2 * np.arange(new) * (old - 1) + new - 1) // (2 * (new - 1))
        return np.arange(new) * old // new


@in_float32
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Tensor:
    """Return sequences or images of another size.

    Args:
        input: Sequences (n, channels, length) or images (n, channels, height, width).
        size: The length, or the height and the width; one int for all.
        scale_factor: The factor of each length, instead of `size`; lengths are rounded down.
        mode: "nearest" for the pixel at the corner that is nearest to 0, "nearest-exact" for the
            pixel whose center is nearest, "linear" for sequences and "bilinear" for images.
        align_corners: Whether the corner pixels of both images are at the same positions; only for
            "linear" and "bilinear".
        recompute_scale_factor: Must be True with `scale_factor`: positions follow from the lengths.

    Returns:
        A tensor of the same type.

    Raises:
        TypeError: An argument has the wrong type, or `input` does not hold floats.
        ValueError: An argument does not fit the others, or is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.interpolate(Tensor([[[1.0, 2.0]]]), 4, mode="linear").tolist()
        [[[1.0, 1.25, 1.75, 2.0]]]

    Source: MindSpore's `mindspore.ops.interpolate`.
    """
    check_category(input, dtypes.FLOAT)
    check_one_of(mode, _AXES_OF_MODE, "mode")
    check_type(align_corners, (bool, NoneType), "align_corners")
    check_type(recompute_scale_factor, (bool, NoneType), "recompute_scale_factor")
    if input.ndim not in _AXES_OF_MODE[mode] or 0 in input.shape[2:]:
        axes = f"{_AXES_OF_MODE[mode][0]} axes for the mode {mode!r}, none of length 0"
        raise shape_error(input, "input", f"have {axes}")
    linear = mode.endswith("linear")
    if align_corners is not None and not linear:
        raise value_error(align_corners, "align_corners", f"be None in the mode {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError(
            f"For '{caller()}', one of 'size' and 'scale_factor' must be given, but they are "
            f"{describe_value(size)} and {describe_value(scale_factor)}."
        )
    if (scale_factor is not None) != bool(recompute_scale_factor):
        must = "be True with 'scale_factor', and only then, as in MindSpore"
        raise value_error(recompute_scale_factor, "recompute_scale_factor", must)
    x = input
    for axis, new in enumerate(_new_lengths(input.shape[2:], size, scale_factor), 2):
        old, places = input.shape[axis], np.arange(new)
        if not linear:
            exact = mode == "nearest-exact"
            x = take_places(x, axis, (2 * places + exact) * old // (2 * new))
            continue
        if align_corners:
            position = places * ((old - 1) / max(new - 1, 1))
        else:
            position = np.maximum((places + 0.5) * (old / new) - 0.5, 0)
        before = np.minimum(position.astype(np.int64), old - 1)
        after = np.minimum(before + 1, old - 1)
        share = (position - before).reshape(new, *(1,) * (x.ndim - 1 - axis))
        weight = wrap(to_device_of(share.astype(dtype_of(x).numpy_dtype), x._data), x)
        low, high = take_places(x, axis, before), take_places(x, axis, after)
        x = add(mul(low, sub(1, weight)), mul(high, weight))
    return x


# The numbers of axes of the inputs of each mode.
_AXES_OF_MODE: Mapping[str, tuple[int, ...]] = {
    "nearest": (3, 4),
    "nearest-exact": (3, 4),
    "linear": (3,),
    "bilinear": (4,),
}


def _new_lengths(old: Shape, size: object, scale_factor: object) -> list[int]:
    """Return the lengths that the arguments of `interpolate` say."""
    name, given = ("size", size) if scale_factor is None else ("scale_factor", scale_factor)
    items = as_items(given)
    values = (given,) * len(old) if items is None else items
    if len(values) != len(old):
        raise type_error(given, name, f"be one number or {len(old)}", ValueError)
    if name == "size":
        return [check_int(value, name, low=1, high=INT32_MAX) for value in values]
    return [
        int(n * check_number(value, name, low=1 / n, high=INT32_MAX))
        for n, value in zip(old, values, strict=True)
    ]
