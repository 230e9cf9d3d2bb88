"""How tensorpack's protocol is played on the loop's, which is MindSpore's.

Of two hooks of tensorpack's that one event stands for, a `Conductor` before all callbacks calls the
first one on all of them; the second one each callback is called at its own place in the list:

| event | the conductor, for all | each callback at its place |
|---|---|---|
| on_train_begin | setup_graph | before_train |
| on_train_epoch_begin | | before_epoch |
| on_train_step_begin | | before_run |
| on_train_step_end | after_run | trigger_step |
| on_eval_begin in fit, else on_train_epoch_end | after_epoch | |
| on_train_epoch_end | | trigger_epoch |
| on_train_end, on_exception | | after_train |

So each school sees its own order, and within one event the list's. `StopTraining` is silence for
all of tensorpack's hooks but `after_train`, and a requested stop for MindSpore's callbacks. In an
epoch that a requested stop has interrupted, `after_train` is the only hook that is still called.
"""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Final, TypeVar, cast

from minispore.ops._summary import listeners
from minispore.tensorpack import logger
from minispore.tensorpack.channel import Array, Listener, as_float, check_names
from minispore.tensorpack.protocol import Hooks, RunValues, StopTraining, Trainer
from minispore.train import callback as train
from minispore.train.callback import RunContext

T = TypeVar("T")

# From how many seconds on it is told which callbacks took them.
_LONG: Final = 2.0
_EACH_STEP: Final = {"_before_run": "on_train_step_begin", "_trigger_step": "on_train_step_end"}
_PLAYED: Final = {name for name in vars(train.Callback) if name.startswith("on_train_")} | {
    "on_exception"
}


def _has(cls: type[Hooks], hook: str) -> bool:
    """Whether a class has a hook of its own."""
    return getattr(cls, hook) is not getattr(Hooks, hook)


class Callback(Hooks, train.Callback):
    """Base class of tensorpack's callbacks; they stand in one list with MindSpore's.

    A subclass overrides the hooks with an underscore, and may override MindSpore's `on_eval_…`.

    Source: tensorpack.callbacks.Callback.

    Raises:
        TypeError: when a subclass is defined with one of the hooks through which it is called.

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
    """

    _conductor: "Conductor | None" = None
    _fetches: Sequence[str] = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        own = sorted(_PLAYED.intersection(vars(cls)))
        if own:
            raise TypeError(
                f"Callback '{cls.__name__}' defines '{own[0]}', through which its hooks are called;"
                " override the hook with an underscore, such as '_trigger_epoch'."
            )
        # A hook of each step that a callback has not costs nothing.
        for hook, event in _EACH_STEP.items():
            base = Callback if _has(cls, hook) else train.Callback
            setattr(cls, event, getattr(base, event))

    def companions(self, callbacks: Sequence[train.Callback]) -> Sequence[train.Callback]:
        """Return the conductor of all of tensorpack's callbacks."""
        if any(isinstance(callback, Conductor) for callback in callbacks):
            return ()
        return (Conductor([each for each in callbacks if isinstance(each, Callback)]),)

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before the training."""
        self._play(self._before_train)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before each epoch."""
        self._play(self._before_epoch)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before each step."""
        self._fetches = self._play(self._before_run, run_context) or ()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After each step."""
        self._play(self._trigger_step)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After each epoch."""
        start = perf_counter()
        self._play(self._trigger_epoch)
        if self._conductor is not None:
            self._conductor.times[self] = perf_counter() - start

    def on_train_end(self, run_context: RunContext) -> None:
        """After the training."""
        if self._conductor is not None:
            self._conductor = None
            try:
                self._after_train()
            except Exception as error:  # the others must have theirs
                logger.error(f"{type(self).__name__}._after_train failed: {error!r}", error)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """After a training that failed or was interrupted."""
        self.failed(run_context, error)
        self.on_train_end(run_context)

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Called before `_after_train` of a training that failed."""

    def monitor(self) -> "MonitorBase | None":
        """Return the monitor that this callback is or stands for."""
        return None

    def _play(self, hook: Callable[..., T | None], *args: object) -> T | None:
        return None if self._conductor is None else self._conductor.play(self, hook, *args)


class MonitorBase(Callback, Listener):
    """Base class of monitors: callbacks that get what is put in the channel.

    Source: tensorpack.callbacks.MonitorBase.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> class Names(MonitorBase):
        ...     def process_scalar(self, name: str, val: float) -> None:
        ...         print(self.global_step, name)
        >>> train(Names(), epochs=1)
        3 loss
        3 learning_rate
    """

    chief_only = False

    def monitor(self) -> "MonitorBase | None":
        """Return itself."""
        return self


class Conductor(train.Callback):
    """The first callback of a run with some of tensorpack's: it plays their hooks.

    It also puts the numbers of the loop in the channel: at the end of each epoch "loss" and
    "learning_rate", and the results of `Model.fit`'s evaluation.

    Args:
        members: The run's callbacks of tensorpack's, in their order.

    Attributes:
        times: How many seconds each of them took after the epoch.
    """

    def __init__(self, members: Sequence[Callback]) -> None:
        self._members = members
        self._with_after_run = [member for member in members if _has(type(member), "_after_run")]
        self._hears = any(member.hears for member in members)
        self._trainer: Trainer | None = None
        self._playing = self._in_epoch = False
        self._told = 0  # the last step whose numbers were put in
        self.times: dict[Callback, float] = {}

    def play(self, member: Callback, hook: Callable[..., T | None], *args: object) -> T | None:
        """Call a hook of one callback, unless one has raised StopTraining before."""
        if not self._playing:
            return None
        try:
            return hook(*args)
        except StopTraining as stop:
            logger.info(f"Training was stopped by {type(member).__name__}. {stop}".rstrip())
            self._playing = False
            self.trainer.run_context.request_stop()
            return None
        except BaseException as error:
            error.add_note(f"It was raised by {type(member).__name__}.")
            raise

    @property
    def trainer(self) -> Trainer:
        """The training."""
        assert self._trainer is not None, "the loop has called on_train_begin"
        return self._trainer

    def on_train_begin(self, run_context: RunContext) -> None:
        """Set everything up, and check that what is read is written before."""
        monitors = [monitor for member in self._members if (monitor := member.monitor())]
        self._trainer = Trainer(run_context, monitors)
        self._told = self._trainer.global_step
        run_context.original_args().trainer = self._trainer
        for member in self._members:
            member.setup_graph(self._trainer)
        at_any_time = [member for member in self._members if member.monitor()]
        check_names(run_context.original_args(), at_any_time)
        self._playing, self._in_epoch = True, False
        for member in self._members:
            member._conductor = self

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Note the epoch."""
        self._tell_times()
        self._in_epoch = True
        self.trainer.place()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Note the step, which is not done yet."""
        self.trainer.place()
        self.trainer.global_step -= 1
        if self._hears:
            self.trainer.heard.clear()
            listeners().append(self._hear)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Note that the step is done, and call `_after_run` on all."""
        self._deafen()
        self.trainer.global_step += 1
        if self.trainer.is_last_step:
            self._tell_loop()

        def after_run(member: Callback) -> None:
            results = member.get_tensors_maybe_in_tower(member._fetches)
            member._after_run(run_context, RunValues(tuple(results)))

        for member in self._with_after_run:
            self.play(member, after_run, member)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """The epoch's steps are done: call `_after_epoch` on all."""
        if self._in_epoch:
            self._in_epoch = False
            self._tell_loop()
            for member in self._members:
                self.play(member, member._after_epoch)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Likewise without an evaluation; with one, put its results in."""
        if run_context.is_epoch_unfinished():
            self._playing = False
        self.on_eval_begin(run_context)
        params = run_context.original_args()
        results = cast("Mapping[str, float]", params.get("eval_results", {}))
        for name, value in results.items():
            if self._playing and as_float(value) is not None:
                self.trainer.monitors.put_scalar(name, value)

    def on_train_end(self, run_context: RunContext) -> None:
        """Play no more: `_after_train` is called by each callback itself."""
        self._tell_times()
        self._deafen()
        self._playing = self._in_epoch = False

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Likewise."""
        self.on_train_end(run_context)

    def state_dict(self) -> dict[str, object]:
        """Return the numbers that the channel remembers."""
        return self.trainer.monitors.state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Remember them.

        Raises:
            ValueError: It is no such state.
        """
        self.trainer.monitors.load_state_dict(state)
        self.trainer.place()
        self._told = self.trainer.global_step

    def _tell_times(self) -> None:
        """Name the slow ones, where all of them together took long."""
        total = sum(self.times.values())
        slow = [(member, took) for member, took in self.times.items() if took > max(1, 0.3 * total)]
        if total >= _LONG and slow:
            named = ", ".join(f"{type(member).__name__} {took:.1f} s" for member, took in slow)
            logger.info(f"The callbacks took {total:.1f} s after this epoch: {named}.")
        self.times.clear()

    def _tell_loop(self) -> None:
        if self._playing and self._told != self.trainer.global_step:
            self._told = self.trainer.global_step
            self.trainer.put_loop()

    def _hear(self, kind: str, name: str, array: Array) -> None:
        self.trainer.heard[kind, name] = array

    def _deafen(self) -> None:
        if self._hear in listeners():
            listeners().remove(self._hear)
