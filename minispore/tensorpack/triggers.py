"""Callbacks that call another callback, of either API: always, or at some times only."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeGuard, cast

from minispore.tensorpack.adapter import Callback, MonitorBase, overrides_hook
from minispore.tensorpack.protocol import RunValues, declared_names
from minispore.train import callback as train
from minispore.train.callback import RunContext
from minispore.train.protocol import CallbackManager, SaveReason, StateSaver, SupportsState
from minispore.train.resume import StateField, StatefulMixin, TrainingState
from minispore.utils.checks import caller, check_arguments, check_int, check_number, describe_value

# The hooks that correspond to one of MindSpore's events.
_EVENTS: Final = {
    "before_train": "on_train_begin",
    "before_epoch": "on_train_epoch_begin",
    "before_run": "on_train_step_begin",
    "trigger_step": "on_train_step_end",
    "trigger_epoch": "on_train_epoch_end",
    "after_train": "on_train_end",
}


class _InnerRunContext(RunContext):
    """The run context of a wrapped callback: requests to save go to the outermost proxy."""

    __slots__ = ("_outermost",)

    def __init__(self, run_context: RunContext, outermost: StateSaver) -> None:
        self.__dict__ = vars(run_context)
        self._outermost = outermost

    def add_state_saver(self, saver: StateSaver) -> None:
        super().add_state_saver(self._outermost)

    def request_save(self, saver: StateSaver) -> None:
        super().request_save(self._outermost)


@check_arguments
class ProxyCallback(StatefulMixin, Callback):
    """A callback that forwards every hook to another callback.

    Args:
        cb: The other callback, of tensorpack's or of MindSpore's API.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack.example_training import train
        >>> class Loudly(ProxyCallback):
        ...     def _trigger_epoch(self) -> None:
        ...         print("trigger")
        ...         super()._trigger_epoch()
        >>> train(Loudly(CallbackFactory(trigger=lambda cb: print(cb.epoch_num))))
        trigger
        1
        trigger
        2

    Source: tensorpack's `callbacks.ProxyCallback`.
    """

    def __init__(self, cb: train.Callback) -> None:
        self.cb: train.Callback = cb
        self.chief_only: bool = getattr(cb, "chief_only", True)
        self.wants_summaries: bool = getattr(cb, "wants_summaries", False)
        self._events = None if isinstance(cb, Callback) else CallbackManager([cb])
        self._outermost = self  # of nested proxies, the one in the run's list
        self._failed = False

    def _forward(self, hook: str, *args: object) -> object:
        """Call a hook of the wrapped callback."""
        if self._events is None:
            return getattr(self.cb, f"_{hook}")(*args)
        if hook in _EVENTS and not self._failed:
            context = _InnerRunContext(self.trainer.run_context, self._outermost)
            getattr(self._events, _EVENTS[hook])(context)
        return None

    def _setup_graph(self) -> None:
        self._failed = False
        if isinstance(self.cb, ProxyCallback):
            self.cb._outermost = self._outermost
        if isinstance(self.cb, Callback):
            self.cb.setup_graph(self.trainer)

    def _before_train(self) -> None:
        self._forward("before_train")

    def _before_epoch(self) -> None:
        self._forward("before_epoch")

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        return cast("Sequence[str] | None", self._forward("before_run", run_context))

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._forward("after_run", run_context, run_values)

    def _trigger_step(self) -> None:
        self._forward("trigger_step")

    def _after_epoch(self) -> None:
        self._forward("after_epoch")

    def _trigger_epoch(self) -> None:
        self._forward("trigger_epoch")

    def _trigger(self) -> None:
        self._forward("trigger")

    def _after_train(self) -> None:
        self._forward("after_train")

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Forward an exception."""
        if isinstance(self.cb, Callback):
            self.cb.failed(run_context, error)
        else:
            self._failed = True
            self.cb.on_exception(run_context, error)

    def _forwards_evaluation(self) -> bool:
        """Return whether the events of an evaluation are forwarded."""
        return True

    def __enter__(self) -> Self:
        self.cb.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self.cb.__exit__(exc_type, exc_value, traceback)

    def monitor(self) -> MonitorBase | None:
        """Return the wrapped monitor, or None."""
        return self.cb.monitor() if isinstance(self.cb, Callback) else None

    def produces(self) -> Collection[str]:
        """Return the names that the wrapped callback logs."""
        return declared_names(self.cb, "produces")

    def consumes(self) -> Collection[str]:
        """Return the names that the wrapped callback reads."""
        return declared_names(self.cb, "consumes")

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        """Forward to the wrapped callback, which has requested the save."""
        cast("StateSaver", self.cb).save_training_state(run_context, state, reason)

    def state_dict(self) -> dict[str, object]:
        """Return the state of the wrapped callback and of this one."""
        inner = dict(self.cb.state_dict()) if isinstance(self.cb, SupportsState) else None
        return {"callback": inner} | super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the state of the wrapped callback and of this one.

        Raises:
            ValueError: The state is invalid.
        """
        self.validate_state(state)
        inner = state.get("callback")
        if isinstance(self.cb, SupportsState) != isinstance(inner, Mapping):
            name = type(self.cb).__name__
            raise ValueError(
                f"For '{type(self).__name__}', the state of {name} must exist if and only if it "
                "has the methods state_dict and load_state_dict."
            )
        if isinstance(self.cb, SupportsState):
            self.cb.load_state_dict(cast("Mapping[str, object]", inner))
        super().load_state_dict(state)


def _forwarding(event: str) -> Callable[[ProxyCallback, RunContext], None]:
    def hook(self: ProxyCallback, run_context: RunContext) -> None:
        """Call the event's hook of the wrapped callback."""
        if self._forwards_evaluation():
            getattr(self.cb, event)(run_context)

    return hook


for _event in [name for name in vars(train.Callback) if name.startswith("on_eval_")]:
    setattr(ProxyCallback, _event, _forwarding(_event))


Predicate: TypeAlias = Callable[[Callback], bool]


def _is_triggerable(callback: train.Callback) -> TypeGuard[Callback]:
    """Return whether the callback, or the callback that it wraps, overrides `_trigger`."""
    inner = callback
    while isinstance(inner, ProxyCallback):
        inner = inner.cb
    return isinstance(inner, Callback) and overrides_hook(type(inner), "_trigger")


@check_arguments
@dataclass(frozen=True)
class Every:
    """A period of steps, epochs or seconds; with several of them, whichever comes first.

    Called with a callback of either API, it returns a callback that is called at these times only.
    One of tensorpack's that overrides `_trigger` is triggered then. Of any other callback, the
    hooks of the due steps are called, and of the due epochs if `epochs` is given.

    Args:
        steps: A number of steps; due are the steps whose number, counted from 1, is a multiple.
        epochs: A number of epochs.
        seconds: A number of seconds, checked after each step. The time between an interruption and
            the resumed run does not count: the elapsed seconds are in the training state.

    Raises:
        TypeError: A number is of the wrong type.
        ValueError: No number is given, or one is not positive.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(Every(epochs=2)(CallbackFactory(trigger=lambda cb: print(cb.epoch_num))))
        2
        >>> from minispore.train import LossMonitor
        >>> train(Every(steps=4)(LossMonitor()))
        epoch: 2 step: 1, loss is ...
    """

    steps: int | None = None
    epochs: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        _check_positive(steps=self.steps, epochs=self.epochs)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", low=0)
        if (self.steps or self.epochs or self.seconds) is None or self.seconds == 0:
            raise ValueError(
                "For 'Every', 'steps', 'epochs' or positive 'seconds' must be given, but got "
                f"seconds={self.seconds}."
            )

    def __call__(self, callback: train.Callback) -> ProxyCallback:
        """Return a callback that calls `callback` at these times."""
        if _is_triggerable(callback):
            return PeriodicTrigger(callback, every=self)
        return EnableCallbackIf(callback, self)

    def epoch_is_due(self, epoch: int) -> bool:
        """Return whether an epoch is due."""
        return self.epochs is not None and epoch % self.epochs == 0

    def step_is_due(self, step: int, elapsed: float = 0.0) -> bool:
        """Return whether a step is due, `elapsed` seconds after the last time."""
        if self.steps is not None and step % self.steps == 0:
            return True
        return self.seconds is not None and elapsed >= self.seconds


def _check_positive(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None:
            check_int(number, name, low=1)


def _make_every(steps: int | None, epochs: int | None) -> Every:
    """Return a period from tensorpack's arguments."""
    _check_positive(every_k_steps=steps, every_k_epochs=epochs)
    if steps is None and epochs is None:
        raise ValueError(
            f"For '{caller()}', 'every_k_steps' or 'every_k_epochs' must be given, but got neither."
        )
    return Every(steps, epochs)


class ElapsedSeconds(StateField[float]):
    """A state field that counts: the seconds since the run began, or since it was set to 0.0."""

    def __init__(self) -> None:
        super().__init__(float)

    def __get__(self, instance: object, owner: type | None = None) -> float:
        return perf_counter() - super().__get__(instance)

    def __set__(self, instance: object, value: float) -> None:
        super().__set__(instance, perf_counter() - value)


class _PeriodicProxy(ProxyCallback):
    """Base class of the proxies that call another callback periodically."""

    _elapsed = ElapsedSeconds()
    _counts_seconds = False

    def state_dict(self) -> dict[str, object]:
        """Return the state; the elapsed time is 0.0 if seconds do not matter."""
        state = super().state_dict()
        return state if self._counts_seconds else state | {"elapsed": 0.0}


@check_arguments
class PeriodicTrigger(_PeriodicProxy):
    """Trigger a callback periodically, instead of at the end of each epoch.

    All its other hooks are called as usual, except `_trigger_epoch`.

    Args:
        triggerable: The callback.
        every_k_steps: Trigger it every k steps.
        every_k_epochs: Trigger it every k epochs.
        before_train: Whether to trigger it before training as well.
        every: Another period, which may contain seconds.

    Raises:
        TypeError: `triggerable` does not override `_trigger`, so that this would have no effect.
        ValueError: No period is given.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> steps = CallbackFactory(trigger=lambda cb: print(cb.global_step))
        >>> train(PeriodicTrigger(steps, every_k_steps=4, every_k_epochs=1))
        3
        4
        6

    Source: tensorpack's `callbacks.PeriodicTrigger`.
    """

    def __init__(
        self,
        triggerable: Callback,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
        before_train: bool = False,
        every: Every | None = None,
    ) -> None:
        super().__init__(triggerable)
        if not _is_triggerable(triggerable):
            raise TypeError(
                "For 'PeriodicTrigger', 'triggerable' must override '_trigger', the only hook that "
                f"is called, but got {describe_value(triggerable)}: use EnableCallbackIf."
            )
        if before_train and every_k_steps is None and every_k_epochs is None:
            every_k_epochs = sys.maxsize  # only before training
        self._every = every or _make_every(every_k_steps, every_k_epochs)
        self._counts_seconds = self._every.seconds is not None
        self._triggers_before_train = before_train

    def _before_train(self) -> None:
        super()._before_train()
        if self._triggers_before_train:
            self.trigger()

    def _trigger_step(self) -> None:
        super()._trigger_step()
        if self._every.step_is_due(self.global_step, self._elapsed):
            self._elapsed = 0.0
            self.trigger()

    def _trigger_epoch(self) -> None:
        if self._every.epoch_is_due(self.epoch_num):
            self.trigger()


@check_arguments
class EnableCallbackIf(_PeriodicProxy):
    """Call a callback's hooks of steps and epochs only while a predicate is true.

    The predicate is evaluated before each of these hooks, except `_after_run`, which uses the
    result of `_before_run`. In `_before_run`, `global_step` does not count the step yet, in
    `_trigger_step` it does. `_setup_graph`, `_before_train` and `_after_train` are always called.

    Args:
        callback: The callback, of either API.
        pred: The predicate, a function of this callback; or a period, in whose due steps all hooks
            of the step are called.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> from minispore.train import LossMonitor
        >>> train(EnableCallbackIf(LossMonitor(), lambda cb: cb.global_step == 4))
        epoch: 2 step: 1, loss is ...

    Source: tensorpack's `callbacks.EnableCallbackIf`.
    """

    _enabled = StateField(bool, True)

    def __init__(self, callback: train.Callback, pred: Predicate | Every) -> None:
        super().__init__(callback)
        self._pred = pred
        self._counts_seconds = isinstance(pred, Every) and pred.seconds is not None

    def _forward(self, hook: str, *args: object) -> object:
        if hook in {"before_epoch", "before_run", "trigger_step", "after_epoch", "trigger_epoch"}:
            self._enabled = self._evaluate_predicate(hook)
        elif hook != "after_run":
            self._enabled = True
        return super()._forward(hook, *args) if self._enabled else None

    def _forwards_evaluation(self) -> bool:
        return self._enabled

    def _evaluate_predicate(self, hook: str) -> bool:
        every = self._pred
        if not isinstance(every, Every):
            return every(self)
        if hook == "trigger_step":
            return self._enabled
        if hook == "before_run" and (every.steps or every.seconds):
            if every.step_is_due(self.global_step + 1, self._elapsed):
                self._elapsed = 0.0
                return True
        elif every.epochs is None:
            return True
        return every.epoch_is_due(self.epoch_num)


@check_arguments
class PeriodicCallback(EnableCallbackIf):
    """Call a callback's hooks only every k steps or epochs.

    With `every_k_epochs` they are called in the last step of the training, too.

    Args:
        callback: The callback, of either API.
        every_k_steps: Call the hooks while `global_step` is a multiple of it: `_trigger_step` after
            the steps k, 2k and so on, but `_before_run`, where `global_step` does not count the
            step yet, and `_after_run` in the steps after these.
        every_k_epochs: Call the hooks in epochs that are a multiple of it.

    Raises:
        ValueError: Neither is given, or one is not positive.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> epochs = CallbackFactory(trigger=lambda cb: print(cb.epoch_num))
        >>> train(PeriodicCallback(epochs, every_k_epochs=2))
        2

    Source: tensorpack's `callbacks.PeriodicCallback`.
    """

    def __init__(
        self,
        callback: train.Callback,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
    ) -> None:
        every = _make_every(every_k_steps, every_k_epochs)

        def is_due(cb: Callback) -> bool:
            due = every.step_is_due(cb.global_step) or every.epoch_is_due(cb.epoch_num)
            last = cb.trainer.is_last_step and cb.epoch_num == cb.trainer.max_epoch
            return due or (every.epochs is not None and last)

        super().__init__(callback, is_due)


@check_arguments
class CallbackFactory(Callback):
    """A callback made from functions, each of which receives the callback.

    Args:
        setup_graph: Called by `_setup_graph`.
        before_train: Called by `_before_train`.
        trigger: Called by `_trigger`.
        after_train: Called by `_after_train`.
        produces: The names of the numbers that the functions log to the monitors.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(CallbackFactory(trigger=lambda cb: print("epoch", cb.epoch_num)))
        epoch 1
        epoch 2

    Source: tensorpack's `callbacks.CallbackFactory`.
    """

    def __init__(
        self,
        setup_graph: Callable[[Callback], object] | None = None,
        before_train: Callable[[Callback], object] | None = None,
        trigger: Callable[[Callback], object] | None = None,
        after_train: Callable[[Callback], object] | None = None,
        produces: Sequence[str] = (),
    ) -> None:
        self._functions: list[Callable[[Callback], object] | None]
        self._functions = [setup_graph, before_train, trigger, after_train]
        self._produces = tuple(produces)

    def produces(self) -> Collection[str]:
        """Return the argument `produces`."""
        return self._produces

    def _call(self, index: int) -> None:
        function = self._functions[index]
        if function is not None:
            function(self)

    def _setup_graph(self) -> None:
        self._call(0)

    def _before_train(self) -> None:
        self._call(1)

    def _trigger(self) -> None:
        self._call(2)

    def _after_train(self) -> None:
        self._call(3)
