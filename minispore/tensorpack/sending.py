"""Sending numbers somewhere by calling a program."""

import re
import shlex
import subprocess
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from minispore._checks import described
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.channel import name_list
from minispore.train.callback._states import entries

_SHELL: Final = re.compile(r"[|&;<>`]|\$\(")


class Command:
    """A program that is called with numbers in its arguments.

    Args:
        command: The arguments, or one text that is split at its spaces, quotes being heeded. In
            each, `{name}` stands for a number, `{name:.3f}` for one in a form of its own.
        names: The names of the numbers, or one name.
        shell: Whether `command` is a text for the shell; numbers are quoted in it.
        timeout: The most seconds that it may take.

    Raises:
        TypeError: `command` is neither str nor a list of str.
        ValueError: It is empty, or a text with something that only a shell would understand.

    Examples:
        >>> Command("notify body={val-error:.2f}", "val-error").arguments({"val-error": 0.125})
        ['notify', 'body=0.12']
    """

    def __init__(
        self,
        command: str | Sequence[str],
        names: str | Sequence[str],
        shell: bool = False,
        timeout: float = 60,
    ) -> None:
        if not isinstance(command, str) and not (
            isinstance(command, list | tuple) and all(isinstance(each, str) for each in command)
        ):
            raise TypeError(f"The command must be a list of str, but got {described(command)}.")
        if shell and not isinstance(command, str):
            raise TypeError("A command for the shell must be a str.")
        if isinstance(command, str) and not shell and _SHELL.search(command):
            raise ValueError(
                f"The command {command!r} is for a shell. Give a list of arguments, or shell=True."
            )
        self.names: list[str] = name_list(names)
        self._parts = list(command)
        if isinstance(command, str):
            self._parts = [command] if shell else shlex.split(command)
        if not self._parts or not self._parts[0]:
            raise ValueError("The command must not be empty.")
        self._shell, self._timeout = shell, timeout
        either = "|".join(re.escape(name) for name in self.names) or "(?!)"
        self._form = re.compile(r"\{(" + either + r")(?::([^{}]*))?\}")

    def arguments(self, values: Mapping[str, float]) -> list[str]:
        """Return the arguments with the numbers in them."""

        def shown(match: re.Match[str]) -> str:
            text = format(values[match[1]], match[2] or "")
            return shlex.quote(text) if self._shell else text

        return [self._form.sub(shown, part) for part in self._parts]

    def call(self, values: Mapping[str, float]) -> None:
        """Call the program; what goes wrong is told, and the training goes on."""
        try:
            given = self.arguments(values)
            done = subprocess.run(  # noqa: S603 (what the user has asked for)
                given[0] if self._shell else given,
                shell=self._shell,
                timeout=self._timeout,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if done.returncode:
                logger.warn(f"The command {given[0]!r} failed with {done.returncode}.")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            logger.warn(f"The command {self._parts[0]!r} failed: {error}")


class SendStat(Callback):
    """Call a program with the newest values of numbers, by default after each epoch.

    If one of them has no value yet, that is told and the program is not called.

    Source: tensorpack.callbacks.SendStat.

    Args:
        command: What to call; see `Command`, as for the others.
        names: The names of the numbers.
        shell: Whether `command` is a text for the shell.
        timeout: The most seconds that it may take.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        names: str | Sequence[str],
        shell: bool = False,
        timeout: float = 60,
    ) -> None:
        self._command = Command(command, names, shell, timeout)

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers."""
        return self._command.names

    def _trigger(self) -> None:
        monitors = self.trainer.monitors
        try:
            values = {name: monitors.get_latest(name) for name in self._command.names}
        except KeyError as error:
            logger.warn(f"SendStat sends nothing: {error.args[0]}")
            return
        self._command.call(values)


class SendMonitorData(MonitorBase):
    """Call a program as soon as all of some numbers have been put in, then wait for them again.

    Source: tensorpack.callbacks.SendMonitorData.

    Args:
        command: What to call; see `Command`, as for the others.
        names: The names of the numbers.
        shell: Whether `command` is a text for the shell.
        timeout: The most seconds that it may take.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        names: str | Sequence[str],
        shell: bool = False,
        timeout: float = 60,
    ) -> None:
        self._command = Command(command, names, shell, timeout)
        self._values: dict[str, float] = {}

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers."""
        return self._command.names

    def process_scalar(self, name: str, val: float) -> None:
        """Take one of them."""
        if name in self._command.names:
            self._values[name] = val
            if len(self._values) == len(set(self._command.names)):
                values, self._values = self._values, {}
                self._command.call(values)

    def state_dict(self) -> dict[str, object]:
        """Return the numbers that have come."""
        return {"values": self._values}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Wait for the others.

        Raises:
            ValueError: It is no such state.
        """
        self._values = entries(state, "values", float, "SendMonitorData")
