"""Programs that run in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


def run(
    *command: object, folder: Path | None = None, environment: Mapping[str, str] = NOTHING
) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, and return what it printed.

    Args:
        command: The command and its arguments.
        folder: The working folder; None for the current one.
        environment: Variables that are added to the environment.
    """
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done


def run_python(
    *arguments: object, folder: Path | None = None, environment: Mapping[str, str] = NOTHING
) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, such as `-c` and a program."""
    return run(sys.executable, *arguments, folder=folder, environment=environment)
