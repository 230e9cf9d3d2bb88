"""The operations of `Dataset` as nodes: row selection, order, columns, maps and splits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count, islice

import numpy as np

from minispore.dataset._ds_callback import DSCallback
from minispore.dataset._node import (
    Block,
    EpochKey,
    NamedColumns,
    Node,
    Operation,
    Row,
    RowError,
    as_argument,
    as_element,
    call_user_code,
    initial_key,
    length,
    name_of,
    nodes_of,
    rebatch,
    replaced_columns,
    rows_of,
    skip_rows,
    slice_rows,
    type_name,
)
from minispore.dataset._object_nodes import IterableNode
from minispore.dataset._sources import ArraySource, MapStyleNode
from minispore.dataset.samplers import (
    DistributedSampler,
    IterSampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
)
from minispore.dataset.transforms.transforms import RandomTransform, Transform, user_code_in
from minispore.utils.arrays import Float64Array
from minispore.utils.checks import as_tuple, check_type

Function = Callable[..., object]

# Random numbers that `Shuffle` draws at once.
_DRAWS = 1024
# The branch of the key of a split, which no child of a node has.
_SPLIT = 2**32 - 1


@dataclass(frozen=True)
class Take(Operation):
    """The first `count` rows."""

    count: int

    def size(self) -> int:
        """Return `count`, or the size of the child if that is less."""
        size = self.child.size()
        return self.count if size and self.child.endless else min(self.count, size)

    @property
    def endless(self) -> bool:
        """False: the number of rows is limited."""
        return False

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield rows up to number `count`, and request no more from the child."""
        remaining = self.count - start
        if remaining <= 0:
            return
        for block in self.child.blocks(key.fold_in(), min(max_rows, remaining), start):
            yield slice_rows(block, 0, remaining) if length(block) > remaining else block
            remaining -= length(block)
            if remaining <= 0:
                return


@dataclass(frozen=True)
class Skip(Operation):
    """All but the first `count` rows."""

    count: int

    def size(self) -> int:
        """Return the size of the child, less `count` unless it is endless."""
        return max(0, self.child.size() - (0 if self.child.endless else self.count))

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows from number `count` on."""
        return self.child.blocks(key.fold_in(), max_rows, self.count + start)


@dataclass(frozen=True)
class Repeat(Operation):
    """`count` epochs of the child, each in its own order; -1 for endlessly many."""

    count: int

    @property
    def endless(self) -> bool:
        """Whether the repetitions never end."""
        return self.count < 0 or self.child.endless

    @property
    def repeat_count(self) -> int:
        """The field `count`."""
        return self.count

    def size(self) -> int:
        """Return the number of rows of all repetitions; if endless, of one, as MindSpore does."""
        return self.child.size() * max(1, self.count)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the child's epochs; those that end before `start` are skipped."""
        done, within = 0, start
        if start and not self.child.endless:
            done, within = divmod(start, max(1, self.child.size()))
        for i in count(done) if self.count < 0 else range(done, self.count):
            empty = True
            for block in self.child.blocks(key.of_pass(i, self.count), max_rows, within):
                empty = False
                yield block
            if empty and not within:
                return
            within = 0


@dataclass(frozen=True)
class Shuffle(Operation):
    """Rows in random order from a buffer, in which each row taken is replaced by the next one.

    With a buffer of the child's size all orders are equally likely. A smaller one needs less
    memory, but a row cannot move forward by more than its size.
    """

    buffer_size: int

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows as they leave the buffer; rows before `start` pass through it too."""
        return rebatch(islice(self._rows(key, max_rows), start, None), max_rows)

    def _rows(self, key: EpochKey, max_rows: int) -> Iterator[Row]:
        rng = key.generator()
        slots = _random_slots(rng, self.buffer_size)
        buffer: list[Row] = []
        for block in self.child.blocks(key.fold_in(), max_rows):
            for view in rows_of(block):
                # A copy: a view would keep its complete block alive.
                row = tuple([value.copy() for value in view])
                if len(buffer) < self.buffer_size:
                    buffer.append(row)
                else:
                    slot = next(slots)
                    yield buffer[slot]
                    buffer[slot] = row
        for slot in rng.permutation(len(buffer)).tolist():
            yield buffer[slot]


def _random_slots(rng: "np.random.Generator", size: int) -> Iterator[int]:
    while True:
        yield from rng.integers(size, size=_DRAWS).tolist()


@dataclass(frozen=True)
class FixedOrder(Operation):
    """The child's rows in the order of one epoch, in every epoch; random transforms differ."""

    epoch: EpochKey

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows in the order of the fixed epoch."""
        return self.child.blocks(self.key_of(key), max_rows, start)

    def key_of(self, key: EpochKey) -> EpochKey:
        """Return the key of the child: orders of the fixed epoch, draws of this one."""
        return replace(self.epoch, draws=(key.draws or key).fold_in())


@dataclass(frozen=True)
class Rename(NamedColumns, Operation):
    """The child's columns with new names."""


@dataclass(frozen=True)
class Project(NamedColumns, Operation):
    """Some of the child's columns, in the order of `names`."""

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the chosen columns of the child's blocks."""
        indices = [self.child.columns.index(name) for name in self.names]
        for block in self.child.blocks(key.fold_in(), max_rows, start):
            yield tuple([block[index] for index in indices])


@dataclass(frozen=True)
class Filter(Operation):
    """The rows for which a function of the columns `inputs` returns true."""

    predicate: Function
    inputs: tuple[str, ...]

    @property
    def user_code(self) -> tuple[object, ...]:
        """The predicate."""
        return (self.predicate,)

    def size(self) -> int:
        """Count the rows, since nothing else determines their number."""
        return Node.size(self)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows that pass, without the first `start` of them."""
        return skip_rows(self._passing(key, max_rows), start)

    def _passing(self, key: EpochKey, max_rows: int) -> Iterator[Block]:
        indices = [self.child.columns.index(name) for name in self.inputs]
        for block, deciding in with_deciding_blocks(self.child, key.fold_in(), max_rows):
            inputs = tuple([deciding[index] for index in indices])
            passes = np.array([self._passes(row) for row in rows_of(inputs)], np.bool_)
            if passes.any():
                yield block if passes.all() else tuple([column[passes] for column in block])

    def _passes(self, row: Row) -> bool:
        result = call_user_code(self.predicate, *map(as_argument, row))
        array = as_element(result, "For 'filter', what the argument 'predicate' returns")
        if array.size != 1:
            raise RuntimeError(
                f"For 'filter', the argument 'predicate' must return one bool, but got {result!r}."
            )
        return bool(array.reshape(-1)[0])


@dataclass(frozen=True)
class Zip(Node):
    """The columns of several nodes, as long as the shortest."""

    children: tuple[Node, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all children."""
        return tuple([name for child in self.children for name in child.columns])

    @property
    def endless(self) -> bool:
        """Whether all children are endless."""
        return all(child.endless for child in self.children)

    def size(self) -> int:
        """Return the size of the shortest child; endless ones count as longer than any other."""
        sizes = [child.size() for child in self.children]
        if not all(sizes) or self.endless:
            return min(sizes)
        pairs = zip(self.children, sizes, strict=True)
        return min(size for child, size in pairs if not child.endless)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield rows while every child has some."""
        streams = [
            child.blocks(key.fold_in(i), max_rows, start) for i, child in enumerate(self.children)
        ]
        for blocks in _aligned(streams):
            yield tuple([column for block in blocks for column in block])


def _aligned(streams: Sequence[Iterator[Block]]) -> Iterator[list[Block]]:
    """Yield one block of each stream, all of the same rows, while every stream has some."""
    pending: list[Block | None] = [None] * len(streams)
    while True:
        for i, stream in enumerate(streams):
            if pending[i] is None:
                pending[i] = next(stream, None)
                if pending[i] is None:
                    return
        ready = [block for block in pending if block is not None]
        rows = min(length(block) for block in ready)
        yield [slice_rows(block, 0, rows) for block in ready]
        pending = [slice_rows(block, rows) if length(block) > rows else None for block in ready]


def with_deciding_blocks(node: Node, key: EpochKey, max_rows: int) -> Iterator[tuple[Block, Block]]:
    """Yield the blocks of a node, and with each the one whose values decide on its rows.

    They differ after a random transform before a split: its numbers are other ones in each epoch,
    but must not move rows from one part to another.
    """
    drawing = (inner.functions for inner in nodes_of(node) if isinstance(inner, Map))
    if key.draws and any(isinstance(f, RandomTransform) for part in drawing for f in part):
        deciding = node.blocks(replace(key, draws=None), max_rows)
        for block, decides in _aligned([node.blocks(key, max_rows), deciding]):
            yield block, decides
        return
    for block in node.blocks(key, max_rows):
        yield block, block


@dataclass(frozen=True)
class Concat(Node):
    """The rows of several nodes with equal columns, one node after the other."""

    children: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Check that the columns are equal."""
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

    def size(self) -> int:
        """Return the sum of the children's sizes."""
        return sum(child.size() for child in self.children)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the rows of one child after the other."""
        first_spec: str | None = None
        for i, child in enumerate(self.children):
            if start and not child.endless and start >= (size := child.size()):
                start -= size
                continue
            for block in child.blocks(key.fold_in(i), max_rows, start):
                spec = ", ".join([f"{type_name(x)} of {x.ndim - 1} axes" for x in block])
                if first_spec is not None and spec != first_spec:
                    raise RuntimeError(
                        "For 'concat', the columns of the datasets must have the same types and "
                        f"as many axes, but got {first_spec} and {spec}."
                    )
                first_spec = spec
                yield block
            start = 0


# The input columns of a block, and its random numbers for each function.
MapTask = tuple[Block, list[Float64Array]]


@dataclass(frozen=True)
class Map(Operation):
    """The columns `inputs` of each row replaced by `outputs`, which the functions compute in turn.

    The package's transforms process a block at once, Python functions one row at a time.
    """

    functions: tuple[Function, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    callbacks: tuple[DSCallback, ...] = field(default=(), compare=False)
    # Processes for Python functions; None for the iterating thread.
    workers: int | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The child's columns with `inputs` replaced by `outputs`."""
        return replaced_columns(self.child.columns, self.inputs, self.outputs)

    @property
    def user_code(self) -> tuple[object, ...]:
        """The callbacks and functions, without the package's transforms, which have no state."""
        functions = [code for function in self.functions for code in user_code_in(function)]
        return (*functions, *self.callbacks)

    def blocks(self, key: EpochKey, max_rows: int, start: int = 0) -> Iterator[Block]:
        """Yield the mapped blocks; rows before `start` are not mapped."""
        blocks = self.child.blocks(key.fold_in(), max_rows, start)
        return self.map_blocks(blocks, MapEpoch(self, key, start))

    def map_blocks(self, blocks: Iterator[Block], epoch: "MapEpoch") -> Iterator[Block]:
        """Yield the mapped blocks of an epoch."""
        for block in blocks:
            yield from epoch.map_block(block)


class MapEpoch:
    """One epoch of a `Map`: the random numbers of its rows, and the number of rows so far.

    Args:
        node: The `Map`.
        key: The key of the epoch.
        start: The number of the first row.
    """

    def __init__(self, node: Map, key: EpochKey, start: int) -> None:
        self.rows = start
        self._node = node
        self._key = key
        shard, shards = _shard_of(node.child)
        self._draws = [
            _draws_by_row((key.draws or key).fold_in(i + 1), function.draws, start, shard, shards)
            if isinstance(function, RandomTransform)
            else None
            for i, function in enumerate(node.functions)
        ]

    def map_block(self, block: Block) -> Iterator[Block]:
        """Yield the mapped rows of a block."""
        return self.join(map_rows(self._node.functions, self.task(block)), block)

    def task(self, block: Block) -> MapTask:
        """Return what the functions get of the next block."""
        columns = self._node.child.columns
        inputs = tuple([block[columns.index(name)] for name in self._node.inputs])
        rows = range(length(block))
        return inputs, [
            np.array([next(draw) for _ in rows] if draw else []) for draw in self._draws
        ]

    def join(self, results: Iterable[Block], block: Block) -> Iterator[Block]:
        """Yield the results for the rows of the next block together with its other columns."""
        first, self.rows = self.rows, self.rows + length(block)
        node = self._node
        values = dict(zip(node.child.columns, block, strict=True))
        for name in node.inputs:
            del values[name]
        columns = node.columns
        done = 0
        try:
            for mapped in results:
                if len(mapped) != len(node.outputs):
                    raise RuntimeError(
                        f"For 'map', the operations must return {len(node.outputs)} columns, as "
                        f"many as 'output_columns', but returned {len(mapped)}."
                    )
                rows = length(mapped)
                others = slice_rows(tuple(values.values()), done, done + rows)
                new = dict(zip((*node.outputs, *values), (*mapped, *others), strict=True))
                yield tuple([new[name] for name in columns])
                done += rows
        except RowError as error:
            number = first + error.row
            index = _source_index(node.child, self._key.fold_in(), number)
            row = f"{index} of the source" if index is not None else f"{number} of its input"
            raise error.at(f" at row {row}") from error.__cause__


def map_rows(functions: Sequence[Function], task: MapTask) -> Iterator[Block]:
    """Yield what the functions of a `Map` make of a task: several blocks where shapes change."""
    inputs, draws = task
    steps: list[Step] = [
        function if isinstance(function, Transform) else RowStep(function, iter(numbers))
        for function, numbers in zip(functions, draws, strict=True)
    ]
    return _apply_steps(steps, inputs)


@dataclass(frozen=True)
class RowStep:
    """A function of the values of one row, and the random numbers that it gets for each row."""

    function: Function
    draws: Iterator[Float64Array]
    rows: Iterator[int] = field(default_factory=count)

    def __call__(self, *values: object) -> tuple[object, ...]:
        """Return the function's results for the next row."""
        row = next(self.rows)
        function: Callable[..., object] = self.function
        if isinstance(self.function, RandomTransform):
            function = partial(self.function.transform, next(self.draws))
            if not self.function.user_code:
                return as_tuple(function(*values))
        try:
            return as_tuple(function(*values))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise RowError(name_of(self.function), reason, row) from error


Step = Transform | RowStep


def _source_index(node: Node, key: EpochKey, row: int) -> int | None:
    """Return the index in the source of a row of `node`; None where rows are chosen or combined."""
    while isinstance(node, Operation):
        inner = key.fold_in()
        match node:
            case Take() | Rename() | Project() | Map():
                pass
            case Skip():
                row += node.count
            case FixedOrder():
                inner = node.key_of(key)
            case Repeat() if not node.child.endless:
                done, row = divmod(row, max(1, node.child.size()))
                inner = key.of_pass(done, node.count)
            case Shuffle() if not node.child.endless:
                numbers = ArraySource((np.arange(node.child.size()),))
                child = MapStyleNode(("row",), numbers, SequentialSampler())
                ((shuffled,),) = next(replace(node, child=child).blocks(key, 1, row))
                row = int(shuffled)
            case _:
                return None
        node, key = node.child, inner
    if isinstance(node, MapStyleNode) and not isinstance(node.sampler, IterSampler):
        return int(node.indices(key)[row])
    return row if isinstance(node, IterableNode) else None


def _shard_of(node: Node) -> tuple[int, int]:
    """Return the index of the shard in a pipeline, and the number of shards; 0 and 1 without."""
    for inner in nodes_of(node):
        if isinstance(inner, MapStyleNode) and isinstance(inner.sampler, DistributedSampler):
            shards = inner.sampler.num_shards
            return (inner.sampler.shard_id - max(inner.sampler.offset, 0)) % shards, shards
    return 0, 1


def _draws_by_row(
    key: EpochKey, draws: int, start: int, shard: int, shards: int
) -> Iterator[Float64Array]:
    """Yield the random numbers of each row from `start` on.

    They depend only on the number of the row among those of all shards, so that neither a resumed
    run nor another number of processes changes them.
    """
    bits = np.random.PCG64(key.seed_sequence())
    rng = np.random.Generator(bits)
    bits.advance(draws * (start * shards + shard))
    while True:
        yield rng.random(draws)
        bits.advance(draws * (shards - 1))


def _apply_steps(steps: Sequence[Step], block: Block) -> Iterator[Block]:
    """Yield the result for a block: one block, or several where shapes or types change."""
    if not steps:
        yield block
        return
    first, *others = steps
    if isinstance(first, Transform):
        if len(block) != 1 or block[0].dtype.kind in "USO":
            raise RuntimeError(
                f"For 'map', the operation '{type(first).__name__}' takes one column of numbers, "
                f"but got {len(block)} of {block[0].dtype}."
            )
        yield from _apply_steps(others, (first.batched(block[0]),))
        return
    # What a function returns is passed on to the next one as it is.
    functions: list[RowStep] = []
    for step in steps:
        if isinstance(step, Transform):
            break
        functions.append(step)
    rows = (_apply_functions(functions, row) for row in rows_of(block))
    for mapped in rebatch(rows, length(block)):
        yield from _apply_steps(steps[len(functions) :], mapped)


def _apply_functions(functions: Sequence[RowStep], row: Row) -> Row:
    values = tuple([as_argument(element) for element in row])
    for function in functions:
        values = function(*values)
    subject = f"For 'map', what the function '{name_of(functions[-1].function)}' returns"
    return tuple([as_element(value, subject) for value in values])


def split_node(
    node: Node, rows: int, sizes: Sequence[int] | Sequence[float], randomize: bool
) -> list[Node]:
    """Return the parts of a pipeline with `rows` rows.

    A map-style source is divided by row indices, and each part is shuffled if the source was. Any
    other pipeline is fixed to the order of one epoch, and sliced.
    """
    counts = _part_sizes(rows, sizes)
    starts = list(accumulate(counts, initial=0))[:-1]
    # Operations on the parts, and splits of them, must not share its random numbers.
    before = sum(isinstance(inner, FixedOrder) or _is_subset(inner) for inner in nodes_of(node))
    key = initial_key().fold_in(_SPLIT).fold_in(rows).fold_in(before)
    if isinstance(node, MapStyleNode):
        indices = node.indices(key)
        if randomize:
            indices = key.fold_in().generator().permutation(indices)
        kind = SubsetRandomSampler if node.sampler.shuffles else SubsetSampler
        return [
            replace(node, sampler=kind(indices[start : start + size]))
            for start, size in zip(starts, counts, strict=True)
        ]
    fixed = FixedOrder(Shuffle(node, max(rows, 1)) if randomize else node, key)
    return [Take(Skip(fixed, start), size) for start, size in zip(starts, counts, strict=True)]


def _is_subset(node: Node) -> bool:
    return isinstance(node, MapStyleNode) and isinstance(node.sampler, SubsetSampler)


def _part_sizes(rows: int, sizes: Sequence[int] | Sequence[float]) -> list[int]:
    check_type(sizes, (list, tuple), "sizes")
    if not sizes:
        raise ValueError("For 'split', the argument 'sizes' must not be empty.")
    kind = int if type(sizes[0]) is int else float
    for size in sizes:
        check_type(size, kind, "sizes")
        if not size > 0:
            raise ValueError(f"For 'split', every one of 'sizes' must be above 0, but got {size}.")
    counts = [int(size) for size in sizes] if kind is int else _sizes_from_fractions(rows, sizes)
    if sum(counts) != rows:
        raise RuntimeError(
            f"For 'split', 'sizes' must sum to the dataset's {rows} rows, but sum to {sum(counts)}."
        )
    return counts


def _sizes_from_fractions(rows: int, fractions: Sequence[float]) -> list[int]:
    if abs(sum(fractions) - 1) > 1e-6:
        raise ValueError(
            f"For 'split', fractions must sum to 1, but {list(fractions)} sum to {sum(fractions)}."
        )
    # Rounded; the rounding error is distributed over the first parts.
    counts = [int(fraction * rows + 0.5) for fraction in fractions]
    difference = rows - sum(counts)
    for i in range(abs(difference)):
        counts[i % len(counts)] += 1 if difference > 0 else -1
    if min(counts) < 1:
        raise RuntimeError(
            f"For 'split', {list(fractions)} of {rows} rows leave a part without a row."
        )
    return counts
