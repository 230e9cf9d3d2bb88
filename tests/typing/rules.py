"""What type checkers say about rules: they count the pullbacks. Nothing here is run.

Each `type: ignore[…]` is a mistake that both type checkers must find: where one doesn't, it calls
the comment unused.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Callable, Sequence
from typing import assert_type

from minispore import Tensor, ops
from minispore.engine.array import A, Array
from minispore.engine.dispatch import apply1, apply2, apply3, apply_n
from minispore.engine.rules import (
    Binary,
    Ternary,
    TernaryWithMask,
    Unary,
    arithmetic,
    linalg,
    reduction,
    shape,
)


def rules_are_applied_to_as_many_operands_as_they_have(t: Tensor) -> None:
    assert_type(apply1(arithmetic.negative, t), Tensor)
    assert_type(apply2(arithmetic.multiply, t, t), Tensor)
    assert_type(apply3(arithmetic.where, t, t, t), Tensor)
    assert_type(apply_n(shape.concat, [t, t], 0), Tensor)
    apply1(arithmetic.multiply, t)  # type: ignore[arg-type]
    apply2(arithmetic.negative, t, t)  # type: ignore[arg-type]
    apply2(linalg.dense, t, t)  # type: ignore[arg-type]


def what_a_rule_is_called_with_is_checked(t: Tensor) -> None:
    apply1(reduction.sum, t, None, False)
    apply1(reduction.sum, t, None)  # type: ignore[arg-type]
    apply1(reduction.sum, t, "all", False)  # type: ignore[arg-type]
    apply1(shape.reshape, t, (2, 3), 4)  # type: ignore[arg-type]
    apply_n(shape.concat, [t, t], "rows")  # type: ignore[arg-type]


def one_too_few(x: Array, y: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
    return x * y, (lambda g: g * y,)


def one_too_many(x: Array) -> Binary[Array]:
    return x, (lambda g: g, lambda g: g)


def no_pullbacks(x: Array) -> Array:
    return x


def rules_give_one_pullback_for_each_operand(t: Tensor) -> None:
    apply2(one_too_few, t, t)  # type: ignore[arg-type]
    apply1(one_too_many, t)  # type: ignore[arg-type]
    apply1(no_pullbacks, t)  # type: ignore[arg-type]
    ops.apply_rule(no_pullbacks, t)  # type: ignore[arg-type]


def rules_of_your_own_are_counted_when_they_run(t: Tensor) -> None:
    def doubled(x: Array) -> tuple[Array, Sequence[Callable[[Array], Array]]]:
        return x + x, (lambda g: g + g,)

    assert_type(ops.apply_rule(doubled, t), Tensor)
    ops.apply_rule(doubled, [1.0])  # type: ignore[type-var]


def half(x: A, y: A) -> Binary[A]:
    return x + y, (lambda g: g,)  # type: ignore[return-value]


def flat(x: A) -> Unary[A]:
    return x, (lambda g: None,)  # type: ignore[return-value]


def through_a_condition(condition: A, x: A, y: A) -> TernaryWithMask[A]:
    return x, (lambda g: g, lambda g: g, lambda g: g)  # type: ignore[return-value]


def shuffled(x: A, y: A, z: A) -> Ternary[A]:
    return (lambda g: g, lambda g: g, lambda g: g), x  # type: ignore[return-value]
