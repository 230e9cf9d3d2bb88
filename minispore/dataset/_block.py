"""Blocks: what flows through a pipeline. A block is some rows, held column by column.

Every column of a block is one array with a leading axis of rows, so all rows of a block have the
same shapes and types; rows of other shapes follow in the next block. Whoever receives a block owns
its arrays and may overwrite them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Block = tuple[Array, ...]
Row = tuple[Array, ...]


def as_element(value: object, what: str) -> Array:
    """Return a value of one row as an array; TypeError if it is no number or array of numbers."""
    asnumpy = getattr(value, "asnumpy", None)
    try:
        array: Array = np.asarray(asnumpy() if callable(asnumpy) else value)
    except ValueError:  # a list of lists of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"{what} must be a number, or an array or a list of numbers, but got {value!r} of type "
            f"{type(value).__name__}."
        )
    return array


def as_tuple(result: object) -> tuple[object, ...]:
    """Return what the user's code gave for a row: a tuple as it is, anything else as one value."""
    return cast(tuple[object, ...], result) if isinstance(result, tuple) else (result,)


def length(block: Block) -> int:
    """Return the number of rows."""
    return len(block[0])


def rows_of(block: Block) -> Iterator[Row]:
    """Yield the rows of a block, as views of it."""
    for i in range(length(block)):
        yield tuple([column[i, ...] for column in block])


def cut(block: Block, start: int, stop: int | None = None) -> Block:
    """Return some rows of a block, as views of it."""
    return tuple([column[start:stop] for column in block])


def stack(rows: Sequence[Row]) -> Block:
    """Return rows of the same shapes and types as one block, copied."""
    return tuple([np.stack(column) for column in zip(*rows, strict=True)])


def stacked(rows: Iterable[Row], most: int) -> Iterator[Block]:
    """Gather rows into blocks of at most `most`; a row unlike the one before starts a new block."""
    held: list[Row] = []
    for row in rows:
        if held and (len(held) == most or not _alike(held[0], row)):
            yield stack(held)
            held = []
        held.append(row)
    if held:
        yield stack(held)


def dropped(blocks: Iterable[Block], count: int) -> Iterator[Block]:
    """Yield the blocks without their first `count` rows."""
    for block in blocks:
        if count < length(block):
            yield cut(block, count) if count else block
        count = max(0, count - length(block))


def _alike(a: Row, b: Row) -> bool:
    return all(x.shape == y.shape and x.dtype == y.dtype for x, y in zip(a, b, strict=True))
