"""The other systems: PyTorch in this process, MindSpore in a Python of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

MINDSPORE_PYTHON = "MINISPORE_MINDSPORE_PYTHON"


def torch() -> ModuleType | None:
    """PyTorch, if it is installed."""
    return import_module("torch") if find_spec("torch") else None


class MindSpore:
    """A process that runs a piece of code with MindSpore whenever it is told to, and times it.

    MindSpore needs another numpy, so it lives in an environment of its own, whose Python the
    variable MINISPORE_MINDSPORE_PYTHON names.

    Args:
        code: Defines a function `run`.
    """

    _LOOP = """
import json, sys, time
answers = sys.stdout
sys.stdout = sys.stderr
exec(sys.argv[1])
for line in sys.stdin:
    start = time.perf_counter()
    run(*json.loads(line))
    print(json.dumps(time.perf_counter() - start), file=answers, flush=True)
"""

    def __init__(self, code: str) -> None:
        """Start the process."""
        self._process = subprocess.Popen(
            [os.environ[MINDSPORE_PYTHON], "-c", self._LOOP, code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
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


def has_mindspore() -> bool:
    """Whether there is a Python with MindSpore to ask."""
    if MINDSPORE_PYTHON in os.environ:
        return True
    print(f"Rows beside MindSpore left out: {MINDSPORE_PYTHON} is not set.", file=sys.stderr)
    return False


Run = Callable[[], float | None]
