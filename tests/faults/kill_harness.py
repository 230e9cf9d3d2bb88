"""Start a training, kill it, check its files, and restart it until it ends.

At whatever moment it is killed, all files can be read; and the final parameters, printed lines and
files equal those of a training that is not killed.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from minispore.train import load_checkpoint
from minispore.train.resume import read_training_checkpoint
from minispore.train.summary import Event, read_events
from minispore.train.summary.encode import for_tensorboard
from tests.faults.training_script import newest
from tests.helpers.event_bytes import encoded

PATH = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
# A killed process may leave an incomplete temporary file, which the next process removes.
LITTER = re.compile(r"\.minispore-[0-9a-f]{12}\.tmp")


@dataclass
class Run:
    """The result of one process, after it has printed "begin".

    Attributes:
        lines: The lines that it printed, without the first and the last.
        end: The last line, "" after a kill.
        errors: The text on standard error.
        status: The exit status, or the negated number of the signal that ended it.
        seconds: The time from "begin" to its end.
        interrupted: Whether it was sent a signal other than SIGKILL.
    """

    lines: list[str]
    end: str
    errors: str
    status: int
    seconds: float
    interrupted: bool


@dataclass(frozen=True)
class ScheduledSignal:
    """A signal, and the seconds to wait for after the previous one or after "begin"."""

    wait: float
    number: int = signal.SIGKILL


# Imports everything once, and forks a process that trains for each line of its input.
FORK_SERVER = """
import os, sys
import training_script
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        *sys.argv, out, errors = line.rstrip("\\n").split("\\t")
        for number, path in ((1, out), (2, errors)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        training_script.main()
        sys.exit()
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class ForkServer:
    """Starts trainings in forked processes, a hundred times faster than with all imports.

    Args:
        folder: The folder for the output of the processes.
    """

    def __init__(self, folder: Path) -> None:
        self._out, self._errors = folder / "out", folder / "errors"
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", FORK_SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            # A forked process has one thread only.
            env={**os.environ, "PYTHONPATH": PATH, "OPENBLAS_NUM_THREADS": "1"},
        )

    def close(self) -> None:
        self._process.communicate()

    def run(self, kind: str, folder: Path, *signals: ScheduledSignal) -> Run:
        """Start a training, send the signals, and wait for the end of the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for path in (self._out, self._errors):
            path.write_text("", "utf-8")
        arguments = ["training_script.py", kind, str(folder), str(self._out), str(self._errors)]
        self._process.stdin.write("\t".join(arguments) + "\n")
        self._process.stdin.flush()
        process = int(self._process.stdout.readline())
        while not self._out.read_text("utf-8").startswith("begin\n"):
            assert not self._errors.read_text("utf-8")
            time.sleep(0.001)
        began = time.monotonic()
        for scheduled in signals:
            time.sleep(scheduled.wait)
            with suppress(ProcessLookupError):  # it has ended
                os.kill(process, scheduled.number)
        status = int(self._process.stdout.readline())
        seconds = time.monotonic() - began
        lines = self._out.read_text("utf-8").splitlines()[1:]
        end = lines.pop() if lines and lines[-1].startswith(("end", "stopped")) else ""
        interrupted = any(scheduled.number != signal.SIGKILL for scheduled in signals)
        return Run(lines, end, self._errors.read_text("utf-8"), status, seconds, interrupted)


@dataclass
class KillRun:
    """The processes of one training, of which all but the last were killed.

    Attributes:
        runs: The processes in order.
        litter: The number of hidden files that the kills left.
        torn: The number of event files and lines that ended within a record.
    """

    runs: list[Run] = field(default_factory=list[Run])
    litter: int = 0
    torn: int = 0

    @property
    def kills(self) -> int:
        return len(self.runs) - 1


def run_with_kills(
    fork_server: ForkServer,
    kind: str,
    folder: Path,
    rng: random.Random,
    max_kills: int,
    seconds: float,
    number: int = signal.SIGKILL,
) -> KillRun:
    """Kill a training up to `max_kills` times, each within `seconds`, and then let it end.

    Some processes are killed early, so that a training takes many of them, and some late.
    """
    log = KillRun()
    while True:
        within = seconds * rng.choice((0.1, 0.3, 1))
        signals = (
            [ScheduledSignal(rng.uniform(0, within), number)] if len(log.runs) < max_kills else []
        )
        part = fork_server.run(kind, folder, *signals)
        assert number == signal.SIGINT or part.errors == ""
        # Python only reports an interrupt that it ignores in a weakref's callback.
        assert not part.errors or "KeyboardInterrupt" in part.errors
        log.runs.append(part)
        if part.end and not part.status:
            return log
        assert part.status == -number
        litter, torn = check_files(folder)
        log.litter += litter
        log.torn += torn


def check_files(folder: Path) -> tuple[int, int]:
    """Read all files in a folder; return the numbers of hidden files and of incomplete records."""
    resumable = newest(folder)
    if resumable is not None:
        read_training_checkpoint(resumable)
    litter = torn = 0
    for path in (path for path in folder.rglob("*") if path.is_file()):
        if path.name.startswith("."):
            assert LITTER.fullmatch(path.name), path.name
            litter += 1
        elif path.suffix in {".ckpt", ".safetensors"}:
            assert load_checkpoint(path, format=path.suffix[1:])
        elif path.suffix == ".json":
            json.loads(path.read_text("utf-8"))
        elif path.suffix == ".jsonl":
            lines = path.read_bytes().splitlines(keepends=True)
            torn += not lines[-1].endswith(b"\n")
            for line in lines:
                assert not line.endswith(b"\n") or json.loads(line)
        elif "out.events" in path.name or "tfevents" in path.name:
            torn += not ends_with_record(path)
    return litter, torn


def ends_with_record(path: Path) -> bool:
    """Return whether an event file ends with a complete record, not within one."""
    try:
        return all(event.step >= 0 for event in read_events(path))
    except ValueError as error:
        if "it ends inside the record" not in str(error):
            raise
        return False


def output_files(folder: Path) -> dict[str, bytes]:
    """Return a training's files by name, and the values of all its event files."""
    files: dict[str, bytes] = {}
    timed = (folder / "model-15.ckpt").exists()  # ModelSaver's state has the ages of its files
    for path in folder.rglob("*"):
        if timed and path.name.startswith("net-") and path.suffix == ".ckpt":
            for name, parameter in read_training_checkpoint(path).parameters.items():
                files[f"{path.name} {name}"] = parameter.asnumpy().tobytes()
        elif path.is_file() and "events" not in path.name:
            files[str(path.relative_to(folder))] = path.read_bytes()
    for path in folder.glob("*events*"):
        kind = "tensorboard" if "tfevents" in path.name else "mindspore"
        for name, value in values_in(path):
            assert files.setdefault(f"{kind} {name}", value) == value
    return files


def values_in(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the values of an event file by step and name, without their times."""
    try:
        for event in read_events(path):
            for value in event.values:
                single = Event(0.0, event.step, values=(value,))
                yield f"{event.step} {value.tag}", encoded(for_tensorboard, single)
    except ValueError:  # the end of a run that was killed
        return


def check_lines(log: KillRun, expected: list[str]) -> None:
    """Check that each process printed a part of the expected lines, and that none is missing."""
    reached = 0
    for part in log.runs:
        if part.interrupted and part.lines and part.lines[-1] not in expected:
            # It was stopped in a validation, whose partial result is printed.
            assert part.lines.pop().startswith("Eval result")
        if part.lines:
            start = expected.index(part.lines[0])
            assert start <= reached
            assert part.lines == expected[start : start + len(part.lines)]
            reached = max(reached, start + len(part.lines))
    assert reached == len(expected)
