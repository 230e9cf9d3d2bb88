"""Derivatives as one would first write them down: forwards, and number by number.

A `Number` carries its value, its slopes by all inputs, and the slopes of its slopes; each operation
is the chain rule or the product rule. There is no graph, no walk back and nothing that is shared.
An array of them is an array of objects to numpy, whose broadcasting, sums and matrix products do
the rest.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.object_]


# What rounding may have changed of a value.
ROUNDING = 1e-9


class KinkError(Exception):
    """Here a function has no derivative, or is too near to where it has none."""


@dataclass(frozen=True, eq=False)
class Number:
    """A function of n inputs, near the point where they are.

    Attributes:
        value: Its value.
        slopes: Its derivatives by the inputs, of shape (n,).
        bends: Its second derivatives by each two of them, of shape (n, n).
    """

    value: float
    slopes: Floats
    bends: Floats

    def through(self, value: float, first: float, second: float) -> "Number":
        """What a function of this number is, by its value and its derivatives there."""
        curved = second * np.outer(self.slopes, self.slopes)
        return Number(value, first * self.slopes, first * self.bends + curved)

    def __add__(self, other: "Number | float") -> "Number":
        if not isinstance(other, Number):
            return Number(self.value + other, self.slopes, self.bends)
        return Number(
            self.value + other.value, self.slopes + other.slopes, self.bends + other.bends
        )

    def __mul__(self, other: "Number | float") -> "Number":
        if not isinstance(other, Number):
            return self.through(self.value * other, other, 0.0)
        crossed = np.outer(self.slopes, other.slopes)
        return Number(
            self.value * other.value,
            self.value * other.slopes + other.value * self.slopes,
            self.value * other.bends + other.value * self.bends + crossed + crossed.T,
        )

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> "Number":
        return self * -1.0

    def __sub__(self, other: "Number") -> "Number":
        return self + -other

    def __truediv__(self, other: "Number") -> "Number":
        x = other.value
        return self * other.through(1 / x, -1 / x**2, 2 / x**3)

    def exp(self) -> "Number":
        value = math.exp(self.value)
        return self.through(value, value, value)

    def log(self) -> "Number":
        return self.through(math.log(self.value), 1 / self.value, -1 / self.value**2)

    def sqrt(self) -> "Number":
        root = math.sqrt(self.value)
        return self.through(root, 0.5 / root, -0.25 / root**3)

    def tanh(self) -> "Number":
        t = math.tanh(self.value)
        return self.through(t, 1 - t * t, -2 * t * (1 - t * t))

    def sign(self) -> float:
        """1 or −1.

        Raises:
            KinkError: The value is so near to 0 that rounding may decide.
        """
        if abs(self.value) < ROUNDING:
            raise KinkError
        return math.copysign(1.0, self.value)

    def constant(self) -> "Number":
        return self * 0.0 + self.value


def inputs(arrays: Sequence[Floats]) -> list[Numbers]:
    """Arrays of Numbers: the inputs, each of which has slope 1 by itself."""
    total = sum(x.size for x in arrays)
    slopes = iter(np.eye(total))
    flat = np.zeros((total, total))
    return [
        array([Number(float(x), next(slopes), flat) for x in each.flat], each.shape)
        for each in arrays
    ]


def array(numbers: object, shape: tuple[int, ...] | None = None) -> Numbers:
    """Numbers as an array, also a single one, which numpy takes out of its array."""
    if isinstance(numbers, Number):
        single = np.empty((), np.object_)
        single[()] = numbers
        return single
    made: Numbers = np.asarray(cast("list[Number]", numbers), np.object_)
    return made if shape is None else made.reshape(shape)


def largest(numbers: Sequence[Number]) -> Number:
    """The largest, which may be there several times.

    Raises:
        KinkError: Another is almost as large.
    """
    top = max(numbers, key=lambda x: x.value)
    for x in numbers:
        if x is not top:
            (top - x).sign()
    return top
