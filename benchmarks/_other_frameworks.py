"""The other systems, in this process or in a process with another interpreter."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

MINDSPORE_PYTHON = "MINISPORE_MINDSPORE_PYTHON"


def library(name: str) -> ModuleType | None:
    """Return a library; None if it is not installed."""
    return import_module(name) if find_spec(name.partition(".")[0]) else None


# For a program of `run_python`: its peak memory. That of the module `resource` would include the
# memory of the process that started it.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
"""


def run_python(code: str) -> list[float]:
    """Run a program in a new interpreter, and return the numbers that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    return [float(word) for word in done.stdout.split()]


class Worker:
    """A process that runs a function on request, and measures its time.

    The program is in a file, since MindSpore compiles only code from files.

    Args:
        code: The program; it defines a function `run`.
        python: The interpreter.
    """

    _LOOP = """
import json, sys, time
answers = sys.stdout
sys.stdout = sys.stderr
from program import run
for line in sys.stdin:
    start = time.perf_counter()
    run(*json.loads(line))
    print(json.dumps(time.perf_counter() - start), file=answers, flush=True)
"""

    def __init__(self, code: str, python: str = sys.executable) -> None:
        """Start the process."""
        self._folder = TemporaryDirectory()
        Path(self._folder.name, "program.py").write_text(code, encoding="utf-8")
        self._process = subprocess.Popen(
            [python, "-c", self._LOOP],
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def __call__(self, *args: object) -> float:
        """Run once, and return the time in seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(args), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


def mindspore(code: str) -> Worker | None:
    """Return a process with MindSpore; None if there is no MindSpore.

    MindSpore needs another version of numpy, so it has its own environment. The variable
    MINISPORE_MINDSPORE_PYTHON names its interpreter.
    """
    if MINDSPORE_PYTHON in os.environ:
        return Worker(code, os.environ[MINDSPORE_PYTHON])
    print(f"Rows of MindSpore are omitted: {MINDSPORE_PYTHON} is not set.", file=sys.stderr)
    return None


Run = Callable[[], float | None]
