"""Naive forward-mode automatic differentiation, number by number.

A `Number` contains its value, and its gradient and Hessian by all inputs; each operation applies
the chain rule or the product rule. There is no graph and no backward pass. An array of Numbers is
an array of objects for numpy, which does the broadcasting, sums and matrix products.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.object_]


# The maximum rounding error of a value.
ROUNDING = 1e-9


class KinkError(Exception):
    """The function is not differentiable here, or too close to such a point."""


@dataclass(frozen=True, eq=False)
class Number:
    """A function of n inputs near a point: its value and derivatives.

    Attributes:
        value: Its value.
        gradient: Its derivatives by the inputs, of shape (n,).
        hessian: Its second derivatives by the inputs, of shape (n, n).
    """

    value: float
    gradient: Floats
    hessian: Floats

    def through(self, value: float, first: float, second: float) -> "Number":
        """Return a function of this number, from its value and derivatives."""
        curved = second * np.outer(self.gradient, self.gradient)
        return Number(value, first * self.gradient, first * self.hessian + curved)

    def __add__(self, other: "Number | float") -> "Number":
        if not isinstance(other, Number):
            return Number(self.value + other, self.gradient, self.hessian)
        return Number(
            self.value + other.value, self.gradient + other.gradient, self.hessian + other.hessian
        )

    def __mul__(self, other: "Number | float") -> "Number":
        if not isinstance(other, Number):
            return self.through(self.value * other, other, 0.0)
        crossed = np.outer(self.gradient, other.gradient)
        return Number(
            self.value * other.value,
            self.value * other.gradient + other.value * self.gradient,
            self.value * other.hessian + other.value * self.hessian + crossed + crossed.T,
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
        """Return 1 or −1.

        Raises:
            KinkError: The value is so near to 0 that rounding may change its sign.
        """
        if abs(self.value) < ROUNDING:
            raise KinkError
        return math.copysign(1.0, self.value)

    def stop_gradient(self) -> "Number":
        return self * 0.0 + self.value


def inputs(arrays: Sequence[Floats]) -> list[Numbers]:
    """Return arrays of Numbers: the inputs, each with derivative 1 by itself."""
    total = sum(x.size for x in arrays)
    gradients = iter(np.eye(total))
    flat = np.zeros((total, total))
    return [
        array([Number(float(x), next(gradients), flat) for x in values.flat], values.shape)
        for values in arrays
    ]


def array(numbers: object, shape: tuple[int, ...] | None = None) -> Numbers:
    """Return Numbers as an array, also a single one."""
    if isinstance(numbers, Number):
        single = np.empty((), np.object_)
        single[()] = numbers
        return single
    made: Numbers = np.asarray(numbers, np.object_)
    return made if shape is None else made.reshape(shape)


def largest(numbers: Sequence[Number]) -> Number:
    """Return the largest, which may occur several times.

    Raises:
        KinkError: Another is almost as large.
    """
    top = max(numbers, key=lambda x: x.value)
    for x in numbers:
        if x is not top:
            (top - x).sign()
    return top
