"""The primitives of MindSpore 1.x: which function each calls."""

import doctest
import inspect
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, grad, nn, ops
from minispore.ops import operations
from tests.helpers.random_op_calls import PRIMITIVES


def test_primitives_with_attributes_are_compared_with_mindspore() -> None:
    """Those without attributes call the function, which is compared with PyTorch."""
    expressions = Path(__file__).parents[1].joinpath("oracles", "ops.txt").read_text("utf-8")
    classes = [name for name in PRIMITIVES if getattr(operations, name).__class__ is type]
    assert len(classes) > 15
    assert [name for name in classes if f"ops.{name}(" not in expressions] == []


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitive_is_printed_and_named_as_in_mindspore(name: str) -> None:
    made = getattr(operations, name)
    assert made.__name__ == name
    assert made.__doc__
    required = {"BroadcastTo": (2,), "LpNorm": 0, "Pad": ((0, 1),), "ResizeNearestNeighbor": (2, 2)}
    assert repr(made(required[name]) if name in required else made()) == f"Prim[{name}]"


@pytest.mark.parametrize("name", PRIMITIVES)
def test_examples_of_primitive_call_it_and_pass(name: str) -> None:
    text = inspect.getdoc(getattr(operations, name)) or ""
    assert f"ops.{name}(" in text
    assert text.endswith(f"Source: MindSpore's `mindspore.ops.{name}`.")
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_network_of_primitives_equals_network_of_functions() -> None:
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
    found, expected = (grad(f, (0, 1))(x, weight) for f in (Old(), new))
    assert [g.tolist() for g in found] == [g.tolist() for g in expected]


def test_reduce_sum_skip_mode_returns_its_input() -> None:
    x = ops.ones((2, 3))
    assert operations.ReduceSum(skip_mode=True)(x) is x
    assert operations.ReduceSum(skip_mode=True)(x, 0).tolist() == [2, 2, 2]
    assert operations.ReduceSum()(x).item() == 6


def test_missing_primitive_error_names_the_functions() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Rule'.*function in 'minispore.ops'"):
        getattr(operations, "Rule")  # noqa: B009 (a type checker would not find it)
