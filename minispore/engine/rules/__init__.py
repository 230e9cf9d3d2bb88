"""Derivative rules: functions of arrays that return a value and its pullbacks.

A rule takes one array for each operand, and further arguments. It returns the value and a tuple of
pullbacks, one for each operand. A pullback takes the gradient of the value and returns the gradient
of the operand; it is None where no gradient flows, as for an index, a condition or a label.

Rules have no side effects; what a pullback needs is in its closure. They call only operators and
the functions of `namespace(x)`, so that they run on numpy, on CuPy and on tensors. Applied to
recorded tensors, a pullback is recorded itself and can be differentiated. This requires that
everything that a rule calls has a rule.

Its modules import no other package.

Examples:
    >>> import numpy as np
    >>> from minispore.engine.rules.elementwise import exp
    >>> value, (pullback,) = exp(np.array([0.0, 1.0]))
    >>> value.round(3).tolist(), pullback(np.array([2.0, 1.0])).round(3).tolist()
    ([1.0, 2.718], [2.0, 2.718])
"""

from collections.abc import Callable
from typing import TypeAlias

from minispore.engine.array import A

__all__ = ["Binary", "Nary", "Pullback", "Ternary", "TernaryWithMask", "Unary"]

# From the gradient of the value to the gradient of one operand.
Pullback: TypeAlias = Callable[[A], A]

Unary: TypeAlias = tuple[A, tuple[Pullback[A]]]
Binary: TypeAlias = tuple[A, tuple[Pullback[A], Pullback[A]]]
Ternary: TypeAlias = tuple[A, tuple[Pullback[A], Pullback[A], Pullback[A]]]
TernaryWithMask: TypeAlias = tuple[A, tuple[None, Pullback[A], Pullback[A]]]
Nary: TypeAlias = tuple[A, list[Pullback[A]]]
