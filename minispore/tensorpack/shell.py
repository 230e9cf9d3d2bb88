"""InjectShell: look into a training, by touching a file."""

import os
from collections.abc import Callable
from importlib import import_module

from minispore._checks import check_one_of
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.trainer import Trainer


class InjectShell(Callback):
    """Open a shell when a file is there, and remove the file; the training goes on after the shell.

    In the shell `trainer` is the training. It is the person at the terminal who types there: of the
    file only its existence counts.

    Source: tensorpack.callbacks.InjectShell.

    Args:
        file: The file, in the logger's folder if there is one.
        shell: "ipython", or "pdb", which also stands in where IPython is not installed.
        enter: What to call with the trainer instead of a shell.
    """

    def __init__(
        self,
        file: str = "INJECT_SHELL.tmp",
        shell: str = "ipython",
        enter: Callable[[Trainer], object] | None = None,
    ) -> None:
        check_one_of(shell, ("ipython", "pdb"), "shell", "InjectShell")
        self._name = file
        self._enter = enter or (_ipython if shell == "ipython" else _pdb)

    def _before_train(self) -> None:
        self._file = os.path.join(logger.get_logger_dir() or os.getcwd(), self._name)
        logger.info(f"To open a shell, create the file '{self._file}'.")

    def _trigger(self) -> None:
        if self._consume():
            logger.info(f"'{self._name}' is there: here is the shell.")
            self._enter(self.trainer)

    def _after_train(self) -> None:
        self._consume()

    def _consume(self) -> bool:
        try:
            os.unlink(self._file)
        except OSError:
            return False
        return True


def _ipython(trainer: Trainer) -> None:
    try:
        ipython = import_module("IPython")
    except ImportError:
        logger.warn("IPython is not installed: here is pdb.")
        _pdb(trainer)
    else:
        ipython.embed()


def _pdb(trainer: Trainer) -> None:
    import pdb  # noqa: T100 (this is what was asked for)

    pdb.set_trace()  # noqa: T100
