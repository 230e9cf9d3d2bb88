"""What a callback is told: the parameters of the run, and the latch that stops it."""

import os
from collections.abc import Sequence
from typing import Any, Literal, Protocol

from minispore._checks import check_type
from minispore.common import Tensor
from minispore.nn import Cell, Optimizer
from minispore.train._dataset import DatasetLike
from minispore.train._training_state import TrainingState

# What a training state is for: a saver has asked for it, or the run is left where it could go on,
# because of a stop or because it has come to its end; or it has just been resumed from it.
Occasion = Literal["asked", "stopped", "ended", "resumed"]


class InternalCallbackParam(dict[str, object]):
    """The state of a run: a dictionary whose keys are also attributes.

    The names below are set by `Model`, and have types. A callback may add its own:
    ``cb_params.init_time = time.time()`` and ``cb_params["init_time"]`` are the same entry.

    During `train` and `fit`:

    * `mode`: "train", or "eval" while `fit` evaluates; `dataset_sink_mode`: always False;
    * `epoch_num`: epochs of this run (without those before `initial_epoch`); `batch_num`: steps in
      an epoch; `cur_epoch_num` counts from `initial_epoch` + 1, `cur_step_num` from 1 and over
      all epochs of the run;
    * `network`, `train_network`, `loss_fn`, `optimizer`, `train_dataset`: what is trained, how,
      on what; `train_dataset_element`: the current batch; `net_outputs`: what the network
      returned for it, which is the loss;
    * `metric_names`: what the run's evaluations measure, nothing in `train`;
    * `list_callback`: the callbacks in their order; `parallel_mode`: "stand_alone" or
      "data_parallel"; `device_number`: how many processes there are.

    During evaluation `batch_num`, `cur_step_num` and `net_outputs` are the evaluation's; also
    `eval_network`, `valid_dataset`, `eval_dataset_element`. From `on_eval_end` until the end of the
    epoch `metrics` holds the results by metric, and `eval_results` the same and "eval_loss"; both
    are empty if a stop has interrupted the evaluation.

    Raises:
        AttributeError: on reading a name that was never set.

    Examples:
        >>> params = InternalCallbackParam(cur_step_num=3)
        >>> params.best = 0.5
        >>> params.cur_step_num, params["best"], hasattr(params, "worst")
        (3, 0.5, False)
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
    loss_fn: Cell | None
    optimizer: Optimizer | None
    train_dataset: DatasetLike
    train_dataset_element: Sequence[Tensor] | None
    # What a network returns is its author's choice: the loss, or a tuple of which it is the first.
    net_outputs: Any
    metric_names: list[str]
    list_callback: Sequence[object]
    parallel_mode: str
    device_number: int
    eval_network: Cell
    valid_dataset: DatasetLike
    eval_dataset_element: Sequence[Tensor]
    metrics: dict[str, float]
    eval_results: dict[str, float]

    # Any: only the callback that added a name knows its type. (`object` would refuse the
    # documented `time.time() - cb_params.init_time`.)
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


class StateSaver(Protocol):
    """A callback that writes training states into files."""

    def save_training_state(
        self, run_context: "RunContext", state: TrainingState, occasion: Occasion, /
    ) -> None:
        """Write what is trained, as it now is, and this state of the training.

        Called between two steps, when all callbacks have seen what happened before. When a run
        has been resumed, those who had asked at that boundary are called once more, since the kill
        may have come before them; the others are told "resumed", and have nothing to write.
        """
        ...


class RunContext:
    """What every hook receives: the run's parameters and the way to end it.

    Args:
        original_args: the run's parameters; of a plain dict a copy is taken.

    Attributes:
        resume_strict: whether a training state of other settings is an error, or worth a warning.

    Raises:
        TypeError: if `original_args` is no dict.

    Examples:
        >>> context = RunContext({"cur_epoch_num": 1})
        >>> context.original_args().cur_epoch_num
        1
        >>> context.request_stop()
        >>> context.get_stop_requested()
        True
    """

    def __init__(self, original_args: dict[str, object]) -> None:
        check_type(original_args, dict, "original_args", "RunContext")
        if not isinstance(original_args, InternalCallbackParam):
            original_args = InternalCallbackParam(original_args)
        self._original_args: InternalCallbackParam = original_args
        self._stop_requested = False
        self._for_good = False
        self._epoch_unfinished = False
        self._resume_from: str | None = None
        self.resume_strict = True
        self._savers: list[StateSaver] = []
        self._asking: list[StateSaver] = []

    def original_args(self) -> InternalCallbackParam:
        """Return the run's parameters: one object for the whole run, open to additions."""
        return self._original_args

    def request_stop(self, *, for_good: bool = False) -> None:
        """End the run after the current step; it cannot be taken back.

        The epoch is left, no evaluation is started or continued, and the hooks that close what is
        open are called.

        Args:
            for_good: Whether the training has thereby come to its end, as when `EarlyStopping`
                decides so. A run that is resumed from here then does no further step; after any
                other stop it goes on with the training.
        """
        self._stop_requested = True
        # The training state of an unfinished epoch has been saved: it says that training goes on.
        self._for_good = self._for_good or (for_good and not self._epoch_unfinished)

    def get_stop_requested(self) -> bool:
        """Return whether some callback asked for the run to end."""
        return self._stop_requested

    def is_interrupted(self) -> bool:
        """Return whether the run is stopped without having come to its end."""
        return self._stop_requested and not self._for_good

    def is_epoch_unfinished(self) -> bool:
        """Return whether a stop has interrupted the epoch in its steps or in its evaluation.

        `on_train_epoch_end` is still called, to close what is open. A resumed run goes on inside
        the epoch and calls it again: do there only once what is done once for each epoch.
        """
        return self._epoch_unfinished

    def leave_epoch(self) -> None:
        """Note that the epoch is unfinished: it is what the loop does."""
        self._epoch_unfinished = True

    def request_resume(self, path: str | os.PathLike[str]) -> None:
        """Go on from a training checkpoint, before the first step of this run.

        It has its effect until `on_train_begin` has been called on all callbacks; the first request
        counts.
        """
        if self._resume_from is None:
            self._resume_from = os.fspath(path)

    def get_resume_requested(self) -> str | None:
        """Return the file from which the run is to go on, None if it begins anew."""
        return self._resume_from

    def add_state_saver(self, saver: StateSaver) -> None:
        """Let `saver`, a callback of this run, save the training state whenever the run is left."""
        self._savers.append(saver)

    def request_save(self, saver: StateSaver) -> None:
        """Let `saver` save the training state as soon as all callbacks have seen this event.

        That is after the current step or, from the last step's end on, after the current epoch.
        """
        if saver not in self._asking:
            self._asking.append(saver)

    def get_state_savers(self) -> list[StateSaver]:
        """Return the callbacks that were added by `add_state_saver`."""
        return list(self._savers)

    def take_requests(self) -> list[StateSaver]:
        """Return who has asked for the training state, and forget it: it is what the loop does."""
        asking, self._asking = self._asking, []
        return asking
