"""Waiting for what another thread or process does."""

from collections.abc import Callable
from time import perf_counter, sleep


def wait_until(condition: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait until a condition holds; fail after so many seconds."""
    end = perf_counter() + seconds
    while not condition():
        assert perf_counter() < end, "the condition does not hold"
        sleep(0.02)
