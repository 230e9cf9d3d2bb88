"""LearningRateScheduler: the rates that it passes and sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import LearningRateScheduler
from tests.helpers.callback_driver import learning_rate, run_context

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
