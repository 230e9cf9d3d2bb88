"""Adapter: calls tensorpack's hooks from the events of the training loop, which are MindSpore's.

Some events stand for two of tensorpack's hooks. A `HookDispatcher`, which is placed before all
callbacks, calls the first hook on all of tensorpack's callbacks; the second hook is called by each
callback at its own position in the list:

| event | the dispatcher, on all callbacks | each callback, in list order |
|---|---|---|
| on_train_begin | setup_graph | before_train |
| on_train_epoch_begin | | before_epoch |
| on_train_step_begin | | before_run |
| on_train_step_end | after_run | trigger_step |
| on_eval_begin in fit, else on_train_epoch_end | after_epoch | |
| on_train_epoch_end | | trigger_epoch |
| on_train_end, on_exception | | after_train |

So the callbacks of each API see the order that their API defines, and within one event the order of
the list. After `StopTraining`, no hook of tensorpack's is called but `after_train`, and MindSpore's
callbacks see a requested stop. In an epoch that a requested stop has interrupted, `after_train` is
the only hook that is still called.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from time import perf_counter
from typing import Final, Self, TypeVar

from minispore.ops.summary import summary_subscribers
from minispore.tensorpack import logger
from minispore.tensorpack.protocol import (
    LOOP_NAMES,
    Array,
    MonitorInterface,
    RunValues,
    StopTraining,
    Trainer,
    as_float,
    check_metric_names,
)
from minispore.train import callback as train
from minispore.train.callback import RunContext
from minispore.train.protocol.monitor import distinct_names
from minispore.train.resume import StatefulMixin

T = TypeVar("T")

# If the callbacks take longer than this after an epoch, the slow ones are logged.
_SLOW_SECONDS: Final = 2.0
_STEP_HOOKS: Final = {"_before_run": "on_train_step_begin", "_trigger_step": "on_train_step_end"}
_MAPPED_EVENTS: Final = {name for name in vars(train.Callback) if name.startswith("on_train_")} | {
    "on_exception"
}


class Callback(train.Callback):
    """Base class of tensorpack's callbacks, which can be used in one list with MindSpore's.

    A subclass overrides hooks with an underscore; it may also override MindSpore's `on_eval_…`.

    Attributes:
        chief_only: Whether, of several processes, only the first one calls it; a subclass may
            also set `_chief_only`, as in tensorpack.
        name_scope: Has no effect; tensorpack uses it in its graphs.
        wants_summaries: Whether `trainer.array` should know what `ops`' summaries emit.

    Raises:
        TypeError: A subclass defines an event through which its hooks are called.

    Examples:
        >>> class Steps(Callback):
        ...     def _trigger(self) -> None:
        ...         print(self.epoch_num, self.global_step)
        >>> import numpy as np
        >>> from minispore import Tensor, nn
        >>> from minispore.dataset import NumpySlicesDataset
        >>> from minispore.train import Model
        >>> class Loss(nn.Cell):
        ...     def construct(self, x: Tensor) -> Tensor:
        ...         return x.sum()
        >>> data = NumpySlicesDataset({"x": np.ones((4, 1), np.float32)}).batch(2)
        >>> Model(Loss()).train(2, data, callbacks=[Steps()])
        1 2
        2 4

    Source: tensorpack's `callbacks.Callback`.
    """

    chief_only: bool = True
    name_scope: str = ""
    wants_summaries: bool = False
    _trainer: Trainer | None = None
    _dispatcher: "HookDispatcher | None" = None
    _fetches: Sequence[str] = ()
    _chief_only: bool = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        events = sorted(_MAPPED_EVENTS.intersection(vars(cls)))
        if events:
            raise TypeError(
                f"Callback '{cls.__name__}' defines '{events[0]}', through which its hooks are"
                " called; override the hook with an underscore, such as '_trigger_epoch'."
            )
        if "_chief_only" in vars(cls):  # tensorpack's name of the attribute
            cls.chief_only = cls._chief_only
        # The loop calls no event in each step for a hook that the class does not override.
        for hook, event in _STEP_HOOKS.items():
            base = Callback if overrides_hook(cls, hook) else train.Callback
            setattr(cls, event, getattr(base, event))

    # Hooks for subclasses.

    def _setup_graph(self) -> None:
        """Called once, before `_before_train` of any callback."""

    def _before_train(self) -> None:
        """Called once, before the first epoch."""

    def _before_epoch(self) -> None:
        """Called before each epoch."""

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        """Called before each step; returns the names of the arrays that `_after_run` receives."""

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Called after each step, before `_trigger_step` of any callback."""

    def _trigger_step(self) -> None:
        """Called after each step."""

    def _after_epoch(self) -> None:
        """Called directly after the steps of each epoch, for example to measure times."""

    def _trigger_epoch(self) -> None:
        """Called after each epoch; by default it calls `trigger`."""
        self.trigger()

    def _trigger(self) -> None:
        """Perform the action of the callback; by default at the end of each epoch."""

    def _after_train(self) -> None:
        """Called once at the end, also of an interrupted or failed training."""

    def produces(self) -> Collection[str]:
        """Return the names of the numbers that it logs to the monitors for other callbacks."""
        return ()

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers that it reads; a callback before it must log them."""
        return ()

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Called before `_after_train` if the training failed."""

    # Methods for callers.

    def setup_graph(self, trainer: Trainer) -> None:
        """Set the trainer, reset the state, and call `_setup_graph`."""
        self._trainer = trainer
        if isinstance(self, StatefulMixin):
            self.reset_state()
        self._setup_graph()

    def trigger(self) -> None:
        """Call `_trigger`."""
        self._trigger()

    def monitor(self) -> "MonitorBase | None":
        """Return the monitor that this callback is or wraps, or None."""
        return None

    def set_chief_only(self, v: bool = True) -> Self:
        """Set `chief_only`, and return the callback."""
        self.chief_only = v
        return self

    @property
    def trainer(self) -> Trainer:
        """The training, from `_setup_graph` on.

        Raises:
            RuntimeError: The callback is in no training yet.
        """
        if self._trainer is None:
            raise RuntimeError(f"{type(self).__name__} is in no training: 'trainer' is not set.")
        return self._trainer

    @property
    def epoch_num(self) -> int:
        """The current epoch, counted from 1."""
        return self.trainer.epoch_num

    @property
    def global_step(self) -> int:
        """The number of steps done."""
        return self.trainer.global_step

    @property
    def local_step(self) -> int:
        """The step within the epoch, counted from 0."""
        return self.trainer.local_step

    def get_tensors_maybe_in_tower(self, names: Sequence[str]) -> list[Array]:
        """Return arrays of the current step by their names; see `Trainer.array`."""
        return [self.trainer.array(name) for name in names]

    # The events of the loop.

    def configure_callbacks(self, callbacks: Sequence[train.Callback]) -> Sequence[train.Callback]:
        """Return a dispatcher for all of tensorpack's callbacks, unless there is one already."""
        if any(isinstance(callback, HookDispatcher) for callback in callbacks):
            return ()
        return (HookDispatcher([member for member in callbacks if isinstance(member, Callback)]),)

    def on_train_begin(self, run_context: RunContext) -> None:
        """Call `_before_train`."""
        self._dispatch(self._before_train)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Call `_before_epoch`."""
        self._dispatch(self._before_epoch)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Call `_before_run`."""
        self._fetches = self._dispatch(self._before_run, run_context) or ()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Call `_trigger_step`."""
        self._dispatch(self._trigger_step)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Call `_trigger_epoch`."""
        start = perf_counter()
        self._dispatch(self._trigger_epoch)
        if self._dispatcher is not None:
            self._dispatcher.times[self] = perf_counter() - start

    def on_train_end(self, run_context: RunContext) -> None:
        """Call `_after_train`; log an exception, since the other callbacks must be called too."""
        if self._dispatcher is not None:
            self._dispatcher = None
            try:
                self._after_train()
            except Exception as error:
                logger.error(f"{type(self).__name__}._after_train failed: {error!r}", error)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Call `failed` and `_after_train`."""
        self.failed(run_context, error)
        self.on_train_end(run_context)

    def _dispatch(self, hook: Callable[..., T | None], *args: object) -> T | None:
        return None if self._dispatcher is None else self._dispatcher.dispatch(self, hook, *args)


def overrides_hook(cls: type[Callback], hook: str) -> bool:
    """Return whether a class overrides a hook of `Callback`."""
    return getattr(cls, hook) is not getattr(Callback, hook)


class MonitorBase(Callback, MonitorInterface):
    """Base class of monitors: callbacks that receive the values that other callbacks log.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> class Names(MonitorBase):
        ...     def process_scalar(self, name: str, val: float) -> None:
        ...         print(self.global_step, name)
        >>> train(Names(), epochs=1)
        3 loss
        3 learning_rate

    Source: tensorpack's `callbacks.MonitorBase`.
    """

    chief_only = False

    def monitor(self) -> "MonitorBase | None":
        """Return this monitor."""
        return self


class HookDispatcher(train.Callback):
    """The first callback of a run with tensorpack's callbacks: it calls their hooks.

    It also logs the numbers of the loop to the monitors: at the end of each epoch "loss" and
    "learning_rate", and the results of `Model.fit`'s evaluation; a metric that is named "loss" is
    logged as "eval_loss".

    Args:
        members: The callbacks of tensorpack's in the run, in their order.

    Attributes:
        trainer: The training.
        times: The seconds that each of them took after the epoch.
    """

    trainer: Trainer  # set by `on_train_begin`

    def __init__(self, members: Sequence[Callback]) -> None:
        self._members = members
        self._with_after_run = [
            member for member in members if overrides_hook(type(member), "_after_run")
        ]
        self._wants_summaries = any(member.wants_summaries for member in members)
        self._active = self._in_epoch = False
        self._last_logged_step = 0
        self.times: dict[Callback, float] = {}

    def dispatch(self, member: Callback, hook: Callable[..., T | None], *args: object) -> T | None:
        """Call a hook of one callback, unless a hook has raised StopTraining before."""
        if not self._active:
            return None
        try:
            return hook(*args)
        except StopTraining as stop:
            logger.info(f"Training was stopped by {type(member).__name__}. {stop}".rstrip())
            self._active = False
            self.trainer.run_context.request_stop()
            return None
        except BaseException as error:
            error.add_note(f"It was raised by {type(member).__name__}.")
            raise

    def on_train_begin(self, run_context: RunContext) -> None:
        """Set up all callbacks, and check that each number that is read is logged before."""
        monitors = [monitor for member in self._members if (monitor := member.monitor())]
        self.trainer = Trainer(run_context, monitors)
        self._last_logged_step = self.trainer.global_step
        run_context.original_args().trainer = self.trainer
        for member in self._members:
            member.setup_graph(self.trainer)
        in_any_order = [member for member in self._members if member.monitor()]
        check_metric_names(run_context.original_args(), in_any_order)
        self._active, self._in_epoch = True, False
        for member in self._members:
            member._dispatcher = self

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Update the counters."""
        self._log_slow_callbacks()
        self._in_epoch = True
        self.trainer.sync_counters()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Update the counters, without the step that begins, and subscribe to summaries."""
        self.trainer.sync_counters()
        self.trainer.global_step -= 1
        if self._wants_summaries:
            self.trainer.summaries.clear()
            summary_subscribers().append(self._on_summary)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Count the step, and call `_after_run` on all callbacks."""
        self._unsubscribe()
        self.trainer.global_step += 1
        if self.trainer.is_last_step:
            self._log_loop_metrics()

        def after_run(member: Callback) -> None:
            results = member.get_tensors_maybe_in_tower(member._fetches)
            member._after_run(run_context, RunValues(tuple(results)))

        for member in self._with_after_run:
            self.dispatch(member, after_run, member)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Call `_after_epoch` on all callbacks, if the steps of an epoch have just ended."""
        if self._in_epoch:
            self._in_epoch = False
            self._log_loop_metrics()
            for member in self._members:
                self.dispatch(member, member._after_epoch)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Call `_after_epoch` if there was no evaluation; log the results if there was one."""
        if run_context.is_epoch_unfinished():
            self._active = False
        self.on_eval_begin(run_context)
        params = run_context.original_args()
        results: Mapping[str, float] = params.get("eval_results", {})
        for name, value in distinct_names(results, LOOP_NAMES).items():
            if self._active and as_float(value) is not None:
                self.trainer.monitors.put_scalar(name, value)

    def on_train_end(self, run_context: RunContext) -> None:
        """Stop dispatching; each callback calls its `_after_train` itself."""
        self._log_slow_callbacks()
        self._unsubscribe()
        self._active = self._in_epoch = False

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Stop dispatching."""
        self.on_train_end(run_context)

    def state_dict(self) -> dict[str, object]:
        """Return the history of the monitors."""
        return self.trainer.monitors.state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the history of the monitors.

        Raises:
            ValueError: The state is invalid.
        """
        self.trainer.monitors.load_state_dict(state)
        self.trainer.sync_counters()
        self._last_logged_step = self.trainer.global_step

    def _log_slow_callbacks(self) -> None:
        """Log the slow callbacks, if all callbacks together took long."""
        total = sum(self.times.values())
        slow = [(member, took) for member, took in self.times.items() if took > max(1, 0.3 * total)]
        if total >= _SLOW_SECONDS and slow:
            listed = ", ".join(f"{type(member).__name__} {took:.1f} s" for member, took in slow)
            logger.info(f"The callbacks took {total:.1f} s after this epoch: {listed}.")
        self.times.clear()

    def _log_loop_metrics(self) -> None:
        if self._active and self._last_logged_step != self.trainer.global_step:
            self._last_logged_step = self.trainer.global_step
            self.trainer.log_loop_metrics()

    def _on_summary(self, kind: str, name: str, array: Array) -> None:
        self.trainer.summaries[kind, name] = array

    def _unsubscribe(self) -> None:
        if self._on_summary in summary_subscribers():
            summary_subscribers().remove(self._on_summary)
