"""Updating a parameter block by block.

An update needs a place for its intermediate results. Taken some rows at a time they need little:
one scratch serves all parameters, however large, and nothing is allocated from step to step.
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from minispore._array import Array, DeviceNamespace, Shape, device_namespace, is_host

# Elements of a block: 1 MiB of float32. Smaller ones were measured to be slower: what more calls
# cost is more than what staying in a nearer cache gains.
BLOCK = 1 << 18


class Block(NamedTuple):
    """Some rows of a parameter, None being all, and two scratch arrays of their shape."""

    rows: slice | None
    first: Array
    second: Array


class Blocks:
    """The blocks of each parameter of an optimiser, planned once for each shape."""

    def __init__(self) -> None:
        self._plans: dict[tuple[Shape, object], list[Block]] = {}
        self._scratch: dict[object, Array] = {}

    def __reduce__(self) -> tuple[type["Blocks"], tuple[()]]:
        # A copy, or what is unpickled, makes its own scratch.
        return Blocks, ()

    def of(self, x: Array) -> list[Block]:
        """The blocks that make up `x`; a scalar has none and counts as one row."""
        key = x.shape, x.dtype
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = list(self._plan(x))
        return plan

    def _plan(self, x: Array) -> Iterator[Block]:
        xp = device_namespace(x)
        row = prod(x.shape[1:])
        # A device's caches are not near enough for blocks to gain, and each would be launched anew.
        block = BLOCK if is_host(x) else prod(x.shape)
        count = max(1, block // max(1, row))
        scratch = self._scratch_of(xp, x, max(block, row))
        for start in range(0, x.shape[0], count):
            stop = min(start + count, x.shape[0])
            shape = (stop - start, *x.shape[1:])
            size = prod(shape)
            yield Block(
                None if shape == x.shape else slice(start, stop),
                xp.reshape(scratch[0, :size], shape),
                xp.reshape(scratch[1, :size], shape),
            )

    def _scratch_of(self, xp: DeviceNamespace[Array], x: Array, size: int) -> Array:
        scratch = self._scratch.get(x.dtype)
        if scratch is None or scratch.shape[1] < size:
            scratch = self._scratch[x.dtype] = xp.empty((2, size), x.dtype)
        return scratch
