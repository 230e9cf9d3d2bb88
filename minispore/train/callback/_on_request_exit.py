"""OnRequestExit: stop a run on a signal or on request of a file, and save it for resumption."""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType, NoneType
from typing import Self

from minispore.communication._collectives import all_reduce_max
from minispore.communication._group import is_data_parallel
from minispore.train.checkpoint.saving import save_checkpoint
from minispore.train.protocol.callback import Callback, RunContext, SaveReason
from minispore.train.protocol.training_state import TrainingState
from minispore.utils.atomic import open_regular_file, remove_stale_temporaries
from minispore.utils.checks import caller, check_type, is_dict, value_error

__all__ = ["OnRequestExit"]

_KEY = "GracefulExit"
_Handler = Callable[[int, FrameType | None], object] | int | None


class OnRequestExit(Callback):
    """Stop the run after the current step when a signal arrives, and save its state.

    A training is saved in `directory/rank_0/<file_name>_train.ckpt`, with the training state. The
    same training, started again, resumes exactly from that file, and removes it when it has
    finished. `Model.eval` is stopped in the same way; its file, `…/<file_name>_eval.ckpt`, contains
    the network.

    Signals are handled only during the run. Afterwards, and after the first signal, the previous
    handlers are restored, so a second signal has its usual effect.

    Args:
        save_ckpt: Whether to save.
        save_mindir: Must be False: MindIR is not supported.
        file_name: The beginning of the file names.
        directory: The folder in which the folder `rank_0` is created.
        config_file: A JSON file; when it contains ``{"GracefulExit": 1}``, the run is stopped. The
            file may be created during the run.
        sig: One or several signals.

    Raises:
        ValueError: A signal cannot be handled; and, as in MindSpore, `save_ckpt`, `save_mindir`,
            `file_name` or `sig` has the wrong type.
        NotImplementedError: `save_mindir` is True.
        RuntimeError: A run begins outside the main thread of the program.

    Examples:
        >>> OnRequestExit(file_name="LeNet5", directory="results").train_file
        'results/rank_0/LeNet5_train.ckpt'

    Source: MindSpore's `mindspore.train.OnRequestExit`.
    """

    def __init__(
        self,
        save_ckpt: bool = True,
        save_mindir: bool = False,
        file_name: str = "Net",
        directory: str | os.PathLike[str] = "./",
        config_file: str | os.PathLike[str] | None = None,
        sig: int | Iterable[int] = (signal.SIGTERM, signal.SIGINT),
    ) -> None:
        super().__init__()
        for name, value in (("save_ckpt", save_ckpt), ("save_mindir", save_mindir)):
            if not isinstance(value, bool):
                raise value_error(value, name, "be a bool")
        if save_mindir:
            raise NotImplementedError(
                f"For '{caller()}', 'save_mindir' must be False: minispore has no MindIR."
            )
        if not (isinstance(file_name, str) and file_name == os.path.basename(file_name) != ""):
            raise value_error(file_name, "file_name", "be the name of a file")
        check_type(directory, (str, os.PathLike), "directory")
        check_type(config_file, (str, os.PathLike, NoneType), "config_file")
        self._save_ckpt = save_ckpt
        self._name = os.path.join(os.path.normpath(directory), "rank_0", file_name)
        self._config_file = config_file
        self._config_version: tuple[int, int] | None = None  # when it was last read
        self._signals = _parse_signals(sig)
        self._previous_handlers: dict[int, _Handler] = {}
        self._requested = False
        self._resuming = False

    @property
    def train_file(self) -> str:
        """The path of the file in which a training is saved."""
        return f"{self._name}_train.ckpt"

    @property
    def eval_file(self) -> str:
        """The path of the file in which an evaluation is saved."""
        return f"{self._name}_eval.ckpt"

    def __enter__(self) -> Self:
        self._requested, self._config_version = False, None
        try:
            for number in self._signals:
                self._previous_handlers[number] = signal.signal(number, self._request)
        except ValueError as error:
            self._restore_signal_handlers()
            raise RuntimeError(
                f"For '{caller()}', signals can only be caught in the program's main thread."
            ) from error
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._restore_signal_handlers()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Request that the run resumes from the file if it exists."""
        if self._save_ckpt and run_context.is_chief:
            run_context.add_state_saver(self)
            remove_stale_temporaries(os.path.dirname(os.path.realpath(self.train_file)))
            self._resuming = os.path.exists(self.train_file)
            if self._resuming:
                run_context.request_resume(self.train_file)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Stop the run if an exit was requested."""
        if self._is_requested():
            run_context.request_stop()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Stop the run if an exit was requested."""
        self.on_train_step_end(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Stop the run if an exit was requested; a resumed training repeats the evaluation."""
        self.on_train_step_end(run_context)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        """Write the file if this callback has stopped the run."""
        if self._requested and reason == "interrupted":
            os.makedirs(os.path.dirname(self.train_file), exist_ok=True)
            network = run_context.original_args().train_network
            save_checkpoint(network, self.train_file, append_dict=state.entries(), crc_check=True)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the file from which the run was resumed if training has finished."""
        if self._resuming and not run_context.is_interrupted():
            Path(self.train_file).unlink(missing_ok=True)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Save the network if `Model.eval` was stopped."""
        params = run_context.original_args()
        saves = self._save_ckpt and run_context.is_chief
        if self._requested and saves and "train_network" not in params:
            os.makedirs(os.path.dirname(self.eval_file), exist_ok=True)
            save_checkpoint(params.eval_network, self.eval_file)

    def _is_requested(self) -> bool:
        if not self._requested and self._config_file is not None:
            self._requested = self._config_requests_exit(self._config_file)
        if is_data_parallel():  # a request to one process stops all
            self._requested = bool(all_reduce_max(self._requested))
        return self._requested

    def _config_requests_exit(self, path: str | os.PathLike[str]) -> bool:
        """Return whether the file requests an exit; read it only when it has changed."""
        import json

        try:
            status = os.stat(path)
            version = status.st_mtime_ns, status.st_size
            if version == self._config_version:
                return False
            with open(path, "rb", opener=open_regular_file) as file:
                config: object = json.loads(file.read())
        except (OSError, ValueError, RecursionError):  # missing, or not yet written completely
            return False
        self._config_version = version
        return is_dict(config) and config.get(_KEY) == 1

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self._requested = True
        self._restore_signal_handlers()

    def _restore_signal_handlers(self) -> None:
        # A signal that arrives during this method restores the handlers itself.
        handlers, self._previous_handlers = self._previous_handlers, {}
        for number, handler in handlers.items():
            # None is a handler that was not installed from Python, which cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _parse_signals(sig: int | Iterable[int]) -> tuple[int, ...]:
    """Return the signals as a tuple; raise ValueError if one cannot be caught."""
    values: tuple[object, ...] = tuple(sig) if isinstance(sig, Iterable) else (sig,)
    uncatchable = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    catchable = signal.valid_signals() - uncatchable
    numbers = tuple(
        n for n in values if isinstance(n, int) and not isinstance(n, bool) and n in catchable
    )
    if len(numbers) < len(values):
        raise value_error(sig, "sig", "be a signal that can be caught, or several")
    return numbers
