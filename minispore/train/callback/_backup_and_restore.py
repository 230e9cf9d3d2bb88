"""BackupAndRestore: continue an interrupted training from the backup of an earlier epoch."""

import os
from pathlib import Path
from typing import Literal

from minispore.train.callback._checkpoint import can_replace, make_folder
from minispore.train.checkpoint.saving import save_checkpoint
from minispore.train.protocol.callback import Callback, RunContext, SaveReason
from minispore.train.protocol.training_state import TrainingState
from minispore.train.resume.training_checkpoint import read_training_checkpoint
from minispore.utils.atomic import remove_stale_temporaries
from minispore.utils.checks import caller, check_bool, check_int
from minispore.utils.warn import warn_at_caller

__all__ = ["BackupAndRestore"]


class BackupAndRestore(Callback):
    """Save backups at the ends of epochs, and resume from the newest when started again.

    The same script, started again after a crash, continues exactly: weights, optimizer, epoch and
    step, the order of the dataset, random number generators and the states of the callbacks are
    restored from the file `backup.ckpt`. If that file is damaged, there is a warning, and the
    backup before it is restored, `backup-previous.ckpt`. The files are removed when training has
    finished, after its last epoch or by `EarlyStopping`; after any other stop or an exception they
    are kept. Weights that are not finite replace no backup.

    A run that is given another file as `resume` ignores the backup.

    Args:
        backup_dir: The folder, created if it does not exist.
        save_freq: "epoch" to save at the end of each epoch, or the number of epochs between two
            backups. If the run is stopped, the state at that moment is saved as well.
        delete_checkpoint: Whether to remove the files when training has finished. If they are kept,
            a training that is started again with the same number of epochs does no further step.
        save_steps: Save also after every so many steps of the run; None for epochs only.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `backup_dir` is empty, or `save_freq` or `save_steps` is not positive; when
            training begins, if both files are damaged, or the newer belongs to another training.
        NotADirectoryError: `backup_dir` is a file.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> backup = BackupAndRestore(folder.name, save_freq=2)
        >>> os.path.basename(backup.backup_file)
        'backup.ckpt'
        >>> folder.cleanup()

    Source: MindSpore's `mindspore.train.BackupAndRestore`.
    """

    chief_only = True

    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: int | Literal["epoch"] = "epoch",
        delete_checkpoint: bool = True,
        save_steps: int | None = None,
    ) -> None:
        super().__init__()
        check_bool(delete_checkpoint, "delete_checkpoint")
        every_epoch = isinstance(save_freq, str) and save_freq == "epoch"
        self._every = 1 if every_epoch else check_int(save_freq, "save_freq", low=1)
        self._steps = None if save_steps is None else check_int(save_steps, "save_steps", low=1)
        self._delete = delete_checkpoint
        folder = make_folder(backup_dir, "backup_dir")
        self._file = os.path.join(folder, "backup.ckpt")
        self._previous = os.path.join(folder, "backup-previous.ckpt")
        self._is_damaged = False  # whether the newest backup is, which must not replace the other

    @property
    def backup_file(self) -> str:
        """The path of the backup, whether or not the file exists."""
        return self._file

    def on_train_begin(self, run_context: RunContext) -> None:
        """Request that the run resumes from the newest backup that is not damaged."""
        run_context.add_state_saver(self)
        remove_stale_temporaries(os.path.dirname(os.path.realpath(self._file)))
        # A kill during a save may leave only the previous file.
        found = [path for path in (self._file, self._previous) if os.path.exists(path)]
        error = _damage(found[0]) if len(found) > 1 else None
        self._is_damaged = error is not None and _damage(self._previous) is None
        if self._is_damaged:
            warn_at_caller(
                f"For '{caller()}', the newest backup is damaged, so the run is resumed from the "
                f"one before it, '{self._previous}'. {error}"
            )
        if found:
            run_context.request_resume(found[1 if self._is_damaged else 0])

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Request a backup if one is due."""
        if self._steps and run_context.original_args().cur_step_num % self._steps == 0:
            run_context.request_save(self)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Request a backup if one is due."""
        if run_context.original_args().cur_epoch_num % self._every == 0:
            run_context.request_save(self)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        """Write the backup; when training has finished, only if it is to be kept."""
        if reason == "restored" or (reason == "finished" and self._delete):
            return
        params = run_context.original_args()
        if can_replace(params):
            network = params.train_network
            os.makedirs(os.path.dirname(self._file), exist_ok=True)  # it may have been removed
            if not self._is_damaged and os.path.exists(self._file):
                os.replace(self._file, self._previous)
            save_checkpoint(network, self._file, append_dict=state.entries(), crc_check=True)
            self._is_damaged = False

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the backups if training has finished."""
        if self._delete and not run_context.is_interrupted():
            Path(self._file).unlink(missing_ok=True)
            Path(self._previous).unlink(missing_ok=True)


def _damage(path: str) -> ValueError | None:
    """Return the error of reading a backup, None if it is not damaged."""
    try:
        read_training_checkpoint(path)
    except ValueError as error:
        return error
    return None
