"""Running functions and background work along with a training."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.train.callback import RunContext

_JOIN_SECONDS = 5.0


class RunOp(Callback):
    """Call a function; what is computed is no graph, so that an operation is a function here.

    Source: tensorpack.callbacks.RunOp.

    Args:
        op: The function.
        run_before: Whether to call it before training,
        run_as_trigger: when triggered,
        run_step: and before each step.
        verbose: Whether to tell of it.
    """

    chief_only = False

    def __init__(
        self,
        op: Callable[[], object],
        run_before: bool = True,
        run_as_trigger: bool = True,
        run_step: bool = False,
        verbose: bool = False,
    ) -> None:
        if not callable(op):
            raise TypeError(f"For '{type(self).__name__}', 'op' must be a function, got {op!r}.")
        self._op = op
        self._when = (run_before, run_as_trigger, run_step)
        self._verbose = verbose

    def _run(self) -> None:
        if self._verbose:
            logger.info(f"Running {getattr(self._op, '__name__', self._op)} ...")
        self._op()

    def _before_train(self) -> None:
        if self._when[0]:
            self._run()

    def _trigger(self) -> None:
        if self._when[1]:
            self._run()

    def _before_run(self, run_context: RunContext) -> None:
        if self._when[2]:
            self._run()


class RunUpdateOps(RunOp):
    """Nothing: what tensorpack collects to be updated, layers update themselves here.

    Source: tensorpack.callbacks.RunUpdateOps.

    Args:
        collection: Functions to call before each step, where there are any.
    """

    def __init__(self, collection: Callable[[], object] | None = None) -> None:
        super().__init__(collection or (lambda: None), False, False, collection is not None)


@runtime_checkable
class Startable(Protocol):
    """A thread or a process."""

    def start(self) -> object:
        """Begin."""
        ...


class StartProcOrThread(Callback):
    """Start threads or processes before training, and end them after it.

    Source: tensorpack.callbacks.StartProcOrThread.

    Args:
        startable: A thread or process that has not been started, or a list of these.
        stop_at_last: Whether to end them: by `stop` or `terminate`, if they have it, and then by
            waiting some seconds.
    """

    chief_only = False

    def __init__(self, startable: Startable | list[Startable], stop_at_last: bool = True) -> None:
        self._all = startable if isinstance(startable, list) else [startable]
        for each in self._all:
            if not isinstance(each, Startable):
                raise TypeError(f"For 'StartProcOrThread', {each!r} cannot be started.")
        self._stop_at_last = stop_at_last

    def _before_train(self) -> None:
        for each in self._all:
            each.start()

    def _after_train(self) -> None:
        if not self._stop_at_last:
            return
        for each in self._all:
            end = getattr(each, "stop", None) or getattr(each, "terminate", None)
            join = getattr(each, "join", None)
            if callable(end):
                end()
            if callable(join):
                join(_JOIN_SECONDS)
            alive = getattr(each, "is_alive", None)
            if callable(alive) and alive():
                logger.warn(f"{each!r} has not ended within {_JOIN_SECONDS:g} seconds.")
