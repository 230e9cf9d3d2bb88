"""The shape of a rule: operands in, the value and one pullback for each operand out."""

from collections.abc import Callable
from typing import TypeAlias

from minispore._array import A

# The gradient of the value in, the gradient of one operand out. It is None for an operand
# through which no gradient flows: an index, a condition, a label.
Pullback: TypeAlias = Callable[[A], A]

Unary: TypeAlias = tuple[A, tuple[Pullback[A]]]
Binary: TypeAlias = tuple[A, tuple[Pullback[A], Pullback[A]]]
Selecting: TypeAlias = tuple[A, tuple[Pullback[A], None]]
Ternary: TypeAlias = tuple[A, tuple[Pullback[A], Pullback[A], Pullback[A]]]
Choosing: TypeAlias = tuple[A, tuple[None, Pullback[A], Pullback[A]]]
Nary: TypeAlias = tuple[A, list[Pullback[A]]]
