"""`PendingDeviceValues` returns its values unchanged, in order, and once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore import Tensor
from minispore.train import LossMonitor, RunContext
from minispore.train.callback import _loss_monitor
from minispore.train.protocol import outputs
from minispore.train.protocol.outputs import PendingDeviceValues

DTYPES: list[type[np.generic]] = [np.float32, np.float64, np.int32]
dtypes = st.sampled_from(DTYPES)


def arrays(dtype: type[np.generic]) -> st.SearchStrategy[NDArray[np.generic]]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    return hnp.arrays(dtype, shapes, elements=st.integers(-9, 9))


alike = dtypes.flatmap(lambda dtype: st.lists(arrays(dtype), min_size=2, max_size=5))
mixed = st.lists(dtypes.flatmap(arrays), max_size=5)


@given(alike | mixed)
def test_fetch_returns_pending_values_once(values: list[NDArray[np.generic]]) -> None:
    pending: PendingDeviceValues[int] = PendingDeviceValues()
    for i, value in enumerate(values):
        pending.add(i, Tensor(value))
        assert not pending.full
    result = pending.fetch()
    assert [tag for tag, _ in result] == list(range(len(values)))
    for (_, array), value in zip(result, values, strict=True):
        np.testing.assert_array_equal(array, value)
        assert (array.shape, array.dtype) == (value.shape, value.dtype)
    assert pending.fetch() == []


finite = st.sampled_from([0.5, 0.25])
broken = st.sampled_from([float("nan"), float("inf")])


@given(
    st.lists(finite, max_size=12), broken | finite, st.integers(0, 4), st.integers(1, 5),
    st.integers(1, 3),
)  # fmt: skip
def test_deferred_losses_are_printed_like_immediate_ones(
    before: list[float], last: float, every: int, batches: int, full: int
) -> None:
    """The printed lines are the same, and an error names the same step."""

    def outcome(on_device: bool) -> tuple[list[str], str]:
        monitor = LossMonitor(every)
        lines: list[str] = []

        def record(line: str, **_: object) -> None:
            lines.append(line)

        context = RunContext({"batch_num": batches})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("builtins.print", record)
            patch.setattr(
                _loss_monitor, "is_on_device", lambda value: on_device and isinstance(value, Tensor)
            )
            patch.setattr(outputs, "_MAX_PENDING", full)
            try:
                for i, loss in enumerate([*before, last]):
                    params = context.original_args()
                    params.update(
                        cur_epoch_num=i // batches + 1, cur_step_num=i + 1, net_outputs=Tensor(loss)
                    )
                    monitor.on_train_step_end(context)
                    if (i + 1) % batches == 0:
                        monitor.on_train_epoch_end(context)
                monitor.state_dict()
            except ValueError as error:
                return lines, str(error)
        return lines, ""

    immediate, deferred = outcome(on_device=False), outcome(on_device=True)
    assert deferred[1] == immediate[1]
    assert deferred[0] == immediate[0]


def test_pending_values_fill_up_and_clear() -> None:
    pending: PendingDeviceValues[int] = PendingDeviceValues()
    for i in range(1000):
        assert not pending.full
        pending.add(i, Tensor(1.0))
    assert pending.full
    pending.clear()
    assert not pending.full
    assert pending.fetch() == []
