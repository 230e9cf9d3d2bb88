"""Run the examples and the programs and exercises of the lessons in a Python under WebAssembly.

    python tests/integration/run_under_wasm.py REPOSITORY

Such a Python has neither threads nor processes nor file locks, and its addresses, and with them
numpy's indices, have 32 bits.
"""

import doctest
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from io import StringIO
from pathlib import Path

PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Other processes are not available there.
PROCESSES = {"data_parallel.py", "resume.py"}
# Their docstrings print the types of indexes.
INDEXES = ("minispore.ops.reduction", "minispore._metrics.confusion")


def run_example(file: Path) -> None:
    """Run an example as the command line does."""
    sys.argv = [file.name]
    runpy.run_path(str(file), run_name="__main__")


def run_programs(file: Path) -> None:
    """Run the programs of a page, in their order."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, program in enumerate(PROGRAM.findall(file.read_text("utf-8")), 1):
        exec(compile(program, f"<{file.name}, program {number}>", "exec"), namespace)


def run_docstrings(module: str) -> None:
    """Run the examples in the docstrings of a module."""
    doctest.testmod(import_module(module), raise_on_error=True)


def check_exercise(number: int) -> None:
    """Check that the shipped source solves an exercise, and the initial file does not."""
    from minispore._course import browser, lessons
    from minispore._course.source import text_of

    solution = text_of(lessons.lesson(number).exercise.module)
    for text, passes in ((solution, True), (browser.initial_file(number)[1], False)):
        file = Path("solution.py")
        file.write_text(text, "utf-8")
        verdict = browser.check(number, file.resolve(), print).verdict
        assert verdict.passed == passes, verdict


def comes_to_its_end(name: str, run: Callable[[], None]) -> bool:
    """Return whether a function succeeds in an empty folder; print its error otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with redirect_stdout(StringIO()):
                run()
        except BaseException:
            traceback.print_exc(limit=-3, file=sys.stdout)
            return False
        finally:
            os.chdir("/")
    print(f"{name} runs")
    return True


def main(repository: Path) -> int:
    sys.path.insert(0, str(repository))
    runs: dict[str, Callable[[], None]] = {
        file.name: partial(run_example, file)
        for file in sorted(repository.glob("examples/*.py"))
        if file.name not in PROCESSES
    }
    runs |= {module: partial(run_docstrings, module) for module in INDEXES}
    translations = set(repository.glob("docs/learn/*.zh.md"))
    for file in sorted(set(repository.glob("docs/learn/[0-9]*.md")) - translations):
        runs[file.name] = partial(run_programs, file)
        runs[f"the exercise of {file.name}"] = partial(check_exercise, int(file.name[:2]))
    return sum(not comes_to_its_end(name, run) for name, run in runs.items())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
