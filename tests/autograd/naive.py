"""Reverse-mode differentiation as one would first write it: recursive, and on plain numbers.

For each node it adds up the gradients over all paths that lead to it, so it takes time without
bound on a graph with many diamonds; being obviously right is all it is for.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(eq=False)
class Number:
    """A number, and for each number that it was computed from the slope by it."""

    value: float
    slopes: "Sequence[tuple[Number, float]]" = ()

    def __add__(self, other: "Number") -> "Number":
        return Number(self.value + other.value, [(self, 1.0), (other, 1.0)])

    def __sub__(self, other: "Number") -> "Number":
        return Number(self.value - other.value, [(self, 1.0), (other, -1.0)])

    def __mul__(self, other: "Number") -> "Number":
        return Number(self.value * other.value, [(self, other.value), (other, self.value)])

    def __neg__(self) -> "Number":
        return Number(-self.value, [(self, -1.0)])

    def tanh(self) -> "Number":
        value = math.tanh(self.value)
        return Number(value, [(self, 1.0 - value * value)])


def gradient(output: Number, by: Number) -> float:
    """The derivative of `output` by `by`, path by path."""
    if output is by:
        return 1.0
    return math.fsum(slope * gradient(operand, by) for operand, slope in output.slopes)
