"""A pytest plugin that tries a random sample of mutmut's mutants with the collected tests.

A fork of the process that has collected the tests runs those that reach the function, those
of its module first, until one fails. A test that fails without the mutant as well is reported. The
source with a mutant that no test kills is given to mypy. See `nox -s mutants`.
"""

import ast
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import ndiff
from importlib import import_module
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

import pytest

_trampoline = import_module("mutmut.mutation.trampoline")

# For the tests of one mutant; those of a function that most tests reach take minutes.
SECONDS = 60
OUTCOMES = ("killed", "type error", "survived", "out of time", "no test", "broken test")


class Result(NamedTuple):
    """The outcome of a mutant, and the failing test, mypy's error or how many tests passed."""

    outcome: str
    by: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the options of a sample."""
    parser.addoption("--mutants", type=int, default=100, help="how many of each package")
    parser.addoption("--package", action="append", help="such as 'nn' or 'nn/optim'; or all")
    parser.addoption("--sample-seed", type=int, default=0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try the mutants instead of running the tests, and print a line for each that survives."""
    stats = json.loads(Path("mutmut-stats.json").read_text("utf-8"))
    seconds: dict[str, float] = stats["duration_by_test"]
    items = {item.nodeid: item for item in session.items}
    options = session.config.option
    verified = set[str]()
    table: dict[str, Counter[str]] = {}
    for package, mutants in sample(options.mutants, options.package, options.sample_seed):
        counts = table[package] = Counter[str]()
        for mutant in mutants:
            function = mutant.rpartition("__mutmut_")[0]
            reaching = stats["tests_by_mangled_function_name"].get(function, ())
            tests = [test for test in reaching if test in items]
            tests.sort(key=lambda test: (*distance(test, mutant), seconds.get(test, 0.0)))
            result = try_mutant(session, mutant, [items[test] for test in tests])
            if result.outcome == "killed" and result.by in items and result.by not in verified:
                if try_mutant(session, "", [items[result.by]]).outcome == "survived":
                    verified.add(result.by)
                else:
                    result = Result("broken test", result.by)
            if result.outcome != "killed":
                result, change = check_types(mutant, result)
                print(f"{mutant}: {result.outcome}, {result.by}\n{change}", file=sys.stderr)
            counts[result.outcome] += 1
    print(f"{'package':16}{'mutants':>12}", *(f"{name:>12}" for name in OUTCOMES), file=sys.stderr)
    for package, counts in table.items():
        numbers = (f"{counts[outcome]:12}" for outcome in OUTCOMES)
        print(f"{package:16}{counts.total():12}", *numbers, file=sys.stderr)
    return True


def sample(
    count: int, packages: Sequence[str] | None, seed: int
) -> Iterator[tuple[str, list[str]]]:
    """Yield packages with the names of random mutants."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path("minispore").rglob("*.meta")):
        names = json.loads(path.read_text("utf-8"))["exit_code_by_key"]
        found[path.relative_to("minispore").as_posix().partition(".")[0]] = list(names)
    for package in packages or dict.fromkeys(path.partition("/")[0] for path in found):
        mutants = [
            mutant
            for path, names in found.items()
            if f"{path}/".startswith(f"{package}/")
            for mutant in names
        ]
        yield package, Random(seed).sample(mutants, min(count, len(mutants)))


def distance(test: str, mutant: str) -> tuple[bool, bool]:
    """Return a key that sorts tests: those of the mutant's module, of its folder, and others."""
    *folders, module, _ = mutant.split(".")[1:]
    return module.strip("_") not in test, not test.startswith("/".join(["tests", *folders]))


class Failures:
    """A plugin that notes whether a test failed."""

    failed: bool = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure of a test, its set-up or its end."""
        self.failed |= report.failed


def try_mutant(session: pytest.Session, mutant: str, tests: Sequence[pytest.Item]) -> Result:
    """Run tests in another process until one fails. Without a name nothing is changed."""
    if not tests:
        return Result("no test", "")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(4 * SECONDS)
        os.write(writer, json.dumps(run(session, mutant, tests)).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    text = os.read(reader, 10_000)
    os.close(reader)
    return Result(*json.loads(text)) if text else Result("killed", "the process ended")


def run(session: pytest.Session, mutant: str, tests: Sequence[pytest.Item]) -> Result:
    """Run tests in this process until one fails."""
    _trampoline.set_mutant_under_test(mutant)
    plugins = session.config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(failures := Failures())
    start = monotonic()
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        if monotonic() - start > SECONDS:
            return Result("out of time", f"{tests.index(test)} of {len(tests)} tests passed")
        test.ihook.pytest_runtest_protocol(item=test, nextitem=following)
        if failures.failed:
            return Result("killed", test.nodeid)
    return Result("survived", f"{len(tests)} tests passed")


def check_types(mutant: str, result: Result) -> tuple[Result, str]:
    """Return mypy's first error about the mutant, if there is one, and the changed lines."""
    path, source, change = apply(mutant)
    shadow = Path("mutant.py").absolute()
    shadow.write_text(source, "utf-8")
    arguments = ["-m", "mypy", "--no-error-summary", "--shadow-file", path, str(shadow)]
    mypy = subprocess.run(
        [sys.executable, *arguments], cwd="..", capture_output=True, encoding="utf-8", check=False
    )
    errors = [line for line in mypy.stdout.splitlines() if ": error: " in line]
    return (Result("type error", errors[0]) if errors else result), change


def apply(mutant: str) -> tuple[str, str, str]:
    """Return the path of the mutated file, its source with the mutant, and the changed lines."""
    module, _, mangled = mutant.rpartition(".")
    path = Path(*module.split(".")).with_suffix(".py")
    if not path.exists():
        path = path.with_suffix("") / "__init__.py"
    # The name is `x_function__mutmut_1` or `xǁClassǁmethod__mutmut_1`.
    *owner, name = mangled.rpartition("__mutmut_")[0].removeprefix("x").split("ǁ")[1:] or [""]
    name = name or mangled.rpartition("__mutmut_")[0].removeprefix("x_")
    mutants = path.read_text("utf-8")
    before = mangled.rpartition("__mutmut_")[0] + "__mutmut_orig"
    old, new = (
        [line.replace(version, name) for line in lines_of(mutants, [*owner, version])]
        for version in (before, mangled)
    )
    changed = [line for line in ndiff(old, new) if line.startswith(("+", "-"))]
    source = Path("..", path).read_text("utf-8")
    original = "".join(lines_of(source, [*owner, name]))
    return str(path), source.replace(original, "".join(new)), "".join(changed)


def lines_of(source: str, names: Sequence[str]) -> list[str]:
    """Return the lines of a function, given the name of its class, if there is one, and its own."""
    found: ast.AST = ast.parse(source)
    for name in names:
        # The definition of an overloaded function is the last one.
        *_, found = (
            node
            for node in ast.iter_child_nodes(found)
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name
        )
    assert isinstance(found, ast.FunctionDef)
    return source.splitlines(keepends=True)[found.lineno - 1 : found.end_lineno]
