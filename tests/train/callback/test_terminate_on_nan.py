"""TerminateOnNaN and LossMonitor: the step at which a loss that is not finite ends the run."""

import math
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.train import LossMonitor, RunContext, TerminateOnNaN
from minispore.train.callback import _loss_monitor, _terminate_on_nan
from minispore.train.protocol import callback, outputs

LOSSES = st.lists(st.sampled_from([1.0, -2.5, math.nan, math.inf, -math.inf]), max_size=9)


@given(losses=LOSSES, pending=st.none() | st.integers(1, 4), rank=st.integers(0, 1))
@example([1.0, 2.0, math.nan, 1.0, math.inf, 1.0], None, 0)
@example([1.0, 2.0, math.nan, 1.0, math.inf, 1.0], 2, 1)
@example([1.0, math.inf, math.nan, 1.0], 9, 0)
@example([1.0, 2.0], 9, 0)
def test_first_loss_that_is_not_finite_ends_the_run(
    losses: list[float], pending: int | None, rank: int
) -> None:
    """Those of a device are read when so many are pending, and at the end of the epoch."""
    bad = next((i for i, loss in enumerate(losses, start=1) if not math.isfinite(loss)), None)
    read = len(losses) + 1 if bad is None else -(-bad // (pending or 1)) * (pending or 1)
    end = min(read, len(losses) + 1)  # the step after the last one is the end of the epoch
    context = RunContext({"cur_epoch_num": 1, "batch_num": 10})
    terminate, monitor, errors = TerminateOnNaN(), LossMonitor(0), list[tuple[int, str]]()
    stops: list[int] = []
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as screen:
        for module in (_loss_monitor, _terminate_on_nan):
            patch.setattr(module, "is_on_device", lambda _: pending is not None)
        patch.setattr(outputs, "_MAX_PENDING", pending or 9)
        patch.setattr(callback, "get_rank", lambda: rank)
        for step in range(1, end + 1):
            hook = "on_train_epoch_end" if step > len(losses) else "on_train_step_end"
            if step <= len(losses):
                context.original_args().update(
                    cur_step_num=step, net_outputs=Tensor(losses[step - 1])
                )
            getattr(terminate, hook)(context)
            try:
                getattr(monitor, hook)(context)
            except ValueError as error:
                errors.append((step, str(error)))
            if context.get_stop_requested():
                stops.append(step)
    if bad is None:
        assert (stops, errors, screen.getvalue()) == ([], [], "")
        return
    assert stops == [end]
    [(raised, message)] = errors
    assert raised == end
    assert message.startswith(f"In epoch: 1 step: {bad}, loss is NAN or INF")
    line = f"epoch: 1 step: {bad}, loss is {losses[bad - 1]}, the run is stopped\n"
    assert screen.getvalue() == (line if rank == 0 else "")
