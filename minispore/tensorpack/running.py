"""Running something else along with a training: functions, threads, a shell, programs."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Final, TypeAlias

from minispore._checks import check_one_of, check_type, described
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.channel import name_list
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import Trainer
from minispore.tensorpack.states import Kept, Remembering
from minispore.train.callback import RunContext

Startable: TypeAlias = Thread | BaseProcess

_JOIN_SECONDS: Final = 5.0
# What only a shell understands.
_SHELL: Final = re.compile(r"[|&;<>`]|\$\(")


@checked
@dataclass(eq=False)
class RunOp(Callback):
    """Call a function; what is computed is no graph, so that an operation is a function here.

    Source: tensorpack.callbacks.RunOp.

    Args:
        op: The function.
        run_before: Whether to call it before training,
        run_as_trigger: when triggered,
        run_step: and before each step.
        verbose: Whether to tell of it.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(RunOp(lambda: print("done"), run_before=False), epochs=1)
        done
    """

    op: Callable[[], object]
    run_before: bool = True
    run_as_trigger: bool = True
    run_step: bool = False
    verbose: bool = False
    chief_only = False

    def _run(self, wanted: bool) -> None:
        if wanted and self.verbose:
            logger.info(f"Running {getattr(self.op, '__name__', self.op)} ...")
        if wanted:
            self.op()

    def _before_train(self) -> None:
        self._run(self.run_before)

    def _trigger(self) -> None:
        self._run(self.run_as_trigger)

    def _before_run(self, run_context: RunContext) -> None:
        self._run(self.run_step)


@checked
class RunUpdateOps(RunOp):
    """Nothing: what tensorpack collects to be updated, layers update themselves here.

    Source: tensorpack.callbacks.RunUpdateOps.

    Args:
        collection: A function to call before each step, where there is anything to do.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(RunUpdateOps(), RunUpdateOps(lambda: print("step")), epochs=1)
        step
        step
        step
    """

    def __init__(self, collection: Callable[[], object] | None = None) -> None:
        super().__init__(collection or (lambda: None), False, False, collection is not None)


@checked
class StartProcOrThread(Callback):
    """Start threads or processes before training, and end them after it.

    Source: tensorpack.callbacks.StartProcOrThread.

    Args:
        startable: A thread or process that has not been started, or a list of these.
        stop_at_last: Whether to end them: by `stop` or `terminate`, if they have it, and then by
            waiting some seconds.

    Examples:
        >>> from threading import Thread
        >>> from minispore.tensorpack._examples import train
        >>> train(StartProcOrThread(Thread(target=print, args=["beside"])))
        beside
    """

    chief_only = False

    def __init__(self, startable: Startable | list[Startable], stop_at_last: bool = True) -> None:
        self._all = startable if isinstance(startable, list) else [startable]
        for each in self._all:
            check_type(each, (Thread, BaseProcess), "startable", "StartProcOrThread")
        self._stop_at_last = stop_at_last

    def _before_train(self) -> None:
        for each in self._all:
            each.start()

    def _after_train(self) -> None:
        for each in self._all if self._stop_at_last else ():
            end = getattr(each, "stop", None) or getattr(each, "terminate", None)
            if callable(end):
                end()
            each.join(_JOIN_SECONDS)
            if each.is_alive():
                logger.warn(f"{each!r} has not ended within {_JOIN_SECONDS:g} seconds.")


@checked
class InjectShell(Callback):
    """Open a shell when a file is there, and remove the file; the training goes on after the shell.

    In the shell `trainer` is the training. It is the person at the terminal who types there: of the
    file only its existence counts.

    Source: tensorpack.callbacks.InjectShell.

    Args:
        file: The file, in the logger's folder if there is one.
        shell: "ipython", or "pdb", which also stands in where IPython is not installed.
        enter: What to call with the trainer instead of a shell.

    Examples:
        >>> from pathlib import Path
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack._examples import train
        >>> def touch(callback):
        ...     Path(logger.get_logger_dir(), "INJECT_SHELL.tmp").touch()
        >>> shell = InjectShell(enter=lambda trainer: print("step", trainer.global_step))
        >>> train(CallbackFactory(before_train=touch), shell)
        To open a shell, create the file '...INJECT_SHELL.tmp'.
        'INJECT_SHELL.tmp' is there: here is the shell.
        step 3
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


@checked
class Command(Callback):
    """Base class of what calls a program with numbers in its arguments.

    What goes wrong in a call is told, and the training goes on.

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
        given = f"but got {described(command)}."
        owner = type(self).__name__
        if shell and not isinstance(command, str):
            raise TypeError(f"For '{owner}', 'command' must be a str with 'shell' True, {given}")
        if isinstance(command, str):
            if not shell and _SHELL.search(command):
                raise ValueError(
                    f"For '{owner}', 'command' must be a list of arguments, or for a shell with "
                    f"'shell' True, {given}"
                )
            command = [command] if shell else shlex.split(command)
        if not command or not command[0]:
            raise ValueError(f"For '{owner}', 'command' must not be empty, {given}")
        self._names, self._parts = name_list(names), command
        self._shell, self._timeout = shell, timeout
        either = "|".join(re.escape(name) for name in self._names) or "(?!)"
        self._form = re.compile(r"\{(" + either + r")(?::([^{}]*))?\}")

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers."""
        return self._names

    def arguments(self, values: Mapping[str, float]) -> list[str]:
        """Return the arguments with the numbers in them."""

        def shown(match: re.Match[str]) -> str:
            text = format(values[match[1]], match[2] or "")
            return shlex.quote(text) if self._shell else text

        return [self._form.sub(shown, part) for part in self._parts]

    def call(self, values: Mapping[str, float]) -> None:
        """Call the program."""
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


class SendStat(Command):
    """Call a program with the newest values of numbers, by default after each epoch.

    If one of them has no value yet, that is told and the program is not called. The arguments are
    those of `Command`.

    Source: tensorpack.callbacks.SendStat.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(SendStat(["/no/program", "body={loss:.3f}"], "loss"), epochs=1)
        The command '/no/program' failed: ... No such file or directory: '/no/program'
    """

    def _trigger(self) -> None:
        monitors = self.trainer.monitors
        try:
            values = {name: monitors.get_latest(name) for name in self._names}
        except KeyError as error:
            logger.warn(f"SendStat sends nothing: {error.args[0]}")
            return
        self.call(values)


class SendMonitorData(Remembering, Command, MonitorBase):
    """Call a program as soon as all of some numbers have been put in, then wait for them again.

    The arguments are those of `Command`.

    Source: tensorpack.callbacks.SendMonitorData.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(SendMonitorData(["/no/program", "{loss}"], ["loss"]), epochs=1)
        The command '/no/program' failed: ... No such file or directory: '/no/program'
    """

    _values = Kept(dict[str, float])

    def process_scalar(self, name: str, val: float) -> None:
        """Take one of them."""
        if name in self._names:
            self._values[name] = val
            if len(self._values) == len(set(self._names)):
                values, self._values = self._values, {}
                self.call(values)
