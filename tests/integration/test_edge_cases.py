"""Rare calls: reflected operators, invalid arguments, empty values."""

import operator
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
import minispore.dataset as ds
from minispore import Tensor, nn, ops
from minispore.dataset import vision

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


ROWS = ds.NumpySlicesDataset(np.zeros((4, 2), np.float32), column_names=["x"])
REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: ops.arange(0, 5, 0), ValueError, "For 'arange', the argument 'step' must not be 0."),
    (
        lambda: ops.softplus(Tensor([1.0]), beta=0),
        ValueError,
        "For 'softplus', the argument 'beta' must not be 0.",
    ),
    (
        lambda: ops.nll_loss(Tensor(np.zeros((2, 3))), Tensor(np.zeros((2, 3), np.int32))),
        ValueError,
        "For 'nll_loss', 'inputs' must be of shape (N, C, …) and 'target' of shape (N, …), but got",
    ),
    (
        lambda: ops.GradOperation(sens_param=True)(ops.exp)(),
        TypeError,
        "For 'GradOperation' with sens_param=True, the gradient of the output to start from must ",
    ),
    (lambda: ds.zip([]), ValueError, "For 'zip', the argument 'datasets' must not be empty."),
    (
        lambda: ROWS.batch(2, per_batch_map=3),  # type: ignore[arg-type]
        TypeError,
        "For 'batch', the argument 'per_batch_map' must be a function, but got 3.",
    ),
    (
        lambda: vision.Normalize([], [1.0]),
        ValueError,
        "For 'Normalize', the argument 'mean' must not be empty.",
    ),
    (
        lambda: ops.concat([Tensor(np.zeros((2, 3))), Tensor(np.zeros((3, 2)))]),
        ValueError,
        "For 'concat', all lengths but that of axis 0 must be equal",
    ),
    (
        lambda: nn.ExponentialDecayLR(0.1, 0.9, 4)(Tensor(float("inf"))),
        ValueError,
        "For 'ExponentialDecayLR', the argument 'global_step' must be finite, but got ",
    ),
]


@pytest.mark.parametrize(("call", "error", "said"), REFUSED, ids=lambda each: str(each)[:24])
def test_invalid_call_is_a_one_line_error(
    call: Callable[[], object], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


def test_summary_is_called_by_its_name() -> None:
    assert [repr(ops.ScalarSummary()), repr(ops.ImageSummary())] == [
        "Prim[ScalarSummary]",
        "Prim[ImageSummary]",
    ]


def test_jit_accepts_options() -> None:
    def double(x: Tensor) -> Tensor:
        return x + x

    assert ms.jit(double) is double
    assert ms.jit(mode="PIJit")(double) is double


def test_mean_loss_of_no_rows_is_nan() -> None:
    loss = nn.CrossEntropyLoss(reduction="sum")
    empty = loss(Tensor(np.zeros((0, 3), np.float32)), Tensor(np.zeros(0, np.int32)))
    assert empty == 0
