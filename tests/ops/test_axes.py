"""Axes of tensors without axes, axes without elements, and lists of one tensor.

A tensor without axes is reduced along the axis 0 or -1 as a tensor of one element, in values and
gradients. What is refused, as by MindSpore, is listed.
"""

from collections.abc import Callable
from functools import partial
from inspect import isclass, signature
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops
from minispore.ops._primitive import Primitive
from minispore.utils.checks import as_items

Function = Callable[[Tensor, int], object]
ARGUMENTS = {"axis", "axis0", "dim", "dim1", "dims", "source"}
REDUCTIONS = (
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "logsumexp", "mean", "prod",
    "std", "sum", "var",
)  # fmt: skip
ALONG = ("argsort", "cumprod", "cumsum", "log_softmax", "softmax", "sort", "squeeze")
PRIMITIVES = (
    "ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "LogSoftmax", "LpNorm", "Softmax",
    "Sort", "Squeeze", "Unstack",
)  # fmt: skip
PRIMITIVE_REDUCTIONS = (
    "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
)  # fmt: skip


FORMER = ("reduce_max", "reduce_mean", "reduce_min", "reduce_sum")


def operation(name: str, x: Tensor, axis: int) -> object:
    return getattr(ops, name)(x, axis)


def primitive(name: str, x: Tensor, axis: int) -> object:
    return getattr(ops, name)(axis)(x)


def primitive_reduction(name: str, x: Tensor, axis: int) -> object:
    return getattr(ops, name)()(x, axis)


def method(name: str, x: Tensor, axis: int) -> object:
    return getattr(x, name)(axis)


def place(x: Tensor) -> Tensor:
    """Return an index of the first element, with as many axes as `x`."""
    return Tensor(0) if x.ndim == 0 else Tensor([0])


FUNCTIONS: dict[str, Function] = {
    **{f"ops.{name}": partial(operation, name) for name in (*REDUCTIONS, *ALONG, "max", "min")},
    **{f"ops.{name}": partial(operation, name) for name in FORMER},
    **{f"ops.{name}": partial(primitive, name) for name in PRIMITIVES},
    **{f"ops.{name}": partial(primitive_reduction, name) for name in PRIMITIVE_REDUCTIONS},
    **{f"Tensor.{name}": partial(method, name) for name in (*REDUCTIONS, *ALONG)},
    "ops.L2Normalize": lambda x, i: ops.L2Normalize(i)(x),
    "ops.Split": lambda x, i: ops.Split(i, 1)(x),
    "ops.chunk": lambda x, i: ops.chunk(x, 1, i),
    "ops.cross": lambda x, i: ops.cross(x, x, i),
    "ops.cummax": ops.cummax,
    "ops.cummin": ops.cummin,
    "ops.diagonal": lambda x, i: ops.diagonal(x, 0, i, i),
    "ops.flip": lambda x, i: ops.flip(x, (i,)),
    "ops.gather": lambda x, i: ops.gather(x, place(x), i),
    "ops.gather_elements": lambda x, i: ops.gather_elements(x, i, place(x)),
    "ops.index_select": lambda x, i: ops.index_select(x, i, Tensor([0])),
    "ops.median": ops.median,
    "ops.movedim": lambda x, i: ops.movedim(x, i, i),
    "ops.norm": lambda x, i: ops.norm(x, dim=i),
    "ops.permute": lambda x, i: ops.permute(x, range(x.ndim) or (i,)),
    "ops.repeat_elements": lambda x, i: ops.repeat_elements(x, 1, i),
    "ops.repeat_interleave": lambda x, i: ops.repeat_interleave(x, 1, i),
    "ops.roll": lambda x, i: ops.roll(x, 1, i),
    "ops.scatter": lambda x, i: ops.scatter(x, i, place(x), 1.0),
    "ops.split": lambda x, i: ops.split(x, 1, i),
    "ops.swapaxes": lambda x, i: ops.swapaxes(x, i, i),
    "ops.tensor_scatter_elements": lambda x, i: ops.tensor_scatter_elements(x, place(x), x, i),
    "ops.topk": lambda x, i: ops.topk(x, 1, i),
    "ops.unbind": ops.unbind,
    "ops.unstack": ops.unstack,
    "Tensor.chunk": lambda x, i: x.chunk(1, i),
    "Tensor.cross": lambda x, i: x.cross(x, i),
    "Tensor.cummax": lambda x, i: x.cummax(i),
    "Tensor.cummin": lambda x, i: x.cummin(i),
    "Tensor.diagonal": lambda x, i: x.diagonal(0, i, i),
    "Tensor.flip": lambda x, i: x.flip((i,)),
    "Tensor.gather_elements": lambda x, i: x.gather_elements(i, place(x)),
    "Tensor.index_select": lambda x, i: x.index_select(i, Tensor([0])),
    "Tensor.max": lambda x, i: x.max(i),
    "Tensor.min": lambda x, i: x.min(axis=i),
    "Tensor.median": lambda x, i: x.median(i),
    "Tensor.movedim": lambda x, i: x.movedim(i, i),
    "Tensor.norm": lambda x, i: x.norm(dim=i),
    "Tensor.permute": lambda x, i: x.permute(*(range(x.ndim) or (i,))),
    "Tensor.repeat_interleave": lambda x, i: x.repeat_interleave(1, i),
    "Tensor.roll": lambda x, i: x.roll(1, i),
    "Tensor.scatter": lambda x, i: x.scatter(i, place(x), 1.0),
    "Tensor.scatter_add": lambda x, i: x.scatter_add(i, place(x), x),
    "Tensor.split": lambda x, i: x.split(1, i),
    "Tensor.swapaxes": lambda x, i: x.swapaxes(i, i),
    "Tensor.topk": lambda x, i: x.topk(1, i),
    "Tensor.unbind": lambda x, i: x.unbind(i),
}
# The axis is one of the result, or the argument is a number for each axis or a list of tensors.
OTHERS = {
    *("Concat", "OneHot", "Stack", "concat", "expand_dims", "one_hot", "stack", "tile", "trace"),
    *("unsqueeze", "diag_embed"),
    # They write to a Parameter, or take the axis of an operation of the same parameters.
    *("index_add", "masked_scatter"),
}
# They need an axis, as in MindSpore.
REFUSED = {
    *("Sort", "Split", "Unstack", "argsort", "chunk", "cumprod", "cumsum", "diagonal", "flip"),
    *("gather", "index_select", "movedim", "permute", "repeat_elements", "repeat_interleave"),
    *("cross", "cummax", "cummin", "scatter_add", "tensor_scatter_elements"),
    *("roll", "scatter", "sort", "split", "swapaxes", "topk", "unbind", "unstack"),
}


def names(owner: object) -> set[str]:
    """Return the names of functions with an argument for an axis, each by one of its names."""
    functions = {
        name: getattr(owner, name)
        for name in dir(owner)
        if name[0] != "_" and callable(getattr(owner, name)) and name != "GradOperation"
    }
    return {
        function.__name__
        for function in functions.values()
        if not isclass(function) or issubclass(function, Primitive)
        if ARGUMENTS.intersection(signature(function).parameters)
    }


def test_each_function_with_an_axis_is_in_the_table() -> None:
    for prefix, owner in {"ops.": ops, "Tensor.": Tensor}.items():
        listed = {name.removeprefix(prefix) for name in FUNCTIONS if name.startswith(prefix)}
        assert names(owner) - OTHERS <= listed


def outputs(result: object) -> list[Tensor]:
    return [y for y in as_items(result) or (result,) if isinstance(y, Tensor)]


def total(x: Tensor, function: Function, axis: int) -> Tensor:
    floats = [y for y in outputs(function(x, axis)) if y.is_floating_point()]
    return ops.sum(ops.stack([ops.sum(y * y) for y in floats])) if floats else ops.sum(x)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=st.floats(-3, 3, width=32), axis=st.sampled_from([0, -1]))
def test_a_tensor_without_axes_is_one_element(name: str, value: float, axis: int) -> None:
    function = FUNCTIONS[name]
    x, row = Tensor(value), Tensor([value])
    if name.partition(".")[2] in REFUSED:
        with pytest.raises(ValueError, match="For '"):
            function(x, axis)
        return
    with np.errstate(all="ignore"):
        ours, theirs = outputs(function(x, axis)), outputs(function(row, axis))
        assert [y.tolist() for y in ours] == [y.reshape(()).tolist() for y in theirs]
        assert [y.dtype for y in ours] == [y.dtype for y in theirs]
        gradient = ms.grad(partial(total, function=function, axis=axis))
        assert gradient(x).tolist() == gradient(row).reshape(()).tolist()
    for beyond in (1, -2):
        with pytest.raises(ValueError, match=r"must be in \[-1, 1\), but got"):
            function(x, beyond)


# What an axis without elements gives: a number, the same without elements, or an error.
EMPTY: dict[str, float] = {
    "all": True, "any": False, "count_nonzero": 0, "logsumexp": -inf, "mean": nan, "norm": 0,
    "prod": 1, "std": nan, "sum": 0, "var": nan, "ReduceAll": True, "ReduceAny": False,
    "ReduceMean": nan, "ReduceProd": 1, "ReduceSum": 0, "LpNorm": float(np.float32(1e-12)),
    "reduce_mean": nan, "reduce_sum": 0,
}  # fmt: skip
THE_SAME = {
    "cummax",
    "cummin",
    *("L2Normalize", "LogSoftmax", "Softmax", "Sort", "argsort", "cumprod", "cumsum", "flip"),
    *("log_softmax", "movedim", "repeat_elements", "repeat_interleave", "roll", "softmax", "sort"),
    *("permute", "split", "chunk", "swapaxes", "Split"),
}
NOTHING = {"Unstack", "unbind", "unstack"}
NO_ELEMENT = {
    "cross",
    "median",
    "scatter_add",
    "tensor_scatter_elements",
    *("ArgMaxWithValue", "ArgMinWithValue", "Argmax", "Argmin", "ReduceMax", "ReduceMin", "amax"),
    *("amin", "argmax", "argmin", "diagonal", "gather", "gather_elements", "index_select", "max"),
    *("min", "reduce_max", "reduce_min", "scatter", "Squeeze", "squeeze", "topk"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0,), (3, 0, 2)])
def test_an_axis_without_elements_gives_what_numpy_gives(name: str, shape: tuple[int, ...]) -> None:
    function, short = FUNCTIONS[name], name.partition(".")[2]
    axis = shape.index(0)
    x = ops.zeros(shape)
    if short in NO_ELEMENT:
        with pytest.raises((ValueError, IndexError)):
            function(x, axis)
        return
    with np.errstate(all="ignore"):
        results = outputs(function(x, axis))
        gradient = ms.grad(partial(total, function=function, axis=axis))(x)
    assert gradient.shape == shape
    if short in NOTHING:
        assert results == []
    elif short in THE_SAME:
        assert {y.shape for y in results} == {shape}
    else:
        expected = np.full(shape[:axis] + shape[axis + 1 :], EMPTY[short])
        np.testing.assert_array_equal(results[0].asnumpy(), expected)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@given(count=st.integers(0, 3))
def test_lists_of_few_tensors_give_what_numpy_gives(indexing: str, count: int) -> None:
    rows = [np.arange(n, dtype=np.float32) for n in range(1, count + 1)]
    grids = ops.meshgrid(*map(Tensor, rows), indexing=indexing)
    assert [x.tolist() for x in grids] == [
        x.tolist() for x in np.meshgrid(*rows, indexing="xy" if indexing == "xy" else "ij")
    ]
    if rows:
        assert ops.concat([Tensor(rows[-1])]).tolist() == rows[-1].tolist()
        assert ops.stack([Tensor(rows[-1])], 1).tolist() == np.stack([rows[-1]], 1).tolist()
        assert ops.einsum("i->i", Tensor(rows[-1])).tolist() == rows[-1].tolist()
