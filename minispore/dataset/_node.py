"""Nodes, of which pipelines consist: immutable, and able to yield any epoch from any row.

Rows flow through a pipeline in blocks: several rows, stored by column. Each column of a block is
one array whose first axis counts rows, so all rows of a block have equal shapes and types; a row
with other shapes starts a new block. The receiver of a block owns its arrays and may overwrite
them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from minispore.engine.array import HostArray
from minispore.ops.seed import generator, get_dataset_seed, get_seed
from minispore.utils.checks import as_tuple, caller, check_unmasked, describe_value

# The bytes of strings that share a block, whatever their lengths.
_SHORT_STRING = 4096

Array = HostArray
Block = tuple[Array, ...]
Row = tuple[Array, ...]
T_contra = TypeVar("T_contra", contravariant=True)


@runtime_checkable
class Stateful(Protocol):
    """An object whose state can be saved and restored."""

    @property
    def state_dict(self) -> Callable[[], Mapping[str, object]]:
        """Return the state."""
        ...

    @property
    def load_state_dict(self) -> Callable[[Mapping[str, object]], object]:
        """Restore a state."""
        ...


class Pool(Protocol[T_contra]):
    """The worker processes of one node and one iterator."""

    def run(self, tasks: Iterator[T_contra], /) -> Iterator[Iterable[Block]]:
        """Yield the blocks of each task."""
        ...

    def close(self) -> None:
        """End the processes."""
        ...


class Driver(Protocol):
    """What calls the callbacks of one node for one iterator."""

    rows_before: int

    def begin_epoch(self, number: int, /) -> None:
        """Call the hooks for the begin of an epoch."""
        ...

    def end_epoch(self) -> None:
        """Call the hooks for the end of an epoch."""
        ...

    def run_blocks(
        self, blocks: Iterator[Block], map_block: Callable[[Block], Iterator[Block]], start: int, /
    ) -> Iterator[Block]:
        """Yield what `map_block` makes of the blocks, and call the hooks of steps."""
        ...


@dataclass(frozen=True, slots=True)
class EpochKey:
    """Identifies one epoch of one node of a pipeline, like a key of `jax.random`.

    Equal keys give equal orders, whatever was drawn before, so a run can be resumed in the middle
    of an epoch without replaying the epochs before.

    Attributes:
        seed: The seed of the datasets or of the program; a random number if neither was set.
        seeded: Whether a seed was set.
        number: The number of the epoch, from 0.
        path: The branches from the end of the pipeline to the node: each node has its own stream.
        draws: The key of random transforms where a split has fixed the orders; None elsewhere.
    """

    seed: int
    seeded: bool
    number: int = 0
    path: tuple[int, ...] = ()
    draws: "EpochKey | None" = None

    def fold_in(self, branch: int = 0) -> "EpochKey":
        """Return the key of the node's child number `branch`."""
        draws = self.draws and self.draws.fold_in(branch)
        return replace(self, path=(*self.path, branch), draws=draws)

    def with_number(self, number: int) -> "EpochKey":
        """Return the key of another epoch of the same node."""
        return replace(self, number=number)

    def of_pass(self, number: int, passes: int) -> "EpochKey":
        """Return the key of pass `number` of `passes` over the child; -1 for endlessly many."""
        draws = self.draws and self.draws.of_pass(number, passes)
        # Each epoch has a branch where its passes have no end, since numbers would overlap.
        branch, first = (self.number, 0) if passes < 0 else (0, self.number * passes)
        return replace(self, number=first + number, path=(*self.path, branch), draws=draws)

    def shared(self) -> "EpochKey":
        """Return a key that is equal in all processes, also where no seed was set."""
        return self if self.seeded else replace(self, seed=0)

    def seed_sequence(self) -> "np.random.SeedSequence":
        """Return the seed of the key's random stream."""
        return np.random.SeedSequence([self.seed, self.number], spawn_key=self.path)

    def generator(self) -> "np.random.Generator":
        """Return a generator at the start of the key's random stream."""
        return np.random.default_rng(self.seed_sequence())


def seed_of_order() -> int | None:
    """Return the seed of `dataset.config` or else of the program, if one was set."""
    seed = get_dataset_seed()
    return get_seed() if seed is None else seed


def initial_key() -> EpochKey:
    """Return the key of epoch 0."""
    seed = seed_of_order()
    if seed is not None:
        return EpochKey(seed, seeded=True)
    return EpochKey(int(generator("dataset").integers(2**63)), seeded=False)


@dataclass(frozen=True)
class Node(ABC):
    """A source of rows, or an operation on other nodes."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""

    @abstractmethod
    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows of one epoch from row `start` on, in blocks of at most `max_rows` rows.

        Rows before `start` are skipped as close to the source as possible: they are neither read
        nor transformed unless later rows depend on them.
        """

    def size(self) -> int:
        """Return the number of rows of an epoch; iterates over one if nothing else determines it.

        Raises:
            RuntimeError: If the epoch never ends.
        """
        if self.endless:
            raise RuntimeError(
                f"For 'get_dataset_size', the rows of a {type(self).__name__} must be counted, but "
                "an endless 'repeat' comes before it. Apply 'repeat' after it."
            )
        return sum(length(block) for block in self.blocks(initial_key(), 64))

    @property
    def endless(self) -> bool:
        """Whether an endless repeat makes epochs endless; `size` then counts one repetition."""
        return any(child.endless for child in children_of(self))

    @property
    def user_code(self) -> tuple[object, ...]:
        """The functions and objects of the user that this node itself calls."""
        return ()

    @property
    def batch_size(self) -> int:
        """The number of samples in a row: that of the first child; 1 before any batch."""
        return next((child.batch_size for child in children_of(self)), 1)

    @property
    def repeat_count(self) -> int:
        """The argument of the last `repeat`; 1 without one."""
        return 1


@dataclass(frozen=True)
class NamedColumns(Node):
    """A node that stores the names of its columns."""

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The field `names`."""
        return self.names


@dataclass(frozen=True)
class Operation(Node):
    """A node with one child, which by default passes everything through."""

    child: Node

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the child."""
        return self.child.columns

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the blocks of the child."""
        return self.child.blocks(key.fold_in(), max_rows, start)

    def size(self) -> int:
        """Return the size of the child."""
        return self.child.size()

    @property
    def repeat_count(self) -> int:
        """The repeat count of the child."""
        return self.child.repeat_count


def field_values(item: object) -> dict[str, object]:
    """Return the fields of a dataclass, or the attributes of another object, by name."""
    if is_dataclass(item):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    return dict(vars(item))


def children_of(node: Node) -> Iterator[Node]:
    """Yield the nodes that a node reads."""
    for value in field_values(node).values():
        yield from (item for item in as_tuple(value) if isinstance(item, Node))


def traverse(node: Node) -> Iterator[tuple[Node, int | None]]:
    """Yield the nodes of a pipeline in preorder, as often as they are used.

    With each node comes None where it is first met, and its number among the nodes after that.
    """
    numbers: dict[int, int] = {}
    stack = [node]
    while stack:
        node = stack.pop()
        number = numbers.get(id(node))
        yield node, number
        if number is None:
            numbers[id(node)] = len(numbers)
            stack += reversed(list(children_of(node)))


def nodes_of(node: Node) -> list[Node]:
    """Return the nodes of a pipeline, its end first, without repetition."""
    return [inner for inner, number in traverse(node) if number is None]


def user_code_of(node: Node) -> list[object]:
    """Return the user's functions and objects in a pipeline; instead of a method its object.

    Where there are any, rows may depend on earlier calls of them.
    """
    code = [item for inner in nodes_of(node) for item in inner.user_code]
    return [getattr(item, "__self__", item) for item in code]


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return the pipeline with `change` applied to each node, sources first.

    A node that is not changed, and has no changed child, stays the same object.
    """
    changed: dict[str, object] = {}
    for field in fields(node):
        value: object = getattr(node, field.name)
        items = as_tuple(value)
        new = tuple([rebuild(item, change) if isinstance(item, Node) else item for item in items])
        if any(mine is not theirs for mine, theirs in zip(new, items, strict=True)):
            changed[field.name] = new if isinstance(value, tuple) else new[0]
    return change(replace(node, **changed) if changed else node)


def require_distinct(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns; raise RuntimeError if two have the same name."""
    for name in columns:
        if columns.count(name) > 1:
            raise RuntimeError(f"For '{caller()}', the column {name!r} would occur twice.")
    return columns


def replaced_columns(
    columns: tuple[str, ...], inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the columns after an operation that turns `inputs` into `outputs`.

    Outputs take the positions of the inputs if they are equally many; otherwise they come first.
    """
    if len(inputs) == len(outputs):
        renamed = dict(zip(inputs, outputs, strict=True))
        return tuple(renamed.get(name, name) for name in columns)
    return (*outputs, *(name for name in columns if name not in inputs))


def call_user_code(
    function: Callable[..., object], *args: object, code: object = None, row: object = None
) -> object:
    """Return `function(*args)`; an exception becomes a RuntimeError that names `code` and `row`."""
    try:
        return function(*args)
    except Exception as error:
        raise user_code_error(function if code is None else code, error, row) from error


def user_code_error(code: object, error: Exception, row: object = None) -> RuntimeError:
    """Return the error to raise after an exception in a function or an object of the user."""
    failure = RowError(name_of(code), f"{type(error).__name__}: {error}", 0)
    return failure.at("" if row is None else f" at row {row} of the source")


class RowError(Exception):
    """The failure of a function of the user, while the row's index in the source is unknown.

    Args:
        name: The name of the function.
        reason: The exception.
        row: The index of the row among those of the task.
    """

    def __init__(self, name: str, reason: str, row: int) -> None:
        super().__init__(name, reason, row)  # for pickle
        self.name, self.reason, self.row = name, reason, row

    def at(self, where: str) -> RuntimeError:
        """Return the error to raise, with the notes of this one."""
        error = RuntimeError(
            f"The Python code of '{self.name}' in the dataset's pipeline failed{where}: "
            f"{self.reason}"
        )
        for note in getattr(self, "__notes__", ()):
            error.add_note(note)
        return error


def name_of(code: object) -> str:
    """Return the name of a function, or of the class of another object."""
    return getattr(code, "__qualname__", type(code).__qualname__)


def as_element(value: object, subject: str) -> Array:
    """Return one value of a row as an array; a dictionary as an array of objects without axes.

    Raises:
        TypeError: If it is neither a number, a string nor a dictionary, and no array of the first
            two.
    """
    if isinstance(value, dict):
        element = np.empty((), np.object_)
        element.fill(value)
        return element
    check_unmasked(value, subject)
    asnumpy = getattr(value, "asnumpy", None)
    try:
        array: Array = np.asarray(asnumpy() if callable(asnumpy) else value)
    except ValueError:  # a list of lists of different lengths
        array = np.array(None)
    if array.dtype.kind not in "biufUS":
        given = describe_value(value)
        if getattr(value, "dtype", None) == np.object_:
            given = "an array of dtype object; convert it, for example with astype(np.float32)"
        raise TypeError(
            f"{subject} must be a number, a string, an array or a list of them, or a dictionary, "
            f"but got {given}."
        )
    return array


def as_argument(element: Array) -> object:
    """Return what a function of the user gets for an element: a dictionary, or an array."""
    return element.item() if element.dtype.kind == "O" else element


def length(block: Block) -> int:
    """Return the number of rows."""
    return len(block[0])


def rows_of(block: Block) -> Iterator[Row]:
    """Yield the rows of a block, as views of it."""
    for i in range(length(block)):
        yield tuple([column[i, ...] for column in block])


def slice_rows(block: Block, start: int, stop: int | None = None) -> Block:
    """Return the rows from `start` to `stop` of a block, as views of it."""
    return tuple([column[start:stop] for column in block])


def stack(rows: Sequence[Row]) -> Block:
    """Return rows of equal shapes and types as one block, copied."""
    return tuple([np.stack(column) for column in zip(*rows, strict=True)])


def rebatch(rows: Iterable[Row], max_rows: int) -> Iterator[Block]:
    """Yield blocks of at most `max_rows` rows; a change of shape or type starts a new block."""
    pending: list[Row] = []
    for row in rows:
        if pending and (len(pending) == max_rows or not _same_spec(pending[0], row)):
            yield stack(pending)
            pending = []
        pending.append(row)
    if pending:
        yield stack(pending)


def skip_rows(blocks: Iterable[Block], count: int) -> Iterator[Block]:
    """Yield the blocks without their first `count` rows."""
    for block in blocks:
        if count < length(block):
            yield slice_rows(block, count) if count else block
        count = max(0, count - length(block))


def same_type(a: Array, b: Array) -> bool:
    """Return whether arrays can be joined: they have one dtype, or strings of any length."""
    return a.dtype == b.dtype or (a.dtype.kind == b.dtype.kind and a.dtype.kind in "US")


def type_name(array: Array) -> str:
    """Return the name of the type, in which strings of all lengths are equal."""
    return array.dtype.kind if array.dtype.kind in "US" else str(array.dtype)


def _same_spec(a: Row, b: Row) -> bool:
    """Return whether rows can be in one block, in which strings take the room of the longest."""
    return all(
        x.shape == y.shape
        and same_type(x, y)
        and (
            x.itemsize == y.itemsize
            or max(x.itemsize, y.itemsize) <= max(_SHORT_STRING, 2 * min(x.itemsize, y.itemsize))
        )
        for x, y in zip(a, b, strict=True)
    )
