"""Dispatch: from operands to the derivative rule, and from its result to a recorded variable.

A `Variable` is an array with its node in the graph. An operation converts its operands to variables
of one data type, applies a rule to their arrays, and wraps the value; while a gradient is being
computed, the pullbacks are recorded in a node.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import prod
from typing import Any, ClassVar, Final, ParamSpec, TypeAlias, TypeVar, TypeVarTuple, cast
from weakref import ref

import numpy as np
from numpy import asarray, generic
from numpy.typing import NDArray

from minispore.engine import dtypes
from minispore.engine.array import (
    NUMPY_TYPES,
    Array,
    HostArray,
    Shape,
    device_namespace,
    device_of,
    ensure_owned,
    from_host,
    host_check,
    is_host,
    is_ndarray,
    namespace,
    root_of,
    to_device,
    to_device_of,
    to_host,
)
from minispore.engine.dtypes import DType
from minispore.engine.graph import Node, is_recording
from minispore.engine.rules import elementwise as rules
from minispore.engine.rules import indexing
from minispore.engine.rules import shape as shape_rules
from minispore.utils.arrays import AnyArray
from minispore.utils.checks import (
    as_items,
    caller,
    check_unmasked,
    describe_value,
    is_sequence,
    type_error,
)


class Variable:
    """An array, and its node in the graph if it has one: the base class of `Tensor`."""

    __slots__ = ("__weakref__", "_aliases", "_data", "_node")

    _data: Array
    _node: Node | None
    # Those that may share its memory, and whether it stays a constant if others are written to.
    _aliases: "tuple[dict[ref[Variable], None], bool]"
    # Whether what is assigned to it is a constant.
    _is_input: ClassVar[bool] = False
    # The class of the results of operations: the sum of two Parameters is a Tensor.
    _result: ClassVar[type[Any]]

    @property
    def shape(self) -> Shape:
        """The length of each axis."""
        return self._data.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim


P = ParamSpec("P")
T = TypeVar("T", bound=Variable)
ALONE: Final[tuple[dict[ref[Variable], None], bool]] = ({}, False)
Number: TypeAlias = int | float | bool


def check_tensor(x: object, name: str = "input") -> Variable:
    """Return `x`, the argument `name`; TypeError if it is no tensor."""
    if not isinstance(x, Variable):
        hint = " Convert it: Tensor(…)." if hasattr(x, "__array__") or is_sequence(x) else ""
        raise TypeError(
            f"For '{caller()}', the argument '{name}' must be a Tensor, but got "
            f"{describe_value(x)}.{hint}"
        )
    return x


# `wrap` is called by every operation: this saves a look-up.
_new = object.__new__
_scalar: type = generic


def wrap(data: Array, like: T, node: Node | None = None) -> T:
    """Return `data` as a variable of the class that operations on `like` return."""
    value: T = _new(like._result)
    # numpy returns a scalar where a result has no axes.
    value._data = asarray(data) if isinstance(data, _scalar) else data
    value._node, value._aliases = node, ALONE
    return value


def is_recorded(x: Variable) -> bool:
    """Return whether operations on `x` are recorded now."""
    return x._node is not None and is_recording()


def share(view: Variable, x: Variable, *, is_constant: bool = False) -> None:
    """Note that `view` shares the memory of `x`, if it does: `indexing.write` changes both.

    Args:
        view: A variable that was made from `x`.
        x: Another variable.
        is_constant: Whether no gradient flows into `view` from what is written to others.
    """
    a, b = view._data, x._data
    # Mostly the one is a view of the other; this is faster than to look for the roots.
    if a is not b and getattr(a, "base", None) is not b and root_of(a) is not root_of(b):
        return
    if x._aliases is ALONE:
        x._aliases = {}, False
        _add_alias(x._aliases[0], x)
    known, inherited = x._aliases
    if view._aliases[0] is not known:
        _add_alias(known, view)
    view._aliases = known, is_constant or inherited


def _add_alias(known: dict[ref[Variable], None], x: Variable) -> None:
    """Add a variable until it is deleted; references to two variables are not compared."""
    known[ref(x, known.pop)] = None


def aliases(x: Variable) -> list[Variable]:
    """Return the other variables that share the memory of `x`."""
    root = root_of(x._data)
    known = [alias() for alias in tuple(x._aliases[0])]
    return [y for y in known if y is not None and y is not x and root_of(y._data) is root]


Ts = TypeVarTuple("Ts")
OptionalPullback: TypeAlias = Callable[[Array], Array] | None


# These rules move elements: there is nothing to round, and the result may be a view.
_EXACT: frozenset[Callable[..., object]] = frozenset({
    rules.cast, rules.copy, rules.identity, indexing.getitem, shape_rules.reshape,
    shape_rules.permute, shape_rules.broadcast_to, shape_rules.expand_dims, shape_rules.squeeze,
})  # fmt: skip


def apply1(
    rule: Callable[[Array, *Ts], tuple[Array, tuple[OptionalPullback]]], x: T, *args: *Ts
) -> T:
    """Return the value of a rule of one operand.

    Here and below, a rule of float16 operands is computed in float32: only its value and the
    gradients are rounded.
    """
    a = x._data
    if a.dtype == _HALF and rule not in _EXACT:
        return cast_to(apply1(rule, half_to_float32(x), *args), dtypes.float16)
    value, pullbacks = rule(a, *args)
    if x._node is None or not is_recording():
        result = wrap(value, x)
    else:
        result = wrap(value, x, Node((x._node,), pullbacks, rule, (a,), args))
    if value is a or getattr(value, "base", None) is not None:
        share(result, x)
    return result


def apply2(
    rule: Callable[[Array, Array, *Ts], tuple[Array, tuple[OptionalPullback, OptionalPullback]]],
    x: T,
    y: T,
    *args: *Ts,
) -> T:
    """Return the value of a rule of two operands.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    a, b = x._data, y._data
    if _HALF in (a.dtype, b.dtype):
        wide = apply2(rule, half_to_float32(x), half_to_float32(y), *args)
        return cast_to(wide, dtypes.float16)
    m, n = x._node, y._node
    try:
        value, (p, q) = rule(a, b, *args)
    except ValueError:
        raise broadcast_error(a.shape, b.shape, function=rule.__name__) from None
    except TypeError as error:
        x, y = _to_common_device(error, x, y)
        return apply2(rule, x, y, *args)
    if (m is None and n is None) or not is_recording():
        return wrap(value, x)
    # The pullback of a constant is not stored, nor are the arrays in its closure.
    pullbacks = (p if m else None, q if n else None)
    return wrap(value, x, Node((m, n), pullbacks, rule, (a, b), args))


def apply3(
    rule: Callable[
        [Array, Array, Array, *Ts],
        tuple[Array, tuple[OptionalPullback, OptionalPullback, OptionalPullback]],
    ],
    x: T,
    y: T,
    z: T,
    *args: *Ts,
) -> T:
    """Return the value of a rule of three operands.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    a, b, c = x._data, y._data, z._data
    if _HALF in (b.dtype, c.dtype):  # the first may be a condition
        operands = half_to_float32(x), half_to_float32(y), half_to_float32(z)
        return cast_to(apply3(rule, *operands, *args), dtypes.float16)
    m, n, o = x._node, y._node, z._node
    try:
        value, (p, q, r) = rule(a, b, c, *args)
    except ValueError:
        raise broadcast_error(a.shape, b.shape, c.shape, function=rule.__name__) from None
    except TypeError as error:
        x, y, z = _to_common_device(error, x, y, z)
        return apply3(rule, x, y, z, *args)
    if (m is None and n is None and o is None) or not is_recording():
        return wrap(value, x)
    pullbacks = (p if m else None, q if n else None, r if o else None)
    return wrap(value, x, Node((m, n, o), pullbacks, rule, (a, b, c), args))


def apply_n(
    rule: Callable[[Sequence[Array], *Ts], tuple[Array, Sequence[OptionalPullback]]],
    operands: Sequence[T],
    *args: *Ts,
) -> T:
    """Return the value of a rule that takes a sequence of operands."""

    def one_by_one(*arrays: Array) -> tuple[Array, Sequence[OptionalPullback]]:
        return rule(arrays, *args)

    # Drawings of graphs show the name of the rule.
    one_by_one.__name__ = rule.__name__
    return _apply(one_by_one, operands)


def apply_rule(rule: Callable[..., tuple[Array, Sequence[OptionalPullback]]], *operands: T) -> T:
    """Apply a derivative rule to tensors.

    A rule that uses only operators and functions of `namespace(x)` can be differentiated any number
    of times.

    Args:
        rule: A function of one array for each operand. It returns an array and a tuple of as many
            pullbacks, each from the gradient of the value to the gradient of one operand, or None
            where no gradient flows.
        *operands: The tensors.

    Returns:
        The rule's value as a tensor.

    Raises:
        TypeError: The rule is not callable, or an operand is not a tensor; or the rule or a
            pullback returns no array, or a pullback one of another float type than its operand's.
        ValueError: There is no operand, the rule returns more or fewer pullbacks than operands, or
            a gradient has another shape than its operand.

    Examples:
        >>> from minispore import Tensor, grad, ops
        >>> def cube(x):
        ...     return x * x * x, (lambda g: g * (3.0 * x * x),)
        >>> f = lambda x: ops.apply_rule(cube, x)
        >>> grad(f)(Tensor(2.0)).item(), grad(grad(f))(Tensor(2.0)).item()
        (12.0, 12.0)
    """
    if not callable(rule):
        raise type_error(rule, "rule", "be callable")
    if not operands:
        raise ValueError("For 'apply_rule', there must be at least one operand, but got none.")
    for i, x in enumerate(operands):
        check_tensor(x, f"operands[{i}]")
    return _apply(_checked(rule), operands)


def _checked(
    rule: Callable[..., object],
) -> Callable[..., tuple[Array, Sequence[OptionalPullback]]]:
    """Return a user's rule, with errors unless it returns a value and a pullback per operand."""
    name = getattr(rule, "__name__", type(rule).__name__)

    @wraps(rule)
    def checked(*arrays: Array) -> tuple[Array, Sequence[OptionalPullback]]:
        returned = rule(*arrays)
        items = as_items(returned)
        pullbacks = as_items(items[1]) if items is not None and len(items) == 2 else None
        if items is None or pullbacks is None:
            raise TypeError(
                f"For 'apply_rule', the rule '{name}' must return a value and a tuple of "
                f"pullbacks, but returned {describe_value(returned)}."
            )
        if len(pullbacks) != len(arrays):
            raise ValueError(
                f"For 'apply_rule', a rule of {len(arrays)} operands must give as many pullbacks, "
                f"but {name} gave {len(pullbacks)}."
            )
        value = _check_returned(items[0], arrays[0], f"the rule '{name}'")
        return value, [
            _checked_pullback(pullback, x, value.dtype, f"the pullback {i} of the rule '{name}'")
            for i, (pullback, x) in enumerate(zip(pullbacks, arrays, strict=True))
        ]

    # Drawings of graphs show the name of the rule.
    checked.__name__ = name
    return checked


def _checked_pullback(pullback: object, x: Array, dtype: object, place: str) -> OptionalPullback:
    """Return a user's pullback, with errors unless it returns a gradient of an operand.

    The gradient of a float16 value is passed in float16: a sum of several is float32 until then.
    """
    if pullback is None:
        return None
    if not callable(pullback):
        raise TypeError(
            f"For 'apply_rule', {place} must be a function or None, "
            f"but is {describe_value(pullback)}."
        )
    call: Callable[[Array], object] = pullback

    def checked(g: Array) -> Array:
        if dtype == _HALF != g.dtype:
            g = namespace(g).astype(g, _HALF)
        gradient = _check_returned(call(g), x, place)
        if gradient.shape != x.shape:
            raise ValueError(
                f"For 'apply_rule', {place} must return a gradient of the shape of its operand, "
                f"{x.shape}, but returned one of shape {gradient.shape}."
            )
        expected, found = _array_dtype(x), _array_dtype(gradient)
        if expected is not found and expected and expected.category == dtypes.FLOAT:
            raise TypeError(
                f"For 'apply_rule', {place} must return a gradient of the type of its operand, "
                f"{expected!r}, but returned one of {found!r}."
            )
        # A copy, since the rule may keep a reference to the array.
        return gradient if isinstance(gradient, Variable) else ensure_owned(gradient, copy=True)

    return checked


def _check_returned(value: object, like: Array, place: str) -> Array:
    """Return what a user's rule returned; TypeError unless it is an array, as its operands are."""
    if _array_dtype(value) is None or isinstance(value, Variable) != isinstance(like, Variable):
        raise TypeError(
            f"For 'apply_rule', {place} must return an array of the kind that it is called with, "
            f"but returned {describe_value(value)}."
        )
    return cast("Array", value)


def _array_dtype(x: object) -> DType | None:
    data = x._data if isinstance(x, Variable) else x
    return dtypes.BY_NUMPY.get(getattr(data, "dtype", None))


def _apply(
    rule: Callable[..., tuple[Array, Sequence[OptionalPullback]]], operands: Sequence[T]
) -> T:
    arrays = tuple(x._data for x in operands)
    value, pullbacks = rule(*arrays)
    parents = tuple(x._node for x in operands)
    result = wrap(value, operands[0])
    for x in operands:
        share(result, x)
    if any(parents) and is_recording():
        result._node = Node(parents, pullbacks, rule, arrays)
    return result


def apply_nondifferentiable(compute: Callable[[Array, Array], Array], x: T, y: T) -> T:
    """Return `compute` of two operands, as a constant.

    Raises:
        ValueError: Their shapes do not broadcast.
    """
    if x._data.dtype != y._data.dtype:  # a number with float16
        x, y = cast_to(x, dtypes.float16), cast_to(y, dtypes.float16)
    try:
        return wrap(compute(x._data, y._data), x)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None
    except TypeError as error:
        x, y = _to_common_device(error, x, y)
        # `compute` is of the library of `x`: take the function of the same name.
        compute = getattr(device_namespace(x._data), compute.__name__, compute)
        return wrap(compute(x._data, y._data), x)


def _to_common_device(error: TypeError, *operands: T) -> list[T]:
    """Return operands of two devices on one; raise `error` if they already are on one device.

    Only single numbers on the host, such as a learning rate, are moved to the device.

    Raises:
        TypeError: An array of several elements would have to be moved.
    """
    there = [x._data for x in operands if not is_host(x._data)]
    if len(there) in {0, len(operands)}:
        raise error
    if any(is_host(x._data) and prod(x.shape) != 1 for x in operands):
        places = ", ".join(f"{x.shape} on the {device_of(x._data)}" for x in operands)
        raise TypeError(
            f"For '{caller()}', the operands must be on one device, but are of shapes {places}: "
            "move one of them with 'to'."
        ) from None
    full = device_namespace(there[0]).full
    return [
        wrap(full(x.shape, to_host(x._data).item(), x._data.dtype), x, x._node)
        if is_host(x._data)
        else x
        for x in operands
    ]


def broadcast_error(*shapes: Shape, function: str | None = None) -> ValueError:
    """Return the error for operands whose shapes an array library does not broadcast."""
    listed, function = ", ".join(str(shape) for shape in shapes[:-1]), function or caller()
    return ValueError(
        f"For '{function}', the shapes {listed} and {shapes[-1]} do not broadcast: where "
        "lengths differ, one of them must be 1."
    )


def rerecord_pullbacks(node: Node, like: T) -> Sequence[Callable[[T], T] | None]:
    """Return the node's pullbacks as functions of recorded variables.

    The rule is called again with variables instead of arrays, so that the operations of its
    pullbacks are recorded, and a derivative can be differentiated.
    """
    rule = node.rule
    if rule is None or not node.parents:
        return ()
    operands = [wrap(a, like, n) for a, n in zip(node.operands, node.parents, strict=True)]
    _, pullbacks = cast(
        "tuple[Variable, Sequence[Callable[[T], T] | None]]", rule(*operands, *node.args)
    )
    return pullbacks


def array_from_values(
    values: object, dtype: DType | None, like: Array | None = None, *, exactly: bool = False
) -> Array:
    """Return a new array of numbers, nested lists and tuples, a numpy array or a variable.

    Args:
        values: The values.
        dtype: The data type. By default that of a numpy array or variable; for numbers and lists
            float32 if there is a float among them, else int64 or bool (uint64 for large integers).
        like: An array on the device of the result; by default it is that of a variable, and the
            current device for other values.
        exactly: Whether an array or variable is refused, too, of which an integer type cannot hold
            a value; else it is converted as by `cast`.

    Raises:
        TypeError: The values are not numbers, or the lists are ragged.
        ValueError: An integer type cannot hold one of the numbers.
    """
    if isinstance(values, Variable):
        data = values._data
        if dtype is not None and exactly:
            _check_cast(data, dtype)
        array = device_namespace(data).astype(data, dtype.numpy_dtype if dtype else data.dtype)
        return array if like is None else to_device(array, device_of(like))
    host = to_numpy_array(values)
    if dtype is None:
        typed = hasattr(values, "__array__")
        dtype = dtypes.from_array_dtype(host.dtype) if typed else _default_dtype(host)
    if exactly or not hasattr(values, "__array__"):
        check_fits(host, dtype)
    host = host.astype(dtype.numpy_dtype, copy=False)
    return from_host(host) if like is None else to_device_of(host, like)


def check_fits(values: HostArray | Number, dtype: DType, function: str | None = None) -> None:
    """Raise ValueError unless an integer type can hold all values, whose fractions are cut off."""
    if dtype.category != dtypes.INTEGER:
        return
    if isinstance(values, int | float):
        low = high = values
    elif values.dtype == dtype.numpy_dtype or not values.size:
        return
    else:
        low, high = values.min().item(), values.max().item()
    limits = np.iinfo(dtype.name)
    # NaN is neither.
    if not (limits.min - 1 < low and high < limits.max + 1):
        one = str(low) == str(high)
        numbers = f"number {low} does" if one else f"numbers from {low} to {high} do"
        raise ValueError(
            f"For '{function or caller()}', the {numbers} not fit the tensor's type {dtype!r}."
        )


def cast_exactly(x: T, dtype: DType) -> T:
    """Return `cast_to`; ValueError if an integer type cannot hold a value, except on a device."""
    _check_cast(x._data, dtype)
    return cast_to(x, dtype)


def _check_cast(x: Array, dtype: DType) -> None:
    # Not on a device, where the check would synchronize.
    if dtype.category == dtypes.INTEGER and x.dtype != dtype.numpy_dtype and is_host(x):
        host_check(partial(_check_fits_on_host, dtype=dtype), x)


def _check_fits_on_host(x: Array, dtype: DType, function: str | None = None) -> None:
    check_fits(to_host(x), dtype, function)


def to_numpy_array(values: object) -> HostArray:
    """Return a new numpy array of the values, in numpy's type for them.

    Raises:
        TypeError: The values are not numbers, or the lists are ragged.
    """
    if hasattr(values, "__array__") and not isinstance(values, NUMPY_TYPES):
        # An array of another library.
        values = np.asarray(values)
    if isinstance(values, NUMPY_TYPES):
        check_unmasked(values, f"For '{caller()}', the array")
        # A copy, since only `Tensor.from_numpy` shares memory.
        return _check_numeric(np.array(values), values)
    if not isinstance(values, int | float) and as_items(values) is None:
        raise type_error(
            values, "input_data", "be a Tensor, an array, a number, or a list or tuple of them"
        )
    plain = _variables_to_numpy(values)
    try:
        host: HostArray = np.array(plain)
        if host.dtype == np.float64 and host.size and bool(host.max() >= 2.0**63):
            host = _uint64_if_integers(plain, host)
    except (ValueError, OverflowError) as error:
        raise TypeError(
            f"For '{caller()}', the elements must be numbers of at most 64 bits, in lists of equal "
            f"lengths, but got {describe_value(values)}."
        ) from error
    return _check_numeric(host, values)


def _check_numeric(host: HostArray, values: object) -> HostArray:
    """Return `host`, which was made of `values`; TypeError if its elements are not numbers."""
    if host.dtype.kind not in "biuf":
        raise TypeError(
            f"For '{caller()}', the elements must be real numbers of at most 64 bits, "
            f"but got {describe_value(values)}."
        )
    return host


def _uint64_if_integers(plain: object, floats: HostArray) -> HostArray:
    """Return the numbers as uint64 if all are ints, else `floats`, to which numpy converts them."""
    exact: NDArray[np.object_] = np.array(plain, np.object_)
    ints = all(isinstance(x, int) for x in exact.ravel())
    return exact.astype(np.uint64) if ints else floats


def _default_dtype(numbers: HostArray) -> DType:
    """Return the data type of a tensor that is created from Python's numbers."""
    if numbers.dtype.kind == "f":
        return dtypes.float32
    if numbers.dtype.kind == "b":
        return dtypes.bool_
    # numpy chooses uint64 only for numbers that int64 cannot represent.
    return dtypes.uint64 if numbers.dtype == np.uint64 else dtypes.int64


def _variables_to_numpy(values: object) -> object:
    """Return nested lists and tuples with their variables converted to numpy arrays."""
    items = as_items(values)
    if items is not None:
        return [_variables_to_numpy(item) for item in items]
    if isinstance(values, Variable):
        if is_recorded(values):
            raise TypeError(
                f"For '{caller()}', a list holds a tensor that is being differentiated, and no "
                "gradient would flow through the elements that are read from it: join tensors "
                "with ops.stack, or give ops.stop_gradient(x) to have a constant."
            )
        return to_host(values._data)
    check_unmasked(values, f"For '{caller()}', the array")
    return values


def in_float32(function: Callable[P, T]) -> Callable[P, T]:
    """Return an operation of several rules that is computed in float32 if its tensors are float16.

    Only its result and the gradients are rounded, not what is between the rules. The result is
    float32 if other tensors are.
    """
    call: Callable[..., T] = function

    @wraps(function)
    def computed(*args: P.args, **kwargs: P.kwargs) -> T:
        types = {dtype_of(x) for x in (*args, *kwargs.values()) if isinstance(x, Variable)}
        if dtypes.float16 not in types:
            return function(*args, **kwargs)
        value = call(*map(_widened, args), **{name: _widened(x) for name, x in kwargs.items()})
        is_mixed = dtypes.float32 in types or dtypes.float64 in types
        return value if is_mixed else cast_to(value, dtypes.float16)

    return computed


def _widened(x: object) -> object:
    return half_to_float32(x) if isinstance(x, Variable) else x


# The other operand of an operation on a tensor.
Values: TypeAlias = Number | Sequence[Number] | np.generic | AnyArray

# The data type of Python's numbers, by category.
_SCALAR_DTYPES = (dtypes.bool_, dtypes.int64, dtypes.float32)
_HALF, _BOOL = dtypes.float16.numpy_dtype, dtypes.bool_.numpy_dtype


def dtype_of(x: Variable) -> DType:
    """Return the data type of a variable's elements."""
    array_dtype = x._data.dtype
    return dtypes.BY_NUMPY.get(array_dtype) or dtypes.from_array_dtype(array_dtype)


def cast_to(x: T, dtype: DType) -> T:
    """Return `x` in another type; a float that becomes an integer or bool is a constant."""
    current = x._data.dtype
    if current == dtype.numpy_dtype:
        return x
    if dtypes.from_array_dtype(current).category == dtypes.FLOAT != dtype.category:
        return wrap(namespace(x._data).astype(x._data, dtype.numpy_dtype), x)
    return apply1(rules.cast, x, dtype.numpy_dtype)


def half_to_float32(x: T) -> T:
    """Return `x`, in float32 if it is float16, in which sums and squares overflow."""
    return cast_to(x, dtypes.float32) if x._data.dtype == _HALF else x


def as_float(x: T, name: str = "input") -> T:
    """Return `x`, in float32 unless it has a float type.

    Args:
        x: A tensor.
        name: The name of its argument in errors.

    Raises:
        TypeError: `x` is not a tensor.
    """
    if not isinstance(x, Variable):
        check_tensor(x, name)
    return x if dtype_of(x).category == dtypes.FLOAT else cast_to(x, dtypes.float32)


def check_numbers(x: object, name: str = "input") -> None:
    """Raise a TypeError unless `x` is a tensor of numbers: integers or floats."""
    if check_tensor(x, name)._data.dtype == _BOOL:
        raise TypeError(f"For '{caller()}', the operands must be numbers, but got bools.")


def check_category(x: Variable, category: int, name: str = "input") -> None:
    """Raise a TypeError unless `x` is a tensor of a category: bools, integers or floats."""
    check_tensor(x, name)
    if dtype_of(x).category != category:
        raise TypeError(
            f"For '{caller()}', the argument '{name}' must be a Tensor of "
            f"{('bools', 'integers', 'floats')[category]}, but got {dtype_of(x)!r}."
        )


def check_shape(x: object, shape: Shape, name: str) -> None:
    """Raise an error unless `x` is a tensor of a shape."""
    found = check_tensor(x, name).shape
    if found != shape:
        raise ValueError(f"For '{caller()}', '{name}' must be of shape {shape}, but got {found}.")


def shape_error(x: Variable, name: str, must: str) -> ValueError:
    """Return the error for a tensor of a wrong shape."""
    return ValueError(
        f"For '{caller()}', the argument '{name}' must {must}, but its shape is {x.shape}."
    )


def promote_operands(x: T | Values, y: T | Values) -> tuple[T, T]:
    """Return both operands as variables of their common type.

    A number or a list of numbers gets the tensor's type, except that a float with an integer tensor
    gives float32, an integer with a bool tensor int64, and any with a float16 tensor float32, in
    which rules compute. A numpy array is converted to a tensor of its type.

    Raises:
        TypeError: Neither operand is a tensor, or one is neither a tensor nor numbers.
    """
    if isinstance(x, Variable):
        if isinstance(y, Variable):
            m, n = x._data.dtype, y._data.dtype
            # They are almost always the same object, and `is` is faster.
            if m is n or m == n:
                return x, y
            common = dtypes.promote(dtype_of(x), dtype_of(y))
            return cast_to(x, common), cast_to(y, common)
        return _wrap_operand(x, y)
    if isinstance(y, Variable):
        right, left = _wrap_operand(y, x)
        return left, right
    raise TypeError(
        f"For '{caller()}', at least one operand must be a Tensor, "
        f"but got {describe_value(x)} and {describe_value(y)}."
    )


def _wrap_operand(x: T, other: object) -> tuple[T, T]:
    if is_ndarray(other):
        array = to_numpy_array(other)
        dtypes.from_array_dtype(array.dtype)
        return promote_operands(x, wrap(to_device_of(array, x._data), x))
    value, category = _numbers(other)
    tensor_dtype = dtype_of(x)
    common = tensor_dtype if tensor_dtype.category >= category else _SCALAR_DTYPES[category]
    tensor = cast_to(x, common)
    if common.category == dtypes.INTEGER:
        check_fits(value, common)
    # As float32 in the rules of float16, in which it may be infinite or 0.
    kind = dtypes.float32 if common is dtypes.float16 else common
    try:
        data = device_namespace(tensor._data).asarray(value, kind.numpy_dtype)
    except OverflowError:
        raise ValueError(
            f"For '{caller()}', the number {other} does not fit the tensor's type {common!r}."
        ) from None
    return tensor, wrap(data, x)


def _numbers(other: object) -> tuple[Number | HostArray, int]:
    """Return a number, or a list of numbers as an array, and its category."""
    if isinstance(other, float):
        return other, dtypes.FLOAT
    if isinstance(other, bool):
        return other, dtypes.BOOL
    if isinstance(other, int):
        return other, dtypes.INTEGER
    if isinstance(other, np.generic):
        return _numbers(cast("object", other.item()))
    if as_items(other) is not None:
        array = to_numpy_array(other)
        return array, dtypes.from_array_dtype(array.dtype).category
    raise TypeError(
        f"For '{caller()}', an operand must be a Tensor or a number, "
        f"but got {describe_value(other)}."
    )
