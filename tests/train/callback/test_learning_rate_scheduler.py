"""LearningRateScheduler: the rates that it passes and sets; rates that no one may set."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, load_param_into_net, nn
from minispore import tensorpack as tp
from minispore.nn.learning_rate_schedule import LearningRateSchedule
from minispore.train import Callback, LambdaCallback, LearningRateScheduler, Model, RunContext
from tests.helpers.callback_driver import learning_rate, run_context
from tests.helpers.stub_models import Rows

RATES = st.floats(0, 1, width=32)


@given(
    st.lists(RATES, min_size=1, max_size=6), st.sampled_from([float, Tensor, lambda x: Tensor([x])])
)
def test_schedule_sets_the_rate_of_the_next_step(
    rates: list[float], kind: type[float] | type[Tensor]
) -> None:
    context = run_context(0.1)
    observed: list[tuple[float, int]] = []

    def schedule(rate: float, step: int) -> float:
        observed.append((rate, step))
        return kind(rates[step - 1])  # type: ignore[return-value]

    scheduler = LearningRateScheduler(schedule)
    for step, rate in enumerate(rates, start=1):
        context.original_args().cur_step_num = step
        scheduler.on_train_step_end(context)
        assert learning_rate(context) == rate
    # The shortest digits of float32.
    expected = [float(str(np.float32(rate))) for rate in [0.1, *rates[:-1]]]
    assert observed == [(rate, step) for step, rate in enumerate(expected, start=1)]


class Cells(LearningRateSchedule):
    """A schedule with one value for the first two steps, and another for later ones."""

    def __init__(self, first: float, later: float) -> None:
        super().__init__()
        self.values = first, later

    def construct(self, global_step: Tensor) -> Tensor:
        return Tensor(self.values[int(global_step) >= 2])


def hook(action: Callable[[nn.Optimizer], object]) -> Callback:
    """Return a callback that calls a function with the optimizer after the second step."""

    def act(run_context: RunContext) -> None:
        params = run_context.original_args()
        if params.cur_step_num == 2:
            assert params.optimizer is not None
            action(params.optimizer)

    return LambdaCallback(on_train_step_end=act)


def write(folder: Path, value: float) -> Callback:
    (folder / "hyper.txt").write_text(f"learning_rate: {value}\n", "utf-8")
    tp.logger.set_logger_dir(str(folder))
    return tp.HumanHyperParamSetter("learning_rate")


def rate_of(optimizer: nn.Optimizer) -> Parameter:
    assert isinstance(optimizer.learning_rate, Parameter)
    return optimizer.learning_rate


# Where a learning rate, from the third step on, can come from.
DOORS: dict[str, Callable[[Path, float], Callback]] = {
    "set_data": lambda _, value: hook(lambda opt: rate_of(opt).set_data(value)),
    "load_param_into_net": lambda _, value: hook(
        lambda opt: load_param_into_net(
            opt, {"learning_rate": Parameter(np.float32(value), name="learning_rate")}
        )
    ),
    "LearningRateScheduler": lambda _, value: LearningRateScheduler(
        lambda rate, step: value if step == 2 else rate
    ),
    "HyperParamSetterWithFunc": lambda _, value: tp.HyperParamSetterWithFunc(
        "learning_rate", lambda epoch, rate: value
    ),
    "ScheduledHyperParamSetter": lambda _, value: tp.ScheduledHyperParamSetter(
        "learning_rate", [(1, value)]
    ),
    "a file": write,
}
BAD = [math.nan, math.inf, -math.inf, -0.5]


@pytest.mark.parametrize("value", [*BAD, 0.0, 0.25])
@pytest.mark.parametrize("door", [*DOORS, "a schedule", "a weight decay"])
def test_rate_that_the_argument_refuses_is_refused_from_everywhere(
    door: str, value: float, tmp_path: Path
) -> None:
    """Before a step with it changes anything."""
    net = nn.Dense(4, 3)
    rate = Cells(0.1, value) if door == "a schedule" else 0.1
    decay = Cells(0.0, value) if door == "a weight decay" else 0.0
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.0, weight_decay=decay)
    weights: list[bytes] = []

    def note(run_context: RunContext) -> None:
        weights.append(net.weight.asnumpy().tobytes())

    def train() -> None:
        callbacks: list[Callback] = [LambdaCallback(on_train_step_end=note)]
        callbacks += [DOORS[door](tmp_path, value)] if door in DOORS else []
        Model(net, nn.CrossEntropyLoss(), optimizer).train(2, Rows(8), callbacks)

    # A file is read as text: what is no finite number is a warning, and left out.
    if value not in BAD or (door == "a file" and not math.isfinite(value)):
        train()
        return
    with pytest.raises(ValueError, match="finite number of at least 0|'schedule' must be a num"):
        train()
    assert net.weight.asnumpy().tobytes() in weights or not weights
