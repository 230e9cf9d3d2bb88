"""OnRequestExit: end a run on a signal or a line in a file, so that it can be gone on with."""

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Self, cast

from minispore._atomic import regular, sweep
from minispore._checks import check_type
from minispore.communication._exchange import highest, is_data_parallel, is_first
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import Occasion, RunContext
from minispore.train._training_state import TrainingState
from minispore.train.serialization import save_checkpoint

_OWNER = "OnRequestExit"
_KEY = "GracefulExit"
_Handler = Callable[[int, FrameType | None], object] | int | None


class OnRequestExit(Callback):
    """End the run after the current step when a signal comes, and save what is needed to go on.

    In training the file is `directory/rank_0/<file_name>_train.ckpt`, with the training state: the
    same training, begun again, goes on from it as if it had never been stopped, and removes it when
    it has come to its end. An evaluation of its own is ended likewise; its file,
    `…/<file_name>_eval.ckpt`, holds the network.

    Signals are caught only during the run; then the handlers from before are back. They are back
    after the first signal, too: a second one ends the process as if this callback were not there.

    Source: mindspore.train.OnRequestExit.

    Args:
        save_ckpt: Whether to save.
        save_mindir: Must be False: there is no MindIR.
        file_name: How the files' names begin.
        directory: Where the folder `rank_0` is made.
        config_file: A JSON file; once it holds ``{"GracefulExit": 1}``, the run is ended. It need
            not be there at first.
        sig: The signal, or several.

    Raises:
        ValueError: As MindSpore, for an argument of a wrong type too; a signal cannot be caught.
        NotImplementedError: `save_mindir` is True.
        RuntimeError: At the beginning of a run that is not in the program's main thread.

    Examples:
        >>> OnRequestExit(file_name="LeNet5", directory="results").train_file
        'results/rank_0/LeNet5_train.ckpt'
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
                raise ValueError(
                    f"For '{_OWNER}', the argument '{name}' must be a bool, but got {value!r}."
                )
        if save_mindir:
            raise NotImplementedError(
                f"For '{_OWNER}', 'save_mindir' must be False: minispore has no MindIR."
            )
        if (
            not isinstance(file_name, str)
            or not file_name
            or os.path.basename(file_name) != file_name
        ):
            raise ValueError(
                f"For '{_OWNER}', the argument 'file_name' must be the name of a file, but got "
                f"{file_name!r}."
            )
        check_type(directory, (str, os.PathLike), "directory", _OWNER)
        check_type(config_file, (str, os.PathLike), "config_file", _OWNER, none=True)
        self._save_ckpt = save_ckpt
        self._name = os.path.join(os.path.normpath(directory), "rank_0", file_name)
        self._config_file = config_file
        self._config_seen: tuple[int, int] | None = None
        self._signals = _checked(sig)
        self._before: dict[int, _Handler] = {}
        self._requested = False
        self._found = False

    @property
    def train_file(self) -> str:
        """The file that a training is saved in."""
        return f"{self._name}_train.ckpt"

    @property
    def eval_file(self) -> str:
        """The file that an evaluation is saved in."""
        return f"{self._name}_eval.ckpt"

    def __enter__(self) -> Self:
        self._requested, self._config_seen = False, None
        try:
            for number in self._signals:
                self._before[number] = signal.signal(number, self._request)
        except ValueError as error:
            self._give_back()
            raise RuntimeError(
                f"For '{_OWNER}', signals can only be caught in the program's main thread."
            ) from error
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._give_back()

    def on_train_begin(self, run_context: RunContext) -> None:
        """Have the run go on from the file, if there is one."""
        if self._save_ckpt and is_first():
            run_context.add_state_saver(self)
            sweep(os.path.dirname(os.path.realpath(self.train_file)))
            self._found = os.path.exists(self.train_file)
            if self._found:
                run_context.request_resume(self.train_file)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Stop the run if that was requested."""
        if self._is_requested():
            run_context.request_stop()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Stop the run if that was requested."""
        self.on_train_step_end(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Stop the run if that was requested; a training goes on before this evaluation."""
        self.on_train_step_end(run_context)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Write the file, if it was this callback that has stopped the run."""
        if self._requested and occasion == "stopped":
            os.makedirs(os.path.dirname(self.train_file), exist_ok=True)
            network = run_context.original_args().train_network
            save_checkpoint(network, self.train_file, append_dict=state.entries(), crc_check=True)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the file from which the run has gone on, now that it has come to its end."""
        if self._found and not run_context.is_interrupted():
            with suppress(FileNotFoundError):
                os.unlink(self.train_file)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Save the network of an evaluation that was ended and is no part of a training."""
        params = run_context.original_args()
        if self._requested and self._save_ckpt and is_first() and "train_network" not in params:
            os.makedirs(os.path.dirname(self.eval_file), exist_ok=True)
            save_checkpoint(params.eval_network, self.eval_file)

    def _is_requested(self) -> bool:
        if not self._requested and self._config_file is not None:
            self._requested = self._config_says_so(self._config_file)
        if is_data_parallel(_OWNER):  # whichever process was asked
            self._requested = bool(highest(self._requested))
        return self._requested

    def _config_says_so(self, path: str | os.PathLike[str]) -> bool:
        """Whether the file asks for the end; it is read only when it has changed."""
        import json

        try:
            state = os.stat(path)
            if self._config_seen == (state.st_mtime_ns, state.st_size):
                return False
            with open(path, "rb", opener=regular) as file:
                config: object = json.loads(file.read())
        except (OSError, ValueError, RecursionError):  # not there, or not yet written to its end
            return False
        self._config_seen = (state.st_mtime_ns, state.st_size)
        return isinstance(config, dict) and cast("dict[str, object]", config).get(_KEY) == 1

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self._requested = True
        self._give_back()

    def _give_back(self) -> None:
        # The next signal may come at any place here, and then gives them back itself.
        before, self._before = self._before, {}
        for number, handler in before.items():
            # A handler that was not installed from Python cannot be put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _checked(sig: int | Iterable[int]) -> tuple[int, ...]:
    given: tuple[object, ...] = tuple(sig) if isinstance(sig, Iterable) else (sig,)
    for number in given:
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError(
                f"For '{_OWNER}', the argument 'sig' must be a signal's number or several, but "
                f"got {sig!r}."
            )
        uncatchable = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
        if number not in signal.valid_signals() or number in uncatchable:
            raise ValueError(
                f"For '{_OWNER}', the argument 'sig' must be a signal that can be caught, but got "
                f"{number!r}."
            )
    return tuple(number for number in given if isinstance(number, int))
