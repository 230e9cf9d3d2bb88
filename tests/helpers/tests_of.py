"""A pytest plugin for `--tests-of NAME`: print the tests that call a function.

A test counts if the function runs in its process, in the test itself or in a fixture of it. What
runs in another process is not seen, nor what has been called when the tests were collected.
"""

import inspect
import sys
import threading
from collections import Counter
from collections.abc import Generator
from pkgutil import resolve_name
from types import CodeType, FrameType

import pytest


def codes_of(value: object) -> set[CodeType]:
    """Return the code of a function, or that of the methods of a class."""
    if inspect.isclass(value):
        return {code for member in vars(value).values() for code in codes_of(member)}
    value = getattr(value, "fget", None) or getattr(value, "__func__", value)
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    return {code} if isinstance(code, CodeType) else set()


class TestsOf:
    """Finds the tests that call a function, also in the workers of xdist."""

    def __init__(self, name: str) -> None:
        try:
            self._codes = {id(code) for code in codes_of(resolve_name(name))}
        except (ImportError, AttributeError, ValueError) as error:
            raise pytest.UsageError(f"--tests-of: {error}") from None
        if not self._codes:
            raise pytest.UsageError(f"--tests-of: {name} is not written in Python")
        self._name = name

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        def profile(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and id(frame.f_code) in self._codes:
                sys.setprofile(None)
                if ("calls", self._name) not in item.user_properties:
                    item.user_properties.append(("calls", self._name))

        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        reports = [r for group in terminalreporter.stats.values() for r in group]
        found = Counter(
            report.nodeid.partition("[")[0]
            for report in reports
            if getattr(report, "when", "") == "teardown"
            and ("calls", self._name) in map(tuple, report.user_properties)
        )
        terminalreporter.section(f"tests of {self._name}")
        for test, count in sorted(found.items()):
            terminalreporter.line(f"{test} ({count} cases)" if count > 1 else test)
