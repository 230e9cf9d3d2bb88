"""GraphProfiler: which operations of the engine take how long."""

import json
import os
import sys
import threading
from time import perf_counter_ns
from types import FrameType

import minispore._rules as rules
from minispore._atomic import replacing
from minispore.nn import Optimizer
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import RunValues
from minispore.train.callback import RunContext

_RULES = os.path.dirname(os.path.abspath(rules.__file__))
_PULLBACK = ".<locals>."


@checked
class GraphProfiler(Callback):
    """Write a trace of each step for Chrome (chrome://tracing) or Perfetto.

    `chrome-trace-{global_step}.json` in the logger's folder has the engine's operations by the
    names of their rules, forwards as they are called and backwards their pullbacks, and the
    optimiser's update. Watching slows a step down. To watch some steps only, put it into
    `EnableCallbackIf` or `Every`.

    Source: tensorpack.callbacks.GraphProfiler.

    Args:
        dump_metadata: False; TensorFlow's metadata do not exist here.
        dump_tracing: True; this is what it writes.
        dump_event: False, likewise.

    Raises:
        ValueError: One of them is another.

    Examples:
        >>> from minispore.tensorpack import Every
        >>> from minispore.tensorpack._examples import train
        >>> train(Every(steps=5)(GraphProfiler()))
        ['chrome-trace-5.json']
    """

    def __init__(
        self, dump_metadata: bool = False, dump_tracing: bool = True, dump_event: bool = False
    ) -> None:
        if dump_metadata or dump_event or not dump_tracing:
            raise ValueError(
                "For 'GraphProfiler', 'dump_tracing' must be True, and 'dump_metadata' and "
                f"'dump_event' False, but got {dump_tracing}, {dump_metadata} and {dump_event}."
            )
        self._open: list[tuple[FrameType, str, int]] = []
        self._events: list[dict[str, object]] = []
        self._watching = False

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, self)

    def _before_run(self, run_context: RunContext) -> None:
        self._open, self._events, self._watching = [], [], True
        self._other = sys.getprofile()
        sys.setprofile(self._watch)

    # While a profiler is called, nothing else watches, and so nobody measures what is run.
    def _watch(self, frame: FrameType, event: str, arg: object) -> None:  # pragma: no cover
        if event == "call":
            code = frame.f_code
            is_rule = code.co_filename.startswith(_RULES) and code.co_name != "<module>"
            if is_rule or code is Optimizer.construct.__code__:
                self._open.append((frame, code.co_qualname, perf_counter_ns()))
        elif event == "return" and self._open and self._open[-1][0] is frame:
            _, name, start = self._open.pop()
            rule, pullback, _ = name.partition(_PULLBACK)
            kind = "backward" if pullback else "update" if "." in rule else "forward"
            took = (perf_counter_ns() - start) / 1000
            place = {"pid": os.getpid(), "tid": threading.get_native_id()}
            times = {"ph": "X", "ts": start / 1000, "dur": took}
            self._events.append({"name": rule, "cat": kind, **times, **place})

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._after_train()
        path = os.path.join(self._folder, f"chrome-trace-{self.global_step}.json")
        with replacing(path) as file:
            file.write(json.dumps({"traceEvents": self._events}).encode())

    def _after_train(self) -> None:
        if self._watching:
            sys.setprofile(self._other)
            self._watching = False
