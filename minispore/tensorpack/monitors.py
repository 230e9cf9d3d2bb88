"""Monitors that remember and print numbers."""

import re
from collections.abc import Mapping, Sequence
from typing import Self

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import MonitorBase
from minispore.tensorpack.channel import Memory
from minispore.train.callback._states import entries


class ScalarHistory(MonitorBase, Memory):
    """Remember all numbers; the channel does so itself, and this is for looking at them later.

    Source: tensorpack.callbacks.ScalarHistory.
    """

    def process_scalar(self, name: str, val: float) -> None:
        """Remember it."""
        self.add(name, self.global_step, val)


class ScalarPrinter(MonitorBase):
    """Print the numbers that were put in since the last time.

    Source: tensorpack.callbacks.ScalarPrinter.

    Args:
        enable_step: Whether to print after each step,
        enable_epoch: and after each epoch.
        whitelist: Regular expressions: only numbers in whose names one is found. None for all.
        blacklist: Regular expressions: no numbers in whose names one is found.
    """

    def __init__(
        self,
        enable_step: bool = False,
        enable_epoch: bool = True,
        whitelist: Sequence[str] | None = None,
        blacklist: Sequence[str] | None = None,
    ) -> None:
        self._steps, self._epochs = enable_step, enable_epoch
        self._white = None if whitelist is None else [re.compile(each) for each in whitelist]
        self._black = [re.compile(each) for each in blacklist or ()]
        self._values: dict[str, float] = {}

    def __enter__(self) -> Self:
        # A run that has failed may have left some.
        self._values = {}
        return super().__enter__()

    def process_scalar(self, name: str, val: float) -> None:
        """Print it the next time."""
        self._values[name] = val

    def _before_train(self) -> None:
        self._print()

    def _trigger_step(self) -> None:
        # What the last step brings is printed with its epoch.
        if self._steps and not (self._epochs and self.trainer.is_last_step):
            self._print()

    def _trigger(self) -> None:
        if self._epochs:
            self._print()

    def _print(self) -> None:
        for name, value in sorted(self._values.items()):
            listed = self._white is None or any(each.search(name) for each in self._white)
            if listed and not any(each.search(name) for each in self._black):
                logger.info(f"{name}: {value:.5g}")
        self._values = {}

    def state_dict(self) -> dict[str, object]:
        """Return what has yet to be printed."""
        return {"values": self._values}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Print that the next time.

        Raises:
            ValueError: It is no such state.
        """
        self._values = entries(state, "values", float, "ScalarPrinter")
