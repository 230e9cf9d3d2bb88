"""LossMonitor: the lines that MindSpore 2.10 prints."""

import math
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import LossMonitor, Model, RunContext
from minispore.train.callback import _InternalCallbackParam
from tests.helpers.callback_driver import saved
from tests.helpers.stub_models import Batches, ConstantLoss, Outputs

LOSS = 1.2375532388687134  # a float32 number with all its digits


def context(outputs: object, step: int = 1) -> RunContext:
    return RunContext(_InternalCallbackParam(net_outputs=outputs, cur_step_num=step, batch_num=5))


def tensor(value: object, dtype: type[np.generic] = np.float32) -> Tensor:
    return Tensor(np.array(value, dtype))


# Observed from MindSpore 2.10.
@pytest.mark.parametrize(
    ("outputs", "printed"),
    [
        (1.5, "1.5"),
        (2, "2"),
        (tensor(LOSS), "1.2375532388687134"),
        (tensor(-0.0), "-0.0"),
        (tensor([LOSS]), "1.2375532388687134"),
        (tensor([1.5, 2.5]), "2.0"),
        (tensor([[1.5, 2.5], [0.0, 1.0]]), "1.25"),
        (tensor(1.2373046875, np.float16), "1.2373046875"),
        (tensor(3, np.int32), "3.0"),
        ((tensor(LOSS), 1), "1.2375532"),
        ([tensor(LOSS)], "1.2375532"),
        ((tensor([LOSS, LOSS]), 1), "[1.2375532 1.2375532]"),
        (np.array(LOSS, np.float32), "1.2375532"),
        (np.array([1.0, 2.0], np.float32), "[1. 2.]"),
        ((1.5, 2), "(1.5, 2)"),
        (None, "None"),
    ],
)
def test_printed_line_for_each_kind_of_loss(
    outputs: object, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    LossMonitor().on_train_step_end(context(outputs))
    assert capsys.readouterr().out == f"epoch: 1 step: 1, loss is {printed}\n"


# The kinds of outputs that contain a loss.
KINDS: list[Callable[[float], object]] = [
    float,
    tensor,
    lambda x: tensor([1.0, x]),
    lambda x: (tensor(x), 1),
    lambda x: [tensor([x, 1.0])],
    lambda x: np.array([x, 1.0]),
]


@given(
    st.sampled_from(KINDS),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.sampled_from([0, 1, 1000]),
    st.integers(1, 20),
)
def test_non_finite_loss_raises(
    kind: Callable[[float], object], loss: float, every: int, step: int
) -> None:
    message = (
        f"In epoch: 1 step: {(step - 1) % 5 + 1}, loss is NAN or INF, training process cannot "
        "continue, terminating training."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        LossMonitor(every).on_train_step_end(context(kind(loss), step))


@given(
    every=st.integers(0, 5),
    runs=st.lists(st.integers(1, 8), min_size=1, max_size=3),
    cuts=st.sets(st.integers(1, 20)),
)
@example(every=2, runs=[5, 5], cuts=set())
@example(every=1, runs=[1, 1], cuts=set())
def test_line_is_printed_each_so_many_steps(every: int, runs: list[int], cuts: set[int]) -> None:
    """Also across epochs, in a second run, and with a state restored before some steps."""
    monitor = LossMonitor(every)
    expected: list[str] = []
    steps = [step for length in runs for step in range(1, length + 1)]
    last = 0
    with redirect_stdout(StringIO()) as screen:
        for number, step in enumerate(steps):
            if number in cuts:
                state, monitor = saved(monitor), LossMonitor(every)
                monitor.load_state_dict(state)
            monitor.on_train_step_end(context(1 / step, step))
            last = 0 if step <= last else last
            if every and step - last >= every:
                last = step
                expected.append(f"epoch: 1 step: {(step - 1) % 5 + 1}, loss is {1 / step}")
    assert screen.getvalue().splitlines() == expected


def model_with_metrics(loss: float) -> Model:
    return Model(
        ConstantLoss(),
        metrics={"accuracy", "loss"},
        eval_network=Outputs(loss),
        eval_indexes=[0, 1, 2],
    )


@given(st.sampled_from([0.25, 1.5]), st.lists(st.integers(1, 3), min_size=1), st.booleans())
def test_fit_prints_each_evaluation(loss: float, epochs: list[int], steps: bool) -> None:
    with redirect_stdout(StringIO()) as screen:
        model_with_metrics(loss).fit(3, Batches(2), Batches(1), epochs, LossMonitor(int(steps)))
    expected: list[str] = []
    for epoch in (1, 2, 3):
        expected += [f"epoch: {epoch} step: {step}, loss is 0.5" for step in (1, 2)] * steps
        if epoch in epochs:
            expected.append(
                f"Eval result: epoch {epoch}, metrics: {{'accuracy': 0.75, 'loss': {loss}}}"
            )
    assert screen.getvalue().splitlines() == expected


def test_standalone_evaluation_prints_losses(capsys: pytest.CaptureFixture[str]) -> None:
    model_with_metrics(LOSS).eval(Batches(2), LossMonitor())
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"epoch: 1 step: {step}, loss is 1.2375532" for step in (1, 2)]
