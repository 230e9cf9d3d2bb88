"""Operations on integers and bools give the numbers that they give on float64, or are refused.

The reference of each call is the same call on the same numbers in float64, rounded towards zero
where the result holds integers.
"""

from collections.abc import Callable
from fractions import Fraction
from math import isinf, isnan, nan, trunc

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, Tensor, ops
from minispore.common.initializer import initializer
from minispore.utils.checks import as_items
from tests.helpers.valid_arguments import OPERATIONS

Host = NDArray[np.generic]
Floats = NDArray[np.float64]
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KINDS = ("bool", *INTEGERS)
FLOATS = (ms.float16, ms.float32, ms.float64)
# Sums and products in the type of the operands, modulo a power of 2, as in numpy and MindSpore.
MODULAR = {
    *("abs", "absolute", "add", "addmm", "addmv", "baddbmm", "bias_add", "bmm", "cumsum", "dense"),
    *(
        "div",
        "dot",
        "floor_divide",
        "matmul",
        "mm",
        "mul",
        "mv",
        "neg",
        "outer",
        "pow",
        "square",
        "sub",
    ),
    *("subtract", "trace", "unsorted_segment_sum"),
    *("cross", "fold", "kron", "scatter_nd", "tensor_scatter_add", "tensor_scatter_elements"),
}
# What is true or false: sums and products of bools, as in numpy, and bools with other numbers.
LOGICAL = {
    *("add", "bias_add", "bmm", "dense", "dot", "matmul", "mm", "mul", "mv", "outer", "pad"),
    *("fold", "kron", "scatter_nd", "tensor_scatter_add", "tensor_scatter_elements"),
}
NO_BOOLS = {
    *("addmm", "addmv", "argsort", "baddbmm", "ceil", "cumsum", "div", "floor_divide", "frac"),
    *("l1_loss",),
    *("max_pool2d", "mean", "mse_loss", "neg", "pow", "remainder", "round", "sign", "sort", "sub"),
    *("subtract", "topk", "trace", "trunc", "unsorted_segment_sum"),
    *("bincount", "cross", "cummax", "cummin", "fmod", "median"),
}
NO_INTEGERS = {"batch_norm", "dropout", "dropout2d", "interpolate", "std", "var"}
# Functions whose arguments are probabilities, sorted, or matrices that are far from singular ones,
# and others that draw random numbers.
OTHERS = {
    *("binary_cross_entropy", "cast", "kl_div", "multinomial", "normal", "searchsorted", "uniform"),
    *("cholesky", "det", "inverse", "logdet", "qr", "slogdet", "svd"),
}
# Arguments of integers instead of floats, of which some functions would make floats.
ARGUMENTS: dict[str, dict[str, object]] = {
    "addmm": {"alpha": 3},
    "addmv": {"alpha": 3},
    "amax": {"initial": 1},
    "amin": {"initial": 1},
    "baddbmm": {"alpha": 3},
    "masked_fill": {"value": 1},
    "max": {"initial": 1},
    "min": {"initial": 1},
    "subtract": {"alpha": 2},
}


def in_floats(name: str, key: str) -> bool:
    """Return whether an argument is a tensor of floats, or a list of them."""
    items = as_items(value := OPERATIONS[name][key]) or (value,)
    return all(isinstance(item, Tensor) and item.dtype in FLOATS for item in items)


CASES = {
    f"{name}{form}": (name, {**arguments, **extra})
    for name, arguments in OPERATIONS.items()
    if name not in OTHERS and any(in_floats(name, key) for key in arguments)
    for form, extra in {"": {}, " of integers": ARGUMENTS.get(name)}.items()
    if extra is not None
}


def drawn(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Host:
    """Return numbers over the whole range of a type, or small ones, of which float64 holds each."""
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(kind)
    low, high = max(limits.min, -(2**45)), min(limits.max, 2**45)
    if rng.random() < 0.5:
        low, high = max(low, -3), 3
    numbers = rng.integers(low, high, shape, np.int64, endpoint=True)
    # Often the ends of the range.
    numbers = np.where(rng.random(shape) < 0.2, rng.choice([low, high], shape), numbers)
    return np.asarray(numbers.astype(kind))


def outputs(name: str, arguments: dict[str, object]) -> list[Host]:
    result: object = getattr(ops, name)(**arguments)
    return [y.asnumpy() for y in as_items(result) or (result,) if isinstance(y, Tensor)]


def with_tensors(
    name: str, arguments: dict[str, object], convert: Callable[[Tensor, int], Tensor]
) -> dict[str, object]:
    """Return the arguments with other tensors in place of those of floats."""
    changed = dict(arguments)
    for i, key in enumerate(arguments):
        if in_floats(name, key):
            value = arguments[key]
            items = as_items(value)
            if isinstance(value, Tensor):
                changed[key] = convert(value, 10 * i)
            elif items is not None:
                changed[key] = [
                    convert(item, 10 * i + j)
                    for j, item in enumerate(items)
                    if isinstance(item, Tensor)
                ]
    return changed


def differs(name: str, actual: Host, exact: Floats, rounded: Floats) -> bool:
    """Return whether a result differs from what it is of float64, also of operands in float32."""
    if actual.dtype == np.bool_:
        return bool((actual != ((exact != 0) if name in LOGICAL else exact)).any())
    if actual.dtype.kind in "iu":
        limits = np.iinfo(actual.dtype.name)
        cut = np.trunc(exact)
        inside = (cut >= limits.min) & (cut <= limits.max)
        if not inside.all() and name not in MODULAR:
            return True
        # Of those beyond 2⁵³ float64 has the first digits.
        close = np.isclose(actual.astype(np.float64), cut, rtol=1e-15, atol=0)
        return not close[inside & (np.abs(cut) < 2**63)].all()
    limit = np.finfo(actual.dtype.name).max
    within = 2e-3 if actual.dtype == np.float16 else 2e-5
    references = [np.where(abs(y) > limit, np.copysign(np.inf, y), y) for y in (exact, rounded)]
    scale = np.nanmax(np.abs(exact[np.isfinite(exact)]), initial=1.0)
    near = [
        np.isclose(actual.astype(np.float64), y, within, within * scale, equal_nan=True)
        for y in references
    ]
    # Where float32 has overflowed, nothing is known.
    return not (near[0] | near[1] | ~np.isfinite(actual)).all()


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=settings().max_examples // 2 + 1)
@given(seed=st.integers(0, 2**32 - 1))
def test_integers_give_the_numbers_of_float64_or_are_refused(case: str, seed: int) -> None:
    name, arguments = CASES[case]
    rng = np.random.default_rng(seed)
    for kind in KINDS:
        values: dict[int, Host] = {}

        def integers(like: Tensor, i: int) -> Tensor:
            values[i] = drawn(rng, like.shape, kind)  # noqa: B023 (called in this iteration)
            if name in {"floor_divide", "fmod", "remainder", "div", "pow"}:
                # Neither a division by 0 nor 0 to a negative power.
                values[i] = np.where(values[i] == 0, 1, values[i]).astype(kind)  # noqa: B023
            return Tensor(values[i])  # noqa: B023

        given_integers = with_tensors(name, arguments, integers)
        exact = with_tensors(name, arguments, lambda _, i: Tensor(values[i].astype(np.float64)))  # noqa: B023
        rounded = with_tensors(
            name,
            arguments,
            lambda _, i: Tensor(values[i].astype(np.float32).astype(np.float64)),  # noqa: B023
        )
        with np.errstate(all="ignore"):
            refused = name in NO_INTEGERS or (kind == "bool" and name in NO_BOOLS)
            cannot_hold = name == "masked_fill" and (kind == "bool" or case == name)
            is_fraction = case == "subtract" and kind != "bool"
            if refused or cannot_hold or is_fraction:
                with pytest.raises((TypeError, ValueError), match=f"For '{name}'"):
                    outputs(name, given_integers)
                continue
            actual = outputs(name, given_integers)
            expected = zip(outputs(name, exact), outputs(name, rounded), strict=True)
        for ours, (theirs, coarse) in zip(actual, expected, strict=True):
            assert ours.shape == theirs.shape
            wide, narrow = (np.asarray(y, np.float64) for y in (theirs, coarse))
            assert not differs(name, ours, wide, narrow), (kind, values, ours, theirs)


# Each way for a number to become an element of a tensor of integers: a function of the tensor,
# whose first element becomes the number. The last three give floats for a float.
Scalar = float
ENTRIES: dict[str, Callable[[Tensor, Scalar], Tensor]] = {
    "fill_": lambda x, v: x.fill_(v),
    "fill_ with a tensor": lambda x, v: x.fill_(wide(v)),
    "fill": lambda x, v: x.fill(v),
    "copy_": lambda x, v: x.copy_(wide(v)),
    "an item": lambda x, v: assigned(x, v),
    "an item of a list": lambda x, v: assigned(x, [v]),
    "an item of a tensor": lambda x, v: assigned(x, wide(v)),
    "an item of an array": lambda x, v: assigned(x, np.array([v])),
    "an item in a gradient": lambda x, v: in_gradient(x, lambda x: assigned(x, v)),
    "an item of a tensor in a gradient": lambda x, v: in_gradient(
        x, lambda x: assigned(x, wide(v))
    ),
    "fill_ in a gradient": lambda x, v: in_gradient(x, lambda x: x.fill_(v)),
    "copy_ in a gradient": lambda x, v: in_gradient(x, lambda x: x.copy_(wide(v))),
    "Tensor": lambda x, v: Tensor(v, x.dtype),
    "Tensor of a list": lambda x, v: Tensor([v], x.dtype),
    "full": lambda x, v: ops.full((2,), v, dtype=x.dtype),
    "full_like": lambda x, v: ops.full_like(x, v),
    "ops.fill": lambda x, v: ops.fill(x.dtype, (2,), v),
    "ops.fill with a tensor": lambda x, v: ops.fill(x.dtype, (2,), wide(v)),
    "new_full": lambda x, v: x.new_full((2,), v),
    "scalar_to_tensor": lambda x, v: ops.scalar_to_tensor(v, x.dtype),
    "pad": lambda x, v: ops.pad(x, (1, 0), value=v),
    "one_hot": lambda x, v: ops.one_hot(Tensor([0]), 1, Tensor([0], x.dtype), v)[:, 1:],
    "masked_fill": lambda x, v: x.masked_fill(Tensor([True, True]), v),
    "masked_fill with a tensor": lambda x, v: x.masked_fill(Tensor([True, True]), wide(v)),
    "scatter": lambda x, v: x.scatter(0, Tensor([0]), v),
    "scatter of a tensor": lambda x, v: x.scatter(0, Tensor([0]), wide(v).reshape(1)),
    "set_data": lambda x, v: Parameter(x, name="x").set_data(v),
    "set_data with a tensor": lambda x, v: Parameter(x, name="x").set_data(wide(v)),
    "assign": lambda x, v: ops.assign(Parameter(x, name="x"), wide(v).broadcast_to(2)),
    "initializer": lambda x, v: initializer(v, [2], x.dtype),
    "arange": lambda x, v: ops.arange(v, v + 1, 2, dtype=x.dtype),
    "where": lambda x, v: ops.where(Tensor([False, False]), x, v),
    "maximum": lambda x, v: ops.maximum(x[:0], v),
    "a sum with a list": lambda x, v: x * 0 + [v, v],
}


def wide(value: Scalar) -> Tensor:
    """Return a number as a tensor without axes of its own type."""
    return Tensor(np.asarray(value))


def assigned(x: Tensor, value: Scalar | list[Scalar] | Tensor | Host) -> Tensor:
    x[:1] = value
    return x


def in_gradient(x: Tensor, write: Callable[[Tensor], Tensor]) -> Tensor:
    written: list[Tensor] = []

    def function(y: Tensor) -> Tensor:
        written.append(ops.stop_gradient(write(x.copy())))
        return y

    ms.grad(function)(Tensor(1.0))
    return written[0]


@pytest.mark.parametrize("entry", ENTRIES)
@given(
    kind=st.sampled_from(INTEGERS),
    value=st.integers(-(2**63), 2**64 - 1)
    | st.integers(-300, 300)
    | st.floats(-300, 300)
    | st.sampled_from([nan, float("inf"), -float("inf"), 2.0**31, -(2.0**63), 2.0**64, 1e300]),
)
def test_an_integer_type_holds_a_number_or_refuses_it(entry: str, kind: str, value: Scalar) -> None:
    x = Tensor(np.ones(2, kind))
    limits = np.iinfo(kind)
    errors: list[Exception] = []
    result = Tensor([])
    try:
        with np.errstate(over="ignore"):
            result = ENTRIES[entry](x, value)
    except (TypeError, ValueError) as error:
        errors.append(error)
    for refusal in errors:
        assert str(refusal).startswith("For '")
        inside = not (isnan(value) or isinf(value)) and limits.min <= trunc(value) <= limits.max
        # Functions with results in the promoted type, and types without a common integer type.
        assert not inside or isinstance(refusal, TypeError)
    if result.size and result.dtype not in FLOATS:
        first, *others = np.reshape(result.asnumpy(), -1).tolist()
        assert first == trunc(value)
        assert {*others} <= {1, first}
    elif result.size:
        assert isinstance(value, float)
        with np.errstate(over="ignore"):
            np.testing.assert_allclose(result.asnumpy(), np.float32(value), 1e-6)


@pytest.mark.parametrize("kind", INTEGERS)
@given(count=st.integers(1, 300) | st.sampled_from([2**15, 2**15 + 1, 2**16, 2**16 + 1]))
def test_a_permutation_holds_each_number_once_or_is_refused(kind: str, count: int) -> None:
    dtype = Tensor(np.ones(1, kind)).dtype
    if count - 1 <= np.iinfo(kind).max:
        found = np.sort(ops.randperm(count, dtype=dtype).asnumpy())
        assert np.array_equal(found, np.arange(count))
    else:
        with pytest.raises(ValueError, match="^For 'randperm', the number "):
            ops.randperm(count, dtype=dtype)


@given(data=st.data(), kind=st.sampled_from(INTEGERS))
def test_quotients_of_integers_are_those_of_python(data: st.DataObject, kind: str) -> None:
    limits = np.iinfo(kind)
    numbers = st.integers(limits.min, limits.max) | st.integers(max(-9, limits.min), 9)
    n, d = data.draw(numbers), data.draw(numbers)
    x, y = (Tensor(np.array([v], kind)) for v in (n, d))
    functions: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "floor_divide": lambda x, y: x // y,
        "remainder": lambda x, y: x % y,
        "div": lambda x, y: ops.div(x, y, rounding_mode="floor"),
    }
    if d == 0:
        for name, function in functions.items():
            with pytest.raises(ValueError, match=f"^For '{name}', a divisor of integers must not"):
                function(x, y)
        with pytest.raises(ValueError, match="^For 'div', a divisor of integers must not"):
            ops.div(x, y, rounding_mode="trunc")
        return
    assume((n, d) != (limits.min, -1))
    results = [int(function(x, y)) for function in functions.values()]
    assert results == [n // d, n % d, n // d]
    assert int(ops.div(x, y, rounding_mode="trunc")) == trunc(Fraction(n, d))


@given(
    n=st.floats(width=32),
    d=st.floats(width=32) | st.sampled_from([0.1, 0.3, 1e-3, 1e3]).map(np.float32).map(float),
)
def test_quotients_of_floats_are_rounded_down_from_the_exact_ones(n: float, d: float) -> None:
    x, y = (Tensor(np.array([v], np.float32)) for v in (n, d))
    with np.errstate(all="ignore"):
        both = [float(x // y), float(ops.div(x, y, rounding_mode="floor"))]
        quotient = float(x / y)
    assert repr(both[0]) == repr(both[1])
    if isinf(d) or isinf(quotient) or isnan(quotient):
        # The floor of what the division gives.
        assert repr(abs(both[0])) == repr(abs(float(np.floor(quotient))))
    elif abs(quotient) < 2**23:
        # A larger one is rounded to a float32.
        assert both[0] == Fraction(n) // Fraction(d)


@given(
    kind=st.sampled_from(INTEGERS),
    numbers=st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=4),
)
def test_sums_and_means_of_integers_are_exact(kind: str, numbers: list[int]) -> None:
    limits = np.iinfo(kind)
    values = [min(max(v, limits.min), limits.max) for v in numbers]
    x, total = Tensor(np.array(values, kind)), sum(values)
    mean = x.mean()
    assert mean.dtype is x.dtype
    assert int(mean) == trunc(Fraction(total, len(values)))
    wide_limits = np.iinfo(np.uint64 if kind == "uint64" else np.int64)
    if wide_limits.min <= total <= wide_limits.max:
        assert int(x.sum()) == total
    below = ms.int32 if kind in {"int8", "int16", "uint8"} else x.dtype
    assert x.cumsum(0).dtype is below


@given(data=st.data())
def test_padding_repeats_what_is_not_cut_off(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 6))
    before, after = data.draw(st.tuples(st.integers(-length, 6), st.integers(-length, 6)))
    row = np.arange(length)
    kept = row[max(-before, 0) : length - max(-after, 0)]
    added = max(before, 0), max(after, 0)
    assume(before + after >= -length)
    if max(added) > max(len(kept), 0):
        with pytest.raises(ValueError, match="For 'pad'"):
            ops.pad(Tensor(row), (before, after), "circular")
    else:
        expected = np.pad(kept, added, "wrap") if len(kept) else kept
        assert ops.pad(Tensor(row), (before, after), "circular").tolist() == expected.tolist()


@given(
    low=st.sampled_from([nan, -1.0, 2, 300, None]),
    high=st.sampled_from([nan, 1.5, -3, 300, None]),
    kind=st.sampled_from(["float32", *INTEGERS]),
    as_tensors=st.booleans(),
)
def test_a_bound_of_nan_gives_nan(
    low: float | None, high: float | None, kind: str, as_tensors: bool
) -> None:
    assume(low is not None or high is not None)
    x = Tensor(np.array([0, 1, 100], kind))
    bounds = [Tensor(b) if as_tensors and b is not None else b for b in (low, high)]
    limits = np.iinfo("int64" if kind == "float32" else kind)
    inside = all(b is None or isnan(b) or limits.min <= b <= limits.max for b in (low, high))
    assume(inside and not (as_tensors and kind == "uint64"))
    actual = ops.clip(x, *bounds).tolist()
    expected = np.array([0.0, 1.0, 100.0])
    expected = np.maximum(expected, -np.inf if low is None else low)
    expected = np.minimum(expected, np.inf if high is None else high)
    np.testing.assert_array_equal(actual, expected)


@given(
    kind=st.sampled_from(KINDS),
    low=st.integers(-300, 300) | st.floats(-9, 9),
    high=st.integers(-300, 300) | st.floats(-9, 9),
)
def test_hardtanh_of_integers_is_limited_by_integers(kind: str, low: float, high: float) -> None:
    limits = (0, 1) if kind == "bool" else (np.iinfo(kind).min, np.iinfo(kind).max)
    numbers = [v for v in (-5, 0, 1, 100) if limits[0] <= v <= limits[1]]
    expected = [min(max(v, int(low)), int(high)) for v in numbers]
    x = Tensor(np.array(numbers, kind))
    if kind != "bool" and (int(low) > limits[1] or int(high) < limits[0]):
        with pytest.raises(ValueError, match="^For 'clip', the number -?\\d+ does not fit"):
            ops.hardtanh(x, low, high)
        return
    assert ops.hardtanh(x, low, high).dtype is x.dtype
    assert ops.hardtanh(x, low, high).tolist() == (
        [bool(v) for v in expected] if kind == "bool" else expected
    )
