"""The other systems: in this process, or in a Python of their own."""

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
    """A library, if it is installed."""
    return import_module(name) if find_spec(name.partition(".")[0]) else None


# For a program of `fresh`: the most memory that it has held. What `resource` says begins with the
# memory of the process that started it.
PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
"""


def fresh(code: str) -> list[float]:
    """The numbers that a piece of code prints, run by an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, encoding="utf-8"
    )
    return [float(word) for word in done.stdout.split()]


class Apart:
    """A process that runs a program whenever it is told to, and times it.

    The program is in a file of its own folder: MindSpore compiles no code that is in none.

    Args:
        code: Defines a function `run`.
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
        """Run once; the seconds that it took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(args), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


def mindspore(code: str) -> Apart | None:
    """A process with MindSpore, if there is a Python that has it.

    MindSpore needs another numpy, so it lives in an environment of its own, whose Python the
    variable MINISPORE_MINDSPORE_PYTHON names.
    """
    if MINDSPORE_PYTHON in os.environ:
        return Apart(code, os.environ[MINDSPORE_PYTHON])
    print(f"Rows beside MindSpore left out: {MINDSPORE_PYTHON} is not set.", file=sys.stderr)
    return None


Run = Callable[[], float | None]
