"""The callback protocol: `Callback`, the `RunContext` that its hooks receive, and their manager."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

from minispore.communication import get_rank
from minispore.nn import Cell, Optimizer, TrainOneStepCell
from minispore.nn._hooks import HookHandle
from minispore.nn.wrap.cell_wrapper import GradientHook
from minispore.ops.tensors import Tensor
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.protocol.training_state import TrainingState
from minispore.utils.checks import check_type, describe_value

SaveReason = Literal["requested", "interrupted", "finished", "restored"]
"""Why a training state is saved: a callback requested it, a stop interrupted the run, the run has
finished, or the run has just been restored from it."""


class InternalCallbackParam(dict[str, Any]):
    """The parameters of a run: a dictionary whose keys are also attributes.

    `Model` sets the names below. A callback may add its own:
    ``cb_params.init_time = time.time()`` and ``cb_params["init_time"]`` are the same entry.

    During `train` and `fit`:

    * `mode`: "train", or "eval" while `fit` evaluates; `dataset_sink_mode`: always False;
    * `epoch_num`: epochs of this run (without those before `initial_epoch`); `batch_num`: steps in
      an epoch, or the `sink_size`; `cur_epoch_num` counts from `initial_epoch` + 1, `cur_step_num`
      from 1 and over all epochs of the run;
    * `network`, `train_network`, `loss_fn`, `optimizer`, `train_dataset`: the objects of the
      training; `train_dataset_element`: the current batch; `net_outputs`: the output of
      `train_network` for it, which is the loss;
    * `metric_names`: the results of the run's evaluations, empty in `train`;
    * `list_callback`: the callbacks in their order; `parallel_mode`: "stand_alone" or
      "data_parallel"; `device_number`: the number of processes;
    * `initial_step`, `last_save_ckpt_step`, `latest_ckpt_file`: always None, as in MindSpore on a
      CPU; `loss_scale_mananger` (MindSpore's spelling): the argument of `Model`.

    During evaluation `batch_num`, `cur_step_num` and `net_outputs` are the evaluation's; also
    `eval_network`, `valid_dataset`, `eval_dataset_element`. From `on_eval_end` until the end of the
    epoch `metrics` holds the results by metric, and `eval_results` the same and "eval_loss", the
    mean loss over rows; both are empty if a stop has interrupted the evaluation.

    Raises:
        AttributeError: A name is read that was not set.

    Examples:
        >>> params = InternalCallbackParam(cur_step_num=3)
        >>> params.best = 0.5
        >>> params.cur_step_num, params["best"], hasattr(params, "worst")
        (3, 0.5, False)

    Source: MindSpore's `mindspore.train.callback.InternalCallbackParam`.
    """

    __slots__ = ()

    mode: str
    dataset_sink_mode: bool
    epoch_num: int
    initial_epoch: int
    batch_num: int
    cur_epoch_num: int
    cur_step_num: int
    network: Cell
    train_network: Cell
    loss_fn: Callable[..., Tensor] | None
    optimizer: Optimizer | None
    train_dataset: DatasetLike
    train_dataset_element: Sequence[Tensor] | None
    # The network may return the loss, or a tuple that begins with it.
    net_outputs: Any
    metric_names: list[str]
    list_callback: Sequence[object]
    parallel_mode: str
    device_number: int
    eval_network: Cell
    valid_dataset: DatasetLike
    eval_dataset_element: Sequence[Tensor]
    metrics: dict[str, Any]
    eval_results: dict[str, Any]

    # Any, as by key: only the callback that added a name knows its type. `object` would not allow
    # the documented `time.time() - cb_params.init_time`.
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"The callback parameters hold no '{name}' at this point; "
                f"they hold {', '.join(sorted(self))}."
            ) from None

    def __setattr__(self, name: str, value: object) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"The callback parameters hold no '{name}'.") from None


def step_in_epoch(params: InternalCallbackParam) -> int:
    """Return the number of the current step in its epoch, from 1.

    Examples:
        >>> step_in_epoch(InternalCallbackParam(cur_step_num=7, batch_num=3))
        1
    """
    return (params.cur_step_num - 1) % params.batch_num + 1


class StateSaver(Protocol):
    """A callback that saves training states, added by `RunContext.add_state_saver`.

    Examples:
        >>> class Save:
        ...     def on_train_begin(self, run_context: RunContext) -> None:
        ...         run_context.add_state_saver(self)
        ...     def save_training_state(
        ...         self, run_context: RunContext, state: TrainingState, reason: SaveReason
        ...     ) -> None:
        ...         if reason != "restored":
        ...             print("save", sorted(state.entries()))
    """

    def save_training_state(
        self, run_context: "RunContext", state: TrainingState, reason: SaveReason, /
    ) -> None:
        """Save the current parameters and this training state.

        Called between two steps, after all callbacks have handled the last one. When a run is
        resumed, savers that had requested the state are called once more, since the process may
        have been killed before they had saved it; the others are called with the reason "restored",
        and need not save anything.

        Args:
            run_context: The run context.
            state: The training state; `state.entries()` is an `append_dict` for `save_checkpoint`.
            reason: Why the state is saved: "requested" by this saver, "interrupted" by a stop,
                "finished", or "restored".
        """
        ...


class RunContext:
    """The context of a run, which every hook receives: its parameters, and requests to the loop.

    Args:
        original_args: The parameters of the run; a plain dict is copied.

    Attributes:
        resume_strict: Whether it is an error to resume from a training state of other settings; if
            False, it is a warning.

    Examples:
        >>> context = RunContext({"cur_epoch_num": 1})
        >>> context.original_args().cur_epoch_num
        1
        >>> context.request_stop()
        >>> context.get_stop_requested()
        True

    Source: MindSpore's `mindspore.train.RunContext`.
    """

    def __init__(self, original_args: dict[str, object]) -> None:
        check_type(original_args, dict, "original_args")
        if not isinstance(original_args, InternalCallbackParam):
            original_args = InternalCallbackParam(original_args)
        self._original_args: InternalCallbackParam = original_args
        self._stop_requested = False
        self._finished = False
        self._epoch_unfinished = False
        self._resume_from: str | None = None
        self.resume_strict = True
        self._savers: list[StateSaver] = []
        self._save_requests: list[StateSaver] = []
        self._gradient_hooks: list[HookHandle] = []

    def original_args(self) -> InternalCallbackParam:
        """Return the parameters of the run: the same object in all hooks; entries may be added."""
        return self._original_args

    @property
    def is_chief(self) -> bool:
        """Whether this process prints and writes files: it is the only one, or has rank 0."""
        return get_rank() == 0

    def request_stop(self, *, finished: bool = False) -> None:
        """Request a stop after the current step; a request cannot be withdrawn.

        The loop then ends the epoch without an evaluation, ends an evaluation in progress, and
        calls the remaining `*_end` hooks.

        Args:
            finished: Whether the training is finished, as when `EarlyStopping` stops it. A run that
                is resumed after such a stop does no further step; after any other stop it continues
                the training.
        """
        self._stop_requested = True
        # The training state of an unfinished epoch has been saved: resuming from it continues.
        self._finished = self._finished or (finished and not self._epoch_unfinished)

    def get_stop_requested(self) -> bool:
        """Return whether a callback has requested a stop."""
        return self._stop_requested

    @property
    def has_requests(self) -> bool:
        """Whether a callback has requested a stop, or to save the training state."""
        return self._stop_requested or bool(self._save_requests)

    def is_interrupted(self) -> bool:
        """Return whether a stop was requested before the training is finished."""
        return self._stop_requested and not self._finished

    def is_epoch_unfinished(self) -> bool:
        """Return whether a stop has interrupted the epoch in its steps or in its evaluation.

        `on_train_epoch_end` is called even then, and called again when a resumed run completes the
        epoch: a hook that must run once per epoch checks this first.
        """
        return self._epoch_unfinished

    def leave_epoch(self) -> None:
        """Mark the epoch as unfinished; called by the loop."""
        self._epoch_unfinished = True

    def request_resume(self, path: str | os.PathLike[str]) -> None:
        """Request to resume from a training checkpoint; the first request counts.

        Requests are handled after `on_train_begin`; later ones have no effect.

        Args:
            path: The file, or a folder for the newest one in it.
        """
        if self._resume_from is None:
            self._resume_from = os.fspath(path)

    def get_resume_requested(self) -> str | None:
        """Return what to resume from, as requested; None if the run starts from the beginning."""
        return self._resume_from

    def register_gradient_hook(self, hook: GradientHook) -> None:
        """Call `hook` with the gradients of each step until the run ends.

        A callback that changes gradients must do so in all processes of a data-parallel training,
        so its `chief_only` must be False.

        Args:
            hook: See `TrainOneStepCell.register_gradient_hook`.

        Raises:
            TypeError: `hook` is not callable, or the run's `train_network` is not a
                `TrainOneStepCell`.

        Examples:
            >>> from minispore import ops
            >>> from minispore.train import Callback
            >>> class ClipGradients(Callback):
            ...     def on_train_begin(self, run_context: RunContext) -> None:
            ...         run_context.register_gradient_hook(
            ...             lambda gradients: ops.clip_by_global_norm(gradients, 1.0)
            ...         )
        """
        step = self._original_args.get("train_network")
        step = check_type(step, TrainOneStepCell, "train_network")
        self._gradient_hooks.append(step.register_gradient_hook(hook))

    def remove_gradient_hooks(self) -> None:
        """Remove the gradient hooks of this run; called when it ends."""
        for handle in self._gradient_hooks:
            handle.remove()

    def add_state_saver(self, saver: StateSaver) -> None:
        """Call `saver`, a callback of this run, to save the training state when the run ends."""
        self._savers.append(saver)

    def request_save(self, saver: StateSaver) -> None:
        """Call `saver` to save the training state when all callbacks have handled this event.

        That is after the current step or, after the last step, at the end of the epoch.
        """
        if saver not in self._save_requests:
            self._save_requests.append(saver)

    def get_state_savers(self) -> list[StateSaver]:
        """Return the callbacks that `add_state_saver` added."""
        return list(self._savers)

    def pop_save_requests(self) -> list[StateSaver]:
        """Return and remove the requests to save the training state; called by the loop."""
        requests, self._save_requests = self._save_requests, []
        return requests


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
        sets_final_weights: Whether it sets the weights with which a training ends; a run can have
            only one such callback.

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
    sets_final_weights: bool = False

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
Callbacks = Callback | Iterable[Callback]
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
        ValueError: Several of them set the weights with which a training ends.

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
    final = [type(callback).__name__ for callback in flat if callback.sets_final_weights]
    if len(final) > 1:
        raise ValueError(
            "In the argument 'callbacks', only one callback can set the weights with which the "
            f"training ends, but got {' and '.join(final)}. EarlyStopping does so only with "
            "'restore_best_weights'."
        )
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
