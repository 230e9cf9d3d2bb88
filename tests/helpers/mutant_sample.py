"""A pytest plugin that tries a random sample of mutmut's mutants with the collected tests.

A fork of the process that has collected the tests runs those that reach the function, those
of its module first, until one fails. A test that fails without the mutant as well is reported. See
`nox -s mutants`.
"""

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

import pytest

_trampoline = import_module("mutmut.mutation.trampoline")

# For the tests of one mutant; those of a function that most tests reach take minutes.
SECONDS = 60
OUTCOMES = ("killed", "survived", "out of time", "no test", "broken test")


class Result(NamedTuple):
    """The outcome of a mutant, and the test that failed or the number of tests that passed."""

    outcome: str
    by: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define the options of a sample."""
    parser.addoption("--mutants", type=int, default=100, help="how many of each package")
    parser.addoption("--package", action="append", help="such as 'dataset'; by default all")
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
            counts[result.outcome] += 1
            if result.outcome != "killed":
                print(f"{mutant}: {result.outcome}, {result.by}", file=sys.stderr)
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
        package = path.relative_to("minispore").parts[0].partition(".")[0]
        found.setdefault(package, []).extend(names)
    for package in packages or found:
        yield package, Random(seed).sample(found[package], min(count, len(found[package])))


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
