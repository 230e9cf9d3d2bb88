"""The callback protocol: the events of a run, and the class whose methods they call."""

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from minispore._checks import described
from minispore.train._protocol.run_context import RunContext

# The events, each with the name it had in MindSpore 1.x, which served training and evaluation.
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

# Words that other frameworks use in their hooks' names.
_WORDS_ELSEWHERE = {
    "start": "begin",
    "finish": "end",
    "batch": "step",
    "fit": "train",
    "validation": "eval",
    "test": "eval",
}


class Callback:
    """Base class of everything that happens beside the training steps.

    A subclass overrides the hooks it needs; the others cost nothing. Each gets the `RunContext`,
    whose `original_args()` holds the state of the run::

        on_train_begin
          on_train_epoch_begin
            on_train_step_begin, on_train_step_end      for each batch
            [in fit: on_eval_begin … on_eval_end]
          on_train_epoch_end
        on_train_end

    and in an evaluation::

        on_eval_begin
          on_eval_epoch_begin
            on_eval_step_begin, on_eval_step_end        for each batch
          on_eval_epoch_end
        on_eval_end

    An `*_end` hook means success, or a stop that was asked for. If anything raises, no further
    event happens: `on_exception` is called, and the exception goes on to the caller.

    A callback is also a context manager: entered before the first event of a run, left after the
    last one whatever happens, in the reverse order. As everywhere in Python, an `__exit__` that
    returns True ends an exception there.

    The names of MindSpore 1.x (`begin`, `epoch_begin`, `step_begin`, `step_end`, `epoch_end`,
    `end`) serve `train` and `eval` where the new ones are not overridden; `Model.fit` refuses them,
    since there they could mean either. A loop written by hand may call them on any callback: where
    only the new name is overridden, the older one calls the training's.

    Attributes:
        chief_only: Whether, of several processes that train together, only the first one calls it.

    Raises:
        TypeError: when a subclass is defined with a method `on_…` that is no event.

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
    """

    chief_only: bool = False

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if name.startswith("on_") and callable(value) and not hasattr(Callback, name):
                raise TypeError(
                    f"Callback '{cls.__name__}' defines '{name}', which is no event; "
                    f"did you mean '{_nearest_event(name)}'?"
                )

    def companions(self, callbacks: Sequence["Callback"]) -> Sequence["Callback"]:
        """Return what it works with in a run of these callbacks; they are put before all others."""
        return ()

    def __enter__(self) -> Self:
        """Called once a run, before its first event."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Called once a run, after its last event, with the exception if there was one."""
        return None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Called once before training."""
        _call_older(self, "on_train_begin", run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Called before each epoch of training."""
        _call_older(self, "on_train_epoch_begin", run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of training, with its batch in `train_dataset_element`."""
        _call_older(self, "on_train_step_begin", run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Called after each step of training, with the loss in `net_outputs`."""
        _call_older(self, "on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Called after each epoch of training; in `fit` after its evaluation."""
        _call_older(self, "on_train_epoch_end", run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Called once after training."""
        _call_older(self, "on_train_end", run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Called once before an evaluation."""
        _call_older(self, "on_eval_begin", run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Called before the data of an evaluation is gone through."""
        _call_older(self, "on_eval_epoch_begin", run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Called before each step of an evaluation, with its batch in `eval_dataset_element`."""
        _call_older(self, "on_eval_step_begin", run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Called after each step of an evaluation."""
        _call_older(self, "on_eval_step_end", run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Called after the data of an evaluation has been gone through."""
        _call_older(self, "on_eval_epoch_end", run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Called once after an evaluation, with the results in `metrics`."""
        _call_older(self, "on_eval_end", run_context)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Called when anything in the run raised, an interrupt by the user included."""

    def begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_begin` and `on_eval_begin`."""
        _call_newer(self, "on_train_begin", run_context)

    def epoch_begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_epoch_begin` and `on_eval_epoch_begin`."""
        _call_newer(self, "on_train_epoch_begin", run_context)

    def step_begin(self, run_context: RunContext) -> None:
        """Older name of `on_train_step_begin` and `on_eval_step_begin`."""
        _call_newer(self, "on_train_step_begin", run_context)

    def step_end(self, run_context: RunContext) -> None:
        """Older name of `on_train_step_end` and `on_eval_step_end`."""
        _call_newer(self, "on_train_step_end", run_context)

    def epoch_end(self, run_context: RunContext) -> None:
        """Older name of `on_train_epoch_end` and `on_eval_epoch_end`."""
        _call_newer(self, "on_train_epoch_end", run_context)

    def end(self, run_context: RunContext) -> None:
        """Older name of `on_train_end` and `on_eval_end`."""
        _call_newer(self, "on_train_end", run_context)


def _nearest_event(name: str) -> str:
    from difflib import get_close_matches  # only needed for the message

    words = [_WORDS_ELSEWHERE.get(word, word) for word in name.split("_")]
    return get_close_matches("_".join(words), EVENTS, cutoff=0.0)[0]


# A hook's two names stand in for each other, and what is defined nearer to the object wins: a
# LossMonitor of MindSpore 1.x with another `step_end` has that one called, and its
# `super().step_end(…)` is LossMonitor's. On the way from one name to the other the definition
# gets no nearer, and one of the two ways takes it further away: so there is no way round.


def _call_older(callback: Callback, event: str, run_context: RunContext) -> None:
    older = EVENTS[event]
    if overrides(callback, older) and (
        not overrides(callback, event) or _place(callback, event) <= _place(callback, older)
    ):
        getattr(callback, older)(run_context)


def _call_newer(callback: Callback, event: str, run_context: RunContext) -> None:
    older = EVENTS[event]
    if overrides(callback, event) and (
        not overrides(callback, older) or _place(callback, older) < _place(callback, event)
    ):
        getattr(callback, event)(run_context)


def hook_for(callback: Callback, event: str) -> str | None:
    """Return the name of the hook that `callback` has for `event`: of two the nearer one."""
    names = [name for name in (event, EVENTS[event]) if overrides(callback, name)]
    return min(names, key=lambda name: _place(callback, name), default=None)


def overrides(callback: Callback, name: str) -> bool:
    """Return whether `callback` has its own `name`, from its class or set on the instance.

    Raises:
        TypeError: It has, but not as a method: `self.end = 0.0` takes the name of a hook.
    """
    method = getattr(callback, name)
    if not callable(method):
        raise TypeError(
            f"In the callback '{type(callback).__name__}', '{name}' is the name of a hook, but the "
            f"attribute is {described(method)}; give it another name."
        )
    return getattr(method, "__func__", None) is not getattr(Callback, name)


def _place(callback: Callback, name: str) -> int:
    """Return how far from the object `name` is defined: on itself, or how many classes up."""
    if name in vars(callback):
        return -1
    return next(i for i, cls in enumerate(type(callback).__mro__) if name in vars(cls))
