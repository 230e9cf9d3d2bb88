"""BackupAndRestore: continue an interrupted training from the backup of an earlier epoch."""

import os
from pathlib import Path
from typing import Literal

from minispore.train.callback._checkpoint import can_replace, make_folder
from minispore.train.checkpoint.saving import save_checkpoint
from minispore.train.protocol.callback import Callback, RunContext, SaveReason
from minispore.train.protocol.training_state import TrainingState
from minispore.utils.atomic import remove_stale_temporaries
from minispore.utils.checks import check_bool, check_int

__all__ = ["BackupAndRestore"]


class BackupAndRestore(Callback):
    """Save a backup at the ends of epochs, and resume from it when training is started again.

    The same script, started again after a crash, continues exactly: weights, optimizer, epoch and
    step, the order of the dataset, random number generators and the states of the callbacks are
    restored from the file `backup.ckpt`. The file is removed when training has finished, after its
    last epoch or by `EarlyStopping`; after any other stop or an exception it is kept. Weights that
    are not finite replace no backup.

    A run that is given another file as `resume` ignores the backup.

    Args:
        backup_dir: The folder, created if it does not exist.
        save_freq: "epoch" to save at the end of each epoch, or the number of epochs between two
            backups. If the run is stopped, the state at that moment is saved as well.
        delete_checkpoint: Whether to remove the file when training has finished. If it is kept, a
            training that is started again with the same number of epochs does no further step.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `backup_dir` is empty or `save_freq` is not positive; when training begins, if
            the file is damaged or belongs to another training.
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
    ) -> None:
        super().__init__()
        check_bool(delete_checkpoint, "delete_checkpoint")
        every_epoch = isinstance(save_freq, str) and save_freq == "epoch"
        self._every = 1 if every_epoch else check_int(save_freq, "save_freq", low=1)
        self._delete = delete_checkpoint
        folder = make_folder(backup_dir, "backup_dir")
        self._file = os.path.join(folder, "backup.ckpt")

    @property
    def backup_file(self) -> str:
        """The path of the backup, whether or not the file exists."""
        return self._file

    def on_train_begin(self, run_context: RunContext) -> None:
        """Request that the run resumes from the backup if the file exists."""
        run_context.add_state_saver(self)
        remove_stale_temporaries(os.path.dirname(os.path.realpath(self._file)))
        if os.path.exists(self._file):
            run_context.request_resume(self._file)

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
            save_checkpoint(network, self._file, append_dict=state.entries(), crc_check=True)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the backup if training has finished."""
        if self._delete and not run_context.is_interrupted():
            Path(self._file).unlink(missing_ok=True)
