"""The nodes of one iterator: a `Map` that calls callbacks, and nodes with worker processes."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import tee

from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.dataset._node import (
    Block,
    Node,
    call_user_code,
    length,
    nodes_of,
    rebuild,
    slice_rows,
)
from minispore.dataset._operations import Map, MapEpoch, MapTask, map_rows
from minispore.dataset._sources import MapStyleNode
from minispore.dataset._workers import WorkerPool, make_pool, warn_serial
from minispore.dataset.transforms.transforms import Transform
from minispore.utils.arrays import IndexArray


class WorkerMap(Map):
    """A `Map` whose functions run in the processes of a pool."""

    def __init__(self, node: Map, pool: WorkerPool[MapTask]) -> None:
        super().__init__(node.child, node.functions, node.inputs, node.outputs)
        self.pool = pool

    def map_blocks(self, blocks: Iterator[Block], epoch: MapEpoch) -> Iterator[Block]:
        """Yield the blocks that the processes have mapped."""
        sent, inputs = tee(blocks)
        for results, block in zip(self.pool.run(map(epoch.task, sent)), inputs, strict=False):
            yield from epoch.join(results, block)


class WorkerSource(MapStyleNode):
    """A source whose rows the processes of a pool read."""

    def __init__(self, node: MapStyleNode, pool: WorkerPool[IndexArray]) -> None:
        super().__init__(node.names, node.store, node.sampler)
        self.pool = pool

    def read(self, parts: Iterator[IndexArray]) -> Iterator[Iterable[Block]]:
        """Yield the rows that the processes have read."""
        return self.pool.run(parts)


class ObservedMap(Map):
    """A `Map` that calls its callbacks.

    Attributes:
        rows_before: The number of rows mapped in earlier epochs.
    """

    def __init__(self, node: Map) -> None:
        super().__init__(node.child, node.functions, node.inputs, node.outputs, node.callbacks)
        self.rows_before = 0
        self._epoch = 0
        self._rows = 0  # mapped in this epoch
        self._open_steps: dict[int, int] = {}  # the first row of the open step, by callback index

    def begin_epoch(self, number: int) -> None:
        """Call the hooks for the begin of an epoch, numbered from 1, and of the iterator."""
        if not self._epoch:
            self._call("ds_begin", 0, *self.callbacks)
        self._epoch, self._rows, self._open_steps = number, 0, {}
        self._call("ds_epoch_begin", 0, *self.callbacks)

    def end_epoch(self) -> None:
        """Call the hooks for the end of an epoch, and of steps that are still open."""
        for index in range(len(self.callbacks)):
            self._end_step(index)
        self._call("ds_epoch_end", self._rows, *self.callbacks)
        self.rows_before += self._rows
        self._rows = 0

    def map_blocks(self, blocks: Iterator[Block], epoch: MapEpoch) -> Iterator[Block]:
        """Yield the mapped blocks, and call the hooks of steps."""
        self._rows += epoch.rows
        for block in blocks:
            unmapped = block
            while length(unmapped):
                sizes = [callback.step_size for callback in self.callbacks]
                rows = min(length(unmapped), *[size - self._rows % size for size in sizes])
                self._begin_steps()
                mapped = list(epoch.map_block(slice_rows(unmapped, 0, rows)))
                unmapped = slice_rows(unmapped, rows)
                self._rows += rows
                for index, callback in enumerate(self.callbacks):
                    if self._rows % callback.step_size == 0:
                        self._end_step(index)
                yield from mapped

    def _begin_steps(self) -> None:
        for index, callback in enumerate(self.callbacks):
            if self._rows % callback.step_size == 0:
                self._open_steps[index] = self._rows + 1
                self._call("ds_step_begin", self._rows + 1, callback)

    def _end_step(self, index: int) -> None:
        if index in self._open_steps:
            self._call("ds_step_end", self._open_steps.pop(index), self.callbacks[index])

    def _call(self, event: str, row: int, *callbacks: DSCallback) -> None:
        context = DSRunContext(self._epoch, row, self.rows_before + row)
        for callback in callbacks:
            call_user_code(getattr(callback, event), context)


def instantiate(node: Node) -> tuple[Node, list[ObservedMap], list[Callable[[], None]]]:
    """Return the pipeline for one iterator, its maps with callbacks, and what ends the processes.

    Nodes without callbacks or worker processes stay the same.
    """
    observed: list[ObservedMap] = []

    def prepare(part: Node) -> Node:
        if isinstance(part, Map):
            in_python = not all(isinstance(function, Transform) for function in part.functions)
            workers = part.workers if in_python else None
            if part.callbacks:
                if workers:
                    warn_serial("map", "the callbacks are called before and after each row")
                observed.append(ObservedMap(part))
                return observed[-1]
            if workers:
                pool = make_pool(partial(map_rows, part.functions), workers, "map", part)
                return part if pool is None else WorkerMap(part, pool)
        elif isinstance(part, MapStyleNode) and part.workers:
            pool = make_pool(part.store.rows, part.workers, "GeneratorDataset", part)
            return part if pool is None else WorkerSource(part, pool)
        return part

    pipeline = rebuild(node, prepare)
    workers = [part for part in nodes_of(pipeline) if isinstance(part, WorkerMap | WorkerSource)]
    return pipeline, observed, [part.pool.close for part in workers]
