"""Every operation answers bad input with an error of MindSpore's kind that names the operation."""

import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, get_type_hints

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, ops
from minispore._functional.variable import T, Variable
from minispore.ops import operations

# Some of these arguments are good, but warned of.
pytestmark = pytest.mark.filterwarnings("ignore:For '(var|std)', the argument 'ddof':UserWarning")

ERRORS = (TypeError, ValueError, IndexError, RuntimeError)
# Of another kind than any argument wants, or of a value out of every range.
BAD: list[object] = [
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


OF_ONE = [
    "abs", "exp", "floor", "isfinite", "isinf", "isnan", "log", "logical_not", "neg", "relu",
    "round", "sigmoid", "sign", "square", "tanh", "sin", "cos",
]  # fmt: skip
OF_TWO = [
    "add", "sub", "mul", "floor_divide", "remainder", "maximum", "minimum", "equal", "greater",
    "greater_equal", "less", "less_equal", "not_equal", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
# A good call of each operation. What is here under one of its names is tested under all of them.
GOOD: dict[str, dict[str, object]] = {
    **{name: {"input": x(), "other": x()} for name in OF_TWO},
    **{
        name: {"input": Tensor([6, 7]), "other": 3}
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{name: {"input": x()} for name in OF_ONE},
    **{name: {"input_x": x()} for name in ("rank", "shape", "size")},
    "GradOperation": {"get_all": True, "get_by_list": False, "sens_param": False},
    "all": {"input": x(), "axis": 0, "keep_dims": True},
    "amax": {"input": x(), "axis": (0, 1), "keepdims": True},
    "amin": {"input": x(), "axis": 0, "keepdims": True},
    "any": {"input": x(), "axis": 0, "keep_dims": True},
    "avg_pool2d": {
        "input_x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "ceil_mode": True,
        "count_include_pad": False, "divisor_override": 0,
    },
    "arange": {"start": 0, "end": 3, "step": 1, "dtype": ms.int32},
    "argmax": {"input": x(), "dim": 1, "keepdim": True},
    "argmin": {"input": x(), "axis": 1, "keepdims": True},
    "batch_norm": {
        "input_x": images(), "running_mean": ops.zeros(2), "running_var": ops.ones(2),
        "weight": ops.ones(2), "bias": ops.zeros(2), "training": False,
        # So that training, which moves the running numbers in place, leaves them where they are.
        "momentum": 0.0,
        "eps": 1e-5,
    },
    "binary_cross_entropy_with_logits": {
        "input": x(), "target": x(), "weight": x(), "pos_weight": x(), "reduction": "sum",
    },
    "bitwise_not": {"input": Tensor([6, 7])},
    "bmm": {"input_x": ops.ones((2, 2, 3)), "mat2": ops.ones((2, 3, 2))},
    "broadcast_to": {"input": x(), "shape": (4, 2, 3)},
    "cast": {"input": x(), "dtype": ms.int32},
    "clip": {"input": x(), "min": 1, "max": x()},
    "concat": {"tensors": [x(), x()], "axis": 1},
    "cross_entropy": {
        "input": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "cumsum": {"x": x(), "axis": 1, "dtype": ms.float64},
    "dropout": {"input": x(), "p": 0.5, "training": True, "seed": 3},
    "flip": {"input": x(), "dims": (0, 1)},
    "l1_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "linspace": {"start": 0, "end": 1.5, "steps": 4},
    "masked_fill": {"input_x": x(), "mask": Tensor([True, False, True]), "value": 0.5},
    "mse_loss": {"input": x(), "target": x(), "reduction": "sum"},
    "nll_loss": {
        "inputs": x(), "target": Tensor([2, 0]), "weight": ops.ones(3), "ignore_index": 0,
        "reduction": "sum", "label_smoothing": 0.25,
    },
    "norm": {"A": x(), "ord": 1, "dim": 1, "keepdim": True, "dtype": ms.float64},
    "randint": {"low": 0, "high": 9, "size": (2, 3), "seed": 3, "dtype": ms.int32},
    "repeat_interleave": {"input": x(), "repeats": 2, "axis": 1},
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
    "dense": {"input": x(), "weight": Tensor(np.ones((4, 3))), "bias": Tensor(np.ones(4))},
    "div": {"input": x(), "other": x(), "rounding_mode": "floor"},
    "expand_dims": {"input_x": x(), "axis": 0},
    "eye": {"n": 2, "m": 3, "dtype": ms.int32},
    "flatten": {"input": x(), "order": "C", "start_dim": 0, "end_dim": 1},
    "full": {"size": (2, 3), "fill_value": 7, "dtype": ms.int32},
    "full_like": {"input": x(), "fill_value": 7, "dtype": ms.int32},
    "gather": {"input_params": x(), "input_indices": Tensor([1]), "axis": 1, "batch_dims": 0},
    "gather_elements": {"input": x(), "dim": 1, "index": Tensor([[0], [1]])},
    "grad": {
        "fn": total, "grad_position": 0, "weights": None, "has_aux": False, "return_ids": False,
        "sens_param": False,
    },
    "layer_norm": {
        "input": x(), "normalized_shape": (3,), "weight": ops.ones(3), "bias": ops.ones(3),
        "eps": 1e-5,
    },
    "log_softmax": {"logits": x(), "axis": 1},
    "logsumexp": {"input": x(), "dim": 1, "keepdim": True},
    "matmul": {"input": x(), "other": Tensor(np.ones((3, 4)))},
    "max": {"input": x(), "axis": 1, "keepdims": True},
    "max_pool2d": {
        "x": images(), "kernel_size": 2, "stride": 1, "padding": 1, "dilation": 1,
        "return_indices": False, "ceil_mode": True,
    },
    "mean": {"x": x(), "axis": 1, "keep_dims": True},
    "min": {"input": x(), "axis": 1, "keepdims": True},
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
    "sqrt": {"x": x()},
    "unsqueeze": {"input": x(), "dim": 0},
    "softmax_cross_entropy": {"logits": x(), "targets": x()},
    "split": {"tensor": x(), "split_size_or_sections": [1, 2], "axis": 1},
    "squeeze": {"input": Tensor(np.ones((1, 3))), "axis": 0},
    "stack": {"tensors": [x(), x()], "axis": 1},
    "stop_gradient": {"value": x()},
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
# Those that take `*operands` or `*size`, write into an argument, or take several tensors as one;
# what another call has given; the summaries, and what is another form of a function.
APART = {
    *("apply_rule", "assign", "clip_by_global_norm", "clip_by_value", "get_grad", "rand", "randn"),
    *(name for name in operations.__all__ if name != "GradOperation"),
}
CASES = [(name, argument) for name, good in GOOD.items() for argument in good]


def names_of(function: object) -> set[str]:
    return {name for name in ops.__all__ if getattr(ops, name) is function}


def run(function: Callable[..., object], arguments: dict[str, object]) -> object:
    """Call it, by position what cannot be named, and if it gives a function call that."""
    given = function(**arguments)
    if callable(given) and not isinstance(given, Tensor):
        if isinstance(given, ops.GradOperation):
            given = given(total)
        return given(x(), Tensor(1.0)) if arguments.get("sens_param") is True else given(x())
    return given


@contextmanager
def sentences(*starts: str) -> Generator[list[str], None, None]:
    """Nothing is raised, or an error of MindSpore's kind whose one line starts like this."""
    said: list[str] = []
    try:
        with np.errstate(all="ignore"):
            yield said
    except ERRORS as error:
        said.append(str(error))
    for message in said:
        assert message.startswith(starts)
        assert "\n" not in message


def answering(function: object) -> AbstractContextManager[list[str]]:
    return sentences(*[f"For '{name}'" for name in names_of(function)])


def test_every_operation_has_a_good_call_with_all_its_arguments() -> None:
    covered = {alias for name in GOOD for alias in names_of(getattr(ops, name))}
    assert covered == set(ops.__all__) - APART
    for name, arguments in GOOD.items():
        function = getattr(ops, name)
        assert list(arguments) == list(inspect.signature(function).parameters), name
        with np.errstate(all="ignore"):
            run(function, arguments)


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@pytest.mark.parametrize(("name", "argument"), CASES)
def test_it_works_or_says_in_its_own_name_what_is_wrong(name: str, argument: str) -> None:
    function = getattr(ops, name)
    for bad in BAD:
        if callable(bad) and argument == "fn":
            continue
        arguments = GOOD[name] | {argument: bad}
        before = {key: str(value) for key, value in arguments.items()}
        with answering(function):
            run(function, arguments)
        assert {key: str(value) for key, value in arguments.items()} == before


def tensor_arguments() -> Iterator[tuple[str, str]]:
    """The arguments that are annotated as tensors and nothing else."""
    for name in GOOD:
        function = getattr(ops, name)
        if inspect.isfunction(function):
            hints = get_type_hints(function)
            yield from ((name, key) for key, hint in hints.items() if hint in (T, Variable, Tensor))


@pytest.mark.parametrize(("name", "argument"), [a for a in tensor_arguments() if a[1] != "return"])
def test_what_is_no_tensor_is_a_type_error_that_names_the_argument(
    name: str, argument: str
) -> None:
    function = getattr(ops, name)
    for bad in NO_TENSORS:
        with pytest.raises(TypeError, match=f"'{argument}'") as caught:
            function(**(GOOD[name] | {argument: bad}))
        assert str(caught.value).startswith(tuple(f"For '{n}'" for n in names_of(function)))


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
dtypes = st.sampled_from([np.bool_, np.int8, np.uint64, np.int64, np.float16, np.float32])


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    values: np.typing.NDArray[np.generic] = np.arange(64).astype(draw(dtypes))
    shape = draw(shapes)
    return Tensor(values[: int(np.prod(shape))].reshape(shape))


@pytest.mark.filterwarnings("ignore:.* They are broadcast")
@settings(max_examples=400)
@given(data=st.data(), name=st.sampled_from(list(GOOD)))
def test_tensors_of_all_shapes_and_types(data: st.DataObject, name: str) -> None:
    function = getattr(ops, name)
    arguments = dict(GOOD[name])
    for key, value in arguments.items():
        if isinstance(value, Tensor):
            arguments[key] = data.draw(tensors())
        elif isinstance(value, list):
            arguments[key] = data.draw(st.lists(tensors(), max_size=3))
    with answering(function):
        run(function, arguments)


METHODS = [
    name
    for name in dir(Tensor)
    if not name.startswith("_") and inspect.isfunction(getattr(Tensor, name))
]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_works_or_says_what_is_wrong(name: str) -> None:
    method = getattr(Tensor, name)
    wanted = [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty
    ][1:]
    for bad in BAD:
        for values in (x(), Tensor(3), Parameter(x())):
            before = str(values)
            for arguments in ([bad], [bad] * len(wanted), [0, bad], [bad, 0]):
                try:
                    inspect.signature(method).bind(values, *arguments)
                except TypeError:
                    continue
                with sentences("For '", "Only a tensor of one") as said:
                    method(values, *arguments)
                assert not said or str(values) == before


@given(st.lists(shapes, min_size=1, max_size=3))
@example([(2,), (3,)])
def test_tensors_are_stacked_if_they_are_of_one_shape(several: list[tuple[int, ...]]) -> None:
    tensors = [ops.zeros(shape) for shape in several]
    if len(set(several)) == 1:
        assert ops.stack(tensors).shape == (len(several), *several[0])
    else:
        with pytest.raises(ValueError, match="For 'stack', the tensors must be of one shape"):
            ops.stack(tensors)


def test_products_refuse_in_their_own_name() -> None:
    with pytest.raises(ValueError, match="^For 'bmm', the last length of 'input_x' must be the"):
        ops.bmm(ops.ones((2, 3, 4)), ops.ones((2, 3, 4)))
    signed, unsigned = (Tensor(np.ones((1, 2, 2), kind)) for kind in (np.int64, np.uint64))
    with pytest.raises(TypeError, match="^For 'bmm', the types"):
        ops.bmm(signed, unsigned)
    with pytest.raises(TypeError, match="^For 'dense', the types"):
        ops.dense(signed, unsigned[0])


def test_neurons_without_inputs_have_their_bias() -> None:
    found = ops.dense(ops.zeros((2, 3, 0)), ops.zeros((4, 0)), ops.arange(4, dtype=ms.float32))
    assert found.tolist() == [[[0, 1, 2, 3]] * 3] * 2


@given(number=st.integers(-(2**70), 2**70), wide=st.booleans())
def test_a_border_of_whole_numbers_takes_the_numbers_that_fit(number: int, wide: bool) -> None:
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
def test_an_operator_works_or_says_what_is_wrong(symbol: str) -> None:
    for bad in BAD:
        for pair in ((x(), bad), (bad, x())):
            if symbol == "[]" and not isinstance(pair[0], Tensor):
                continue
            with sentences("For '", "A tensor", "unsupported operand"):
                OPERATORS[symbol](*pair)
