"""Start a training, kill it, look at what it leaves, and start it again until it comes to its end.

What holds: whatever the moment of a kill, everything on the disk can be read; and in the end there
are the parameters, the lines and the files of the training that nobody killed.
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
from minispore.train._training_state import read_training_checkpoint
from minispore.train.summary import Event, read_events
from minispore.train.summary._encode import for_tensorboard
from tests.train.summary.encoding import encoded

from .training import newest

PATH = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
# What a killed process may leave: a file that was not yet whole. The next process removes it.
LITTER = re.compile(r"\.minispore-[0-9a-f]{12}\.tmp")


@dataclass
class Run:
    """One process from its "begin" to its end.

    Attributes:
        lines: What it printed in between.
        end: Its last line, "" after a kill.
        errors: What it wrote to standard error.
        status: Its exit status, or the number of the signal that ended it, negated.
        seconds: How long it lived after "begin".
        asked: Whether it was sent another signal than SIGKILL.
    """

    lines: list[str]
    end: str
    errors: str
    status: int
    seconds: float
    asked: bool


@dataclass(frozen=True)
class Blow:
    """A signal, so many seconds after the one before it or after "begin"."""

    wait: float
    number: int = signal.SIGKILL


# Imports everything once; each line of its input then makes it a process that trains.
NURSERY = """
import os, sys
import training
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        *sys.argv, out, errors = line.rstrip("\\n").split("\\t")
        for number, path in ((1, out), (2, errors)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        training.main()
        sys.exit()
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Nursery:
    """Starts trainings, a hundred times faster than Python does with all its imports.

    Args:
        folder: For what the processes print.
    """

    def __init__(self, folder: Path) -> None:
        self._out, self._errors = folder / "out", folder / "errors"
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            # One thread in each process: it is forked, and the machine has others to serve.
            env={**os.environ, "PYTHONPATH": PATH, "OPENBLAS_NUM_THREADS": "1"},
        )

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def run(self, kind: str, folder: Path, *blows: Blow) -> Run:
        """Start a training, strike it, and wait for the end of the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for path in (self._out, self._errors):
            path.write_text("", "utf-8")
        words = ["training.py", kind, str(folder), str(self._out), str(self._errors)]
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        process = int(self._process.stdout.readline())
        while not self._out.read_text("utf-8").startswith("begin\n"):
            assert not self._errors.read_text("utf-8")
            time.sleep(0.001)
        began = time.monotonic()
        for blow in blows:
            time.sleep(blow.wait)
            with suppress(ProcessLookupError):  # it had come to its end
                os.kill(process, blow.number)
        status = int(self._process.stdout.readline())
        seconds = time.monotonic() - began
        lines = self._out.read_text("utf-8").splitlines()[1:]
        end = lines.pop() if lines and lines[-1].startswith(("end", "stopped")) else ""
        asked = any(blow.number != signal.SIGKILL for blow in blows)
        return Run(lines, end, self._errors.read_text("utf-8"), status, seconds, asked)


@dataclass
class Story:
    """A training from its first process to the last.

    Attributes:
        runs: One after the other; the last came to its end.
        litter: How many hidden files the kills have left.
        torn: How many event files or lines ended in the middle of a record.
    """

    runs: list[Run] = field(default_factory=list[Run])
    litter: int = 0
    torn: int = 0

    @property
    def kills(self) -> int:
        """How many processes were killed before their end."""
        return len(self.runs) - 1


def story(
    nursery: Nursery,
    kind: str,
    folder: Path,
    chance: random.Random,
    most: int,
    seconds: float,
    number: int = signal.SIGKILL,
) -> Story:
    """Kill a training up to `most` times, each within so many seconds, and then let it be.

    Some runs are killed early, so that a training takes many, and some late.
    """
    told = Story()
    while True:
        within = seconds * chance.choice((0.1, 0.3, 1))
        blows = [Blow(chance.uniform(0, within), number)] if len(told.runs) < most else []
        part = nursery.run(kind, folder, *blows)
        assert number == signal.SIGINT or part.errors == ""
        # An interrupt that Python loses in a weakref's callback is told of, and that is all.
        assert not part.errors or "KeyboardInterrupt" in part.errors
        told.runs.append(part)
        if part.end and not part.status:
            return told
        assert part.status == -number
        litter, torn = look_at(folder)
        told.litter += litter
        told.torn += torn


def look_at(folder: Path) -> tuple[int, int]:
    """Read everything in a folder; count hidden files and unfinished records."""
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
            torn += not is_whole(path)
    return litter, torn


def is_whole(path: Path) -> bool:
    """Whether an event file ends with a record; it may end inside of one, and nothing else."""
    try:
        return all(event.step >= 0 for event in read_events(path))
    except ValueError as error:
        if "it ends inside the record" not in str(error):
            raise
        return False


def left(folder: Path) -> dict[str, bytes]:
    """What a training leaves: its files by name, and of all event files together the values."""
    found: dict[str, bytes] = {}
    timed = (folder / "model-15.ckpt").exists()  # ModelSaver's state has the ages of its files
    for path in folder.rglob("*"):
        if timed and path.name.startswith("net-") and path.suffix == ".ckpt":
            for name, parameter in read_training_checkpoint(path).parameters.items():
                found[f"{path.name} {name}"] = parameter.asnumpy().tobytes()
        elif path.is_file() and "events" not in path.name:
            found[str(path.relative_to(folder))] = path.read_bytes()
    for path in folder.glob("*events*"):
        kind = "tensorboard" if "tfevents" in path.name else "mindspore"
        for name, value in values_in(path):
            assert found.setdefault(f"{kind} {name}", value) == value
    return found


def values_in(path: Path) -> Iterator[tuple[str, bytes]]:
    """The values of an event file by step and name, without their times."""
    try:
        for event in read_events(path):
            for value in event.values:
                alone = Event(0.0, event.step, values=(value,))
                yield f"{event.step} {value.tag}", encoded(for_tensorboard, alone)
    except ValueError:  # the end of a run that was killed
        return


def check_lines(told: Story, whole: list[str]) -> None:
    """Each run's lines are a part of the whole's, and none is left out from one run to the next."""
    reached = 0
    for part in told.runs:
        if part.asked and part.lines and part.lines[-1] not in whole:
            # It was stopped in a validation: what that has found so far is told all the same.
            assert part.lines.pop().startswith("Eval result")
        if part.lines:
            start = whole.index(part.lines[0])
            assert start <= reached
            assert part.lines == whole[start : start + len(part.lines)]
            reached = max(reached, start + len(part.lines))
    assert reached == len(whole)
