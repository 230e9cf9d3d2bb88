"""Operations that choose, repeat, join and name rows, and change no value."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count as count_up

import numpy as np

from minispore.dataset._block import Block, as_element, cut, dropped, length, rows_of
from minispore.dataset._node import Node, Operation, require_columns, require_distinct
from minispore.dataset._random import Epoch
from minispore.dataset._sources import user_code_failed


@dataclass(frozen=True)
class Take(Operation):
    """The first `count` rows."""

    child: Node
    count: int

    def size(self) -> int:
        """Return `count`, or the child's size if that is less."""
        size = self.child.size()
        return self.count if size and self.child.endless else min(self.count, size)

    @property
    def endless(self) -> bool:
        """Nothing is endless of which some is taken."""
        return False

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield rows until `count` is reached; no more are asked for."""
        left = self.count - start
        if left <= 0:
            return
        for block in self.child.blocks(epoch.below(), min(most, left), start):
            yield cut(block, 0, left) if length(block) > left else block
            left -= length(block)
            if left <= 0:
                return


@dataclass(frozen=True)
class Skip(Operation):
    """All but the first `count` rows."""

    child: Node
    count: int

    def size(self) -> int:
        """Return what is left of the child's size."""
        return max(0, self.child.size() - self.count)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows from `count` on."""
        return self.child.blocks(epoch.below(), most, self.count + start)


@dataclass(frozen=True)
class Repeat(Operation):
    """The child's epochs `count` times over, or for ever where it is -1; each in its own order."""

    child: Node
    count: int

    @property
    def endless(self) -> bool:
        """Whether the repeats never end."""
        return self.count < 0 or self.child.endless

    @property
    def repeat_count(self) -> int:
        """The argument `count`."""
        return self.count

    def size(self) -> int:
        """Return the rows of all repeats; where they never end, of one, as MindSpore."""
        return self.child.size() * max(1, self.count)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield one child's epoch after another; whole epochs before `start` are not begun."""
        done, within = 0, start
        if start and not self.child.endless:
            done, within = divmod(start, max(1, self.child.size()))
        for i in count_up(done) if self.count < 0 else range(done, self.count):
            inner = epoch.numbered(epoch.number * max(1, self.count) + i).below()
            empty = True
            for block in self.child.blocks(inner, most, within):
                empty = False
                yield block
            if empty and not within:
                return
            within = 0


@dataclass(frozen=True)
class Rename(Operation):
    """The same columns under new names."""

    child: Node
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The new names."""
        return self.names

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the child's blocks."""
        return self.child.blocks(epoch.below(), most, start)


@dataclass(frozen=True)
class Project(Operation):
    """Some of the columns, in the given order."""

    child: Node
    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The chosen names."""
        return self.names

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the chosen columns of the child's blocks."""
        places = [self.child.columns.index(name) for name in self.names]
        for block in self.child.blocks(epoch.below(), most, start):
            yield tuple([block[place] for place in places])


@dataclass(frozen=True)
class Filter(Operation):
    """The rows for which a function of some columns is true."""

    child: Node
    predicate: Callable[..., object]
    inputs: tuple[str, ...]

    @property
    def user_code(self) -> tuple[object, ...]:
        """The predicate."""
        return (self.predicate,)

    def size(self) -> int:
        """Count the rows: nothing else tells."""
        return Node.size(self)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield what is left of each of the child's blocks, without the first `start` rows."""
        return dropped(self._kept(epoch, most), start)

    def _kept(self, epoch: Epoch, most: int) -> Iterator[Block]:
        places = [self.child.columns.index(name) for name in self.inputs]
        for block in self.child.blocks(epoch.below(), most):
            chosen = tuple([block[place] for place in places])
            kept = np.array([self._ask(row) for row in rows_of(chosen)], np.bool_)
            if kept.any():
                yield block if kept.all() else tuple([column[kept] for column in block])

    def _ask(self, row: Block) -> bool:
        try:
            answer = self.predicate(*row)
        except Exception as error:
            raise user_code_failed(self.predicate, error) from error
        array = as_element(answer, "For 'filter', what the argument 'predicate' returns")
        if array.size != 1:
            raise RuntimeError(
                f"For 'filter', the argument 'predicate' must return one bool, but got {answer!r}."
            )
        return bool(array.reshape(-1)[0])


@dataclass(frozen=True)
class Zip(Node):
    """Datasets side by side, as long as the shortest."""

    children: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Refuse columns of the same name."""
        require_distinct(self.columns, "zip")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all children."""
        return tuple([name for child in self.children for name in child.columns])

    @property
    def endless(self) -> bool:
        """Whether no child ends."""
        return all(child.endless for child in self.children)

    @property
    def batch_size(self) -> int:
        """The first child's batch size."""
        return self.children[0].batch_size

    def size(self) -> int:
        """Return the size of the shortest child; one that is endless is longer than any other."""
        sizes = [child.size() for child in self.children]
        if not all(sizes) or self.endless:
            return min(sizes)
        ending = zip(self.children, sizes, strict=True)
        return min(size for child, size in ending if not child.endless)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield rows as long as every child has some."""
        streams = [
            child.blocks(epoch.below(i), most, start) for i, child in enumerate(self.children)
        ]
        held: list[Block | None] = [None] * len(streams)
        while True:
            for i, stream in enumerate(streams):
                if held[i] is None:
                    held[i] = next(stream, None)
                    if held[i] is None:
                        return
            ready = [block for block in held if block is not None]
            shared = min(length(block) for block in ready)
            yield tuple([column for block in ready for column in cut(block, 0, shared)])
            held = [cut(block, shared) if length(block) > shared else None for block in ready]


@dataclass(frozen=True)
class Concat(Node):
    """Datasets of the same columns, one after the other."""

    children: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Refuse different columns."""
        for child in self.children[1:]:
            if child.columns != self.columns:
                raise RuntimeError(
                    "For 'concat', the datasets must have the same columns in the same order, but "
                    f"got {list(self.columns)} and {list(child.columns)}."
                )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of each child."""
        return self.children[0].columns

    @property
    def endless(self) -> bool:
        """Whether some child never ends."""
        return any(child.endless for child in self.children)

    @property
    def batch_size(self) -> int:
        """The first child's batch size."""
        return self.children[0].batch_size

    def size(self) -> int:
        """Return the sum of the children's sizes."""
        return sum(child.size() for child in self.children)

    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows of the first child, then of the next."""
        kinds: list[tuple[np.dtype[np.generic], int]] | None = None
        for i, child in enumerate(self.children):
            if start and not child.endless and start >= (size := child.size()):
                start -= size
                continue
            for block in child.blocks(epoch.below(i), most, start):
                found = [(column.dtype, column.ndim) for column in block]
                if kinds is not None and found != kinds:
                    raise RuntimeError(
                        "For 'concat', the columns of the datasets must have the same types and "
                        f"as many axes, but got {_told(kinds)} and {_told(found)}."
                    )
                kinds = found
                yield block
            start = 0


def _told(kinds: list[tuple[np.dtype[np.generic], int]]) -> str:
    # The rows of a block lie along an axis of their own.
    return ", ".join([f"{dtype} of {ndim - 1} axes" for dtype, ndim in kinds])


def renamed(child: Node, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Rename:
    """Return the child with some columns renamed."""
    require_columns(inputs, child.columns, "rename")
    new = dict(zip(inputs, outputs, strict=True))
    names = tuple(new.get(name, name) for name in child.columns)
    return Rename(child, require_distinct(names, "rename"))
