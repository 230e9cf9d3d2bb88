"""Recording what happens in runs."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from minispore.testing._event import Event
from minispore.testing._looking import NOTHING, Eye, Sight, changed, described
from minispore.testing._trace import EventTrace
from minispore.testing._watching import Moment, watching
from minispore.train._protocol.callback import overrides
from minispore.train._protocol.run_context import RunContext


@contextmanager
def record_events() -> Generator[EventTrace, None, None]:
    """Record what happens in the runs of every `Model` that begin in this block, in this thread.

    The trace grows while they run. It has the run as a whole, each event of the loop, whether
    anybody listens to it or not, and in it each call of a callback's own method, with what that
    changed. To see this, all parameters are copied and compared around each such call; the clock of
    the trace stands still meanwhile.

    Examples:
        >>> import numpy as np
        >>> from minispore import nn
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.train import LossMonitor, Model
        >>> data = NumpySlicesDataset(np.ones((1, 2), np.float32), shuffle=False).batch(1)
        >>> with record_events() as trace:
        ...     Model(nn.Dense(2, 1, weight_init="ones")).train(1, data, LossMonitor(5))
        >>> print(trace.tree(durations=False))
        run
          on_train_begin
            on_train_epoch_begin epoch 1
              on_train_step_begin step 1
              on_train_step_end step 1
                LossMonitor
            on_train_epoch_end epoch 1
              LossMonitor
          on_train_end
          LossMonitor.__exit__
    """
    recorder = _Recorder()
    with watching(recorder):
        yield recorder.trace


class _Recorder:
    """The watcher that fills a trace."""

    def __init__(self) -> None:
        self.trace = EventTrace()
        self._eye = Eye()
        self._began = perf_counter()
        self._depth = 0
        self._inside = [0]  # of each run that goes on, the depth of what happens in it

    @contextmanager
    def around(self, moment: Moment) -> Generator[None, None, None]:
        callback = moment.callback
        if callback is not None and not overrides(callback, moment.name):
            yield
            return
        if moment.kind == "event" and moment.name.endswith("_end"):
            self._depth -= 1
        if moment.name in {"on_exception", "__exit__"}:  # nothing in the run is open any more
            self._depth = self._inside[-1]
        depth, place = self._depth, len(self.trace)
        context = moment.context
        stopped = context.get_stop_requested()
        before = NOTHING if callback is None else self._look(context)
        start = self._now()
        events = self.trace._events
        event = Event(moment.name, moment.source, depth, start=start)
        events.append(event)
        self._depth += 1
        if moment.kind == "run":
            self._inside.append(self._depth)
        raised = ""
        try:
            yield
        except BaseException as error:
            raised = type(error).__name__
            raise
        finally:
            duration = self._now() - start
            after = NOTHING if callback is None else self._look(context)
            events[place] = replace(
                event,
                epoch=_number(context, "cur_epoch_num"),
                step=_number(context, "cur_step_num"),
                stop=context.get_stop_requested() and not stopped,
                raised=raised,
                duration=duration,
                changed=tuple(described(each, before, after) for each in changed(before, after)),
            )
            if moment.kind == "run":
                self._inside.pop()
            # What follows a beginning happens in it.
            opens = moment.kind == "event" and moment.name.endswith("_begin")
            self._depth = depth + opens

    def _now(self) -> float:
        return perf_counter() - self._began

    def _look(self, context: RunContext) -> Sight:
        since = perf_counter()
        try:
            return self._eye.look(context)
        finally:
            self._began += perf_counter() - since


def _number(context: RunContext, name: str) -> int | None:
    value = context.original_args().get(name)
    return value if isinstance(value, int) else None
