"""When, apart from what: callbacks that call another one, of either school, now and then."""

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from minispore._checks import check_int, check_number, described
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import Hooks
from minispore.tensorpack.proxy import ProxyCallback
from minispore.tensorpack.states import Kept, Seconds
from minispore.train import callback as train

Predicate: TypeAlias = Callable[[Callback], bool]


def _triggered(callback: train.Callback) -> Callback | None:
    """The callback, if it or the one that it stands for has its own `_trigger`."""
    inner = callback
    while isinstance(inner, ProxyCallback):
        inner = inner.cb
    has_it = isinstance(inner, Callback) and type(inner)._trigger is not Hooks._trigger
    return callback if has_it and isinstance(callback, Callback) else None


@checked
@dataclass(frozen=True)
class Every:
    """A time that comes again: every so many steps, epochs or seconds, whichever comes first.

    Called with a callback of either school it returns that callback, called at these times only:
    the trigger of one of tensorpack's that has a `_trigger`; of any other the hooks of the steps
    that are due, and those of an epoch where `epochs` are given and not due are left out.

    Args:
        steps: Steps from one time to the next; so the steps of these numbers, counted from 1.
        epochs: Likewise for epochs.
        seconds: Seconds from one time to the next, looked at after each step. The break before a
            resumed run does not count: the seconds that have passed are in the training state.

    Raises:
        TypeError: A number is of the wrong type.
        ValueError: None is given, or one is not positive.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
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
        for name in ("steps", "epochs"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, "Every", low=1)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", "Every", low=0)
        if (self.steps or self.epochs or self.seconds) is None or self.seconds == 0:
            raise ValueError(
                "For 'Every', 'steps', 'epochs' or positive 'seconds' must be given, but got "
                f"seconds={self.seconds}."
            )

    def __call__(self, callback: train.Callback) -> ProxyCallback:
        """Return `callback` at these times."""
        triggerable = _triggered(callback)
        if triggerable is not None:
            return PeriodicTrigger(triggerable, every=self)
        return EnableCallbackIf(callback, self)

    def epoch_is_due(self, epoch: int) -> bool:
        """Return whether an epoch is one of these times."""
        return self.epochs is not None and epoch % self.epochs == 0

    def step_is_due(self, step: int, elapsed: float = 0.0) -> bool:
        """Return whether a step is one of these times, so many seconds after the last."""
        if self.steps is not None and step % self.steps == 0:
            return True
        return self.seconds is not None and elapsed >= self.seconds


def _every(owner: str, steps: int | None, epochs: int | None) -> Every:
    for name, number in (("every_k_steps", steps), ("every_k_epochs", epochs)):
        if number is not None:
            check_int(number, name, owner, low=1)
    if steps is None and epochs is None:
        raise ValueError(
            f"For '{owner}', 'every_k_steps' or 'every_k_epochs' must be given, but got neither."
        )
    return Every(steps, epochs)


class _Timed(ProxyCallback):
    """Base class of what calls another one every so often."""

    _elapsed = Seconds()
    _counts_seconds = False

    def state_dict(self) -> dict[str, object]:
        """Return the other's state, and its own: without a time where seconds do not count."""
        state = super().state_dict()
        return state if self._counts_seconds else state | {"elapsed": 0.0}


@checked
class PeriodicTrigger(_Timed):
    """Trigger a callback every so often, instead of at the end of each epoch.

    All its other hooks are called as ever, but for `_trigger_epoch`.

    Source: tensorpack.callbacks.PeriodicTrigger.

    Args:
        triggerable: The callback.
        every_k_steps: Steps from one time to the next.
        every_k_epochs: Epochs likewise.
        before_train: Whether to trigger it before the training as well.
        every: Other times, which may be seconds.

    Raises:
        TypeError: `triggerable` has no `_trigger` of its own, so that this would do nothing.
        ValueError: No time is given.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> steps = CallbackFactory(trigger=lambda cb: print(cb.global_step))
        >>> train(PeriodicTrigger(steps, every_k_steps=4, every_k_epochs=1))
        3
        4
        6
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
        if _triggered(triggerable) is None:
            raise TypeError(
                "For 'PeriodicTrigger', 'triggerable' must have a '_trigger' of its own, which is "
                f"all that would be called, but got {described(triggerable)}: use EnableCallbackIf."
            )
        if before_train and every_k_steps is None and every_k_epochs is None:
            every_k_epochs = sys.maxsize  # never again
        self._every = every or _every("PeriodicTrigger", every_k_steps, every_k_epochs)
        self._counts_seconds = self._every.seconds is not None
        self._at_first = before_train

    def _before_train(self) -> None:
        super()._before_train()
        if self._at_first:
            self.trigger()

    def _trigger_step(self) -> None:
        super()._trigger_step()
        if self._every.step_is_due(self.global_step, self._elapsed):
            self._elapsed = 0.0
            self.trigger()

    def _trigger_epoch(self) -> None:
        if self._every.epoch_is_due(self.epoch_num):
            self.trigger()


@checked
class EnableCallbackIf(_Timed):
    """Call a callback's hooks of steps and epochs only while something is so.

    It is asked in `_before_epoch`, `_after_epoch`, `_trigger_epoch` and `_before_run`, and for
    `_after_run` and `_trigger_step` the answer of `_before_run` counts. `_setup_graph`,
    `_before_train` and `_after_train` are always called.

    Source: tensorpack.callbacks.EnableCallbackIf.

    Args:
        callback: The callback, of either school.
        pred: Gets this callback; or the times at which it is so.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> from minispore.train import LossMonitor
        >>> train(EnableCallbackIf(LossMonitor(), lambda cb: cb.global_step == 3))
        epoch: 2 step: 1, loss is ...
    """

    _enabled = Kept(bool, True)

    def __init__(self, callback: train.Callback, pred: Predicate | Every) -> None:
        super().__init__(callback)
        self._pred = pred
        self._counts_seconds = isinstance(pred, Every) and pred.seconds is not None

    def _pass(self, hook: str, *args: object) -> object:
        if hook in {"before_epoch", "before_run", "after_epoch", "trigger_epoch"}:
            self._enabled = self._ask(hook)
        elif hook not in {"after_run", "trigger_step"}:
            self._enabled = True
        return super()._pass(hook, *args) if self._enabled else None

    def _evaluates(self) -> bool:
        return self._enabled

    def _ask(self, hook: str) -> bool:
        every = self._pred
        if not isinstance(every, Every):
            return every(self)
        if hook == "before_run" and (every.steps or every.seconds):
            if every.step_is_due(self.global_step + 1, self._elapsed):
                self._elapsed = 0.0
                return True
        elif every.epochs is None:
            return True
        return every.epoch_is_due(self.epoch_num)


@checked
class PeriodicCallback(EnableCallbackIf):
    """Call a callback's hooks only every so often, which makes it rarer, never more frequent.

    With `every_k_epochs` they are called in the very last step, too.

    Source: tensorpack.callbacks.PeriodicCallback.

    Args:
        callback: The callback, of either school.
        every_k_steps: Where `global_step` is a multiple of it; before a step it is yet to be
            raised.
        every_k_epochs: In the epochs that are a multiple of it.

    Raises:
        ValueError: Neither is given, or one is not positive.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> epochs = CallbackFactory(trigger=lambda cb: print(cb.epoch_num))
        >>> train(PeriodicCallback(epochs, every_k_epochs=2))
        2
    """

    def __init__(
        self,
        callback: train.Callback,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
    ) -> None:
        every = _every("PeriodicCallback", every_k_steps, every_k_epochs)

        def is_time(cb: Callback) -> bool:
            due = every.step_is_due(cb.global_step) or every.epoch_is_due(cb.epoch_num)
            last = cb.trainer.is_last_step and cb.epoch_num == cb.trainer.max_epoch
            return due or (every.epochs is not None and last)

        super().__init__(callback, is_time)


@checked
class CallbackFactory(Callback):
    """A callback from functions, each of which gets the callback.

    Source: tensorpack.callbacks.CallbackFactory.

    Args:
        setup_graph: Called like the hook of that name.
        before_train: Likewise.
        trigger: Likewise.
        after_train: Likewise.
        produces: The names of the numbers that they put in the channel.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(CallbackFactory(trigger=lambda cb: print("epoch", cb.epoch_num)))
        epoch 1
        epoch 2
    """

    def __init__(
        self,
        setup_graph: Callable[[Callback], object] | None = None,
        before_train: Callable[[Callback], object] | None = None,
        trigger: Callable[[Callback], object] | None = None,
        after_train: Callable[[Callback], object] | None = None,
        produces: Sequence[str] = (),
    ) -> None:
        functions = (setup_graph, before_train, trigger, after_train)
        self._functions = [each or _nothing for each in functions]
        self._produces = tuple(produces)

    def produces(self) -> Collection[str]:
        """Return what it was told."""
        return self._produces

    def _setup_graph(self) -> None:
        self._functions[0](self)

    def _before_train(self) -> None:
        self._functions[1](self)

    def _trigger(self) -> None:
        self._functions[2](self)

    def _after_train(self) -> None:
        self._functions[3](self)


def _nothing(callback: Callback) -> None:
    del callback
