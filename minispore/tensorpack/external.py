"""Callbacks that run functions, threads, processes, a shell, or programs during a training."""

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

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.protocol import Trainer, name_list, suggest
from minispore.train.callback import RunContext
from minispore.train.resume import StateField, StatefulMixin
from minispore.utils.checks import check_arguments, check_number, check_one_of, describe_value

Startable: TypeAlias = Thread | BaseProcess

_JOIN_SECONDS: Final = 5.0
# A name in braces; not a shell's variable, such as ${HOME}.
_NAMED: Final = re.compile(r"(?<!\$)\{([A-Za-z_][^{}\s\"',:]*)(?::[^{}\s\"']*)?\}")


@check_arguments
@dataclass(eq=False)
class RunOp(Callback):
    """Call a function; it takes the place of tensorpack's graph operation.

    Args:
        op: The function.
        run_before: Whether to call it before training.
        run_as_trigger: Whether to call it when triggered.
        run_step: Whether to call it before each step.
        verbose: Whether to log each call.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(RunOp(lambda: print("done"), run_before=False), epochs=1)
        done

    Source: tensorpack's `callbacks.RunOp`.
    """

    op: Callable[[], object]
    run_before: bool = True
    run_as_trigger: bool = True
    run_step: bool = False
    verbose: bool = False
    chief_only = False

    def _run_if(self, enabled: bool) -> None:
        if enabled:
            if self.verbose:
                logger.info(f"Running {getattr(self.op, '__name__', self.op)} ...")
            self.op()

    def _before_train(self) -> None:
        self._run_if(self.run_before)

    def _trigger(self) -> None:
        self._run_if(self.run_as_trigger)

    def _before_run(self, run_context: RunContext) -> None:
        self._run_if(self.run_step)


@check_arguments
class RunUpdateOps(RunOp):
    """Do nothing: layers update their moving averages themselves, without update operations.

    Args:
        collection: A function to call before each step. The name of one of tensorpack's collections
            has no effect: there are none.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(RunUpdateOps("update_ops"), RunUpdateOps(lambda: print("step")), epochs=1)
        step
        step
        step

    Source: tensorpack's `callbacks.RunUpdateOps`.
    """

    def __init__(self, collection: Callable[[], object] | str | None = None) -> None:
        op = collection if callable(collection) else None
        super().__init__(op or (lambda: None), False, False, op is not None)


@check_arguments
class StartProcOrThread(Callback):
    """Start threads or processes before training, and stop them after it.

    Args:
        startable: A thread or process that has not been started, or a list of these.
        stop_at_last: Whether to stop them: call the method `stop` or `terminate` if there is one,
            and wait some seconds for the end.

    Examples:
        >>> from threading import Thread
        >>> from minispore.tensorpack.example_training import train
        >>> train(StartProcOrThread(Thread(target=print, args=["started"])))
        started

    Source: tensorpack's `callbacks.StartProcOrThread`.
    """

    chief_only = False

    def __init__(self, startable: Startable | list[Startable], stop_at_last: bool = True) -> None:
        self._startables = startable if isinstance(startable, list) else [startable]
        self._stop_at_last = stop_at_last

    def _before_train(self) -> None:
        for startable in self._startables:
            startable.start()

    def _after_train(self) -> None:
        for startable in self._startables if self._stop_at_last else ():
            stop = getattr(startable, "stop", None) or getattr(startable, "terminate", None)
            if callable(stop):
                stop()
            startable.join(_JOIN_SECONDS)
            if startable.is_alive():
                logger.warn(f"{startable!r} has not ended within {_JOIN_SECONDS:g} seconds.")


@check_arguments
class InjectShell(Callback):
    """Open a Python shell when a certain file exists, and remove the file.

    The shell reads from the terminal and has the variable `trainer`; the training continues when
    the shell is left. The content of the file is ignored.

    Args:
        file: The file, in the logger's folder if there is one.
        shell: "ipython", or "pdb", which is also used if IPython is not installed.
        enter: A function of the trainer, called instead of a shell.

    Examples:
        >>> from pathlib import Path
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack.example_training import train
        >>> def touch(callback):
        ...     Path(logger.get_logger_dir(), "INJECT_SHELL.tmp").touch()
        >>> shell = InjectShell(enter=lambda trainer: print("step", trainer.global_step))
        >>> train(CallbackFactory(before_train=touch), shell)
        To open a shell, create the file '...INJECT_SHELL.tmp'.
        The file 'INJECT_SHELL.tmp' exists: a shell is opened.
        step 3

    Source: tensorpack's `callbacks.InjectShell`.
    """

    def __init__(
        self,
        file: str = "INJECT_SHELL.tmp",
        shell: str = "ipython",
        enter: Callable[[Trainer], object] | None = None,
    ) -> None:
        check_one_of(shell, ("ipython", "pdb"), "shell")
        self._name = file
        self._enter = enter or (_ipython if shell == "ipython" else _pdb)

    def _before_train(self) -> None:
        self._file = os.path.join(logger.get_logger_dir() or os.getcwd(), self._name)
        logger.info(f"To open a shell, create the file '{self._file}'.")

    def _trigger(self) -> None:
        if self._take_trigger_file():
            logger.info(f"The file '{self._name}' exists: a shell is opened.")
            self._enter(self.trainer)

    def _after_train(self) -> None:
        self._take_trigger_file()

    def _take_trigger_file(self) -> bool:
        """Remove the file, and return whether it existed."""
        try:
            os.unlink(self._file)
        except OSError:
            return False
        return True


def _ipython(trainer: Trainer) -> None:
    try:
        ipython = import_module("IPython")
    except ImportError:
        logger.warn("IPython is not installed: pdb is used instead.")
        _pdb(trainer)
    else:
        ipython.embed()


def _pdb(trainer: Trainer) -> None:
    import pdb  # noqa: T100 (on the user's request)

    pdb.set_trace()  # noqa: T100


@check_arguments
class CommandCallback(Callback):
    """Base class of callbacks that run a program with numbers in its arguments.

    If the program fails, a warning is logged and the training continues.

    Args:
        command: A list of arguments, which is run without a shell; or a str, which is run by the
            shell after each number has been quoted by `shlex.quote`. `{name}` stands for a number;
            `{name:.3f}` has a format.
        names: The names of the numbers, or one name.
        timeout: The maximum run time in seconds.

    Raises:
        TypeError: `command` is neither str nor a list of str.
        ValueError: It is empty, or has a name in braces, as in `{acc}`, that `names` does not
            contain; or `timeout` is negative or not finite.

    Examples:
        >>> CommandCallback(["notify", "body={error:.2f}"], "error").arguments({"error": 0.125})
        ['notify', 'body=0.12']
    """

    def __init__(
        self,
        command: str | Sequence[str],
        names: str | Sequence[str],
        timeout: float = 60,
    ) -> None:
        self._names, self._parts = name_list(names), name_list(command)
        self._shell = isinstance(command, str)
        self._timeout = check_number(timeout, "timeout", low=0)
        if not self._parts or not self._parts[0].strip():
            raise ValueError(
                f"For '{type(self).__name__}', 'command' must not be empty, "
                f"but got {describe_value(command)}."
            )
        alternatives = "|".join(re.escape(name) for name in self._names) or "(?!)"
        self._placeholder = re.compile(r"\{(" + alternatives + r")(?::([^{}]*))?\}")
        for unknown in _NAMED.findall(self._placeholder.sub(" ", "\n".join(self._parts))):
            raise ValueError(
                f"For '{type(self).__name__}', each name in braces in 'command' must be one of "
                f"'names', but got {{{unknown}}}{suggest(unknown, self._names)}"
            )

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers."""
        return self._names

    def arguments(self, values: Mapping[str, float]) -> list[str]:
        """Return the arguments with the numbers inserted."""

        def format_number(match: re.Match[str]) -> str:
            text = format(values[match[1]], match[2] or "")
            return shlex.quote(text) if self._shell else text

        return [self._placeholder.sub(format_number, part) for part in self._parts]

    def call(self, values: Mapping[str, float]) -> None:
        """Run the program with these numbers; log a warning if it fails."""
        try:
            arguments = self.arguments(values)
            process = subprocess.run(  # noqa: S603 (on the user's request)
                arguments[0] if self._shell else arguments,
                shell=self._shell,
                timeout=self._timeout,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            if process.returncode:
                logger.warn(f"The command {arguments[0]!r} failed with {process.returncode}.")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            logger.warn(f"The command {self._parts[0]!r} failed: {error}")


class SendStat(CommandCallback):
    """Run a program with the newest values of numbers, by default after each epoch.

    If one of them has no value yet, a warning is logged and the program is not run.

    Args:
        command: A list of arguments, or a str for the shell, in which the numbers are quoted; see
            `CommandCallback`.
        names: The names of the numbers, or one name.
        timeout: The maximum run time in seconds.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(SendStat(["/no/program", "body={loss:.3f}"], "loss"), epochs=1)
        The command '/no/program' failed: ... No such file or directory: '/no/program'
        >>> train(SendStat("exit $(printf 1{loss:.0f}) > /dev/null 2>&1", "loss"), epochs=1)
        The command 'exit $(printf 11) > /dev/null 2>&1' failed with 11.

    Source: tensorpack's `callbacks.SendStat`.
    """

    def _trigger(self) -> None:
        monitors = self.trainer.monitors
        try:
            values = {name: monitors.get_latest(name) for name in self._names}
        except KeyError as error:
            logger.warn(f"SendStat does not run its command: {error.args[0]}")
            return
        self.call(values)


class SendMonitorData(StatefulMixin, CommandCallback, MonitorBase):
    """Run a program as soon as all of some numbers have been logged; then wait for them again.

    Args:
        command: A list of arguments, or a str for the shell, in which the numbers are quoted; see
            `CommandCallback`.
        names: The names of the numbers, or one name.
        timeout: The maximum run time in seconds.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(SendMonitorData(["/no/program", "{loss}"], ["loss"]), epochs=1)
        The command '/no/program' failed: ... No such file or directory: '/no/program'

    Source: tensorpack's `callbacks.SendMonitorData`.
    """

    _values = StateField(dict[str, float])

    def process_scalar(self, name: str, val: float) -> None:
        """Store a number, and run the program if all numbers are there."""
        if name in self._names:
            self._values[name] = val
            if len(self._values) == len(set(self._names)):
                values, self._values = self._values, {}
                self.call(values)
