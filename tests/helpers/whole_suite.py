"""Run the other tests, unchanged, with a plugin of pytest."""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def left_out(reasons: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the names of tests, which are given by reason."""
    return [name for names in reasons.values() for name in names]


def run_folder(folder: str, plugin: str, left_out: Iterable[str]) -> None:
    """Run the tests of a folder that are neither slow nor left out; they must pass."""
    deselected = [f"--deselect=tests/{test}" for test in left_out if test.startswith(f"{folder}/")]
    # The plugin's import of `tests` comes before the first conftest.py, which names that package.
    warning = "ignore::pytest.PytestAssertRewriteWarning"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n0", "-m", "not slow and not full"),
            *("-W", warning, "-p", plugin, "-p", "no:cacheprovider"),
            *(*deselected, f"tests/{folder}"),
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "HYPOTHESIS_PROFILE": "fast", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout[-20_000:]


def missing_tests(names: Iterable[str]) -> list[str]:
    """Return the names of tests that do not exist."""
    found: list[str] = []
    for name in names:
        path, _, function = name.partition("::")
        text = (ROOT / "tests" / path).read_text("utf-8")
        if f"def {function.partition('[')[0]}" not in text:
            found.append(name)
    return found
