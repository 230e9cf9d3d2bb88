"""`Callback`, whose hooks the training loop calls at its events; and their manager."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from minispore.train.protocol.run_context import RunContext
from minispore.utils.checks import describe_value

EVENTS = {
    "on_train_begin": "begin",
    "on_train_epoch_begin": "epoch_begin",
    "on_train_step_begin": "step_begin",
    "on_train_step_end": "step_end",
    "on_train_epoch_end": "epoch_end",
    "on_train_end": "end",
    "on_eval_begin": "begin",
    "on_eval_epoch_begin": "epoch_begin",
    "on_eval_step_begin": "step_begin",
    "on_eval_step_end": "step_end",
    "on_eval_epoch_end": "epoch_end",
    "on_eval_end": "end",
}
"""The events, each with the hook of MindSpore 1.x, which is called in training and evaluation."""

# Words in the hook names of other frameworks, to suggest the event that was meant.
_HOOK_SYNONYMS = {
    "start": "begin",
    "finish": "end",
    "batch": "step",
    "fit": "train",
    "validation": "eval",
    "test": "eval",
}


class Callback:
    """Base class of callbacks, whose hooks the training loop calls at its events.

    A subclass overrides the hooks that it needs; the others are not called. Each hook receives the
    `RunContext`, whose `original_args()` holds the parameters of the run. The events of a training
    are::

        on_train_begin
          on_train_epoch_begin
            on_train_step_begin, on_train_step_end      for each batch
            [in fit: on_eval_begin … on_eval_end]
          on_train_epoch_end
        on_train_end

    and those of an evaluation::

        on_eval_begin
          on_eval_epoch_begin
            on_eval_step_begin, on_eval_step_end        for each batch
          on_eval_epoch_end
        on_eval_end

    An `*_end` hook is called after success or a requested stop. If anything in the run raises an
    exception, `on_exception` is called instead of further hooks, and the exception propagates.

    A callback is also a context manager: it is entered before the first event of a run, and exited
    after the last one in any case, in reverse order. An `__exit__` that returns True suppresses the
    exception.

    The hooks of MindSpore 1.x (`begin`, `epoch_begin`, `step_begin`, `step_end`, `epoch_end`,
    `end`) are called by `train` and `eval` if the present ones are not overridden. `Model.fit`
    rejects them, since they do not distinguish training from evaluation. A custom loop may call
    either on any callback: `begin` calls an overridden `on_train_begin`, and so on.

    Attributes:
        chief_only: Whether, of several processes, only rank 0 calls it.

    Raises:
        TypeError: A subclass defines a method `on_…` that is not an event.

    Examples:
        >>> class Steps(Callback):
        ...     def on_train_step_end(self, run_context: RunContext) -> None:
        ...         print("step", run_context.original_args().cur_step_num)
        >>> Steps().on_train_step_end(RunContext({"cur_step_num": 7}))
        step 7
        >>> class Typo(Callback):
        ...     def on_trian_begin(self, run_context: RunContext) -> None: ...
        Traceback (most recent call last):
        TypeError: Callback 'Typo' defines 'on_trian_begin', ... did you mean 'on_train_begin'?

    Source: MindSpore's `mindspore.train.Callback`.
    """

    _name_in_errors: ClassVar[str] = "{kind}"

    chief_only: bool = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if name.startswith("on_") and callable(value) and not hasattr(Callback, name):
                raise TypeError(
                    f"Callback '{cls.__name__}' defines '{name}', which is not an event; "
                    f"did you mean '{_suggest_event(name)}'?"
                )

    def configure_callbacks(self, callbacks: Sequence["Callback"]) -> Sequence["Callback"]:
        """Return callbacks that this one needs in a run of `callbacks`; they are put first."""
        return ()

    def __enter__(self) -> Self:
        """Called once in a run, before its first event."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None:
        """Called once in a run, after its last event, with the exception if one was raised."""
        return None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Called once before training."""
        _call_legacy_hook(self, "on_train_begin", run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Called before each epoch of training."""
        _call_legacy_hook(self, "on_train_epoch_begin", run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of training, with its batch in `train_dataset_element`."""
        _call_legacy_hook(self, "on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Called after each step of training, with the loss in `net_outputs`."""
        _call_legacy_hook(self, "on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Called after each epoch of training; in `fit` after its evaluation."""
        _call_legacy_hook(self, "on_train_epoch_end", run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Called once after training."""
        _call_legacy_hook(self, "on_train_end", run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Called once before an evaluation."""
        _call_legacy_hook(self, "on_eval_begin", run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Called before the first step of an evaluation."""
        _call_legacy_hook(self, "on_eval_epoch_begin", run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of an evaluation, with its batch in `eval_dataset_element`."""
        _call_legacy_hook(self, "on_eval_step_begin", run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Called after each step of an evaluation."""
        _call_legacy_hook(self, "on_eval_step_end", run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Called after the last step of an evaluation."""
        _call_legacy_hook(self, "on_eval_epoch_end", run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Called once after an evaluation, with the results in `metrics`."""
        _call_legacy_hook(self, "on_eval_end", run_context)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Called when anything in the run raises an exception, including `KeyboardInterrupt`."""

    def begin(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_begin` and `on_eval_begin`."""
        _call_current_hook(self, "on_train_begin", run_context)

    def epoch_begin(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_epoch_begin` and `on_eval_epoch_begin`."""
        _call_current_hook(self, "on_train_epoch_begin", run_context)

    def step_begin(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_step_begin` and `on_eval_step_begin`."""
        _call_current_hook(self, "on_train_step_begin", run_context)

    def step_end(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_step_end` and `on_eval_step_end`."""
        _call_current_hook(self, "on_train_step_end", run_context)

    def epoch_end(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_epoch_end` and `on_eval_epoch_end`."""
        _call_current_hook(self, "on_train_epoch_end", run_context)

    def end(self, run_context: RunContext) -> None:
        """MindSpore 1.x's name of `on_train_end` and `on_eval_end`."""
        _call_current_hook(self, "on_train_end", run_context)


def _suggest_event(name: str) -> str:
    from difflib import get_close_matches  # only needed for the message

    words = [_HOOK_SYNONYMS.get(word, word) for word in name.split("_")]
    return get_close_matches("_".join(words), EVENTS, cutoff=0.0)[0]


# A hook's two names call each other, and the definition nearer to the object in its MRO wins: a
# subclass of LossMonitor with a `step_end` has that one called, and its `super().step_end(…)` calls
# LossMonitor's. `_call_legacy_hook` never goes to a farther definition, and `_call_current_hook`
# only to a nearer one, so the calls end.


def _call_legacy_hook(callback: Callback, event: str, run_context: RunContext) -> None:
    legacy = EVENTS[event]
    if overrides(callback, legacy) and (
        not overrides(callback, event)
        or _mro_distance(callback, event) <= _mro_distance(callback, legacy)
    ):
        getattr(callback, legacy)(run_context)


def _call_current_hook(callback: Callback, event: str, run_context: RunContext) -> None:
    legacy = EVENTS[event]
    if overrides(callback, event) and (
        not overrides(callback, legacy)
        or _mro_distance(callback, legacy) < _mro_distance(callback, event)
    ):
        getattr(callback, event)(run_context)


def hook_for(callback: Callback, event: str) -> str | None:
    """Return the name of the hook that `callback` defines for an event.

    Args:
        callback: The callback.
        event: The name of the event, a key of `EVENTS`.

    Returns:
        The name of the event's method or of that of MindSpore 1.x; if the callback defines both,
        the nearer one in the MRO; None if it defines neither.

    Examples:
        >>> class Legacy(Callback):
        ...     def step_end(self, run_context: RunContext) -> None: ...
        >>> hook_for(Legacy(), "on_train_step_end"), hook_for(Legacy(), "on_train_end")
        ('step_end', None)
    """
    names = [name for name in (event, EVENTS[event]) if overrides(callback, name)]
    return min(names, key=lambda name: _mro_distance(callback, name), default=None)


def overrides(callback: Callback, name: str) -> bool:
    """Return whether a callback overrides a hook.

    Args:
        callback: The callback.
        name: The name of the hook.

    Returns:
        Whether the class, a base class before `Callback` or the instance defines the hook.

    Raises:
        TypeError: The attribute is not callable, as after `self.end = 0.0`.

    Examples:
        >>> class Steps(Callback):
        ...     def on_train_step_end(self, run_context: RunContext) -> None: ...
        >>> overrides(Steps(), "on_train_step_end"), overrides(Steps(), "on_train_end")
        (True, False)
    """
    method = getattr(callback, name)
    if not callable(method):
        raise TypeError(
            f"In the callback '{type(callback).__name__}', '{name}' is the name of a hook, but the "
            f"attribute is {describe_value(method)}; give it another name."
        )
    return getattr(method, "__func__", None) is not getattr(Callback, name)


def _mro_distance(callback: Callback, name: str) -> int:
    """Return the index in the MRO of the class that defines `name`; -1 for the instance."""
    if name in vars(callback):
        return -1
    return next(i for i, cls in enumerate(type(callback).__mro__) if name in vars(cls))


CallbackEvent = Callable[[Callback, RunContext], None]
"""An event, identified by its method of `Callback`, such as `Callback.on_train_begin`."""
Hook = Callable[[RunContext], None]
R = TypeVar("R")


class CallbackManager(Callback):
    """The callbacks of a run in their order; itself a callback.

    The loop calls ``callbacks.emit(Callback.on_train_step_end, context)``: the method itself
    identifies the event, so a type checker detects a misspelt one. The overridden hooks are looked
    up once, at the start: an event without hooks is an empty loop.

    Args:
        callbacks: One callback, several, or None.

    Raises:
        TypeError: An item of `callbacks` is not a `Callback`.

    Examples:
        >>> class Hello(Callback):
        ...     def on_train_begin(self, run_context: RunContext) -> None:
        ...         print("hello")
        >>> with CallbackManager([Hello()]) as callbacks:
        ...     callbacks.on_train_begin(RunContext({}))
        hello
    """

    def __init__(self, callbacks: Callback | Iterable[Callback] | None = None) -> None:
        self.callbacks: list[Callback] = flatten_callbacks(callbacks)
        self._exits = ExitStack()
        self._hooks: dict[CallbackEvent, tuple[tuple[str, Hook], ...]] = {
            getattr(Callback, event): tuple(self._hooks_of(event)) for event in EVENTS
        }

    def _hooks_of(self, event: str) -> Iterator[tuple[str, Hook]]:
        for i, callback in enumerate(self.callbacks):
            name = hook_for(callback, event)
            if name is not None:
                hook = self.wrap_hook(i, name, getattr(callback, name))
                yield f"{type(callback).__name__}.{name}", hook

    def wrap_hook(self, index: int, name: str, hook: Hook) -> Hook:
        """Return what `emit` calls for a hook: the hook itself, unless a subclass overrides this.

        Called once for each hook, while the manager is created.

        Args:
            index: The position of the callback in `callbacks`.
            name: The name of the hook.
            hook: The hook, bound to its callback.

        Returns:
            The function that `emit` calls with the run context.

        Examples:
            >>> class OnlyTraining(CallbackManager):
            ...     def wrap_hook(self, index: int, name: str, hook: Hook) -> Hook:
            ...         return hook if name.startswith("on_train") else lambda run_context: None
            >>> class Hello(Callback):
            ...     def on_train_begin(self, run_context: RunContext) -> None:
            ...         print("train")
            ...     def on_eval_begin(self, run_context: RunContext) -> None:
            ...         print("eval")
            >>> callbacks = OnlyTraining([Hello()])
            >>> callbacks.emit(Callback.on_train_begin, RunContext({}))
            train
            >>> callbacks.emit(Callback.on_eval_begin, RunContext({}))
        """
        return hook

    def emit(self, event: CallbackEvent, run_context: RunContext) -> None:
        """Call the hooks of `event`; add a note with callback and hook to an exception."""
        for name, hook in self._hooks[event]:
            try:
                hook(run_context)
            except BaseException as error:
                error.add_note(f"Raised by the callback's hook {name}.")
                raise

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        """Enter all callbacks, call `body`, exit all callbacks, and return the result of `body`.

        If `body` raises an exception, every `on_exception` is called first.
        """
        try:
            with self:
                try:
                    return body()
                except BaseException as error:
                    self.on_exception(run_context, error)
                    raise
        finally:
            run_context.remove_gradient_hooks()

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Call every `on_exception`; an exception that one raises is added to `error` as a note."""
        for callback in self.callbacks:
            try:
                callback.on_exception(run_context, error)
            except Exception as other:  # must not hide `error`
                error.add_note(f"{type(callback).__name__}.on_exception itself raised {other!r}.")

    def __enter__(self) -> Self:
        """Enter the callbacks in their order; if one raises an exception, exit those entered.

        None of them can suppress that exception: the run must not begin.
        """
        entered = ExitStack()
        try:
            for callback in self.callbacks:
                entered.enter_context(callback)
        except BaseException as error:
            entered.__exit__(type(error), error, error.__traceback__)
            raise
        self._exits = entered
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Exit the callbacks in reverse order."""
        return self._exits.__exit__(exc_type, exc_value, traceback)


def _forward(name: str) -> Callable[[CallbackManager, RunContext], None]:
    event: CallbackEvent = getattr(Callback, name)

    def hook(self: CallbackManager, run_context: RunContext) -> None:
        self.emit(event, run_context)

    hook.__doc__ = event.__doc__
    return hook


# Loops written for MindSpore call the hooks of the manager; the legacy names stand for training,
# which comes first in EVENTS and so is set last.
for _event, _legacy in reversed(EVENTS.items()):
    setattr(CallbackManager, _event, _forward(_event))
    setattr(CallbackManager, _legacy, _forward(_event))


manager_class: ContextVar[Callable[[Callback | Iterable[Callback] | None], CallbackManager]] = (
    ContextVar("manager_class", default=CallbackManager)
)
"""The class of the managers of runs; setting it in a context observes the runs in that context."""


def make_callback_manager(callbacks: Callback | Iterable[Callback] | None) -> CallbackManager:
    """Return the manager of a run's callbacks, of the class in `manager_class`.

    Args:
        callbacks: One callback, several, or None.

    Returns:
        A manager for one run.

    Raises:
        TypeError: An item of `callbacks` is not a `Callback`.

    Examples:
        >>> make_callback_manager([Callback(), Callback()]).emit(
        ...     Callback.on_train_begin, RunContext({})
        ... )
    """
    return manager_class.get()(callbacks)


def flatten_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """Return the callbacks of a run as a list, with those that `configure_callbacks` adds.

    Args:
        callbacks: One callback, several, or None; a manager stands for its callbacks.

    Returns:
        A new list: the added callbacks first, then `callbacks` in their order.

    Raises:
        TypeError: An item of `callbacks` is not a `Callback`.

    Examples:
        >>> one, two = Callback(), Callback()
        >>> flatten_callbacks([one, CallbackManager(two)]) == [one, two]
        True
    """
    if callbacks is None:
        return []
    if isinstance(callbacks, Callback) or not isinstance(callbacks, Iterable):
        callbacks = (callbacks,)
    flat: list[Callback] = []
    for callback in callbacks:
        if not isinstance(callback, Callback):
            raise TypeError(
                "The argument 'callbacks' must be a Callback or a list of Callback, "
                f"but got {callback!r} of type {type(callback).__name__} in it."
            )
        flat += callback.callbacks if isinstance(callback, CallbackManager) else [callback]
    for callback in tuple(flat):
        flat[:0] = callback.configure_callbacks(flat)
    return flat


def reject_legacy_hooks(callbacks: Iterable[Callback]) -> None:
    """Check that no callback overrides a hook of MindSpore 1.x, such as `step_end`.

    Args:
        callbacks: The callbacks of a call of `Model.fit`.

    Raises:
        ValueError: A callback overrides such a hook, which would also be called in evaluations.

    Examples:
        >>> class Legacy(Callback):
        ...     def step_end(self, run_context: RunContext) -> None: ...
        >>> reject_legacy_hooks([Legacy()])
        Traceback (most recent call last):
        ValueError: For 'Model.fit', the callback Legacy defines step_end, which would be called ...
    """
    for callback in callbacks:
        names = sorted({name for name in EVENTS.values() if overrides(callback, name)})
        if names:
            raise ValueError(
                f"For 'Model.fit', the callback {type(callback).__name__} defines "
                f"{', '.join(names)}, which would be called both in training and in evaluation. "
                "Use methods prefixed with 'on_train' or 'on_eval' instead."
            )
