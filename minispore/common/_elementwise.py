"""The operations of `ops` that go element by element, as methods of a tensor."""

from typing import Literal, Self

from minispore._functional import arithmetic, comparison, elementwise
from minispore._functional.operands import Values
from minispore._functional.variable import T
from minispore.common._host import Host


class Elementwise(Host):
    """What is done with each element alone."""

    __slots__ = ()

    def add(self: T, other: T | Values) -> T:
        """`self + other`."""
        return arithmetic.add(self, other)

    def sub(self: T, other: T | Values) -> T:
        """`self - other`."""
        return arithmetic.sub(self, other)

    def subtract(self: T, other: T | Values) -> T:
        """As `sub`."""
        return arithmetic.sub(self, other)

    def mul(self: T, other: T | Values) -> T:
        """`self * other`."""
        return arithmetic.mul(self, other)

    def multiply(self: T, other: T | Values) -> T:
        """As `mul`."""
        return arithmetic.mul(self, other)

    def div(
        self: T, other: T | Values, *, rounding_mode: Literal["floor", "trunc"] | None = None
    ) -> T:
        """`self / other`; integers are divided as float32."""
        return arithmetic.div(self, other, rounding_mode=rounding_mode)

    def divide(
        self: T, other: T | Values, *, rounding_mode: Literal["floor", "trunc"] | None = None
    ) -> T:
        """As `div`."""
        return arithmetic.div(self, other, rounding_mode=rounding_mode)

    def floor_divide(self: T, other: T | Values) -> T:
        """`self // other`: the quotient rounded down."""
        return arithmetic.floor_divide(self, other)

    def remainder(self: T, other: T | Values) -> T:
        """`self % other`: what `floor_divide` leaves over."""
        return arithmetic.remainder(self, other)

    def pow(self: T, exponent: T | Values) -> T:
        """`self ** exponent`."""
        return arithmetic.pow(self, exponent)

    def maximum(self: T, other: T | Values) -> T:
        """The larger of both; equal ones take half of the gradient each."""
        return arithmetic.maximum(self, other)

    def minimum(self: T, other: T | Values) -> T:
        """The smaller of both; equal ones take half of the gradient each."""
        return arithmetic.minimum(self, other)

    def neg(self) -> Self:
        """`-self`."""
        return arithmetic.neg(self)

    def negative(self) -> Self:
        """As `neg`."""
        return arithmetic.neg(self)

    def abs(self) -> Self:
        """The absolute value; its gradient at 0 is 0."""
        return elementwise.abs(self)

    def absolute(self) -> Self:
        """As `abs`."""
        return elementwise.abs(self)

    def exp(self) -> Self:
        """The exponential function."""
        return elementwise.exp(self)

    def log(self) -> Self:
        """The natural logarithm."""
        return elementwise.log(self)

    def sqrt(self) -> Self:
        """The square root."""
        return elementwise.sqrt(self)

    def square(self) -> Self:
        """`self * self`."""
        return elementwise.square(self)

    def sign(self) -> Self:
        """-1, 0 or 1."""
        return elementwise.sign(self)

    def tanh(self) -> Self:
        """The hyperbolic tangent."""
        return elementwise.tanh(self)

    def sin(self) -> Self:
        """The sine of radians."""
        return elementwise.sin(self)

    def cos(self) -> Self:
        """The cosine of radians."""
        return elementwise.cos(self)

    def sigmoid(self) -> Self:
        """1 / (1 + exp(-self))."""
        return elementwise.sigmoid(self)

    def relu(self) -> Self:
        """max(self, 0); its gradient at 0 is 0."""
        return elementwise.relu(self)

    def floor(self) -> Self:
        """Rounded down; its gradient is zero."""
        return elementwise.floor(self)

    def round(self) -> Self:
        """Rounded to the nearest integer, halves to the even one; its gradient is zero."""
        return elementwise.round(self)

    def isnan(self) -> Self:
        """Where the elements are no numbers."""
        return elementwise.isnan(self)

    def isinf(self) -> Self:
        """Where the elements are infinite."""
        return elementwise.isinf(self)

    def isfinite(self) -> Self:
        """Where the elements are neither infinite nor no numbers."""
        return elementwise.isfinite(self)

    def clip(self, min: float | None = None, max: float | None = None) -> Self:
        """Kept within [min, max]."""
        return elementwise.clip(self, min, max)

    def clamp(self, min: float | None = None, max: float | None = None) -> Self:
        """As `clip`."""
        return elementwise.clip(self, min, max)

    def copy(self) -> Self:
        """The same elements in memory of their own; the gradient flows through."""
        return elementwise.copy(self)

    def clone(self) -> Self:
        """As `copy`."""
        return elementwise.copy(self)

    def eq(self: T, other: T | Values) -> T:
        """Where both are equal."""
        return comparison.equal(self, other)

    def ne(self: T, other: T | Values) -> T:
        """Where both differ."""
        return comparison.not_equal(self, other)

    def not_equal(self: T, other: T | Values) -> T:
        """As `ne`."""
        return comparison.not_equal(self, other)

    def lt(self: T, other: T | Values) -> T:
        """Where this is smaller than `other`."""
        return comparison.less(self, other)

    def less(self: T, other: T | Values) -> T:
        """As `lt`."""
        return comparison.less(self, other)

    def le(self: T, other: T | Values) -> T:
        """Where this is at most `other`."""
        return comparison.less_equal(self, other)

    def less_equal(self: T, other: T | Values) -> T:
        """As `le`."""
        return comparison.less_equal(self, other)

    def gt(self: T, other: T | Values) -> T:
        """Where this is larger than `other`."""
        return comparison.greater(self, other)

    def greater(self: T, other: T | Values) -> T:
        """As `gt`."""
        return comparison.greater(self, other)

    def ge(self: T, other: T | Values) -> T:
        """Where this is at least `other`."""
        return comparison.greater_equal(self, other)

    def greater_equal(self: T, other: T | Values) -> T:
        """As `ge`."""
        return comparison.greater_equal(self, other)

    def logical_and(self: T, other: T | bool) -> T:
        """Where both hold; a number holds unless it is 0."""
        return comparison.logical_and(self, other)

    def logical_or(self: T, other: T | bool) -> T:
        """Where either holds."""
        return comparison.logical_or(self, other)

    def logical_xor(self: T, other: T | bool) -> T:
        """Where one of both holds, but not the other."""
        return comparison.logical_xor(self, other)

    def logical_not(self) -> Self:
        """Where this does not hold."""
        return comparison.logical_not(self)
