"""The recording of traces."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter

from minispore.testing._event import Event
from minispore.testing._instrumentation import Span, instrument_runs
from minispore.testing._snapshot import StateSnapshot, StateSnapshotter, describe_changes
from minispore.testing._trace import EventTrace
from minispore.train.protocol import RunContext, overrides


@contextmanager
def record_events() -> Generator[EventTrace, None, None]:
    """Record the events of each `Model`'s runs that start in this block, in this thread.

    The trace grows during the runs. It contains the run itself, each event of the loop, whether a
    callback handles it or not, and each call of a callback's method, with what the call changed. To
    find the changes, all parameters are copied and compared before and after each call; the trace's
    clock is paused meanwhile.

    Returns:
        A context manager that returns the trace.

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
          train
            on_train_begin
            train epoch 1
              on_train_epoch_begin epoch 1
              train step 1
                on_train_step_begin step 1
                on_train_step_end step 1
                  LossMonitor
              on_train_epoch_end epoch 1
                LossMonitor
            on_train_end
          LossMonitor.__exit__
    """
    recorder = _Recorder()
    with instrument_runs(recorder):
        yield recorder.trace


class _Recorder:
    """The instrument that records a trace."""

    def __init__(self) -> None:
        self.trace = EventTrace()
        self._snapshotter = StateSnapshotter()
        self._clock_start = perf_counter()
        self._depth = 0
        self._run_depths = [0]  # of each active run, the depth of its events

    @contextmanager
    def span(self, span: Span) -> Generator[None, None, None]:
        """Record a span of the run."""
        if span.callback is not None and not overrides(span.callback, span.name):
            yield
            return
        context, events, index = span.context, self.trace._events, len(self.trace)
        was_stopped, raised = context.get_stop_requested(), ""
        before = self._snapshot(span)
        with self._nested(span) as depth:
            event = Event(span.name, span.source, depth, start=self._now(), position=span.position)
            events.append(event)
            try:
                yield
            except BaseException as error:
                raised = type(error).__name__
                raise
            finally:
                duration = self._now() - event.start
                after = self._snapshot(span)
                events[index] = replace(
                    event,
                    epoch=_counter(context, "cur_epoch_num"),
                    step=_counter(context, "cur_step_num"),
                    stop=context.get_stop_requested() and not was_stopped,
                    raised=raised,
                    duration=duration,
                    changed=describe_changes(before, after),
                )

    @contextmanager
    def _nested(self, span: Span) -> Generator[int, None, None]:
        """Return the depth of a span, and increase the depth within it."""
        if span.kind == "event" and span.name.endswith("_end"):
            self._depth -= 1
        if span.name in {"on_exception", "__exit__"}:  # called when all events have ended
            self._depth = self._run_depths[-1]
        depth = self._depth
        self._depth += 1
        if span.kind == "run":
            self._run_depths.append(self._depth)
        try:
            yield depth
        finally:
            if span.kind == "run":
                self._run_depths.pop()
            # Events between a begin event and its end event are nested in the begin event.
            self._depth = depth + (span.kind == "event" and span.name.endswith("_begin"))

    def _now(self) -> float:
        return perf_counter() - self._clock_start

    def _snapshot(self, span: Span) -> StateSnapshot:
        """Return the state, with the clock paused; nothing for a span that is no call."""
        if span.callback is None:
            return {}
        start = perf_counter()
        try:
            return self._snapshotter.snapshot(span.context)
        finally:
            self._clock_start += perf_counter() - start


def _counter(context: RunContext, name: str) -> int | None:
    value = context.original_args().get(name)
    return value if isinstance(value, int) else None
