"""BackupAndRestore: a training that is begun again goes on where it was interrupted."""

import os
from contextlib import suppress
from typing import Literal, cast

from minispore._atomic import sweep
from minispore._checks import check_int, check_type
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import Occasion, RunContext
from minispore.train._training_state import TrainingState
from minispore.train.serialization import save_checkpoint

_OWNER = "BackupAndRestore"


class BackupAndRestore(Callback):
    """Back up the training at the ends of epochs, and go on from the backup if there is one.

    The same script, started again after a crash, trains as if nothing had happened: weights,
    optimiser, epoch and step, the dataset's order, random states and the callbacks' own states are
    those of the backup, which is the file `backup.ckpt`. When the training has come to its end, by
    its last epoch or by `EarlyStopping`, it is removed; after any other stop, or an exception, it
    stays.

    A run that is given another file as `resume` does not look for a backup.

    Source: mindspore.train.BackupAndRestore.

    Args:
        backup_dir: The folder, made if it is not there.
        save_freq: "epoch" for a backup at the end of each epoch, or the number of epochs from one
            to the next. If the run is stopped, there is one of that moment as well.
        delete_checkpoint: Whether to remove the file at the end. Where it stays, a training that
            is begun again with no more epochs than before has nothing left to do.

    Raises:
        TypeError: An argument is of a wrong type.
        ValueError: `backup_dir` is empty or `save_freq` is not positive; when training begins, if
            the file is damaged or is that of another training.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> backup = BackupAndRestore(folder.name, save_freq=2)
        >>> os.path.basename(backup.backup_file)
        'backup.ckpt'
        >>> folder.cleanup()
    """

    chief_only = True

    def __init__(
        self,
        backup_dir: str | os.PathLike[str],
        save_freq: int | Literal["epoch"] = "epoch",
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        check_type(backup_dir, (str, os.PathLike), "backup_dir", _OWNER)
        if not os.fspath(backup_dir):
            raise ValueError(f"For '{_OWNER}', the argument 'backup_dir' must not be empty.")
        check_type(delete_checkpoint, bool, "delete_checkpoint", _OWNER)
        self._every = 1
        if save_freq != "epoch":
            self._every = check_int(cast("object", save_freq), "save_freq", _OWNER, low=1)
        self._delete = delete_checkpoint
        folder = os.path.abspath(backup_dir)
        os.makedirs(folder, exist_ok=True)
        self._file = os.path.join(folder, "backup.ckpt")

    @property
    def backup_file(self) -> str:
        """The path of the backup, whether there is one or not."""
        return self._file

    def on_train_begin(self, run_context: RunContext) -> None:
        """Have the run go on from the backup."""
        run_context.add_state_saver(self)
        sweep(os.path.dirname(os.path.realpath(self._file)))
        if os.path.exists(self._file):
            run_context.request_resume(self._file)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Ask for a backup if it is time."""
        if run_context.original_args().cur_epoch_num % self._every == 0:
            run_context.request_save(self)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Write the backup; at the end only if it is to stay."""
        if occasion in {"asked", "stopped"} or (occasion == "ended" and not self._delete):
            network = run_context.original_args().train_network
            os.makedirs(os.path.dirname(self._file), exist_ok=True)  # it may have been removed
            save_checkpoint(network, self._file, append_dict=state.entries(), crc_check=True)

    def on_train_end(self, run_context: RunContext) -> None:
        """Remove the backup, if the training has come to its end."""
        if self._delete and not run_context.is_interrupted():
            with suppress(FileNotFoundError):
                os.unlink(self._file)
