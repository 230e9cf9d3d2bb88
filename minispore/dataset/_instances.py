"""What one iterator needs of a pipeline: drivers of its callbacks, and pools of processes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from minispore.dataset._ds_callback import DSCallback, DSRunContext
from minispore.dataset._node import (
    Block,
    Driver,
    Node,
    call_user_code,
    length,
    nodes_of,
    rebuild,
    slice_rows,
)
from minispore.dataset._object_nodes import ObjectSource
from minispore.dataset._operations import Map, map_rows
from minispore.dataset._sources import MapStyleNode
from minispore.dataset._workers import make_pool, warn_serial
from minispore.dataset.transforms.transforms import Transform


def instantiate(node: Node) -> tuple[Node, list[Driver], list[Callable[[], None]]]:
    """Return the pipeline for one iterator, the drivers of callbacks, and what ends the processes.

    Each `Map` with callbacks has a driver, and each node with workers a pool of processes.
    """
    drivers: list[Driver] = []

    def prepare(part: Node) -> Node:
        if isinstance(part, Map) and part.callbacks:
            driver = CallbackDriver(part.callbacks)
            drivers.append(driver)
            part = replace(part, driver=driver)
        if isinstance(part, Map) and part.workers:
            return _with_workers(part, part.workers)
        if isinstance(part, MapStyleNode) and part.workers and isinstance(part.store, ObjectSource):
            source = part.store
            pool = make_pool(source.rows, part.workers, "GeneratorDataset", part)
            return replace(part, pool=pool)
        return part

    pipeline = rebuild(node, prepare)
    nodes = [part for part in nodes_of(pipeline) if isinstance(part, Map | MapStyleNode)]
    return pipeline, drivers, [part.pool.close for part in nodes if part.pool is not None]


def _with_workers(node: Map, workers: int) -> Node:
    if all(isinstance(function, Transform) for function in node.functions):
        return node
    if node.callbacks:
        warn_serial("map", "the callbacks are called before and after each row")
        return node
    work = partial(map_rows, node.functions)
    return replace(node, pool=make_pool(work, workers, "map", node))


class CallbackDriver:
    """Calls the callbacks of one `map` for one iterator.

    Attributes:
        rows_before: The number of rows mapped in earlier epochs.
    """

    def __init__(self, callbacks: Sequence[DSCallback]) -> None:
        self.rows_before = 0
        self._callbacks = callbacks
        self._epoch = 0
        self._rows = 0  # mapped in this epoch
        self._open_steps: dict[int, int] = {}  # the first row of the open step, by callback index

    def begin_epoch(self, number: int) -> None:
        """Call the hooks for the begin of an epoch, numbered from 1, and of the iterator."""
        if not self._epoch:
            self._call("ds_begin", 0, *self._callbacks)
        self._epoch, self._rows, self._open_steps = number, 0, {}
        self._call("ds_epoch_begin", 0, *self._callbacks)

    def end_epoch(self) -> None:
        """Call the hooks for the end of an epoch, and of steps that are still open."""
        for index in range(len(self._callbacks)):
            self._end_step(index)
        self._call("ds_epoch_end", self._rows, *self._callbacks)
        self.rows_before += self._rows
        self._rows = 0

    def run_blocks(
        self, blocks: Iterator[Block], map_block: Callable[[Block], Iterator[Block]], start: int
    ) -> Iterator[Block]:
        """Yield what `map_block` makes of the blocks, and call the step hooks."""
        self._rows += start
        for block in blocks:
            unmapped = block
            while length(unmapped):
                sizes = [callback.step_size for callback in self._callbacks]
                rows = min(length(unmapped), *[size - self._rows % size for size in sizes])
                self._begin_steps()
                mapped = list(map_block(slice_rows(unmapped, 0, rows)))
                unmapped = slice_rows(unmapped, rows)
                self._rows += rows
                for index, callback in enumerate(self._callbacks):
                    if self._rows % callback.step_size == 0:
                        self._end_step(index)
                yield from mapped

    def _begin_steps(self) -> None:
        for index, callback in enumerate(self._callbacks):
            if self._rows % callback.step_size == 0:
                self._open_steps[index] = self._rows + 1
                self._call("ds_step_begin", self._rows + 1, callback)

    def _end_step(self, index: int) -> None:
        if index in self._open_steps:
            self._call("ds_step_end", self._open_steps.pop(index), self._callbacks[index])

    def _call(self, event: str, row: int, *callbacks: DSCallback) -> None:
        context = DSRunContext(self._epoch, row, self.rows_before + row)
        for callback in callbacks:
            call_user_code(getattr(callback, event), context)
