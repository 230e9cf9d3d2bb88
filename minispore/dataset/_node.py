"""A node of a pipeline: immutable, and able to give its rows of any epoch from any position."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import cast

from minispore.dataset._block import Block, length
from minispore.dataset._random import Epoch, first_epoch


@dataclass(frozen=True)
class Node(ABC):
    """A source of rows, or an operation on other nodes."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @abstractmethod
    def blocks(self, epoch: Epoch, most: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows of one epoch from row `start` on, in blocks of at most `most` rows.

        Rows before `start` are skipped as near to the source as can be: where possible, they are
        neither read nor transformed.
        """

    def size(self) -> int:
        """Return the number of rows in an epoch; goes through one where nothing else tells.

        Raises:
            RuntimeError: The epoch never ends.
        """
        if self.endless:
            raise RuntimeError(
                f"For 'get_dataset_size', rows must be counted because of a {type(self).__name__}, "
                "but a repeat for ever comes before it; let it come after."
            )
        return sum(length(block) for block in self.blocks(first_epoch(), 64))

    @property
    def endless(self) -> bool:
        """Whether an epoch never ends, because of a repeat for ever; then `size` is one round's."""
        return False

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions and objects of the user's that this node itself calls."""
        return ()

    @property
    def batch_size(self) -> int:
        """The number of samples in a row; 1 before any batch."""
        return 1

    @property
    def repeat_count(self) -> int:
        """What the outermost repeat was given; 1 without any."""
        return 1


class Operation(Node):
    """A node on top of one other, and by default with its columns, size, batches and repeats."""

    child: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The child's columns."""
        return self.child.columns

    def size(self) -> int:
        """Return the child's size."""
        return self.child.size()

    @property
    def endless(self) -> bool:
        """Whether the child's epoch never ends."""
        return self.child.endless

    @property
    def batch_size(self) -> int:
        """The child's batch size."""
        return self.child.batch_size

    @property
    def repeat_count(self) -> int:
        """The child's repeat count."""
        return self.child.repeat_count


def rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the pipeline with every node changed, beginning with the sources.

    A node that is left as it is, and all below it too, stays the same object.
    """
    changed: dict[str, object] = {}
    for field in fields(node):
        value: object = getattr(node, field.name)
        several = isinstance(value, tuple)
        items = cast("tuple[object, ...]", value) if several else (value,)
        new = tuple([rebuilt(item, change) if isinstance(item, Node) else item for item in items])
        if any(mine is not theirs for mine, theirs in zip(new, items, strict=True)):
            changed[field.name] = new if several else new[0]
    return change(replace(node, **changed) if changed else node)


def require_columns(wanted: Iterable[str], columns: tuple[str, ...], owner: str) -> None:
    """RuntimeError unless every wanted column is there."""
    for name in wanted:
        if name not in columns:
            listed = ", ".join(repr(column) for column in columns)
            raise RuntimeError(
                f"For '{owner}', there is no column {name!r} in the dataset; it has {listed}."
            )


def require_distinct(columns: tuple[str, ...], owner: str) -> tuple[str, ...]:
    """Return the columns; RuntimeError if a name comes twice."""
    for name in columns:
        if columns.count(name) > 1:
            raise RuntimeError(f"For '{owner}', the column {name!r} would be there twice.")
    return columns


def replaced_columns(
    columns: tuple[str, ...], inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns after an operation has turned `inputs` into `outputs`.

    As many outputs as inputs take the inputs' places; otherwise outputs go first.
    """
    if len(inputs) == len(outputs):
        renamed = dict(zip(inputs, outputs, strict=True))
        return tuple(renamed.get(name, name) for name in columns)
    return (*outputs, *(name for name in columns if name not in inputs))
