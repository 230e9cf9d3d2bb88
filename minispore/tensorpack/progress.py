"""ProgressBar: how far an epoch has come."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Protocol

from tqdm import tqdm

from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import as_float, name_list

_FORM = "{l_bar}{bar}|{n_fmt}/{total_fmt}[{elapsed}<{remaining},{rate_noinv_fmt}{postfix}]"


class _Bar(Protocol):
    """What is used of a bar."""

    def set_postfix(self, ordered_dict: Mapping[str, object], refresh: bool) -> None: ...

    def update(self) -> object: ...

    def close(self) -> None: ...


class ProgressBar(Callback):
    """Draw a bar for each epoch on standard output, with numbers of the current step.

    It is drawn anew twice a second in a terminal, else every three minutes, or as the environment's
    TENSORPACK_PROGRESS_REFRESH says in seconds.

    Source: tensorpack.callbacks.ProgressBar.

    Args:
        names: Arrays of one element, see `Trainer.array`, or numbers in the channel.
    """

    chief_only = False

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = name_list(names)
        self.hears: bool = bool(self._names)
        self._bar: _Bar | None = None

    def _before_epoch(self) -> None:
        refresh = os.environ.get("TENSORPACK_PROGRESS_REFRESH")
        self._bar = tqdm(
            total=self.trainer.steps_per_epoch,
            initial=(self.local_step + 1) % self.trainer.steps_per_epoch,
            desc=f"epoch {self.epoch_num}",
            file=sys.stdout,
            mininterval=float(refresh) if refresh else 0.5 if sys.stdout.isatty() else 180,
            bar_format=_FORM,
            dynamic_ncols=True,
        )

    def _trigger_step(self) -> None:
        if self._bar is None:
            return
        if self._names:
            shown = {name: _short(self._value(name)) for name in self._names}
            self._bar.set_postfix(shown, False)
        self._bar.update()

    def _value(self, name: str) -> float | None:
        try:
            return as_float(self.trainer.array(name))
        except ValueError:
            history = self.trainer.monitors.get_history(name)
            return history[-1][1] if history else None

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _after_epoch(self) -> None:
        self._close()

    def _after_train(self) -> None:
        self._close()


def _short(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"
