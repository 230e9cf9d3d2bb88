"""Rare calls: reflected operators, invalid arguments, empty values."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
import minispore.dataset as ds
from minispore import Tensor, nn, ops
from minispore.dataset import vision
from tests.helpers.refusals import Refusal, refusals

OPERATORS = ["or_", "and_", "xor", "add", "sub", "mul", "floordiv", "mod"]


@pytest.mark.parametrize("name", OPERATORS)
@given(st.integers(1, 9), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_number_can_be_either_operand(name: str, number: int, values: list[int]) -> None:
    apply = getattr(operator, name)
    tensor = Tensor(values, ms.int32)
    for found, left, right in (
        (apply(number, tensor), number, np.array(values)),
        (apply(tensor, number), np.array(values), number),
    ):
        assert isinstance(found, Tensor)
        np.testing.assert_array_equal(found.asnumpy(), apply(left, right))


INVALID = """
    ops.arange(0, 5, 0)  # ValueError: 'step' must not be 0
    ops.softplus(Tensor([1.0]), beta=0)  # ValueError: 'beta' must not be 0
    ops.nll_loss(ops.ones((2, 3)), Tensor([[1, 1, 1]] * 2))  # ValueError: (N, C, …) | (N, …)
    ops.GradOperation(sens_param=True)(ops.exp)()  # TypeError: sens_param=True | gradient
    ds.zip([])  # ValueError: 'datasets' must not be empty
    rows.batch(2, per_batch_map=3)  # TypeError: 'per_batch_map' must be a function | but got 3
    vision.Normalize([], [1.0])  # ValueError: 'mean' must not be empty
    ops.concat([ops.ones((2, 3)), ops.ones((3, 2))])  # ValueError: all lengths but that of axis 0
    nn.ExponentialDecayLR(0.1, 0.9, 4)(Tensor(float("inf")))  # ValueError: 'global_step'
"""


@pytest.mark.parametrize("refusal", refusals(INVALID))
def test_invalid_call_is_a_one_line_error(refusal: Refusal) -> None:
    rows = ds.NumpySlicesDataset(np.zeros((4, 2), np.float32), column_names=["x"])
    refusal.check(
        {"ops": ops, "ds": ds, "nn": nn, "vision": vision, "Tensor": Tensor, "rows": rows}
    )


def test_summary_is_called_by_its_name() -> None:
    assert [repr(ops.ScalarSummary()), repr(ops.ImageSummary())] == [
        "Prim[ScalarSummary]",
        "Prim[ImageSummary]",
    ]


def test_jit_accepts_options() -> None:
    def double(x: Tensor) -> Tensor:
        return x + x

    for f in (ms.jit(double), ms.jit(mode="PIJit")(double)):
        assert f(Tensor(2.0)).item() == 4.0


def test_mean_loss_of_no_rows_is_nan() -> None:
    loss = nn.CrossEntropyLoss(reduction="sum")
    empty = loss(Tensor(np.zeros((0, 3), np.float32)), Tensor(np.zeros(0, np.int32)))
    assert empty == 0
