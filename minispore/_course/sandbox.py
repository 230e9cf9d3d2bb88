"""The sandbox: a submission is checked in its own process, with time and memory limits."""

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from time import perf_counter
from typing import IO

from minispore._course import lessons
from minispore._course.verdict import Verdict
from minispore.utils.atomic import open_regular_file

CPU_SECONDS = 30.0  # the upper bound for a check; the load of the machine does not count
SECONDS = 60.0  # of wall time, for a process that waits or a very busy machine
MEGABYTES = 1024  # in addition to the memory in use before the file is imported
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONOPTIMIZE": "",  # the learner's file may use assert
}
_STACK_DUMP_SECONDS = 2.0
_POLL_SECONDS = 0.02
MAX_PRINTED = 2000
_MAX_RESULTS = 2**20


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        verdict: The verdict.
        printed: The output of the learner's code; the end of it if it is long.
        seconds: The duration of the check.
    """

    verdict: Verdict
    printed: str
    seconds: float


def check(
    number: int,
    work: Path,
    *,
    variant: int | None = None,
    cpu_seconds: float = CPU_SECONDS,
    seconds: float = SECONDS,
    megabytes: int = MEGABYTES,
    stop: Event | None = None,
) -> CheckResult:
    """Check a copy of a learner's file in a separate process.

    The process has an empty working folder, no standard input, and limits of time and memory. It
    ends when this process does. The verdict comes through a pipe, with a secret that the process
    is given before it imports the file. This protects against mistakes, not against malicious code.

    Args:
        number: The number of the lesson.
        work: The file.
        variant: The seed of the variant, None for the exercise of the page.
        cpu_seconds: The limit of CPU time, on systems that have one.
        seconds: The limit of wall time.
        megabytes: The memory limit.
        stop: Ends the check when it is set.

    Returns:
        The result; its verdict is undecided if the process ended or was stopped without one.
    """
    start = perf_counter()
    with TemporaryDirectory(prefix="minispore-check-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder).resolve() / f"{lessons.names()[number]}.py"
        working_folder = copy.with_name("work")
        working_folder.mkdir()
        try:
            with open(work, "rb", opener=open_regular_file) as file:
                copy.write_bytes(file.read())
        except OSError as error:
            text = f"{work.name} cannot be read: {error.strerror}."
            return CheckResult(Verdict(False, (text,), undecided=True), "", 0.0)
        secret = secrets.token_hex()
        arguments = [number, "" if variant is None else variant, copy, cpu_seconds, megabytes]
        status, text, printed = _run(
            list(map(str, arguments)), secret, working_folder, seconds, stop or Event()
        )
        duration = perf_counter() - start
        verdict, is_final = _verdict(text, secret)
        if verdict.undecided and not is_final:
            where = _learner_line(text, copy)
            if status is None:
                reason = f"The check was stopped after {seconds:g} seconds{where}. "
                reason += "Does the file wait for something, or is this computer busy? Check again."
            elif where or (sys.platform != "win32" and status == -signal.SIGXCPU):
                reason = f"The check has used {cpu_seconds:g} seconds of CPU time{where}: "
                reason += "is there an infinite loop?"
            else:
                reason = f"The process of the check ended with status {status} before it had a "
                reason += "result. Does the file exit the program, or use too much memory?"
            verdict = replace(verdict, lines=(reason, *verdict.lines))
        return CheckResult(verdict, printed[-MAX_PRINTED:], duration)


def _run(
    arguments: list[str], secret: str, folder: Path, seconds: float, stop: Event
) -> tuple[int | None, str, str]:
    """Run the worker in a folder; return its exit status, its results and its output.

    The status is None if its time was over, or the check was stopped.
    """
    process = subprocess.Popen(  # noqa: S603 (it is Python itself)
        [sys.executable, "-m", "minispore._course.worker", *arguments],
        cwd=folder,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=os.name != "nt",
    )
    assert process.stdin is not None
    results, output = _Tail(process.stdout, _MAX_RESULTS), _Tail(process.stderr, 4 * MAX_PRINTED)
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(f"{secret}\n".encode())
            process.stdin.flush()
        end = perf_counter() + seconds
        while (status := process.poll()) is None and perf_counter() < end:
            if stop.wait(_POLL_SECONDS):
                break
        # For the stack trace; not on Windows.
        if status is None and not stop.is_set() and sys.platform != "win32":
            process.send_signal(signal.SIGXCPU)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STACK_DUMP_SECONDS)
    finally:
        _kill(process)
        with suppress(BrokenPipeError):
            process.stdin.close()
    return status, results.text(), output.text()


class _Tail:
    """The last bytes that a process writes; what it wrote before is dropped while it writes."""

    def __init__(self, stream: IO[bytes] | None, limit: int) -> None:
        assert stream is not None, "it is a pipe"
        self._stream, self._limit, self._bytes = stream, limit, b""
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while block := os.read(self._stream.fileno(), 2**16):
                self._bytes = (self._bytes + block)[-self._limit :]

    def text(self) -> str:
        """Return the end of the text, after the process has ended."""
        # A process that left the group may keep the pipe open.
        self._thread.join(_STACK_DUMP_SECONDS)
        return self._bytes.decode("utf-8", "replace")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _verdict(text: str, secret: str) -> tuple[Verdict, bool]:
    """Return the last verdict in the results, and whether it is the final one."""
    *_, last = ["", *(line[len(secret) :] for line in text.splitlines() if line.startswith(secret))]
    if not last:
        return Verdict(False, (), undecided=True), False
    is_final, fields = json.loads(last)
    for name in ("lines", "undetected"):
        fields[name] = tuple(fields[name])
    return Verdict(**fields), is_final


def _learner_line(text: str, work: Path) -> str:
    """Return the innermost line of a file in a stack trace: " in line 3, in f"; "" without one."""
    frame = re.search(rf'"{re.escape(str(work))}", line (\d+) in (\S+)', text)
    return f" in line {frame[1]}, in {frame[2]}" if frame else ""
