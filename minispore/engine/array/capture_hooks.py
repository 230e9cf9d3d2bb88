"""What the host computes again in each step: numbers, random values and decisions on data.

In an eager step these functions only call their arguments. What captures a step notes the calls, so
that a replay repeats them.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Protocol, TypeAlias, TypeVar

from minispore.engine.array.device import from_host, to_device_of
from minispore.engine.array.protocol import Array
from minispore.utils.arrays import HostArray

Numbers: TypeAlias = list[tuple[float, ...]]
R = TypeVar("R")


class CaptureHooks:
    """What the functions below do in an eager step; what captures a step overrides it."""

    def host_numbers(self, compute: Callable[[], Numbers]) -> Numbers:
        """Return the numbers, which a replay computes again."""
        return compute()

    def commit_numbers(self, commit: Callable[[Numbers], None], numbers: Numbers) -> None:
        """Call the function, which a replay calls again."""
        commit(numbers)

    def host_values(self, draw: Callable[[], HostArray]) -> Array:
        """Return the values, which a replay draws again."""
        return from_host(draw())

    def host_branch(self, test: Callable[..., bool], arrays: tuple[Array, ...]) -> bool:
        """Return the decision, which a replay checks."""
        return test(*arrays)

    def host_check(self, check: Callable[..., None], arrays: tuple[Array, ...]) -> None:
        """Call the check, which a replay repeats."""
        check(*arrays)


class CapturedSteps(Protocol):
    """The steps of one function in graph mode, and the plans that were made of them."""

    last: tuple[str, str]

    def run(
        self,
        function: Callable[..., R],
        args: tuple[object, ...],
        kwargs: Mapping[str, object] | None = None,
    ) -> R:
        """Return `function(*args, **kwargs)`, of a replay if possible."""
        ...

    def run_eagerly(self, reason: str, step: Callable[[], R]) -> R:
        """Return `step()`, a step that is not captured for a reason."""
        ...


# What captures the step of this thread; None in an eager step.
current_hooks: ContextVar[CaptureHooks | None] = ContextVar("current_hooks", default=None)


def host_numbers(compute: Callable[[], Numbers]) -> Numbers:
    """Return the numbers of a step, which are operands of array calls and nothing else.

    Args:
        compute: Returns the numbers, without side effects.
    """
    current = current_hooks.get()
    return compute() if current is None else current.host_numbers(compute)


def commit_numbers(commit: Callable[[Numbers], None], numbers: Numbers) -> None:
    """Call `commit`, which stores what the numbers of the next step depend on.

    Args:
        commit: Its argument are the numbers of this step.
        numbers: What `host_numbers` has returned.
    """
    current = current_hooks.get()
    if current is None:
        commit(numbers)
    else:
        current.commit_numbers(commit, numbers)


def host_values(draw: Callable[[], HostArray], like: Array | None = None) -> Array:
    """Return values that the host draws in each step, such as random numbers.

    Args:
        draw: Returns a new numpy array, of the same shape and type in each step.
        like: An array on the device of the result; None for the current device.
    """
    current = current_hooks.get()
    if current is not None:
        return current.host_values(draw)
    return from_host(draw()) if like is None else to_device_of(draw(), like)


def host_branch(test: Callable[..., bool], *arrays: Array) -> bool:
    """Return `test(*arrays)`, on which the host decides what to compute.

    Args:
        test: A function of arrays without side effects.
        *arrays: The arrays whose elements it reads.
    """
    current = current_hooks.get()
    return test(*arrays) if current is None else current.host_branch(test, arrays)


def host_check(check: Callable[..., None], *arrays: Array) -> None:
    """Call `check(*arrays)`, which may only raise an error.

    Args:
        check: A function of arrays without side effects. A replay also gives it, as `function`, the
            name for its error.
        *arrays: The arrays whose elements it reads.
    """
    current = current_hooks.get()
    if current is None:
        check(*arrays)
    else:
        current.host_check(check, arrays)
