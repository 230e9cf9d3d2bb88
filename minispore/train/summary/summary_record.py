"""SummaryRecord: write values of a training into files that TensorBoard and MindInsight show.

The program passes values to the object and continues. Images, histograms and files are made later,
for a few steps at a time.
"""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import NoneType
from typing import Any, ClassVar, Final, NamedTuple, Self, TypeAlias

import numpy as np

from minispore.nn import Cell
from minispore.ops.summary import check_shape, check_unicode, summary_subscribers
from minispore.ops.tensors import Tensor
from minispore.train.summary.deferred_writer import DeferredWriter, run_all
from minispore.train.summary.event import Content, Event, Landscape, Value
from minispore.train.summary.event_writer import (
    EventFileNames,
    EventFileWriter,
    export_tensor,
    restart_events,
)
from minispore.train.summary.graph import GraphTracer
from minispore.train.summary.histogram import histograms
from minispore.train.summary.image import make_grid
from minispore.train.summary.lineage import (
    EvaluationLineage,
    Lineage,
    TrainLineage,
    check_custom,
    encode,
)
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import (
    caller,
    check_arguments,
    check_function,
    check_int,
    check_one_of,
    check_type,
    value_error,
)
from minispore.utils.warn import warn_at_caller

VALUE_PLUGINS: Final = ("tensor", "scalar", "image", "histogram")
# The type of the values of each plugin.
_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(VALUE_PLUGINS, Tensor),
    "train_lineage": TrainLineage,
    "eval_lineage": EvaluationLineage,
    "custom_lineage_data": dict,
    "dataset_graph": object,
    "graph": (Cell, bytes),
    "landscape": Landscape,
}


class _TimedValue(NamedTuple):
    """A value and the time when it was added, in seconds since 1970."""

    wall_time: float
    content: AnyArray | Landscape


# By plugin and name.
_Values: TypeAlias = dict[tuple[str, str], _TimedValue]


class _Step(NamedTuple):
    """The values of a step."""

    number: int
    values: _Values

    @property
    def size(self) -> int:
        """The number of bytes of its arrays."""
        contents = [value.content for value in self.values.values()]
        return sum(content.nbytes for content in contents if isinstance(content, np.ndarray))


@check_arguments
class SummaryRecord:
    """Write values of a training into event files for TensorBoard and MindInsight.

    `record` writes the values that were added since the previous call, including those of the
    summary operations (`ops.ScalarSummary` etc.) in networks that this thread calls. If a value of
    the same plugin and name is added twice, the latest one is written.

    The following files are created in `log_dir`. Seconds since 1970, a number and the host name
    make their names unique:

    * `events.out.events.summary.….…_MS`, MindSpore's event file;
    * `events.out.tfevents.….…_MS`, the same values for TensorBoard;
    * `events.out.graph.tfevents.….…_MS`, the graph of the network, for TensorBoard;
    * `….summary.…_lineage`, the settings of the training, for MindInsight; and
    * `export_….…/tensor`, if `export_options` requests it.

    A file is created when there is something to write, and can be read while it grows. Values are
    written a few steps at a time, within one second; `flush` and `close` write them at once.

    Args:
        log_dir: The folder, created if it does not exist.
        file_prefix: The beginning of the file names.
        file_suffix: The end of the file names.
        num_process: Accepted for compatibility; no processes are started.
        network: The network whose graph is written; it is recorded when the network is next called.
        max_file_size: The maximum number of bytes in a file; values beyond it are dropped with a
            warning. None for no limit.
        raise_exception: Whether an error of the file system is raised by the method that notices
            it; otherwise it becomes a warning.
        export_options: ``{"tensor_format": "npy"}`` also saves tensors as numpy files.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A text is empty or has other characters than letters, digits, "_" and "."; or an
            export option is unknown.
        OSError: The folder cannot be created.

    Examples:
        >>> import minispore as ms, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> with SummaryRecord(folder.name) as record:
        ...     for step in range(3):
        ...         record.add_value("scalar", "loss", ms.Tensor(1.0 / (1 + step)))
        ...         _ = record.record(step)
        >>> from minispore.train.summary import read_events
        >>> [event.values for event in read_events(record.log_dir)][1]
        (Value(tag='loss', content=1.0),)
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.SummaryRecord`.
    """

    _name_in_errors: ClassVar[str] = "{kind}"

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Cell | None = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: dict[str, str | None] | None = None,
    ) -> None:
        folder = check_folder(log_dir, "log_dir")
        for name, text in (("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            if not re.fullmatch(r"\w[0-9a-zA-Z_.]*", text, re.ASCII):
                raise value_error(text, name, "be made of letters, digits, '_' and '.'")
        check_int(num_process, "num_process", low=1)
        self._tensor_format = check_export_options(export_options)
        if max_file_size is not None and max_file_size <= 0:
            if max_file_size < 0:
                warn_at_caller(
                    "For 'SummaryRecord', the 'max_file_size' should be greater than 0. "
                    f"but got value {max_file_size}."
                )
            max_file_size = None
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._names = EventFileNames(folder, file_prefix, file_suffix)
        self._files = EventFileWriter(self._names, max_file_size)
        self._raise_exception = raise_exception
        self._writer: DeferredWriter | None = DeferredWriter()
        self._values: _Values = {}
        self._steps: deque[_Step] = deque()  # waiting to be written
        self._lineage: list[tuple[float, Lineage]] = []
        self._mode = "train"
        self._subscribed: Collection[str] = ()
        self._tracer: GraphTracer | None = None
        self._graph: Callable[[], bytes | None] | None = None  # None before a graph is requested
        self._graph_written = False
        self.last: tuple[int, list[str]] = (0, [])  # the last step, and the names of its values
        if network is not None:
            self.trace(network)
        self.subscribe()

    def __enter__(self) -> Self:
        """Return this object, which is open from the start."""
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Close the files."""
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of MindSpore's event file, whether or not it exists yet."""
        return self._names.mindspore

    def set_mode(self, mode: str) -> None:
        """Set the phase of the network; in mode "eval" values of summary operations are ignored.

        Raises:
            ValueError: `mode` is neither "train" nor "eval".
        """
        if mode not in {"train", "eval"}:
            raise ValueError(
                f'For "SummaryRecord.set_mode", {mode!r} is not a recognized mode, '
                'expect the parameter "mode" is "train" or "eval"'
            )
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: object) -> None:
        """Add a value, which the next call of `record` writes.

        Args:
            plugin: The kind of the value:

                * "scalar": a Tensor of one number;
                * "image": a Tensor of shape (n, 1 or 3, height, width), shown as one image grid;
                * "tensor" or "histogram": a Tensor with at least one axis;
                * "graph": a Cell, whose graph is written after its next call, or the bytes of a
                  TensorFlow GraphDef;
                * "custom_lineage_data": a dict from str to int, float or str; "train_lineage": a
                  `TrainLineage`; "eval_lineage": an `EvaluationLineage`; for MindInsight only;
                * "landscape": a `Landscape`, for MindInsight only.
            name: The name under which the value is shown; "/" separates groups.
            value: The value; of a Tensor, a copy is made.

        Raises:
            TypeError: `value` does not have the type of the plugin.
            ValueError: `plugin` is unknown, `name` is empty or not a text, or the shape of a Tensor
                is wrong.
        """
        if plugin not in tuple(_TYPES):
            raise ValueError(
                f'For "SummaryRecord.add_value", no such "plugin" of {plugin!r} , '
                f"expect value is one of [{', '.join(_TYPES)}]"
            )
        _check_tag(name)
        if plugin == "dataset_graph":
            raise NotImplementedError(
                "For 'SummaryRecord', graphs of datasets are not written; "
                "'custom_lineage_data' can describe what a run was trained on."
            )
        check_type(value, _TYPES[plugin], plugin)
        if isinstance(value, Tensor):
            check_shape(plugin, name, value.shape)
            self._add(plugin, name, np.array(value.asnumpy()))
        elif isinstance(value, Landscape):
            self._add(plugin, name, value)
        elif isinstance(value, Cell):
            self.trace(value)
        elif isinstance(value, bytes):
            self._graph, self._graph_written = (lambda: value), False
        else:
            lineage = (
                value
                if isinstance(value, TrainLineage | EvaluationLineage)
                else check_custom(value)
            )
            self._lineage.append((time.time(), lineage))

    def record(
        self,
        step: int,
        train_network: Cell | None = None,
        plugin_filter: Callable[[str], bool] | None = None,
    ) -> bool:
        """Write the values that were added since the previous call.

        Args:
            step: The step of the values.
            train_network: A network whose graph is written if no other network was given before.
            plugin_filter: A function of the plugin's name that returns whether to write values of
                this plugin now; others are kept for the next call.

        Returns:
            False after `close`, True before.

        Raises:
            TypeError: An argument has the wrong type.
            OSError: A file could not be written, and `raise_exception` is set.
        """
        check_int(step, "step")
        check_type(train_network, (Cell, NoneType), "train_network")
        check_function(plugin_filter, "plugin_filter", optional=True)
        if self._writer is None:
            warn_at_caller(
                "For 'SummaryRecord', The record writer is closed, "
                "please check if close() method is called"
            )
            return False
        self._write_graph(train_network)
        for wall_time, lineage in self._lineage:
            self._submit(partial(self._files.write_lineage, encode(lineage, wall_time)))
        self._lineage.clear()
        remaining: _Values = {}
        if plugin_filter is not None:
            remaining = {k: v for k, v in self._values.items() if not plugin_filter(k[0])}
        chosen = {k: v for k, v in self._values.items() if k not in remaining}
        self._values = remaining
        if chosen:
            before = self.last[1] if step == self.last[0] else []
            self.last = (step, [*before, *(name for _, name in chosen)])
            new_step = _Step(step, chosen)
            self._steps.append(new_step)
            self._submit(self._write, new_step.size)
        return True

    def flush(self) -> None:
        """Write the values of all calls of `record` to the disk.

        Raises:
            OSError: A file could not be written, and `raise_exception` is set.
        """
        if self._writer is None:
            warn_at_caller(
                "For 'SummaryRecord', the record writer is closed and can not flush, "
                "please check if close() method is called"
            )
            return
        self._submit(self._files.sync)
        self._report(self._writer.flush)

    def close(self) -> None:
        """Flush, and close the files; further calls have no effect.

        Raises:
            OSError: A file could not be written, and `raise_exception` is set.
        """
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        self.subscribe(())
        if self._tracer is not None:
            self._tracer.stop()
        try:
            self._report(writer.close)
        finally:
            self._files.close()

    def subscribe(self, kinds: Collection[str] = VALUE_PLUGINS) -> None:
        """Receive values of these kinds from summary operations, or none with ().

        Only operations that this thread executes are received.
        """
        if kinds and not self._subscribed:
            self._subscribers = summary_subscribers()
            self._subscribers.append(self._on_summary)
        elif self._subscribed and not kinds:
            self._subscribers.remove(self._on_summary)
        self._subscribed = kinds

    def restart(self, step: int, names: list[str]) -> bool:
        """Continue after a step of an earlier run in the folder, with what `last` was then.

        TensorBoard drops what that run has written later.

        Returns:
            Whether that run has written a graph.
        """
        self.last = (step, names)
        folder = os.path.dirname(self._names.tensorboard)
        events, has_graph = restart_events(folder, step, names)
        self._submit(partial(self._files.write_restart, events))
        return has_graph

    def add_value_unchecked(self, plugin: str, name: str, value: AnyArray | Landscape) -> None:
        """Add a value without checking or copying it; the caller must not modify it afterwards."""
        self._values[plugin, name] = _TimedValue(time.time(), value)

    def trace(self, network: Cell, names: dict[str, Cell] | None = None) -> None:
        """Record the graph of a network at its next call; the `record` after that writes it.

        Args:
            network: The network.
            names: The parts of the graph by name; by default the network under its class name.
        """
        if self._tracer is not None:
            self._tracer.stop()
        self._tracer = GraphTracer(network, names or {type(network).__name__: network})
        self._graph, self._graph_written = self._tracer.graph, False

    def _on_summary(self, kind: str, name: str, array: AnyArray) -> None:
        if self._mode == "train" and kind in self._subscribed:
            self.add_value_unchecked(kind, name, array)

    def _add(self, plugin: str, name: str, value: AnyArray | Landscape) -> None:
        if (plugin, name) in self._values:
            warn_at_caller(
                f"For \"SummaryRecord.add_value\", '{name}/{plugin}' has duplicate values. "
                "Only the newest one will be recorded."
            )
        self.add_value_unchecked(plugin, name, value)

    def _write_graph(self, train_network: Cell | None) -> None:
        if self._graph_written:
            return
        if self._graph is None:
            if train_network is not None:
                self.trace(train_network)
        elif (graph := self._graph()) is None:
            warn_at_caller("Failed to get proto for graph: the network has not been called yet.")
        else:
            self._graph_written = True
            self._submit(partial(self._files.write_graph, Event(time.time(), graph=graph)))

    def _write(self) -> list[str]:
        """Write all waiting steps: the first of several tasks does it, which is faster."""
        steps = [self._steps[i] for i in range(len(self._steps))]
        if not steps:
            return []
        exports = (partial(self._export, step) for step in steps)
        forget = partial(self._forget, steps)
        return run_all((lambda: self._files.write(_as_events(steps)), *exports, forget))

    def _forget(self, steps: list[_Step]) -> list[str]:
        for step in steps:
            # A signal handler that ran in between may have written and removed them already.
            if self._steps and self._steps[0] is step:
                self._steps.popleft()
        return []

    def _export(self, step: _Step) -> list[str]:
        for (plugin, name), value in step.values.items() if self._tensor_format else ():
            if plugin == "tensor" and not isinstance(value.content, Landscape):
                export_tensor(self._names.export, name, step.number, value.content)
        return []

    def _submit(self, task: Callable[[], list[str]], size: int = 0) -> None:
        assert self._writer is not None, "it is not closed"
        self._report(partial(self._writer.submit, task, size))

    def _report(self, collect: Callable[[], list[str]]) -> None:
        """Issue the warnings that `collect` returns; raise its errors, or warn of them."""
        try:
            texts = collect()
        except OSError as error:
            if self._raise_exception:
                raise
            texts = [f"For 'SummaryRecord', a summary was lost: {error}."]
        for text in texts:
            warn_at_caller(text)


def _as_events(steps: Sequence[_Step]) -> list[Event]:
    """Return the events of several steps; computing all histograms at once is faster."""
    arrays = [
        value.content
        for step in steps
        for (plugin, _), value in step.values.items()
        if plugin == "histogram" and not isinstance(value.content, Landscape)
    ]
    computed = iter(histograms(arrays))

    def content(plugin: str, value: AnyArray | Landscape) -> Content:
        if plugin == "histogram":
            return next(computed)
        if isinstance(value, Landscape):
            return value
        if plugin == "scalar":
            return float(value.reshape(()))
        return make_grid(value) if plugin == "image" else value

    return [
        Event(
            max(value.wall_time for value in step.values.values()),
            step.number,
            values=tuple(
                Value(name, content(plugin, value.content))
                for (plugin, name), value in step.values.items()
            ),
        )
        for step in steps
    ]


def _check_tag(name: object) -> None:
    """Raise ValueError unless `name` is a non-empty text that can be encoded."""
    if not isinstance(name, str) or not name:
        raise ValueError(
            'For "SummaryRecord", the parameter "name" type should be str, '
            f"but got {name!r} of type {type(name).__name__}."
        )
    check_unicode(name)


def check_keys(value: object, keys: tuple[str, ...], name: str) -> dict[str, Any]:
    """Return a copy of a dict; raise TypeError or ValueError unless its keys are among `keys`."""
    items = {
        check_type(key, str, f"key of {name}"): item
        for key, item in check_type(value, dict[object, Any], name).items()
    }
    unknown = [key for key in items if key not in keys]
    if unknown:
        raise ValueError(
            f"For '{caller()}', the keys {unknown} of '{name}' are unsupported, "
            f"expect the follow keys: {list(keys)}"
        )
    return items


def check_folder(value: object, name: str) -> str:
    """Return the real path of a folder; raise TypeError or ValueError if it is not a path."""
    folder = check_type(value, str, name)
    if not folder.strip():
        raise ValueError(f"For '{caller()}', the argument '{name}' must not be blank.")
    return os.path.realpath(folder)


def check_export_options(options: Mapping[str, object] | None) -> str | None:
    """Return the "tensor_format" of `export_options`; raise TypeError or ValueError for others."""
    items = options or {}
    if unknown := [key for key in items if key != "tensor_format"]:
        raise TypeError(
            f"For '{caller()}', the keys of 'export_options' must be 'tensor_format', but got "
            f"{unknown}."
        )
    tensor_format = check_type(items.get("tensor_format"), (str, NoneType), "tensor_format")
    check_one_of(tensor_format, (None, "npy"), "tensor_format")
    return tensor_format
