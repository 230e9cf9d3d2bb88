"""When, apart from what: callbacks that call another one now and then."""

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TypeAlias

from minispore._checks import check_int, check_number
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.proxy import ProxyCallback, has_trigger
from minispore.tensorpack.trainer import RunValues
from minispore.train import callback as train
from minispore.train.callback import RunContext
from minispore.train.callback._states import entry

Predicate: TypeAlias = Callable[[Callback], bool]


class Every:
    """A time that comes again: every so many steps, epochs or seconds, whichever comes first.

    Called with a callback of either school it returns that callback, called at these times only:
    the trigger of one of tensorpack's that has a `_trigger`; of any other the hooks of the steps
    that are due, and those of an epoch where `epochs` are given and not due are left out.

    Args:
        steps: Steps from one time to the next; so the steps of these numbers, counted from 1.
        epochs: Likewise for epochs.
        seconds: Seconds from one time to the next, looked at after each step.

    Raises:
        TypeError: A number is of the wrong type.
        ValueError: None is given, or one is not positive.

    Examples:
        >>> every = Every(steps=10)
        >>> [step for step in range(1, 40) if every.step_is_due(step)]
        [10, 20, 30]
    """

    def __init__(
        self, steps: int | None = None, epochs: int | None = None, seconds: float | None = None
    ) -> None:
        if (steps is None and epochs is None and seconds is None) or seconds == 0:
            raise ValueError("For 'Every', there must be 'steps', 'epochs' or positive 'seconds'.")
        self.steps: int | None = (
            None if steps is None else check_int(steps, "steps", "Every", low=1)
        )
        self.epochs: int | None = (
            None if epochs is None else check_int(epochs, "epochs", "Every", low=1)
        )
        self.seconds: float | None = (
            None if seconds is None else check_number(seconds, "seconds", "Every", low=0)
        )
        self._since = monotonic()

    def __call__(self, callback: train.Callback) -> "ProxyCallback":
        """Return `callback` at these times."""
        if isinstance(callback, Callback) and has_trigger(callback):
            return PeriodicTrigger(callback, every=self)
        return EnableCallbackIf(callback, self)

    def start(self) -> None:
        """Count the seconds from now on."""
        self._since = monotonic()

    def step_is_due(self, step: int) -> bool:
        """Return whether a step is one of these times by its number, or by the clock."""
        due = self.steps is not None and step % self.steps == 0
        due |= self.seconds is not None and monotonic() - self._since >= self.seconds
        if due:
            self.start()
        return due

    def epoch_is_due(self, epoch: int) -> bool:
        """Return whether an epoch is one of these times."""
        return self.epochs is not None and epoch % self.epochs == 0

    @property
    def elapsed(self) -> float:
        """The seconds since the last time; 0 where they do not count."""
        return 0.0 if self.seconds is None else monotonic() - self._since

    @elapsed.setter
    def elapsed(self, seconds: float) -> None:
        self._since = monotonic() - seconds


class PeriodicTrigger(ProxyCallback):
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
        if not has_trigger(self.cb):
            raise TypeError(
                f"For 'PeriodicTrigger', {type(self._inner()).__name__} has no '_trigger' of its "
                "own, which is all that would be called: use EnableCallbackIf."
            )
        if every is None and before_train and every_k_steps is None and every_k_epochs is None:
            every = Every(epochs=sys.maxsize)  # never again
        self._every = Every(every_k_steps, every_k_epochs) if every is None else copy.copy(every)
        self._at_first = before_train

    def _before_train(self) -> None:
        super()._before_train()
        self._every.start()
        if self._at_first:
            self.cb.trigger()

    def _trigger_step(self) -> None:
        self.cb.trigger_step()
        if self._every.step_is_due(self.global_step):
            self.cb.trigger()

    def _trigger_epoch(self) -> None:
        if self._every.epoch_is_due(self.epoch_num):
            self.cb.trigger()

    def state_dict(self) -> dict[str, object]:
        """Return the other's state, and how long ago its last time was."""
        return super().state_dict() | {"elapsed": self._every.elapsed}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from there.

        Raises:
            ValueError: It is no such state.
        """
        elapsed = entry(state, "elapsed", float, type(self).__name__)
        super().load_state_dict(state)
        self._every.elapsed = elapsed


class EnableCallbackIf(ProxyCallback):
    """Call a callback's hooks of steps and epochs only while something is so.

    It is asked in `_before_epoch`, `_after_epoch`, `_trigger_epoch` and `_before_run`, and for
    `_after_run` and `_trigger_step` the answer of `_before_run` counts. `_setup_graph`,
    `_before_train` and `_after_train` are always called.

    Source: tensorpack.callbacks.EnableCallbackIf.

    Args:
        callback: The callback, of either school.
        pred: Gets this callback; or the times at which it is so.
    """

    def __init__(self, callback: train.Callback, pred: Predicate | Every) -> None:
        super().__init__(callback)
        self._pred = copy.copy(pred) if isinstance(pred, Every) else pred
        self._enabled = False
        self._in_epoch = True  # as far as evaluations are concerned

    def _ask(self, *, step: bool = False) -> bool:
        pred = self._pred
        if not isinstance(pred, Every):
            return pred(self)
        if step and (pred.steps or pred.seconds is not None):
            if pred.step_is_due(self.global_step + 1):
                return True
        elif pred.epochs is None:
            return True
        return pred.epoch_is_due(self.epoch_num)

    def _evaluation(self) -> bool:
        return self._in_epoch

    def _before_train(self) -> None:
        if isinstance(self._pred, Every):
            self._pred.start()
        self.cb.before_train()

    def _before_epoch(self) -> None:
        self._in_epoch = self._ask()
        if self._in_epoch:
            self.cb.before_epoch()

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        self._enabled = self._ask(step=True)
        return self.cb.before_run(run_context) if self._enabled else None

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        if self._enabled:
            self.cb.after_run(run_context, run_values)

    def _trigger_step(self) -> None:
        if self._enabled:
            self.cb.trigger_step()

    def _after_epoch(self) -> None:
        if self._ask():
            self.cb.after_epoch()

    def _trigger_epoch(self) -> None:
        if self._ask():
            self.cb.trigger_epoch()

    def _after_train(self) -> None:
        self._in_epoch = True
        self.cb.after_train()

    def state_dict(self) -> dict[str, object]:
        """Return the other's state, and how long ago its last time was."""
        elapsed = self._pred.elapsed if isinstance(self._pred, Every) else 0.0
        return super().state_dict() | {"elapsed": elapsed, "enabled": self._enabled}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on from there.

        Raises:
            ValueError: It is no such state.
        """
        elapsed = entry(state, "elapsed", float, type(self).__name__)
        enabled = entry(state, "enabled", bool, type(self).__name__)
        super().load_state_dict(state)
        self._enabled = enabled
        if isinstance(self._pred, Every):
            self._pred.elapsed = elapsed


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
    """

    def __init__(
        self,
        callback: train.Callback,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
    ) -> None:
        every = Every(every_k_steps, every_k_epochs)

        def is_time(cb: Callback) -> bool:
            trainer = cb.trainer
            last = trainer.is_last_step and cb.epoch_num == trainer.max_epoch
            return (
                every.step_is_due(cb.global_step)
                or every.epoch_is_due(cb.epoch_num)
                or (every_k_epochs is not None and last)
            )

        super().__init__(callback, is_time)
