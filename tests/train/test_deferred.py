"""Values put aside come back as they were, in their order, and once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from minispore import Tensor
from minispore.train import LossMonitor, RunContext
from minispore.train.callback import _deferred, _loss_monitor
from minispore.train.callback._deferred import Deferred

DTYPES: list[type[np.generic]] = [np.float32, np.float64, np.int32]
dtypes = st.sampled_from(DTYPES)


def arrays(dtype: type[np.generic]) -> st.SearchStrategy[NDArray[np.generic]]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)
    return hnp.arrays(dtype, shapes, elements=st.integers(-9, 9))


alike = dtypes.flatmap(lambda dtype: st.lists(arrays(dtype), min_size=2, max_size=5))
mixed = st.lists(dtypes.flatmap(arrays), max_size=5)


@given(alike | mixed)
def test_what_was_put_aside_comes_back_once(values: list[NDArray[np.generic]]) -> None:
    kept: Deferred[int] = Deferred()
    for i, value in enumerate(values):
        kept.add(i, Tensor(value))
        assert not kept.full
    found = kept.fetch()
    assert [tag for tag, _ in found] == list(range(len(values)))
    for (_, array), value in zip(found, values, strict=True):
        np.testing.assert_array_equal(array, value)
        assert (array.shape, array.dtype) == (value.shape, value.dtype)
    assert kept.fetch() == []


finite = st.sampled_from([0.5, 0.25])
broken = st.sampled_from([float("nan"), float("inf")])


@given(
    st.lists(finite, max_size=12), broken | finite, st.integers(0, 4), st.integers(1, 5),
    st.integers(1, 3),
)  # fmt: skip
def test_losses_that_are_looked_at_late_are_told_as_those_that_are_seen_at_once(
    before: list[float], last: float, every: int, batches: int, full: int
) -> None:
    """The same lines, and an error that names the same step."""

    def told(far: bool) -> tuple[list[str], str]:
        monitor = LossMonitor(every)
        lines: list[str] = []

        def note(line: str, **_: object) -> None:
            lines.append(line)

        context = RunContext({"batch_num": batches})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("builtins.print", note)
            patch.setattr(_loss_monitor, "is_far", lambda value: far and isinstance(value, Tensor))
            patch.setattr(_deferred, "_MOST", full)
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

    seen, late = told(far=False), told(far=True)
    assert seen[1] == late[1]
    assert seen[0] == late[0]


def test_it_is_full_in_the_end_and_can_be_emptied() -> None:
    kept: Deferred[int] = Deferred()
    for i in range(1000):
        assert not kept.full
        kept.add(i, Tensor(1.0))
    assert kept.full
    kept.clear()
    assert not kept.full
    assert kept.fetch() == []
