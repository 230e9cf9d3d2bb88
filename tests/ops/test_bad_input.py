"""Every operation rejects invalid input with an error that names the operation."""

import inspect
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, ops
from minispore.engine.array import is_ndarray
from minispore.ops import elementwise, operations
from minispore.utils.checks import as_items, describe_value

# Some of these arguments are valid, but cause a warning.
pytestmark = pytest.mark.filterwarnings("ignore:For '(var|std)', the argument 'ddof':UserWarning")

ERRORS = (TypeError, ValueError, IndexError, RuntimeError)
# Values of types that no argument accepts, or out of every range.
INVALID: list[object] = [
    None, "a", 3, -7, 2.5, True, float("nan"), 1e400, 10**30, 1j, object(), int, print, [], (), {},
    ["a"], [[1], [1, 2]], (9, 9), (0, 0), [None], [1.5], np.ones(3), np.array(["a"]), np.int64(9),
    slice(1), Tensor(np.ones((4, 5, 6), np.float32)), Tensor([True]), Tensor(3), ms.float32,
]  # fmt: skip
NO_TENSORS: list[object] = [None, "a", 3, 2.5, True, [1.0], np.ones((2, 3)), object(), Tensor]


def x() -> Tensor:
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


def images() -> Tensor:
    return Tensor(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))


def total(values: Tensor) -> Tensor:
    return values.sum()


UNARY = {
    name: [*inspect.signature(getattr(ops, name)).parameters]
    for name in ("neg", "logical_not", *elementwise.__all__)
    if name.islower() and name != "stop_gradient"
}
BINARY = [
    "add", "sub", "mul", "floor_divide", "remainder", "maximum", "minimum", "equal", "greater",
    "greater_equal", "less", "less_equal", "not_equal", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
# A valid call of each operation, under one of its names.
VALID: dict[str, dict[str, object]] = {
    **{name: {"input": x(), "other": x()} for name in BINARY},
    **{
        name: {"input": Tensor([6, 7]), "other": 3}
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{name: {names[0]: x()} for name, names in UNARY.items() if len(names) == 1},
    **{name: {"input_x": x()} for name in ("rank", "shape", "size")},
    "GradOperation": {"get_all": True, "get_by_list": False, "sens_param": False},
    "all": {"input": x(), "axis": 0, "keep_dims": True},
    "amax": {
        "input": x(), "axis": (0, 1), "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "amin": {
        "input": x(), "axis": 0, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "any": {"input": x(), "axis": 0, "keep_dims": True},
    "argsort": {"input": x(), "axis": 0, "descending": True},
    "avg_pool2d": {
        "input_x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "ceil_mode": True,
        "count_include_pad": False, "divisor_override": 0,
    },
    "arange": {"start": 0, "end": 3, "step": 1, "dtype": ms.int32},
    "addmm": {
        "input": x(), "mat1": ops.ones((2, 2)), "mat2": x(), "beta": 2, "alpha": 0.5
    },
    "addmv": {
        "input": ops.ones(2), "mat": x(), "vec": ops.ones(3), "beta": 2, "alpha": 0.5
    },
    "argmax": {"input": x(), "dim": 1, "keepdim": True},
    "argmin": {"input": x(), "axis": 1, "keepdims": True},
    "baddbmm": {
        "input": x(), "batch1": ops.ones((1, 2, 2)), "batch2": ops.ones((1, 2, 3)), "beta": 2,
        "alpha": 0.5,
    },
    "batch_norm": {
        "input_x": images(), "running_mean": ops.zeros(2), "running_var": ops.ones(2),
        "weight": ops.ones(2), "bias": ops.zeros(2), "training": False,
        # With momentum 0, training does not change the running statistics.
        "momentum": 0.0,
        "eps": 1e-5,
    },
    "binary_cross_entropy_with_logits": {
        "input": x(), "target": x(), "weight": x(), "pos_weight": x(), "reduction": "sum",
    },
    "binary_cross_entropy": {
        "logits": ops.ones(3) / 4, "labels": ops.ones(3), "weight": ops.ones(3), "reduction": "sum",
    },
    "bias_add": {"input_x": x(), "bias": ops.ones(3)},
    "bitwise_not": {"input": Tensor([6, 7])},
    "bmm": {"input_x": ops.ones((2, 2, 3)), "mat2": ops.ones((2, 3, 2))},
    "broadcast_to": {"input": x(), "shape": (4, 2, 3)},
    "cast": {"input": x(), "dtype": ms.int32},
    "celu": {"x": x(), "alpha": 0.5},
    "chunk": {"input": x(), "chunks": 2, "axis": 1},
    "clip": {"input": x(), "min": 1, "max": x()},
    "concat": {"tensors": [x(), x()], "axis": 1},
    "count_nonzero": {"x": x(), "axis": 0, "keep_dims": True, "dtype": ms.int64},
    "diagonal": {"input": x(), "offset": 1, "dim1": 0, "dim2": 1},
    "dot": {"input": x(), "other": ops.ones((3, 2))},
    "index_select": {"input": x(), "axis": 1, "index": Tensor([0, 2])},
    "masked_select": {"input": x(), "mask": Tensor([True, False, True])},
    "interpolate": {
        "input": images(), "size": 2, "scale_factor": None, "mode": "bilinear",
        "align_corners": True, "recompute_scale_factor": False,
    },
    "mm": {"input": x(), "mat2": ops.ones((3, 2))},
    "movedim": {"x": x(), "source": 0, "destination": 1},
    "mv": {"mat": x(), "vec": ops.ones(3)},
    "nonzero": {"input": x(), "as_tuple": True},
    "outer": {"input": x(), "vec2": x()},
    "prod": {"input": x(), "axis": (0, 1), "keep_dims": True, "dtype": ms.float64},
    "roll": {"input": x(), "shifts": 1, "dims": 1},
    "scatter": {"input": x(), "axis": 1, "index": Tensor([[0], [1]]), "src": ops.ones((2, 1))},
    "trace": {"input": x()},
    "unbind": {"input": x(), "dim": 1},
    "cross_entropy": {
        "input": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "cumprod": {"input": x(), "dim": 1, "dtype": ms.float64},
    "cumsum": {"x": x(), "axis": 1, "dtype": ms.float64},
    "dropout": {"input": x(), "p": 0.5, "training": True, "seed": 3},
    "dropout2d": {"input": images(), "p": 0.5, "training": True},
    "flip": {"input": x(), "dims": (0, 1)},
    "l1_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "linspace": {"start": 0, "end": 1.5, "steps": 4},
    "masked_fill": {"input_x": x(), "mask": Tensor([True, False, True]), "value": 0.5},
    "mse_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "nll_loss": {
        "inputs": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "normal": {"shape": (2, 3), "mean": ops.ones(3), "stddev": 0.5, "seed": 3},
    "norm": {"A": x(), "ord": 1, "dim": 1, "keepdim": True, "dtype": ms.float64},
    "randint": {"low": 0, "high": 9, "size": (2, 3), "seed": 3, "dtype": ms.int32},
    "randperm": {"n": 4, "seed": 3, "offset": 0, "dtype": ms.int32},
    "repeat_elements": {"x": x(), "rep": 2, "axis": 1},
    "repeat_interleave": {"input": x(), "repeats": 2, "axis": 1},
    "scalar_to_tensor": {"input_x": 7, "dtype": ms.int32},
    "standard_normal": {"shape": (2, 3), "seed": 3},
    "subtract": {"input": x(), "other": x(), "alpha": 0.5},
    "sort": {"input_x": x(), "axis": 0, "descending": True},
    "std": {"input": x(), "axis": (0, 1), "ddof": 1, "keepdims": True},
    "tile": {"input": x(), "dims": (2, 2)},
    "topk": {"input": x(), "k": 2, "dim": 1, "largest": False, "sorted": True},
    "tril": {"input": x(), "diagonal": 1},
    "triu": {"input": x(), "diagonal": 1},
    "var": {"input": x(), "axis": 0, "ddof": 1, "keepdims": True},
    "conv2d": {
        "input": images(), "weight": ops.ones((4, 1, 2, 2)), "bias": ops.ones(4), "stride": 1,
        "pad_mode": "pad", "padding": 1, "dilation": 1, "groups": 2,
    },
    "dtype": {"x": x()},
    "elu": {"input_x": x(), "alpha": 0.5},
    "gelu": {"input": x(), "approximate": "tanh"},
    "hardshrink": {"input": x(), "lambd": 0.5},
    "hardtanh": {"input": x(), "min_val": -1.0, "max_val": 1.0},
    "leaky_relu": {"input": x(), "alpha": 0.1},
    "prelu": {"input": x(), "weight": Tensor([0.5])},
    "dense": {"input": x(), "weight": Tensor(np.ones((4, 3))), "bias": Tensor(np.ones(4))},
    "div": {"input": x(), "other": x(), "rounding_mode": "floor"},
    "expand_dims": {"input_x": x(), "axis": 0},
    "eye": {"n": 2, "m": 3, "dtype": ms.int32},
    "flatten": {"input": x(), "order": "C", "start_dim": 0, "end_dim": 1},
    "fill": {"type": ms.int32, "shape": (2, 3), "value": 7},
    "full": {"size": (2, 3), "fill_value": 7, "dtype": ms.int32},
    "full_like": {"input": x(), "fill_value": 7, "dtype": ms.int32},
    "gather": {"input_params": x(), "input_indices": Tensor([1]), "axis": 1, "batch_dims": 0},
    "gather_nd": {"input_x": x(), "indices": Tensor([[0, 1]])},
    "gather_elements": {"input": x(), "dim": 1, "index": Tensor([[0], [1]])},
    "grad": {
        "fn": total, "grad_position": 0, "weights": None, "has_aux": False, "return_ids": False,
        "sens_param": False,
    },
    "layer_norm": {
        "input": x(), "normalized_shape": (3,), "weight": ops.ones(3), "bias": ops.ones(3),
        "eps": 1e-5,
    },
    "kl_div": {"logits": x(), "labels": x(), "reduction": "sum"},
    "log_softmax": {"logits": x(), "axis": 1},
    "logsumexp": {"input": x(), "dim": 1, "keepdim": True},
    "matmul": {"input": x(), "other": Tensor(np.ones((3, 4)))},
    "max": {
        "input": x(), "axis": 1, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "max_pool2d": {
        "x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "dilation": 1,
        "return_indices": False, "ceil_mode": True,
    },
    "mean": {"x": x(), "axis": 1, "keep_dims": True},
    "min": {
        "input": x(), "axis": 1, "keepdims": True, "initial": 1.5,
        "where": Tensor([True, False, True]),
    },
    "one_hot": {
        "indices": Tensor([0, 2]), "depth": 3, "on_value": 1, "off_value": 0, "axis": -1
    },
    "ones": {"shape": (2, 3), "dtype": ms.int32},
    "ones_like": {"input": x(), "dtype": ms.int32},
    "pad": {"input_x": x(), "padding": (1, 2), "mode": "constant", "value": 3},
    "permute": {"input": x(), "axis": (1, 0)},
    "pow": {"input": x(), "exponent": x()},
    "reshape": {"input": x(), "shape": (3, -1)},
    "softmax": {"input": x(), "axis": 1, "dtype": ms.float16},
    "softplus": {"input": x(), "beta": 2, "threshold": 5},
    "softshrink": {"input": x(), "lambd": 0.5},
    "tuple_to_array": {"input_x": (1, 2)},
    "uniform": {
        "shape": (2, 3), "minval": ops.zeros(3), "maxval": ops.ones(3), "seed": 3,
        "dtype": ms.float32,
    },
    "unique": {"input": x()},
    "unsqueeze": {"input": x(), "dim": 0},
    "unsorted_segment_sum": {
        "input_x": x(), "segment_ids": Tensor([0, 1]), "num_segments": 3
    },
    "unstack": {"input_x": x(), "axis": 1},
    "softmax_cross_entropy": {"logits": x(), "targets": x()},
    "split": {"tensor": x(), "split_size_or_sections": [1, 2], "axis": 1},
    "squeeze": {"input": Tensor(np.ones((1, 3))), "axis": 0},
    "stack": {"tensors": [x(), x()], "axis": 1},
    "sum": {"input": x(), "dim": (0, 1), "keepdim": True, "dtype": ms.float32},
    "swapaxes": {"input": x(), "axis0": 0, "axis1": 1},
    "value_and_grad": {
        "fn": total, "grad_position": 0, "weights": None, "has_aux": False, "return_ids": False,
        "sens_param": False,
    },
    "where": {"condition": Tensor([True, False, True]), "input": x(), "other": 0.0},
    "zeros": {"size": (2, 3), "dtype": ms.int32},
    "zeros_like": {"input": x(), "dtype": ms.int32},
}  # fmt: skip
# Operations with `*operands` or `*size`, with results of another call as arguments, or that write
# into an argument; the summaries and the primitives.
EXCLUDED = {
    *("apply_rule", "assign", "assign_add", "assign_sub", "clip_by_global_norm", "clip_by_value"),
    *("constexpr", "depend", "einsum", "get_grad", "meshgrid", "partial", "rand", "randn", "vmap"),
    *("identity", "stop_gradient"),  # take any value
    *(name for name in dir(operations) if name != "GradOperation"),
}


NAMES: dict[int, set[str]] = {}
for each in dir(ops):
    NAMES.setdefault(id(getattr(ops, each)), set()).add(each)
NAMES[id(ops.sub)].add("subtract")  # the name of its rule


def names_of(function: object) -> set[str]:
    """Return all names of an operation."""
    return NAMES[id(function)]


def run(function: Callable[..., object], arguments: dict[str, object]) -> object:
    """Call `function`; if the result is a function, call that, too."""
    result = function(**arguments)
    if callable(result) and not isinstance(result, Tensor):
        made: object = result(total) if function is ops.GradOperation else result
        assert callable(made)
        return made(x(), Tensor(1.0)) if arguments.get("sens_param") is True else made(x())
    return result


def memory(values: Iterable[object]) -> list[object]:
    """Return the shapes and elements of the tensors and arrays among values."""
    items = [item for value in values for item in as_items(value) or (value,)]
    arrays = [x.asnumpy() if isinstance(x, Tensor) else x for x in items]
    return [(x.shape, x.tobytes()) for x in arrays if is_ndarray(x)]


@contextmanager
def named_errors(*starts: str) -> Generator[list[Exception], None, None]:
    """Check that errors are of MindSpore's kinds, of one line, and start with one of `starts`."""
    errors: list[Exception] = []
    try:
        with np.errstate(all="ignore"):
            yield errors
    except ERRORS as error:
        errors.append(error)
    for each in errors:
        assert str(each).startswith(starts)
        assert "\n" not in str(each)


def errors_of(function: object) -> AbstractContextManager[list[Exception]]:
    return named_errors(*[f"For '{name}'" for name in names_of(function)])


def test_all_operations_have_a_valid_call() -> None:
    covered = {alias for name in VALID for alias in names_of(getattr(ops, name))}
    assert covered == set(dir(ops)) - EXCLUDED
    for name, arguments in VALID.items():
        function = getattr(ops, name)
        assert list(arguments) == list(inspect.signature(function).parameters), name
        with np.errstate(all="ignore"):
            run(function, arguments)


# Errors of several arguments or of the memory name the shapes or numbers.
RELATIONS = (
    "cannot be repeated|padded height|no such tensor|no length may|too many numbers|no argument"
    "|groups|must return several outputs|do not broadcast|get_by_list|of one number or"
)


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@pytest.mark.parametrize("name", VALID)
def test_invalid_argument_error_names_the_operation_and_the_setting(name: str) -> None:
    """An error of an argument that holds no numbers names it and the value."""
    function, valid = getattr(ops, name), VALID[name]
    for argument in valid:
        holds_numbers = isinstance(valid[argument], Tensor | list) or argument == "other"
        for invalid in INVALID:
            if callable(invalid) and argument == "fn":
                continue
            arguments = valid | {argument: invalid}
            before = memory(arguments.values())
            with errors_of(function) as errors:
                run(function, arguments)
            assert memory(arguments.values()) == before
            message = str(errors[0]) if errors else ""
            if not message or re.search(RELATIONS, message):
                continue
            # Both operands, and all elements, have one type.
            of_one = isinstance(errors[0], TypeError) and not re.search("operand|elements", message)
            if of_one or not holds_numbers:
                assert re.search(rf"'{argument}(\[\d+\])?'", message), message
            if not holds_numbers:
                assert isinstance(invalid, Tensor | type) or mentions(message, invalid)


def mentions(message: str, value: object) -> bool:
    """Return whether a message contains a value, or the item of a list that is at fault."""
    items = as_items(value)
    texts = {describe_value(each).partition(" of type")[0] for each in (value, *(items or ()))}
    texts |= {str(value)} if items is None else {str((*items,))}
    return any(text in message for text in texts)


def tensor_arguments() -> Iterator[tuple[str, str]]:
    """The arguments that are annotated as tensors and nothing else."""
    for name in VALID:
        function = getattr(ops, name)
        if inspect.isfunction(function):
            hints = get_type_hints(function, localns={"Tensor": Tensor})
            yield from ((name, key) for key, hint in hints.items() if hint is Tensor)


@pytest.mark.parametrize(("name", "argument"), [a for a in tensor_arguments() if a[1] != "return"])
def test_non_tensor_type_error_names_the_argument(name: str, argument: str) -> None:
    function = getattr(ops, name)
    for invalid in NO_TENSORS:
        with pytest.raises(TypeError, match=f"'{argument}'") as caught:
            function(**(VALID[name] | {argument: invalid}))
        assert str(caught.value).startswith(tuple(f"For '{n}'" for n in names_of(function)))


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
dtypes = st.sampled_from([np.bool_, np.int8, np.uint64, np.int64, np.float16, np.float32])


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    values: np.typing.NDArray[np.generic] = np.arange(64).astype(draw(dtypes))
    shape = draw(shapes)
    return Tensor(values[: int(np.prod(shape))].reshape(shape))


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@settings(max_examples=16 * settings().max_examples)
@given(data=st.data(), name=st.sampled_from(list(VALID)))
def test_random_tensors_work_or_raise_named_errors(data: st.DataObject, name: str) -> None:
    function = getattr(ops, name)
    arguments = dict(VALID[name])
    for key, value in arguments.items():
        if isinstance(value, Tensor):
            arguments[key] = data.draw(tensors())
        elif isinstance(value, list):
            arguments[key] = data.draw(st.lists(tensors(), max_size=3))
    with errors_of(function):
        run(function, arguments)


METHODS = [
    name
    for name in dir(Tensor)
    if not name.startswith("_") and inspect.isfunction(getattr(Tensor, name))
]


@pytest.mark.parametrize("name", METHODS)
def test_invalid_method_argument_raises_without_effect(name: str) -> None:
    method = getattr(Tensor, name)
    _, *parameters = inspect.signature(method).parameters.values()
    required = sum(p.default is p.empty for p in parameters)
    counts = {n for n in (1, 2, required) if accepts(parameters, n)}
    for make in (x, lambda: Tensor(3), lambda: Parameter(x())):
        values = make()
        before = memory([values])
        for invalid in INVALID:
            for arguments in ([invalid], [invalid] * required, [0, invalid], [invalid, 0]):
                if len(arguments) not in counts:
                    continue
                with named_errors("For '", "Only a tensor of one") as errors:
                    method(values, *arguments)
                if errors:
                    assert memory([values]) == before
                else:
                    values = make()


def accepts(parameters: Sequence[inspect.Parameter], count: int) -> bool:
    """Return whether a function can be called with as many arguments by position."""
    signature = inspect.Signature(parameters)
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


@given(st.lists(shapes, min_size=1, max_size=3))
@example([(2,), (3,)])
def test_stack_requires_equal_shapes(several: list[tuple[int, ...]]) -> None:
    tensors = [ops.zeros(shape) for shape in several]
    if len(set(several)) == 1:
        assert ops.stack(tensors).shape == (len(several), *several[0])
    else:
        with pytest.raises(ValueError, match="For 'stack', the tensors must be of one shape"):
            ops.stack(tensors)


def test_product_errors_name_the_operation() -> None:
    with pytest.raises(ValueError, match="^For 'bmm', the last length of 'input_x' must be the"):
        ops.bmm(ops.ones((2, 3, 4)), ops.ones((2, 3, 4)))
    signed, unsigned = (Tensor(np.ones((1, 2, 2), kind)) for kind in (np.int64, np.uint64))
    with pytest.raises(TypeError, match="^For 'bmm', the types"):
        ops.bmm(signed, unsigned)
    with pytest.raises(TypeError, match="^For 'dense', the types"):
        ops.dense(signed, unsigned[0])


def test_dense_without_inputs_returns_the_bias() -> None:
    actual = ops.dense(ops.zeros((2, 3, 0)), ops.zeros((4, 0)), ops.arange(4, dtype=ms.float32))
    assert actual.tolist() == [[[0, 1, 2, 3]] * 3] * 2


@given(number=st.integers(-(2**70), 2**70), wide=st.booleans())
def test_pad_value_must_fit_the_integer_dtype(number: int, wide: bool) -> None:
    kind = np.int64 if wide else np.int8
    values = Tensor(np.ones(1, kind))
    limits = np.iinfo(kind)
    if limits.min <= number <= limits.max:
        assert ops.pad(values, (1, 0), value=number).tolist() == [number, 1]
    else:
        with pytest.raises(ValueError, match=f"For 'pad', the number {number} does not fit"):
            ops.pad(values, (1, 0), value=number)


OPERATORS: dict[str, Callable[[Any, Any], object]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "**": lambda a, b: a**b, "<": lambda a, b: a < b, ">=": lambda a, b: a >= b,
    "&": lambda a, b: a & b, "@": lambda a, b: a @ b, "[]": lambda a, b: a[b],
}  # fmt: skip


@pytest.mark.parametrize("symbol", OPERATORS)
def test_invalid_operand_error_is_one_line(symbol: str) -> None:
    for invalid in INVALID:
        for pair in ((x(), invalid), (invalid, x())):
            if symbol == "[]" and not isinstance(pair[0], Tensor):
                continue
            with named_errors("For '", "A tensor", "unsupported operand"):
                OPERATORS[symbol](*pair)
