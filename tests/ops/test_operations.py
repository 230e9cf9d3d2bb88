"""The older form of operations: with which function each is called, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, grad, nn, ops
from minispore.ops import operations

from .calls import OLDER

WITH_AN_AXIS = ["Argmax", "Concat", "LogSoftmax", "OneHot", "Softmax", "Stack"]
WITH_BOOLS = [f"Reduce{kind}" for kind in ("All", "Any", "Max", "Mean", "Min", "Sum")]


def test_each_is_among_the_expressions_that_mindspore_was_asked() -> None:
    asked = Path(__file__).with_name("oracle.txt").read_text("utf-8")
    assert len(OLDER) > 60
    assert [name for name in OLDER if f"ops.{name}(" not in asked] == []


def test_the_reference_names_those_that_it_cannot_show() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "reference", "ops.md").read_text("utf-8")
    plain = [n for n in OLDER if getattr(ops, n).__module__ == operations.__name__]
    assert plain
    assert [name for name in plain if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", OLDER)
def test_it_is_printed_as_mindspores_and_named_after_itself(name: str) -> None:
    made = getattr(operations, name)
    assert made.__name__ == name
    assert made.__doc__
    assert repr(made((2,)) if name == "BroadcastTo" else made()) == f"Prim[{name}]"


def test_a_network_of_them_is_the_network_of_functions() -> None:
    class Old(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.relu = operations.ReLU()
            self.product = operations.MatMul(transpose_b=True)
            self.mean = operations.ReduceMean(keep_dims=True)

        def construct(self, x: Tensor, weight: Tensor) -> Tensor:
            return self.mean(self.relu(self.product(x, weight)), 1)

    def new(x: Tensor, weight: Tensor) -> Tensor:
        return ops.mean(ops.relu(ops.dense(x, weight)), 1, True)

    x, weight = (Tensor(np.random.default_rng(i).normal(size=(3, 2))) for i in range(2))
    assert Old()(x, weight).tolist() == new(x, weight).tolist()
    found, expected = (grad(each, (0, 1))(x, weight) for each in (Old(), new))
    assert [g.tolist() for g in found] == [g.tolist() for g in expected]


@pytest.mark.parametrize("name", WITH_AN_AXIS)
def test_an_axis_that_is_none_is_refused_when_it_is_made(name: str) -> None:
    with pytest.raises(TypeError, match=f"^For '{name}', the type of 'axis' must be"):
        getattr(operations, name)(1.5)


@pytest.mark.parametrize("name", [*WITH_BOOLS, "MatMul", "BatchMatMul", "TopK"])
def test_what_is_no_bool_is_refused_when_it_is_made(name: str) -> None:
    with pytest.raises(TypeError, match=f"^For '{name}', the type of '"):
        getattr(operations, name)(1)


def test_nothing_is_added_up_over_no_axis_if_that_is_to_be_skipped() -> None:
    x = ops.ones((2, 3))
    assert operations.ReduceSum(skip_mode=True)(x) is x
    assert operations.ReduceSum(skip_mode=True)(x, 0).tolist() == [2, 2, 2]
    assert operations.ReduceSum()(x).item() == 6


def test_what_is_left_out_says_where_to_look() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Erf'.*function in 'minispore.ops'"):
        getattr(operations, "Erf")  # noqa: B009 (a type checker would not find it)
