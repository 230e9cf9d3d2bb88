"""SummaryRecord: a training's values in files that TensorBoard and MindInsight show.

The program hands values over and goes on; pictures, histograms and files are made a few steps at a
time.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection
from functools import partial
from types import TracebackType
from typing import Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from minispore._checks import check_int, check_type
from minispore._warn import warn
from minispore.common import Tensor
from minispore.nn import Cell
from minispore.ops._summary import check_shape, listeners
from minispore.train.summary._arguments import (
    OWNER,
    as_lineage,
    check_folder,
    check_name,
    check_part,
    check_value,
)
from minispore.train.summary._behind import Behind, gathered
from minispore.train.summary._event import Event, Landscape
from minispore.train.summary._export import check_options, export
from minispore.train.summary._files import Files, Names
from minispore.train.summary._graph import Tracer
from minispore.train.summary._lineage import Lineage, encode
from minispore.train.summary._steps import Given, Step, Values, as_events

_Array = NDArray[np.generic]

HEARD: Final = ("tensor", "scalar", "image", "histogram")
_LINEAGE: Final = ("train_lineage", "eval_lineage", "custom_lineage_data")
PLUGINS: Final = (*HEARD, *_LINEAGE, "dataset_graph", "graph", "landscape")


class SummaryRecord:
    """Write values of a training into event files, for TensorBoard and for MindInsight.

    What is added since the last `record` is written by the next one, and so is what `ops`'
    summaries hand out in between, those in the middle of a network. Of each kind and name the
    newest value counts. Networks that run in other threads are not listened to.

    In `log_dir` arise, where seconds since 1970, a number and the host's name make each name new:

    * `events.out.events.summary.….…_MS`, MindSpore's event file;
    * `events.out.tfevents.….…_MS`, the same for TensorBoard;
    * `events.out.graph.tfevents.….…_MS`, the network's graph, for TensorBoard;
    * `….summary.…_lineage`, with what was trained, for MindInsight; and
    * `export_….…/tensor`, if `export_options` say so.

    Files are made when there is something to write, and read while they grow. They are written a
    few steps at a time, a second later at most: `flush` and `close` do it at once.

    Source: MindSpore's `mindspore.SummaryRecord`.

    Args:
        log_dir: The folder, made if there is none.
        file_prefix: What the names of the files begin with.
        file_suffix: What they end with.
        num_process: Accepted as in MindSpore; no processes are started.
        network: Whose graph is written, as it is recorded when the network is next called.
        max_file_size: The most bytes of a file; what would go beyond is left out, with a warning.
            None for no limit.
        raise_exception: Whether an error of the file system is raised, by the method that notices,
            rather than warned of.
        export_options: ``{"tensor_format": "npy"}`` also saves tensors as files of numpy.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A text is empty or not made of letters, digits, "_" and "."; or there is no such
            option.
        OSError: The folder cannot be made.

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
    """

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
        folder = check_folder(log_dir, "log_dir", OWNER)
        check_part(file_prefix, "file_prefix")
        check_part(file_suffix, "file_suffix")
        check_int(num_process, "num_process", OWNER, low=1)
        check_type(network, Cell, "network", OWNER, none=True)
        check_type(max_file_size, int, "max_file_size", OWNER, none=True)
        check_type(raise_exception, bool, "raise_exception", OWNER)
        self._formats = check_options(export_options, OWNER)
        if max_file_size is not None and max_file_size <= 0:
            if max_file_size < 0:
                warn(
                    "For 'SummaryRecord', the 'max_file_size' should be greater than 0. "
                    f"but got value {max_file_size}."
                )
            max_file_size = None
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._names = Names(folder, file_prefix, file_suffix)
        self._files = Files(self._names, max_file_size)
        self._raise_exception = raise_exception
        self._behind: Behind | None = Behind()
        self._values: Values = {}
        self._steps: deque[Step] = deque()  # that are not in the files yet
        self._lineage: list[tuple[float, Lineage]] = []
        self._mode = "train"
        self._heard: Collection[str] = ()
        self._tracer: Tracer | None = None
        self._graph: bytes | None = None
        self._graph_written = False
        if network is not None:
            self.trace(network)
        self.listen()

    def __enter__(self) -> Self:
        """Nothing to do: the record is open from the start."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of MindSpore's event file, whether or not it has been made yet."""
        return self._names.mindspore

    def set_mode(self, mode: str) -> None:
        """Say what the network is doing: in mode "eval" the summaries of `ops` are not taken.

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
        """Add a value to the next step that is recorded.

        Args:
            plugin: The kind: one of

                * "scalar", a Tensor of one number;
                * "image", a Tensor of shape (n, 1 or 3, height, width), shown as one picture;
                * "tensor" and "histogram", a Tensor with axes;
                * "graph", a Cell, whose graph is written once it has been called, or the bytes of a
                  TensorFlow GraphDef;
                * "custom_lineage_data", a dict from str to int, float or str; "train_lineage", a
                  `TrainLineage`; "eval_lineage", an `EvaluationLineage`: for MindInsight only;
                * "landscape", a `Landscape`, likewise.
            name: Under which the value is shown; a "/" makes groups.
            value: The value; of a Tensor, a copy is taken at once.

        Raises:
            TypeError: `value` is not of the kind's type.
            ValueError: There is no such kind, `name` is no text, or a Tensor's shape does not fit.
        """
        if plugin not in PLUGINS:
            raise ValueError(
                f'For "SummaryRecord.add_value", no such "plugin" of {plugin!r} , '
                f"expect value is one of [{', '.join(PLUGINS)}]"
            )
        check_name(name)
        if plugin in HEARD:
            check_value(value, Tensor, plugin)
            check_shape(plugin, name, cast("Tensor", value).shape, OWNER)
            self._add(plugin, name, np.array(cast("Tensor", value).asnumpy()))
        elif plugin == "graph":
            self._add_graph(value)
        elif plugin == "landscape":
            check_value(value, Landscape, plugin)
            self._add(plugin, name, cast("Landscape", value))
        else:
            self._lineage.append((time.time(), as_lineage(plugin, value)))

    def record(
        self,
        step: int,
        train_network: Cell | None = None,
        plugin_filter: Callable[[str], bool] | None = None,
    ) -> bool:
        """Write what has been added since the last time.

        Args:
            step: The step that it belongs to.
            train_network: A network whose graph is written if none was given before.
            plugin_filter: Gets a kind of value, says whether to write that kind; what is not
                written waits for the next time.

        Returns:
            False if the record is closed.

        Raises:
            TypeError: An argument is of the wrong type.
            OSError: A file could not be written and `raise_exception` is set.
        """
        check_int(step, "step", OWNER)
        check_type(train_network, Cell, "train_network", OWNER, none=True)
        if plugin_filter is not None and not callable(plugin_filter):
            raise TypeError(
                f"For '{OWNER}', the argument 'plugin_filter' must be a function or None, "
                f"but got {plugin_filter!r} of type {type(plugin_filter).__name__}."
            )
        if self._behind is None:
            warn(
                "For 'SummaryRecord', The record writer is closed, "
                "please check if close() method is called"
            )
            return False
        self._record_graph(train_network)
        for wall_time, lineage in self._lineage:
            self._do(partial(self._files.write_lineage, encode(lineage, wall_time)))
        self._lineage.clear()
        chosen, rest = self._values, Values()
        if plugin_filter is not None:
            rest = {k: v for k, v in chosen.items() if not plugin_filter(k[0])}
            chosen = {k: v for k, v in chosen.items() if k not in rest}
        self._values = rest
        if chosen:
            waiting = Step(step, chosen)
            self._steps.append(waiting)
            self._do(self._write, waiting.size)
        return True

    def flush(self) -> None:
        """Wait until all that was recorded is on the disk.

        Raises:
            OSError: A file could not be written and `raise_exception` is set.
        """
        if self._behind is None:
            warn(
                "For 'SummaryRecord', the record writer is closed and can not flush, "
                "please check if close() method is called"
            )
            return
        self._do(self._files.sync)
        self._tell(self._behind.wait)

    def close(self) -> None:
        """Write all that was recorded and close the files; once closed, nothing happens.

        Raises:
            OSError: A file could not be written and `raise_exception` is set.
        """
        if self._behind is None:
            return
        behind, self._behind = self._behind, None
        self.listen(())
        if self._tracer is not None:
            self._tracer.stop()
        try:
            self._tell(behind.end)
        finally:
            self._files.close()

    def listen(self, kinds: Collection[str] = HEARD) -> None:
        """Take these kinds of what the summaries of `ops` hand out from now on; none with ().

        Only those of networks that are called in the same thread are taken.
        """
        if kinds and not self._heard:
            self._among = listeners()
            self._among.append(self._hear)
        elif self._heard and not kinds:
            self._among.remove(self._hear)
        self._heard = kinds

    def take(self, plugin: str, name: str, value: NDArray[np.generic] | Landscape) -> None:
        """As `add_value`, for a value that fits and that nobody will change; it is not copied."""
        self._values[plugin, name] = Given(time.time(), value)

    def trace(self, network: Cell, names: dict[str, Cell] | None = None) -> None:
        """Record the network's graph when it is next called, to be written by the next `record`.

        Args:
            network: The network.
            names: The parts of the graph; by default the network under its class's name.
        """
        if self._tracer is not None:
            self._tracer.stop()
        self._tracer = Tracer(network, names or {type(network).__name__: network})
        self._graph, self._graph_written = None, False

    def _hear(self, kind: str, name: str, array: _Array) -> None:
        if self._mode == "train" and kind in self._heard:
            self.take(kind, name, array)

    def _add(self, plugin: str, name: str, value: _Array | Landscape) -> None:
        if (plugin, name) in self._values:
            warn(
                f"For \"SummaryRecord.add_value\", '{name}/{plugin}' has duplicate values. "
                "Only the newest one will be recorded."
            )
        self.take(plugin, name, value)

    def _add_graph(self, value: object) -> None:
        if isinstance(value, bytes):
            self._graph, self._graph_written = value, False
        elif isinstance(value, Cell):
            self.trace(value)
        else:
            raise TypeError(
                f"For '{OWNER}', a graph must be a Cell or the bytes of a GraphDef, "
                f"but got {value!r} of type {type(value).__name__}."
            )

    def _record_graph(self, train_network: Cell | None) -> None:
        if self._graph_written:
            return
        if self._tracer is None and self._graph is None:
            if train_network is not None:
                self.trace(train_network)
            return
        graph = self._graph
        if graph is None and self._tracer is not None:
            graph = self._tracer.graph()
        if graph is None:
            warn("Failed to get proto for graph: the network has not been called yet.")
            return
        self._graph_written = True
        self._do(partial(self._files.write_graph, Event(time.time(), graph=graph)))

    def _write(self) -> list[str]:
        """Write all steps that are waiting at once, which is quicker: the first of them does."""
        steps = [self._steps[i] for i in range(len(self._steps))]
        if not steps:
            return []
        exports = (partial(self._export, step) for step in steps)
        forget = partial(self._forget, steps)
        return gathered((lambda: self._files.write(as_events(steps)), *exports, forget))

    def _forget(self, steps: list[Step]) -> list[str]:
        for step in steps:
            # A signal's handler that came in between may have written and forgotten them already.
            if self._steps and self._steps[0] is step:
                self._steps.popleft()
        return []

    def _export(self, step: Step) -> list[str]:
        if "tensor_format" in self._formats:
            for (plugin, name), given in step.values.items():
                if plugin == "tensor":
                    export(self._names.export, name, step.number, cast("_Array", given.content))
        return []

    def _do(self, task: Callable[[], list[str]], size: int = 0) -> None:
        assert self._behind is not None, "it is not closed"
        self._tell(partial(self._behind.do, task, size))

    def _tell(self, collect: Callable[[], list[str]]) -> None:
        """Warn of what there is to warn about, and raise or warn of errors."""
        try:
            texts = collect()
        except OSError as error:
            if self._raise_exception:
                raise
            texts = [f"For 'SummaryRecord', a summary was lost: {error}."]
        for text in texts:
            warn(text)
