"""The run context, which every hook receives: the run's parameters, and requests to the loop."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from minispore.common import Tensor
from minispore.communication import get_rank
from minispore.nn import Cell, Optimizer, TrainOneStepCell
from minispore.nn._hooks import HookHandle
from minispore.nn.wrap.cell_wrapper import GradientHook
from minispore.train.protocol.dataset import DatasetLike
from minispore.train.resume.training_state import TrainingState
from minispore.utils.checks import check_type

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
    epoch `metrics` holds the results by metric, and `eval_results` the same and "eval_loss"; both
    are empty if a stop has interrupted the evaluation.

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
            path: The file.
        """
        if self._resume_from is None:
            self._resume_from = os.fspath(path)

    def get_resume_requested(self) -> str | None:
        """Return the file to resume from; None if the run starts from the beginning."""
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
