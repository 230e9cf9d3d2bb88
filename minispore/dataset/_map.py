"""Mapping columns through transforms and Python functions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from minispore.dataset._block import Block, Row, as_element, as_tuple, cut, length, rows_of, stacked
from minispore.dataset._ds_callback import DSCallback, Watch
from minispore.dataset._node import (
    Node,
    Operation,
    rebuilt,
    replaced_columns,
    require_distinct,
)
from minispore.dataset._random import Epoch
from minispore.dataset._sources import user_code_failed
from minispore.dataset._transform import Transform

Function = Callable[..., object]


@dataclass(frozen=True)
class Map(Operation):
    """The columns `inputs` of every row turned into `outputs`, one function after the other.

    The package's transforms work on a block at once, Python functions on one row at a time.
    """

    child: Node
    functions: tuple[Function, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    callbacks: tuple[DSCallback, ...] = ()
    watch: Watch | None = None  # where an iterator goes through, and there are callbacks

    def __post_init__(self) -> None:
        """Refuse columns of the same name."""
        require_distinct(self.columns, "map")

    @property
    def columns(self) -> tuple[str, ...]:
        """The child's columns with `outputs` in the place of `inputs`."""
        return replaced_columns(self.child.columns, self.inputs, self.outputs)

    @property
    def user_code(self) -> tuple[object, ...]:
        """What may draw or remember something; the package's transforms do neither."""
        functions = [each for each in self.functions if not isinstance(each, Transform)]
        return (*functions, *self.callbacks)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the mapped blocks; rows before `start` are not mapped."""
        blocks = self.child.blocks(epoch.below(), most, start)
        if self.watch is not None:
            return self.watch.around(blocks, self._made, start)
        return (made for block in blocks for made in self._made(block))

    def _made(self, block: Block) -> Iterator[Block]:
        """Yield what becomes of one block."""
        values = dict(zip(self.child.columns, block, strict=True))
        after = self.columns
        chosen = tuple([values.pop(name) for name in self.inputs])
        done = 0
        for made in _mapped(self.functions, chosen):
            self._check(made)
            rows = length(made)
            new = dict(zip(self.outputs, made, strict=True))
            kept = zip(values, cut(tuple(values.values()), done, done + rows), strict=True)
            new.update(kept)
            yield tuple([new[name] for name in after])
            done += rows

    def _check(self, made: Block) -> None:
        if len(made) != len(self.outputs):
            raise RuntimeError(
                f"For 'map', the operations must return {len(self.outputs)} columns, as many as "
                f"'output_columns', but returned {len(made)}."
            )


def _mapped(functions: Sequence[Function], block: Block) -> Iterator[Block]:
    """Yield what the functions make of a block: one block, or several if shapes come to differ."""
    if not functions:
        yield block
        return
    function, *rest = functions
    if isinstance(function, Transform):
        if len(block) != 1:
            raise RuntimeError(
                f"For 'map', the operation '{type(function).__name__}' takes one column, but got "
                f"{len(block)}."
            )
        yield from _mapped(rest, (function.batched(block[0]),))
        return
    for made in stacked((_called(function, row) for row in rows_of(block)), length(block)):
        yield from _mapped(rest, made)


def _called(function: Function, row: Row) -> Row:
    try:
        result = function(*row)
    except Exception as error:
        raise user_code_failed(function, error) from error
    what = f"For 'map', what the function '{getattr(function, '__qualname__', function)}' returns"
    return tuple([as_element(value, what) for value in as_tuple(result)])


def watched(node: Node) -> tuple[Node, list[Watch]]:
    """Return the pipeline for one iterator, and what it must tell about its epochs.

    Where there is a `map` with callbacks, it is one with a watch of its own; all else is as it was.
    """
    watches: list[Watch] = []

    def with_watch(each: Node) -> Node:
        if not (isinstance(each, Map) and each.callbacks):
            return each
        watches.append(Watch(each.callbacks))
        return replace(each, watch=watches[-1])

    return rebuilt(node, with_watch), watches
