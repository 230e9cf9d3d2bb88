"""Functions and a source for worker processes, which import this module: so it is a small one."""

import os
import random
import signal
from collections.abc import Callable
from enum import IntEnum
from functools import cache, cached_property, wraps
from importlib import import_module

import numpy as np
import numpy.typing as npt

from minispore import Tensor
from minispore.dataset.transforms import RandomApply
from tests.helpers import row_functions

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], object]
ROWS = 23


def double(x: Floats) -> Floats:
    x *= 2
    return x


def ragged(x: Floats) -> Floats:
    return np.full(1 + int(x.flat[0]) // 20, x.flat[0])


def named(x: Floats) -> dict[str, object]:
    return {"x": x, "name": str(x.flat[0])}


def draw(x: Floats) -> Floats:
    return x + np.random.rand()  # noqa: NPY002


def draw_late(x: Floats) -> Floats:
    return x + (random.random() if x.flat[0] > 40 else 0.0)


def draw_from_the_program(x: Floats) -> object:
    return RandomApply([double])(x)


def fail_at(x: Floats) -> Floats:
    if x.flat[0] == 48:
        raise ValueError(f"at {x}")
    return x


def process(x: Floats) -> tuple[Floats, int]:
    return x, os.getpid()


def kill_at(x: Floats) -> Floats:
    if x.flat[0] == 44:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


class Squares:
    """A source with an index, which calls `function` for each row."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __getitem__(self, index: int) -> object:
        return self.function(np.full((2, 3), 4 * index))

    def __len__(self) -> int:
        return ROWS


# Functions that read what the program assigns: in a new process, which imports the module, `scale`
# is 1.0.
scale = 1.0


def reads_global(x: Floats) -> Floats:
    return x * scale


def reads_module(x: Floats) -> Floats:
    return x * row_functions.scale


def inherits(x: Floats) -> tuple[Floats, bool]:
    """Return also whether this process has what another has assigned but not sent."""
    return x, hasattr(import_module(__name__), "inherited")


def reads_inside(x: Floats) -> Floats:
    def inside() -> Floats:
        return x * scale

    return inside()


@cache
def cached() -> float:
    return scale


def calls_cached(x: Floats) -> Floats:
    return x * cached()


def calls_another(x: Floats) -> Floats:
    return reads_global(x)


def assigns_global(x: Floats) -> Floats:
    """Functions of one module share its variables."""
    assign_last(x)
    return last * scale


last: Floats = np.zeros(())


def assign_last(x: Floats) -> None:
    global last  # noqa: PLW0603
    last = x + 1


def decorated(function: Function) -> Function:
    @wraps(function)
    def wrapper(x: Floats) -> object:
        return function(x)

    return wrapper


@decorated
def reads_behind_decorator(x: Floats) -> Floats:
    return x * scale


class Factor(IntEnum):
    """Functions, the members of an enumeration."""

    TWO = 2

    def __call__(self, x: Floats) -> Floats:
        return x * self.value * scale


def with_member(x: Floats) -> dict[str, object]:
    """Return an object whose class a worker gets without its module."""
    return {"x": x, "member": Factor.TWO}


class Cached:
    """A function with a cached property."""

    @cached_property
    def factor(self) -> float:
        return scale

    def __call__(self, x: Floats) -> Floats:
        return x * self.factor


class Base:
    """What the program assigns to a class."""

    factor = 1.0

    def method(self, x: Floats) -> Floats:
        return x

    @property
    def value(self) -> float:
        return scale

    @staticmethod
    def static(x: Floats) -> Floats:
        return x * scale

    @classmethod
    def by_class(cls, x: Floats) -> Floats:
        return x * cls.factor


def add_factor(self: Base, x: Floats) -> Floats:
    """Replace `method`."""
    return x + self.factor


class Heir(Base):
    """A function that inherits all that it reads."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def __call__(self, x: Floats) -> Floats:
        x = self.by_class(self.static(self.method(x)))
        return x * self.value * self.gain


def inner_functions(factor: float) -> dict[str, Function]:
    """Return functions that are not at the top of a module."""

    def default(x: Floats, by: float = factor) -> Floats:
        return x * by

    def keyword(x: Floats, *, by: float = factor) -> Floats:
        return x * by

    def recursive(x: Floats, times: int = 2) -> Floats:
        return recursive(x * factor, times - 1) if times else x

    def with_attribute(x: Floats) -> object:
        return x * vars(with_attribute)["by"]

    vars(with_attribute)["by"] = factor
    unbound: float

    class Times:
        def __call__(self, x: Floats) -> Floats:
            return x * factor * scale

    def with_empty_cell(x: Floats) -> Floats:
        return x * unbound if x.size == 0 else x * factor

    if factor == 0:
        unbound = 1.0
    return {
        "lambda": lambda x: x * factor,
        "default": default,
        "keyword default": keyword,
        "recursive": recursive,
        "attribute of a function": with_attribute,
        "empty closure": with_empty_cell,
        "object of an inner class": Times(),
        "tensor": lambda x: (Tensor(x) * Tensor(factor)).asnumpy(),
    }
